// What changes while an operation is under way, by other hands or by the platform: the answer names it, and nothing is done twice
// or to something else.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { after, before, test } from 'node:test'
import pg from 'pg'
import WebSocket from 'ws'
import { wellKnown } from '../../lab/site.ts'
import { LOCKS } from '#src/store/locks.ts'
import { endWait } from '../support/lock-waits.ts'
import { type Fate, type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'
import { NOBODY, vmApi } from '../support/vm-api.ts'

let lab: Lab
let proxy: PlatformProxy
before(async () => {
  lab = await startLab({
    time: 'step',
    addresses: true,
    // One call is held for longer than a repeat waits for its first request.
    config: { compute: { read_timeout_ms: 60_000 } },
    between: async (platform_url) => {
      proxy = await startPlatformProxy(platform_url)
      return proxy.url
    },
  })
})
after(async () => {
  await lab.close()
  await proxy.close()
})
const api = vmApi(() => lab)
const tables = () => lab.platform.state.tables

const { vms, zone: zone_id, networks, templates } = wellKnown
const STOPPED = vms['legacy-crm']
const WEB = vms['web-01']

function must<T>(value: T | null | undefined): T {
  assert.ok(value !== null && value !== undefined)
  return value
}

/** Does something once, before the platform gets the call that `asks`. */
function before_call(asks: (command: string, params: URLSearchParams) => boolean, act: () => unknown): void {
  let done = false
  proxy.behave(async (command, params): Promise<Fate> => {
    if (!done && asks(command, params)) {
      done = true
      await act()
    }
    return 'pass'
  })
}

test('settings that somebody else changes all the time are 400 SETTINGS_BUSY with the machine, and nothing is written', async () => {
  const client = new pg.Client(lab.database.connection)
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1::int, hashtext($2))', [LOCKS.vm_settings, STOPPED])
    const order = { virtual_machine_id: STOPPED, details: { note: 'x' } }
    const updating = api.post('/compute/vms/settings/update', order)
    await endWait(client, LOCKS.vm_settings)
    const says = new RegExp(`Another change of the settings of virtual machine ${STOPPED} is under way; try again`)
    api.refused(await updating, 'SETTINGS_BUSY', says)
    assert.equal((await api.calls('updateVirtualMachine')).length, 0)
  } finally {
    await client.end()
  }
})

test('a machine that stops before its console is there is 400 VM_STATE with the state that it needs', async () => {
  before_call(
    (command) => command === 'createConsoleEndpoint',
    () => tables().vms.put({ ...must(tables().vms.get(WEB)), state: 'Stopped' }),
  )
  const reply = await api.post('/compute/vms/create-console', { virtual_machine_id: WEB })
  api.refused(reply, 'VM_STATE', new RegExp(`Virtual machine ${WEB} does not run any more; this needs Running`))
})

test('a screen that the platform gives no address for is refused before the WebSocket opens, with the machine', async () => {
  const { console_address } = lab.platform.state
  lab.platform.state.console_address = { host: '', port: 0 }
  const socket = new WebSocket(`${lab.url.replace('http', 'ws')}/compute/vms/${WEB}/screen`, ['binary'], {
    headers: { authorization: `Bearer ${lab.token}` },
  })
  socket.on('error', () => {})
  try {
    const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
    const body = JSON.parse((await answer.toArray()).join('')) as { code: string; detail: string }
    const says = `The compute platform gave no address for the screen of virtual machine ${WEB}.`
    assert.deepEqual([answer.statusCode, body.code, body.detail], [500, 'CONSOLE_UNAVAILABLE', says])
  } finally {
    socket.terminate()
    lab.platform.state.console_address = console_address
  }
})

