// Decommission preflight over HTTP: a node of the simulated platform with a simulated BMC.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type CephLab, startCephLab } from '../../lab/ceph/server.ts'
import { seededId, wellKnown } from '../../lab/site.ts'
import { type BmcSite, startBmcSite } from '../support/bmc-site.ts'
import type { Reply } from '../support/http.ts'
import { runHere } from '../cli/in-process.ts'
import { control, ended } from '../support/platform-calls.ts'
import { tempFolder } from '../support/temp-folder.ts'

let site: BmcSite
let ceph: CephLab
let node: string
let next = 0
const ASKED_AT_ONCE = 100

before(async () => {
  ceph = await startCephLab({ folder: tempFolder('gp-ceph-'), hosts: ['kvm-01', 'kvm-02', 'kvm-03'] })
  // What is asked for the health of nodes has no part in the faults.
  const nodes = { health_poll_ms: 3_600_000 }
  site = await startBmcSite({ time: 'step', config: { nodes, ceph: { conf: ceph.conf, tool: ceph.tool } } })
  node = site.bmcs['idrac9-7'].host
  await register(node, { node_ip: '10.0.0.12', fqdn: 'kvm-02.example.internal', role: 'compute' })
})
after(async () => {
  await site.close()
  await ceph.close()
})

async function register(bmc_ip: string, more: object): Promise<void> {
  const reply = await site.lab.call('POST', '/configure/nodes', { bmc_ip, ...more })
  assert.equal(reply.status, 201, reply.text)
}

const preflight = (body?: object, bmc_ip = node): Promise<Reply> =>
  site.lab.call('POST', `/configure/nodes/${bmc_ip}/decommission/preflight`, body)

const statusOf = ({ body }: Reply, name: string): string =>
  body.checks.find((check: { name: string }) => check.name === name)?.status

test('a preflight counts what is on the host and finds room for it', async () => {
  const { state } = site.lab.platform
  const reply = await preflight({ accept: ['bmc-reachable'] })
  assert.equal(reply.status, 200, reply.text)
  const { body } = reply
  const here = state.tables.vms.by('host', wellKnown.hosts['kvm-02'])
  const routers = state.tables.routers.filter((one) => one['hostid'] === wellKnown.hosts['kvm-02']).length
  const system = state.tables.systemvms.filter((one) => one['hostid'] === wellKnown.hosts['kvm-02']).length
  assert.equal(body.vm_count, here.length)
  assert.deepEqual([body.router_count, body.system_vm_count], [routers, routers + system])
  assert.equal(body.migratable_vm_count + body.non_migratable_vm_count, body.vm_count)
  assert.equal(body.migration_targets, 2, 'the other hosts of the cluster')
  assert.equal(body.migration_capacity_ok, true)
  assert.ok(body.mem_demand_bytes >= here.reduce((sum, { memory }) => sum + memory * 1024 ** 2, 0))
  assert.deepEqual(body.held_addresses, ['10.0.0.12 (management)'])
  assert.equal(statusOf(reply, 'bmc-reachable'), 'pass')
  assert.deepEqual(
    body.checks.filter(({ status }: { status: string }) => status === 'fail'),
    [],
  )
  assert.equal(body.can_proceed, true)
})

test('the same findings have the same fingerprint, and a new machine another one', async () => {
  const [first, second] = [await preflight(), await preflight()]
  assert.equal(first.body.fingerprint, second.body.fingerprint)
  const { vms } = site.lab.platform.state.tables
  const elsewhere = vms.by('host', wellKnown.hosts['kvm-01'])[0] ?? assert.fail()
  vms.put({ ...elsewhere, hostid: wellKnown.hosts['kvm-02'] })
  assert.notEqual((await preflight()).body.fingerprint, first.body.fingerprint)
  vms.put(elsewhere)
})

/** A disk of the machine lies on storage of its host alone, so that it cannot move; until what it answers is called. */
function putOnLocalStorage(): () => void {
  const { vms, storagepools, volumes } = site.lab.platform.state.tables
  const stopped = vms.get(wellKnown.vms['legacy-crm']) ?? assert.fail()
  const ceph = storagepools.get(wellKnown.storage_pools['ceph-rbd']) ?? assert.fail()
  const id = 'f3b8a2de-3f0e-4d1a-8b7e-0d9f5a1c7e42'
  const local = { ...ceph, id, name: 'local-kvm-02', scope: 'HOST', ipaddress: '10.0.0.12' } as const
  storagepools.put(local)
  const disk = volumes.by('vm', stopped.id)[0] ?? assert.fail()
  volumes.put({ ...disk, storageid: local.id })
  return () => {
    volumes.put(disk)
    storagepools.remove(local.id)
  }
}

