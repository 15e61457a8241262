// The walks of the jobs that take a node out: rollback and decommission, killed before and after each effect and each commit. Another
// process goes on: the node is free, nothing of it is left anywhere, and what happens once has happened once.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { closeServer } from '../../lab/control.ts'
import type { SimulatedCeph } from '../../lab/ceph/cluster.ts'
import { type RedfishLab, type SimulatedBmc, startRedfish } from '../../lab/redfish/server.ts'
import { macsOf, wipeMachine } from '../../lab/redfish/wipe-image.ts'
import { seededId, wellKnown } from '../../lab/site.ts'
import type { Ceph } from '#src/drivers/ceph/client.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { createRedfish, type Redfish } from '#src/drivers/redfish/connections.ts'
import { brokenLine, logTail } from '#src/jobs/audit-log.ts'
import { bindJob, type BoundJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { lastJob } from '#src/jobs/lookup.ts'
import { readJobFacts } from '#src/jobs/view.ts'
import { checkConfig } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { bmcIsoMountJob } from '#src/modules/bmc/mount.job.ts'
import { decommissionStartJob } from '#src/modules/lifecycle/decommission/decommission.job.ts'
import type { LeaveDeps, LeaveInput } from '#src/modules/lifecycle/leave/run.ts'
import { rollbackAdmission, rollbackStartJob } from '#src/modules/lifecycle/rollback/rollback.job.ts'
import { JOB_NOTIFY } from '#src/store/database.ts'
import { holdAddress, recordNics } from '#src/store/node-lifecycle.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import { findWipe } from '#src/store/wipes.ts'
import { FAST } from '../support/bmc-site.ts'
import {
  crashEverywhere, crashInTurn, ended, failEverywhere, lastOf, repeatEverywhere, type Walk, withSentPoints,
} from '../support/job-harness.ts' // biome-ignore format: one list
import { admit, startJobProcess, testKeyring } from '../support/job-process.ts'
import { simulatedStore } from '../support/simulated-store.ts'
import { until } from '../support/until.ts'
import { NOTHING, startWalkSite, type WalkNode, type WalkSite } from '../support/walk-site.ts'
import { startWipeImages, type WipeImages } from '../support/wipe-images.ts'

const log = createLog({ level: 'silent' })

suite('leaving nodes', () => {
  let site: WalkSite
  let redfish: Redfish
  let images: WipeImages
  const labs: RedfishLab[] = []
  before(async () => {
    site = await startWalkSite()
    redfish = createRedfish({ allowed_networks: ['127.0.80.0/24'], timeout_ms: 30_000, retry_ms: 20, log })
    images = await startWipeImages(site)
  })
  after(async () => {
    await closeServer(images.server)
    await redfish.close()
    await Promise.all(labs.map((lab) => lab.close()))
    await site.close()
  })

  /** An address of its own and one for storage, and the names of the first. */
  async function giveAddresses({ row, node: { node_ip, fqdn } }: WalkNode & { row: NodeRow }): Promise<void> {
    const [storage, own] = (await site.store.prefixes({}, { page: 1, page_size: 5 })).rows
    const owner = { status: 'active', dns_name: null, owner_kind: 'node', owner_id: row.id, description: '' } as const
    for (const [prefix, kind, address] of [
      [storage, 'storage', null],
      [own, 'management', node_ip],
    ] as const) {
      const given = await site.store.allocate(prefix?.id ?? 0, { ...owner, address, key: `${row.id} ${kind}` })
      assert.ok(typeof given === 'object')
      // The storage address is one of which the setup has not written down yet that it has it.
      if (kind === 'management')
        await site.database.db
          .transaction()
          .execute((trx) => holdAddress(trx, row.node_id, null, { address: given.address, kind, ipam_id: given.id }))
    }
    await site.names?.publish({
      ip_address: node_ip,
      hostname: fqdn,
      dns_zone: undefined,
      ttl: undefined,
      create_ptr: true,
    })
  }

  /** What a setup left that died right before its end. */
  async function leftovers() {
    const { row, ...fixture } = await site.addNode('configure_failed')
    const { hosts } = site.simulator.state.tables
    const model = hosts.get(wellKnown.hosts['kvm-01']) ?? assert.fail()
    const { node_ip, fqdn, areas } = fixture.node
    hosts.put({ ...model, id: randomUUIDv7(), name: fqdn, ipaddress: node_ip, resourcestate: 'Disabled' })
    for (const area of ['network', 'base', 'hypervisor', 'platform-agent'])
      areas.set(area, { hash: '0'.repeat(64), document: {} })
    await giveAddresses({ ...fixture, row })
    await site.giveKey(fixture)
    const { input } = await rollbackAdmission(site.database.db, row, { by: 'test' })
    return { fixture, input, bound: bindJob(rollbackStartJob, site.leaveDeps(fixture)), connection: site.connection }
  }

  const rollback: Walk<WalkNode> = {
    make: leftovers,
    async completed(fixture, job, where) {
      assert.equal(job.job_status, 'completed', `${where}: ${job.status}`)
      assert.deepEqual(await site.leftOf(fixture), NOTHING, where)
      assert.equal((await site.rowOf(fixture)).provision_status, 'discovered', where)
    },
    async failed(fixture, job, where) {
      const { provision_status } = await site.rowOf(fixture)
      // What was planted in the last step came after the node was free.
      assert.equal(provision_status, job.failed_step === 'finish' ? 'discovered' : 'configure_failed', where)
    },
  }

  test('processes that are killed at each point of a rollback, one after the other, leave nothing of the node', async () => {
    // A step that ended and the next one that started are one state of everything outside.
    const points = await crashInTurn({ ...rollback, points: /:(started|sent|saved)$/ })
    for (const point of [
      'remove:network',
      'remove:platform-agent',
      'prepareHostForMaintenance',
      'deleteHost',
      'removeClient',
      'changeRecords',
      'changeReservations',
    ])
      assert.ok(points.includes(`${point}:sent`), `${point} is a point`)
  })

  test('a rollback that fails at any step holds the node, and every step may run twice', async () => {
    await failEverywhere(rollback)
    await repeatEverywhere(rollback)
  })

  interface Leaving extends WalkNode {
    bmc: SimulatedBmc
    lab: RedfishLab
    host_id: string
    /** One that can move, and one that was named to be destroyed. */
    movable: string
    doomed: string
    calls: string[]
  }

  /** The client of the platform, which notes every change that was answered. */
  const noted = (calls: string[]): CloudStack =>
    new Proxy(site.cloudstack, {
      get(target, property) {
        const member: unknown = Reflect.get(target, property, target)
        if (typeof member !== 'function') return member
        return (...args: unknown[]): unknown => {
          const [command, { id, virtualmachineid } = {}] = args as [string, { id?: string; virtualmachineid?: string }?]
          if (property === 'call' && /^(destroy|migrate|delete|prepare)/.test(command))
            calls.push(`${command} ${virtualmachineid ?? id}`)
          return Reflect.apply(member, target, args)
        }
      },
    })

  /** It takes longer than its start is watched: at the end the machine switches itself off. */
  async function wipe(bmc: SimulatedBmc, image: string, node_ip: string): Promise<void> {
    const report = await wipeMachine(bmc, image, { silent: true })
    const about = { types: [bmcIsoMountJob.type], node_ip }
    await until('the start was seen', async () => (await lastJob(site.database.db, about))?.job_status !== 'running')
    const url = `http://127.0.0.1:${images.port}/configure/decommission/wipe-result`
    await (await fetch(url, { method: 'POST', body: JSON.stringify(report) })).text()
    Object.assign(bmc.state, { power: 'Off', version: bmc.state.version + 1 })
  }

  async function leaving() {
    const { row, ...walk_node } = await site.addNode('decommissioning')
    await giveAddresses({ ...walk_node, row })
    await site.giveKey(walk_node)
    const { tables } = site.simulator.state
    const { node_ip, fqdn } = walk_node.node
    const model = tables.hosts.get(wellKnown.hosts['kvm-01']) ?? assert.fail()
    const host = tables.hosts.put({ ...model, id: randomUUIDv7(), name: fqdn, ipaddress: node_ip })
    const guest = tables.vms.by('host', model.id)[0] ?? assert.fail()
    const [movable, doomed] = ['movable', 'doomed'].map((name) =>
      tables.vms.put({ ...guest, id: randomUUIDv7(), name: `${name}-${row.node_id}`, hostid: host.id }),
    )
    assert.ok(movable !== undefined && doomed !== undefined)
    const ceph = tables.storagepools.get(wellKnown.storage_pools['ceph-rbd']) ?? assert.fail()
    const local = {
      ...ceph,
      id: seededId('storagepool', node_ip),
      name: node_ip,
      scope: 'HOST',
      ipaddress: node_ip,
    } as const
    const disk = tables.volumes.by('vm', guest.id)[0] ?? assert.fail()
    tables.storagepools.put(local)
    tables.volumes.put({ ...disk, id: randomUUIDv7(), virtualmachineid: doomed.id, storageid: local.id })

    const name = `bmc-${row.node_id}`
    const lab = await startRedfish({
      bmcs: [{ name, profile: 'idrac9-7', host: `127.0.80.${(labs.length % 250) + 1}` }],
      speed: FAST,
      onBoot: (_name, image) => void wipe(bmc, image, row.bmc_ip),
    })
    labs.push(lab)
    const bmc = lab.bmcs[name] ?? assert.fail()
    await site.database.db.transaction().execute((trx) =>
      recordNics(
        trx,
        row.node_id,
        macsOf(bmc).map((permanent_mac) => ({ name: '', permanent_mac })),
      ),
    )
    const fixture: Leaving = {
      ...walk_node,
      bmc,
      lab,
      host_id: host.id,
      movable: movable.id,
      doomed: doomed.id,
      calls: [],
    }
    const input: LeaveInput = {
      bmc_ip: row.bmc_ip, node_id: row.node_id, by: 'test', state: 'configured', addresses: [node_ip], names: [fqdn],
      destroy: [{ id: doomed.id, name: doomed.name }], disks: ['S1', 'S2'], store_served: false, wipe: 'full', power_off: true, findings: [],
    } // biome-ignore format: a record
    return { fixture, input, connection: site.connection, ...jobsOf(fixture, noted(fixture.calls)) }
  }

  function jobsOf(fixture: Leaving, cloudstack: CloudStack): { bound: BoundJob; children: BoundJob[] } {
    const { host, port, username, password } = fixture.bmc
    const open: LeaveDeps['bmcs']['open'] = async () =>
      redfish.open({
        bmc_ip: host,
        port,
        system_id: null,
        credentials: { username, password },
        tls: { mode: 'insecure' },
      })
    const bmc = { iso_dir: images.folder, wipe_image: 'wipe.iso', image_addresses: ['127.0.0.1'], follow_ms: 20 }
    const config = checkConfig({ bmc })
    const deps = site.leaveDeps(fixture, { cloudstack, bmcs: { open }, config, image_port: () => images.port })
    const mount = {
      bmcs: { open },
      database: site.database,
      follow_ms: 10,
      patience_ms: 30_000,
      silence_ms: 900_000,
      timeout_ms: 30_000,
    }
    return { bound: bindJob(decommissionStartJob, deps), children: [bindJob(bmcIsoMountJob, mount)] }
  }

  async function gone(fixture: Leaving, job: JobRow, where: string): Promise<void> {
    assert.equal(job.job_status, 'completed', `${where}: ${job.status}`)
    assert.deepEqual(await site.leftOf(fixture), NOTHING, where)
    const row = await site.rowOf(fixture)
    assert.deepEqual([row.provision_status, row.node_ip, row.certificate], ['discovered', null, null], where)
    const { vms } = site.simulator.state.tables
    assert.deepEqual([vms.get(fixture.movable)?.state, vms.get(fixture.doomed)], ['Running', null], where)
    assert.notEqual(vms.get(fixture.movable)?.hostid, fixture.host_id, where)
    const once = [`migrateVirtualMachine ${fixture.movable}`, `destroyVirtualMachine ${fixture.doomed}`, `prepareHostForMaintenance ${fixture.host_id}`, `deleteHost ${fixture.host_id}`] // biome-ignore format: one list
    assert.deepEqual(fixture.calls.toSorted(), once.toSorted(), where)
    const asked = fixture.lab.calls.list().map(({ command }) => command)
    for (const effect of [/InsertMedia$/, /ComputerSystem.Reset$/])
      assert.equal(asked.filter((command) => effect.test(command)).length, 1, `${where}: ${effect}`)
    assert.equal((await findWipe(site.database.db, job.id))?.authenticated, true, where)
    const { children } = await readJobFacts(site.database.db, job.id)
    for (const { id } of children)
      assert.deepEqual((await readJobFacts(site.database.db, id)).outstanding, [], `${where}: the image was fetched`)
    // It takes up room on the other hosts.
    vms.remove(fixture.movable)
  }

  /** Of the decommission itself: the job that starts the image has a walk of its own. */
  const STEPS = decommissionStartJob.steps.map(({ name }) => name).join('|')
  const POINTS = new RegExp(`^(${STEPS}):(started|saved|child)$|:sent$`)

  test('processes that are killed at each point of a decommission, one after the other, free the node and do nothing twice', async () => {
    const points = await crashInTurn({ make: leaving, completed: gone, failed: gone, points: POINTS })
    for (const point of ['updateHost:sent', 'migrateVirtualMachine:sent', 'destroyVirtualMachine:sent', 'prepareHostForMaintenance:sent', 'deleteHost:sent', 'removeClient:sent', 'wipe-boot:child', 'changeReservations:sent', 'changeRecords:sent', 'finish:started']) // biome-ignore format: one list
      assert.ok(points.includes(point), `${point} is a point`)
  })

  test('a decommission frozen while it moves a machine, and woken after another process has ended it, does nothing more', async () => {
    const { fixture, input, connection } = await leaving()
    let thaw = (): void => {}
    const frozen = new Promise<void>((resolve) => (thaw = resolve))
    let is_frozen = false
    const freezing = new Proxy(noted(fixture.calls), {
      get(target, property) {
        const member: unknown = Reflect.get(target, property, target)
        if (property !== 'call' || typeof member !== 'function') return member
        return async (...args: unknown[]): Promise<unknown> => {
          const answer: unknown = await Reflect.apply(member, target, args)
          if (args[0] === 'migrateVirtualMachine') {
            is_frozen = true
            await frozen
          }
          return answer
        }
      },
    })
    const place = { connection, keyring: testKeyring(), database: site.database }
    const { bound, children } = jobsOf(fixture, freezing)
    let is_over = false
    const steps = bound.definition.steps.map((step) =>
      step.name === 'migrate'
        ? { ...step, run: (run: Parameters<typeof step.run>[0]) => step.run(run).finally(() => (is_over = true)) }
        : step,
    )
    const first = await startJobProcess({
      ...place,
      bound: [bindJob({ ...bound.definition, steps }, bound.deps), ...children],
    })
    const { id } = await admit(first, bound, input)
    await until('the first process is frozen', () => is_frozen)
    const awake = jobsOf(fixture, noted(fixture.calls))
    const second = await startJobProcess({ ...place, bound: [awake.bound, ...awake.children] })
    // As after a freeze of a minute: another process has taken the job.
    await site.database.pool.query('update job set executor = $2 where id = $1', [id, second.replica_id])
    await site.database.pool.query('select pg_notify($1, $2)', [JOB_NOTIFY, id])
    const job = await lastOf(second, id)
    await gone(fixture, job, 'the second process')
    thaw()
    await until('what the first process was doing is over', () => is_over && first.engine.running() === 0)
    await first.stop()
    assert.deepEqual(await first.engine.find(id), job)
    assert.equal(fixture.calls.length, 4)
  })

  test('what a decommission left to a person is closed by itself once it has come true; all the rest stays', async () => {
    const { fixture, input, connection, bound, children } = await leaving()
    const place = { connection, keyring: testKeyring(), database: site.database, bound: [bound, ...children] }
    const process = await startJobProcess(place)
    try {
      const { id } = await admit(process, bound, { ...input, wipe: 'none', skip_steps: ['dhcp-release'] })
      const job = await ended(process, id)
      assert.equal(job.job_status, 'completed', job.status)
      const left = async () => (await readJobFacts(site.database.db, id)).outstanding.toSorted()
      const disks = input.disks.map((serial) => `Disk ${serial} of the machine of BMC ${input.bmc_ip} not wiped: the caller wanted it to stay as it is. Wipe it by hand, and confirm it.`) // biome-ignore format: one sentence
      const dhcp = `"Remove the DHCP reservations of the node" was left out: do it by hand for the machine of BMC ${input.bmc_ip}.`
      const recheck = () => process.engine.recheckOutstanding(AbortSignal.timeout(60_000))
      await recheck()
      assert.deepEqual(await left(), [dhcp, ...disks])
      await site.dropReservation(fixture)
      await recheck()
      assert.deepEqual(await left(), disks)
      assert.match((await logTail(site.database.db, id)).content, /No longer left to do: .*DHCP reservations/)
      assert.equal(await brokenLine(site.database.db, id), undefined)
    } finally {
      await process.stop()
      site.simulator.state.tables.vms.remove(fixture.movable)
    }
  })

  test('machines of a host that is down are given up only when a person has seen it off, and it was silent for ten minutes', async () => {
    const { fixture, input, connection } = await leaving()
    const { tables } = site.simulator.state
    tables.hosts.put({ ...(tables.hosts.get(fixture.host_id) ?? assert.fail()), state: 'Down' })
    let passed_ms = 0
    const now = (): number => Date.now() + passed_ms
    const bound = bindJob(decommissionStartJob, site.leaveDeps(fixture, { now, answers: async () => false }))
    const clock = (): Date => new Date(now())
    const process = await startJobProcess({
      connection,
      keyring: testKeyring(),
      database: site.database,
      bound: [bound],
      clock,
    })
    try {
      const named = {
        ...input,
        wipe: 'none' as const,
        destroy: [...input.destroy, { id: fixture.movable, name: 'movable' }],
      }
      const { id } = await admit(process, bound, named)
      const stopped = await ended(process, id)
      assert.deepEqual([stopped.failed_step, stopped.failure_code], ['fence', 'NODE_STATE'], stopped.status)
      assert.match(stopped.failure_reason ?? '', /retry with confirm_powered_off/)
      await process.engine.retry(id, decommissionStartJob, { input: { ...named, confirm_powered_off: true } })
      await until('it waits for the silence', async () => {
        const row = await process.engine.find(id)
        return row?.wake_at !== null && row?.executor === null
      })
      assert.ok(
        tables.vms.get(fixture.doomed) !== null && tables.vms.get(fixture.movable) !== null,
        'nothing is given up yet',
      )
      passed_ms = 11 * 60_000
      await site.database.pool.query('select pg_notify($1, $2)', [JOB_NOTIFY, id])
      const job = await ended(process, id)
      assert.equal(job.job_status, 'completed', job.status)
      assert.deepEqual([tables.vms.get(fixture.doomed), tables.vms.get(fixture.movable)], [null, null])
      assert.deepEqual(await site.leftOf(fixture), NOTHING)
    } finally {
      await process.stop()
    }
  })

  /** Only the steps at the distributed store, of a node with two disks in it, a monitor and the active manager. */
  async function leavingStore(wrapped: (ceph: Ceph) => Ceph = (ceph) => ceph) {
    const only = ['storage-drain', 'storage-remove']
    const steps = decommissionStartJob.steps.filter(({ name }) => only.includes(name))
    const { row, ...fixture } = await site.addNode('decommissioning')
    const [host = ''] = fixture.node.fqdn.split('.')
    const store = simulatedStore([host, 'kvm-a', 'kvm-b'])
    store.state.monitors.push(...[host, 'mgmt-04'].map((name) => ({ name, host: name, is_up: true })))
    store.state.managers.push({ name: host, host })
    store.state.active_manager = host
    const input: LeaveInput = {
      bmc_ip: row.bmc_ip, node_id: row.node_id, by: 'test', state: 'configured', addresses: [], names: [fixture.node.fqdn], destroy: [],
      disks: [], store_served: true, osds: [0, 1], wipe: 'none', power_off: false, findings: [],
    } // biome-ignore format: a record
    const bound = bindJob({ ...decommissionStartJob, steps }, site.leaveDeps(fixture, { ceph: wrapped(store.ceph) }))
    return { fixture: { ...store, host }, bound, input, connection: site.connection }
  }

  test('no data is moved where a copy would find no place, whatever a preflight said', async () => {
    const { fixture, input, connection, bound } = await leavingStore()
    for (const pool of fixture.state.pools) pool.size = 3
    const process = await startJobProcess({
      connection,
      keyring: testKeyring(),
      database: site.database,
      bound: [bound],
    })
    try {
      const { id } = await admit(process, bound, input)
      const job = await ended(process, id)
      assert.deepEqual([job.job_status, job.failed_step], ['failed', 'storage-drain'])
      assert.match(job.failure_reason ?? '', /Nothing was moved: .*of 3 places 2 would be left/)
      assert.deepEqual(fixture.changes, [])
    } finally {
      await process.stop()
    }
  })

  test('what was not wrong with the distributed store before is waited for, and no daemon is stopped meanwhile', async () => {
    let state: SimulatedCeph['state'] | undefined
    const { fixture, input, connection, bound } = await leavingStore((ceph) => ({
      ...ceph,
      async markOut(...words) {
        await ceph.markOut(...words)
        Object.assign(state?.findings ?? assert.fail(), {
          OSD_SLOW_PING_TIME_BACK: 'Slow heartbeats',
          PG_DEGRADED: 'Degraded data',
        })
      },
    }))
    state = fixture.state
    state.findings['RECENT_CRASH'] = '1 daemons have recently crashed'
    const process = await startJobProcess({
      connection,
      keyring: testKeyring(),
      database: site.database,
      bound: [bound],
    })
    const waitsFor = (what: RegExp) =>
      until(`the job waits for ${what}`, async () => what.test((await logTail(site.database.db, id)).content))
    const { id } = await admit(process, bound, input)
    try {
      await waitsFor(/as it was before: Slow heartbeats \(OSD_SLOW_PING_TIME_BACK\)/)
      delete state.findings['OSD_SLOW_PING_TIME_BACK']
      // Of a move, and the move has ended.
      await waitsFor(/as it was before: Degraded data \(PG_DEGRADED\)/)
      assert.deepEqual(fixture.changes, ['osd out 0 1', 'osd crush reweight osd.0 0', 'osd crush reweight osd.1 0'])
      delete state.findings['PG_DEGRADED']
      const job = await ended(process, id)
      assert.equal(job.job_status, 'completed', `${job.status} ${job.failure_reason}`)
      assert.deepEqual([state.lost, state.osds.length], [[], 4])
    } finally {
      await process.stop()
    }
  })

  test('a process killed at any point of leaving the distributed store is followed by one that loses no copy', async () => {
    const changes = (method: string) => (/^(state|isDrained|mayLose)/.test(method) ? undefined : method)
    const walk: Walk<SimulatedCeph & { host: string }> = {
      make: () => leavingStore((ceph) => withSentPoints(ceph, changes)),
      completed({ state, changes: made, host }, job, where) {
        assert.equal(job.job_status, 'completed', `${where}: ${job.status}`)
        assert.deepEqual(state.lost, [], where)
        const left = [
          state.osds.filter((osd) => osd.host === host),
          state.hosts,
          state.monitors.length,
          state.active_manager,
        ]
        assert.deepEqual(left, [[], ['kvm-a', 'kvm-b'], 4, 'mgmt-01'], where)
        // Whatever is sent, and sent again, is about the node alone.
        const others = made.filter((line) => !/^(osd (out|stop) 0 1|osd crush (reweight osd.[01] 0|rm kvm-n\d+)|osd purge [01] .*|(mon remove|mgr fail) kvm-n\d+)$/.test(line)) // biome-ignore format: one rule
        assert.deepEqual(others, [], where)
      },
      failed: (_fixture, job, where) => assert.equal(job.job_status, 'failed', where),
    }
    const points = await crashEverywhere({ ...walk, points: /:(started|sent|saved)$/ })
    for (const point of ['markOut', 'takeWeight', 'removeMonitor', 'failManager', 'stop', 'purge', 'removeBucket'])
      assert.ok(points.includes(`${point}:sent`), `${point} is a point`)
    await repeatEverywhere(walk)
  })
})
