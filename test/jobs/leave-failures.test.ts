// What a node's leaving says when it cannot go on: the thing and the value; and nothing was removed.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { startRedfish } from '../../lab/redfish/server.ts'
import { wellKnown } from '../../lab/site.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { createRedfish } from '#src/drivers/redfish/connections.ts'
import { bindJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { readJobFacts } from '#src/jobs/view.ts'
import { checkConfig, type Config } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { decommissionStartJob } from '#src/modules/lifecycle/decommission/decommission.job.ts'
import type { LeaveDeps, LeaveInput } from '#src/modules/lifecycle/leave/run.ts'
import { FAST } from '../support/bmc-site.ts'
import { ended } from '../support/job-harness.ts'
import { admit, startJobProcess, testKeyring } from '../support/job-process.ts'
import { simulatedStore } from '../support/simulated-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { startWalkSite, type WalkNode, type WalkSite } from '../support/walk-site.ts'

interface Order {
  /** Only these, as the steps before them have a test of their own. */
  steps: readonly string[]
  input?: Partial<LeaveInput>
  deps?: Partial<LeaveDeps>
}

suite('leaving that cannot go on', () => {
  let site: WalkSite
  before(async () => {
    site = await startWalkSite()
  })
  after(() => site?.close())

  async function leave(fixture: WalkNode, { steps, input: more, deps }: Order): Promise<JobRow & { left: string[] }> {
    const { bmc_ip, node } = fixture
    const { node_id } = await site.rowOf(fixture)
    const input: LeaveInput = {
      bmc_ip, node_id, by: 'test', state: 'configured', addresses: [node.node_ip], names: [node.fqdn], destroy: [], disks: [], store_served: false,
      wipe: 'none', power_off: false, findings: [], ...more,
    } // biome-ignore format: one record
    const only = decommissionStartJob.steps.filter(({ name }) => steps.includes(name))
    const bound = bindJob({ ...decommissionStartJob, steps: only }, site.leaveDeps(fixture, deps))
    const { connection, database } = site
    const process = await startJobProcess({ connection, database, keyring: testKeyring(), bound: [bound] })
    try {
      const job = await ended(process, (await admit(process, bound, input)).id)
      return { ...job, left: (await readJobFacts(database.db, job.id)).outstanding }
    } finally {
      await process.stop()
    }
  }
  const says = ({ failed_step, failure_code, failure_reason, status }: JobRow): unknown[] => [
    failed_step,
    failure_code,
    failure_reason ?? status,
  ]

  /** A node with disks in the store, a monitor and the active manager. */
  async function inStore() {
    const fixture = await site.addNode('decommissioning')
    const [host = ''] = fixture.node.fqdn.split('.')
    const store = simulatedStore([host, 'kvm-a', 'kvm-b'])
    store.state.managers.push({ name: host, host })
    store.state.active_manager = host
    const order = (step: string): Order => ({
      steps: [step],
      input: { store_served: true, osds: [0, 1] },
      deps: { ceph: store.ceph },
    })
    return { fixture, host, order, ...store }
  }

  test('a node that serves a store that is not configured is refused with the setting', async () => {
    const { fixture, order } = await inStore()
    const job = await leave(fixture, { ...order('storage-drain'), deps: { ceph: undefined } })
    assert.deepEqual(says(job), ['storage-drain', 'NODE_STATE', 'The node serves a distributed store, and none is configured: set ceph.conf, then retry.']) // biome-ignore format: one row
  })

  test('a monitor without which there is no majority is named and stays', async () => {
    const { fixture, host, order, state, changes } = await inStore()
    state.monitors = [{ name: host, host, is_up: true }, { name: 'mgmt-01', host: 'mgmt-01', is_up: false }] // biome-ignore format: one list
    const job = await leave(fixture, order('storage-remove'))
    assert.deepEqual(says(job), ['storage-remove', 'NODE_STATE', `Without the monitor ${host} the others of the store are no majority: add one first.`]) // biome-ignore format: one row
    assert.deepEqual(changes, [])
  })

  test('the only manager of a store is named and stays', async () => {
    const { fixture, host, order, state, changes } = await inStore()
    state.managers = [{ name: host, host }]
    const job = await leave(fixture, order('storage-remove'))
    assert.deepEqual(says(job), ['storage-remove', 'NODE_STATE', `The manager ${host} of the store is its only one: start one on another node.`]) // biome-ignore format: one row
    assert.deepEqual(changes, [])
  })

  test('disks that still hold copies are named and none of them is stopped or removed', async () => {
    const { fixture, order, state, changes } = await inStore()
    const job = await leave(fixture, order('storage-remove'))
    assert.deepEqual(says(job).slice(0, 2), ['storage-remove', 'NODE_STATE'])
    assert.match(job.failure_reason ?? '', /^Copies of data are still on .*0.*1.*: nothing was removed\./)
    assert.deepEqual(changes.filter((line) => line.includes('osd')), []) // biome-ignore format: one row
    assert.equal(state.osds.length, 6)
  })

  /** A host of the platform with one machine. */
  async function onPlatform(more: { state?: 'Down'; resourcestate?: 'Enabled' } = {}) {
    const fixture = await site.addNode('decommissioning')
    const { tables } = site.simulator.state
    const model = tables.hosts.get(wellKnown.hosts['kvm-01']) ?? assert.fail()
    const { node_ip, fqdn } = fixture.node
    const host = tables.hosts.put({ ...model, id: randomUUIDv7(), name: fqdn, ipaddress: node_ip, ...more })
    const addVm = (name: string) => {
      const guest = tables.vms.by('host', model.id)[0] ?? assert.fail()
      return tables.vms.put({ ...guest, id: randomUUIDv7(), name, hostid: host.id })
    }
    return { fixture, host, tables, addVm }
  }

  test('a machine that came after the preflight is named, and also those that were named are not destroyed', async () => {
    const { fixture, tables, addVm } = await onPlatform()
    const [doomed, stranger] = [addVm('doomed-1'), addVm('stranger-1')]
    const job = await leave(fixture, {
      steps: ['destroy-vms'],
      input: { destroy: [{ id: doomed.id, name: doomed.name }] },
    })
    assert.deepEqual(says(job), ['destroy-vms', 'VM_NOT_ACKNOWLEDGED', 'stranger-1 came to the host and was not named to be destroyed; nothing was destroyed. Repeat the preflight.']) // biome-ignore format: one row
    assert.deepEqual([doomed, stranger].map(({ id }) => tables.vms.get(id)?.state), ['Running', 'Running']) // biome-ignore format: one row
    for (const { id } of [doomed, stranger]) tables.vms.remove(id)
  })

  test('a host outside of maintenance is named with its state, and is not removed', async () => {
    const { fixture, host, tables } = await onPlatform()
    const job = await leave(fixture, { steps: ['host-delete'] })
    assert.deepEqual(says(job), ['host-delete', 'HOST_STATE', `Host ${host.name} is Enabled; it is removed from maintenance alone.`]) // biome-ignore format: one row
    assert.notEqual(tables.hosts.get(host.id), null)
  })

  /** What happens once the platform has ended a job. */
  const andThen = (act: () => void): CloudStack =>
    new Proxy(site.cloudstack, {
      get(target, property) {
        const member: unknown = Reflect.get(target, property, target)
        if (property !== 'followJob' || typeof member !== 'function') return member
        return async (...args: unknown[]): Promise<unknown> => {
          const answer: unknown = await Reflect.apply(member, target, args)
          act()
          return answer
        }
      },
    })

  test('a host that the platform cannot empty, and one that vanishes meanwhile, are an error that says so', async () => {
    const stuck = await onPlatform()
    const { tables } = stuck
    const nowOf = ({ host }: typeof stuck) => tables.hosts.get(host.id) ?? assert.fail()
    const error = andThen(() => void tables.hosts.put({ ...nowOf(stuck), resourcestate: 'ErrorInMaintenance' })) // biome-ignore format: one call
    const job = await leave(stuck.fixture, { steps: ['maintenance'], deps: { cloudstack: error } })
    assert.deepEqual(says(job), ['maintenance', 'HOST_STATE', `The compute platform could not empty host ${stuck.host.name}: it is ErrorInMaintenance. Look at its alerts, then retry.`]) // biome-ignore format: one row
    const gone = await onPlatform()
    const vanishing = andThen(() => tables.hosts.remove(gone.host.id))
    const late = await leave(gone.fixture, { steps: ['maintenance'], deps: { cloudstack: vanishing } })
    assert.deepEqual(says(late), [
      'maintenance',
      'HOST_NOT_FOUND',
      `The compute platform lists no host of node ${gone.fixture.bmc_ip} any more; repeat the preflight.`,
    ])
  })

  test('a host that is down, whose BMC or an address says that the machine is on, is not given up, and the answer names which', async () => {
    const lab = await startRedfish({ bmcs: [{ name: 'one', profile: 'idrac9-7', host: '127.0.82.1' }], speed: FAST })
    const log = createLog({ level: 'silent' })
    const redfish = createRedfish({ allowed_networks: ['127.0.82.0/24'], timeout_ms: 30_000, retry_ms: 20, log })
    try {
      const { host: bmc_ip, port, username, password } = lab.bmcs['one'] ?? assert.fail()
      const open: LeaveDeps['bmcs']['open'] = async () =>
        redfish.open({ bmc_ip, port, system_id: null, credentials: { username, password }, tls: { mode: 'insecure' } })
      const { fixture, host, tables, addVm } = await onPlatform({ state: 'Down' })
      const guest = addVm('guest-1')
      const named = { destroy: [{ id: guest.id, name: guest.name }], confirm_powered_off: true }
      const down = 'The host is down, and its machines may still be running there'
      const by_bmc = await leave(fixture, { steps: ['fence'], input: named, deps: { bmcs: { open } } })
      assert.deepEqual(says(by_bmc), ['fence', 'NODE_STATE', `${down}: BMC ${fixture.bmc_ip} says that the machine is on. Switch it off.`]) // biome-ignore format: one row
      const other = await onPlatform({ state: 'Down' })
      const own = other.addVm('guest-2')
      const input = { ...named, destroy: [{ id: own.id, name: own.name }] }
      const by_address = await leave(other.fixture, { steps: ['fence'], input, deps: { answers: async () => true } })
      assert.deepEqual(says(by_address), ['fence', 'NODE_STATE', `${down}: ${other.fixture.node.node_ip} answers, so the machine is on.`]) // biome-ignore format: one row
      for (const { id } of [guest, own]) {
        assert.equal(tables.vms.get(id)?.state, 'Running')
        tables.vms.remove(id)
      }
      assert.notEqual(tables.hosts.get(host.id), null)
    } finally {
      await redfish.close()
      await lab.close()
    }
  })

  test('a wipe image that is missing, another one, or none is named, each disk is left to a person, and no image is made', async () => {
    const iso_dir = join(tempFolder('gp-wipe-'), 'images')
    mkdirSync(iso_dir)
    writeFileSync(join(iso_dir, 'plain.iso'), 'no place holder')
    interface Wiping {
      disks?: string[]
      folder?: string | undefined
      configured?: (bmc: Config['bmc']) => void
    }
    const wipe = async (settings: object, more: Wiping = {}): Promise<JobRow & { left: string[] }> => {
      const { disks = ['S1'], folder, configured = () => {} } = { folder: iso_dir, ...more }
      const fixture = await site.addNode('decommissioning')
      const bmc = { ...(folder === undefined ? {} : { iso_dir: folder }), image_addresses: ['127.0.0.1'], ...settings }
      const config = checkConfig({ bmc })
      configured(config.bmc)
      return leave(fixture, { steps: ['wipe-boot'], input: { wipe: 'full', disks }, deps: { config } })
    }
    const homeless = await wipe({ wipe_image: 'plain.iso' }, { folder: undefined })
    assert.match(homeless.left.join(), /^Disk S1 .* not wiped: bmc\.wipe_image needs bmc\.iso_dir\. Wipe it by hand/)
    const forgotten = await wipe(
      { wipe_image: 'plain.iso' },
      {
        // As by a restart after it was decided to start the image.
        configured(bmc) {
          let reads = 0
          Object.defineProperty(bmc, 'wipe_image', { get: () => ((reads += 1) <= 2 ? 'plain.iso' : undefined) })
        },
      },
    )
    assert.deepEqual(says(forgotten), ['wipe-boot', 'BMC_NOT_CONFIGURED', 'No wipe image is configured any more (bmc.wipe_image).']) // biome-ignore format: one row
    const absent = await wipe({ wipe_image: 'absent.iso' })
    assert.match(absent.left.join(), /^Disk S1 .* not wiped: absent\.iso is not in bmc\.iso_dir\. Wipe it by hand/)
    const other = await wipe({ wipe_image: 'plain.iso', wipe_image_sha256: 'a'.repeat(64) })
    assert.match(
      other.left.join(),
      /^Disk S1 .* not wiped: plain\.iso has not the checksum of bmc\.wipe_image_sha256\. /,
    )
    const plain = await wipe({ wipe_image: 'plain.iso' })
    assert.deepEqual(says(plain), ['wipe-boot', 'BMC_NOT_CONFIGURED', 'plain.iso is no wipe image: it has no place for answers; see bmc.wipe_image.']) // biome-ignore format: one row
    const serials = Array.from({ length: 1000 }, (_, at) => `serial-number-${at}`)
    const many = await wipe({ wipe_image: 'plain.iso' }, { disks: serials })
    assert.deepEqual(says(many), ['wipe-boot', 'BMC_NOT_CONFIGURED', '1000 disks are more than the wipe image has room for; wipe them by hand.']) // biome-ignore format: one row
  })
})