test('machines that cannot move are named and need force', async () => {
  const putBack = putOnLocalStorage()
  const reply = await preflight()
  assert.ok(reply.body.non_migratable_vm_names.includes('legacy-crm'), reply.text)
  assert.equal(reply.body.requires_force, true)
  assert.equal(statusOf(reply, 'non-migratable-vms'), 'warn')
  putBack()
})

test('on the command line nothing starts before the names of what is destroyed are typed, or its fingerprint is given', async () => {
  const putBack = putOnLocalStorage()
  const run = (args: string[], stdin = '') =>
    runHere(site.lab, ['node', 'decommission', 'kvm-02.example.internal', '--wipe', 'none', ...args], stdin)
  const jobs = async (): Promise<number> => (await site.lab.call('GET', '/jobs?job_type=decommission')).body.count
  /** It waits for the platform, whose time stands still. */
  const cancel = async (): Promise<void> => {
    const reply = await site.lab.call('POST', `/configure/nodes/${node}/decommission/cancel`)
    assert.equal(reply.status, 202, reply.text)
    assert.equal((await ended(site.lab, reply.body.id)).failure_code, 'JOB_CANCELLED')
  }
  const refused = [
    [await run([], 'legacy-crm\n'), /this destroys legacy-crm: repeat it with --force/],
    [await run(['--force']), /legacy-crm was not typed; nothing was started/],
    [await run(['--force'], 'legacy-cmr\n'), /legacy-crm was not typed; nothing was started/],
    [await run(['--force', '--acknowledge', '0123456789abcdef']), /what was found has changed since 0123456789abcdef/],
  ] as const
  for (const [{ code, stdout, stderr }, message] of refused) {
    assert.notEqual(code, 0)
    assert.match(stderr, message)
    assert.match(stdout, /^warn +non-migratable-vms +.*legacy-crm/m)
    assert.match(stdout, /^destroyed machines +legacy-crm$/m)
  }
  assert.equal(await jobs(), 0)

  const typed = await run(['--force', '--reason', 'old'], 'legacy-crm\n')
  assert.equal(typed.code, 0, typed.stderr)
  assert.match(
    typed.stderr,
    /This machine is destroyed: legacy-crm. Type its name: \s*follow it: groundplane job follow /,
  )
  await cancel()
  const { body } = await preflight({ force: true, wipe: 'none' })
  const acknowledged = await run(['--force', '--acknowledge', body.fingerprint])
  assert.equal(acknowledged.code, 0, acknowledged.stderr)
  assert.equal(await jobs(), 2)
  await cancel()
  putBack()
})

test('a hundred preflights at once of a node with twenty machines all read the platform', async () => {
  const { vms } = site.lab.platform.state.tables
  const one = vms.by('host', wellKnown.hosts['kvm-02'])[0] ?? assert.fail()
  const more = Array.from({ length: 20 }, (_, at) => ({
    ...one,
    id: seededId('preflight', `${at}`),
    name: `many-${at}`,
  }))
  for (const machine of more) vms.put(machine)
  await control(site.lab, 'slow', { command: 'findHostsForMigration', delay_ms: 100, times: ASKED_AT_ONCE * 10 })
  const replies = await Promise.all(Array.from({ length: ASKED_AT_ONCE }, () => preflight()))
  for (const { id } of more) vms.remove(id)
  const read = replies.filter((reply) => statusOf(reply, 'platform-reachable') === 'pass')
  assert.equal(read.length, ASKED_AT_ONCE, replies.find((reply) => !read.includes(reply))?.text)
})

test('a platform that does not answer fails its checks and leaves its numbers unknown', async () => {
  await control(site.lab, 'fail', { command: 'listHosts', code: 530, text: 'down', at: 'submit', times: 2 })
  const reply = await preflight()
  assert.equal(reply.status, 200, reply.text)
  assert.equal(statusOf(reply, 'platform-reachable'), 'fail')
  assert.equal(statusOf(reply, 'last-host'), 'fail')
  assert.deepEqual([reply.body.can_proceed, reply.body.vm_count], [false, null])
})