test('a template that is gone right after its change is 500 with its id, and is changed once', async () => {
  const id = templates['Debian 12']
  let reads = 0
  proxy.behave(async (command): Promise<Fate> => {
    // The first reading after the change sees it; the second, which is for the answer, does not.
    if (command === 'listTemplates' && (await api.calls('updateTemplate')).length === 1 && (reads += 1) === 2)
      for (const row of tables().templates.filter((one) => one.id === id)) tables().templates.remove(row.id)
    return 'pass'
  })
  const reply = await api.post('/catalog/templates/update', { template_id: id, display_text: 'Debian' })
  assert.deepEqual([reply.status, reply.body.code], [500, 'COMPUTE_ERROR'], reply.text)
  assert.equal(reply.body.detail, `The compute platform took image ${id}, but does not list it any more.`)
  assert.equal((await api.calls('updateTemplate')).length, 1)
})

test('a tenant that is being created is neither planned for deletion nor deleted: 409 TENANT_STATE with its name', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  before_call(
    (command) => command === 'createAccount',
    () => held,
  )
  const creating = lab.call('POST', '/admin/tenants', { name: 'umbrella' })
  const { id } = await until(
    'its domain is made',
    () => tables().domains.find((one) => one.name === 'umbrella') ?? undefined,
  )
  for (const query of ['confirm=umbrella', 'dry_run=true']) {
    const reply = await lab.call('DELETE', `/admin/tenants/${id}?${query}`)
    const says = 'Tenant umbrella is being created; wait until that has ended.'
    assert.deepEqual([reply.status, reply.body.code, reply.body.detail], [409, 'TENANT_STATE', says], reply.text)
  }
  release()
  const created = await creating
  assert.deepEqual([created.status, created.body.name], [200, 'umbrella'], created.text)
  assert.equal((await api.calls('deleteDomain')).length, 0)
})

test('the repeat of a request that is still being checked is 409 with its key, and what is ordered is made once', async () => {
  const headers = { 'idempotency-key': 'slow-checks-1' }
  const order = { virtual_machine_id: WEB, name: 'held' }
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: checked, resolve: check } = Promise.withResolvers<void>()
  before_call(
    (command, params) => command === 'listVirtualMachines' && params.get('id') === WEB,
    () => {
      check()
      return held
    },
  )
  const first = lab.call('POST', '/compute/vms/snapshots/create', order, { headers })
  await checked
  const repeat = await lab.call('POST', '/compute/vms/snapshots/create', order, { headers })
  release()
  assert.equal((await first).status, 200)
  assert.deepEqual([repeat.status, repeat.body.code], [409, 'IDEMPOTENCY_KEY_IN_USE'], repeat.text)
  const says = 'The first request with the Idempotency-Key slow-checks-1 is still running; ask again.'
  assert.equal(repeat.body.detail, says)
  assert.equal((await api.calls('createVMSnapshot')).length, 1)
})

test('a machine with two NICs that an address could lead to is not guessed at: body.network_id is asked for', async () => {
  const network = must(tables().networks.get(networks['acme-net']))
  const made = await api.done('POST', '/ddi/public-ips', { zone_id, network_id: network.id })
  assert.equal(made.status, 200, made.text)
  const vpcid = NOBODY.replace('4000', '4a11')
  const second = NOBODY.replace('4000', '4a12')
  const vm = must(tables().vms.get(WEB))
  const [nic] = vm.nics
  tables().networks.put({ ...network, vpcid })
  tables().networks.put({ ...network, id: second, name: 'acme-second', vpcid })
  tables().vms.put({ ...vm, nics: [must(nic), { ...must(nic), id: second, networkid: second, isdefault: false }] })
  await api.put('addresses', made.body.data.id, { vpcid, associatednetworkid: null })
  const reply = await api.post(`/ddi/public-ips/${made.body.data.id}/associate`, { vm_id: WEB })
  api.refused(reply, 'INVALID_REQUEST', /body\.network_id.*is needed: web-01 has several NICs/)
  assert.equal((await api.calls('enableStaticNat')).length, 0)
})
