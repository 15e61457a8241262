// What the console says cannot be done with a virtual machine in a state, against what the service does in that state.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { areas } from '#src/contract/index.ts'
import { VM_STATES } from '#src/contract/compute/vm-can.ts'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { contractTable } from '#src/modules/console/contract-table.ts'
import { consoleReasons } from '../support/console-reasons.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ size: { vms: 600 } })
})
after(() => lab?.close())

const ME = { username: 'an admin', role: 'admin', tenant_id: null, expires_at: null } as const
const routes: Readonly<Record<string, RouteSpec>> = Object.assign({}, ...areas.map((area) => area.routes))

/** They look for the disk or the address first, which has tests of its own. */
const OF_A_PART = ['vmDiskAttach', 'vmDiskDetach', 'vmDiskResize', 'vmNicIpRemove']

/** The example of the contract, for this machine. */
function bodyFor(operation: string, { id, nics }: VirtualMachine): Record<string, unknown> {
  if (operation === 'vmRestore') return { source: 'template', virtual_machine_id: id }
  const example = routes[operation]?.example.body as Record<string, unknown>
  return { ...example, virtual_machine_id: id, ...('nic_id' in example && { nic_id: nics[0]?.id }) }
}

test('the console closes an operation of a virtual machine in the states in which the service refuses it, and no other', async () => {
  const whyNot = await consoleReasons()
  const { vms } = lab.platform.state.tables
  const listed = await lab.call('POST', '/compute/vms/list', { state: 'Running', page_size: 500 })
  const machines = listed.body.virtual_machines as VirtualMachine[]
  const wrong: string[] = []
  let asked = 0
  for (const [operation, { method, path }] of Object.entries(contractTable())) {
    const said = (state: string): string | null => whyNot(ME, operation, { state, pending_job_id: null })
    if (OF_A_PART.includes(operation) || VM_STATES.every((state) => said(state) === null)) continue
    for (const state of VM_STATES) {
      // Each is asked of a machine that nothing else changes.
      const machine = machines.pop() ?? assert.fail('there are not enough machines')
      vms.put({ ...(vms.get(machine.id) ?? assert.fail()), state })
      const { status, body } = await lab.call(method, path, bodyFor(operation, machine))
      const closed = said(state)?.includes('it must be') === true
      asked += 1
      if (closed !== (body.code === 'VM_STATE'))
        wrong.push(`${operation} in ${state}: ${status} ${body.code}, ${said(state)}`)
    }
  }
  assert.deepEqual(wrong, [])
  assert.ok(asked >= 20 * VM_STATES.length, `${asked} were asked`)
})