const messageOf = ({ body }: Reply, name: string): string =>
  body.checks.find((check: { name: string }) => check.name === name)?.message

test('what the distributed store has on the node, where it goes and who is left is reported by its numbers', async () => {
  const { body, ...reply } = await preflight()
  assert.equal(reply.status, 200, reply.text)
  const [used, size] = [1_125_221_068 * 1024, 3_750_736_896 * 1024]
  const { free_bytes, fullest_share, ...numbers } = body.storage
  assert.deepEqual(numbers, { osds: [2, 3], used_bytes: 2 * used, disks_left: 4, monitors_left: 3, managers_left: 2 })
  assert.ok(Math.abs(free_bytes - 4 * (0.9 * size - used)) < 10)
  assert.ok(Math.abs(fullest_share - (1.5 * used) / size) < 1e-6)
  assert.equal(body.store_served_at_admission, true)
  assert.match(
    messageOf({ body, ...reply }, 'storage-capacity'),
    /^2.1 TiB of osd.2, osd.3 move to 4 other disks that take 8.4 TiB more; the fullest would be 45 % full.$/,
  )
})

test('a node stays when copies find no place, when there is no room, and when nobody would be left to decide', async () => {
  const { state } = ceph
  const before = structuredClone(state)
  const refused = async (name: string, change: Partial<typeof state>): Promise<string> => {
    Object.assign(state, structuredClone(before), change)
    const reply = await preflight()
    Object.assign(state, before)
    assert.deepEqual([statusOf(reply, name), reply.body.can_proceed], ['fail', false], messageOf(reply, name))
    return messageOf(reply, name)
  }
  const [images, volumes] = before.pools
  assert.ok(images !== undefined && volumes !== undefined)
  assert.match(
    await refused('storage-health', { pools: [images, { ...volumes, size: 3, min_size: 2 }] }),
    /without osd.2, osd.3: pool vm-volumes keeps 3 copies, each on another host, and works with 2: of 3 places 2 would be left\.$/,
  )
  assert.match(
    await refused('storage-capacity', {
      osds: before.osds.map((osd) => ({ ...osd, kb_used: Math.round(0.66 * osd.kb) })),
    }),
    /the fullest would be 99 % full: none takes data at 90 % any more\.$/,
  )
  const [first, ...others] = before.monitors
  assert.ok(first !== undefined)
  assert.match(
    await refused('storage-quorum', {
      monitors: [{ ...first, name: 'kvm-02', host: 'kvm-02' }, ...others.map((one, at) => ({ ...one, is_up: at > 0 }))],
    }),
    /^1 of 3 monitors stay: they would be no majority\.$/,
  )
  assert.match(
    await refused('storage-quorum', { managers: [{ name: 'kvm-02', host: 'kvm-02' }] }),
    /^No manager of the store would be left/,
  )
  assert.match(await refused('storage-health', { is_silent: true }), /: .*distributed store cannot be reached.*\.$/)
})

test('another host in preparation, machines in between two states and a silent BMC stop it', async () => {
  const { hosts, vms } = site.lab.platform.state.tables
  const other = hosts.get(wellKnown.hosts['kvm-01']) ?? assert.fail()
  const vm = vms.by('host', wellKnown.hosts['kvm-02'])[0] ?? assert.fail()
  hosts.put({ ...other, resourcestate: 'PrepareForMaintenance' })
  vms.put({ ...vm, state: 'Stopping' })
  const bare = `10.9.0.${(next += 1)}`
  await register(bare, { node_ip: '10.0.0.12', role: 'compute' })
  const reply = await preflight({}, bare)
  for (const name of ['cluster-maintenance', 'transitional-vms', 'bmc-reachable'])
    assert.equal(statusOf(reply, name), 'fail', name)
  hosts.put(other)
  vms.put(vm)
})

test('wrong requests are 400 and an unknown node is 404', async () => {
  assert.equal((await preflight({ accept: ['cluster-maintenance'] })).status, 400)
  assert.equal((await preflight({ unknown: 1 })).status, 400)
  assert.equal((await preflight({}, 'not-an-address')).status, 400)
  const reply = await preflight({}, '10.99.0.1')
  assert.deepEqual([reply.status, reply.body.code], [404, 'NODE_NOT_FOUND'])
})
