// The walks of a management node: it joins the cluster, and leaves it again as the one that has the primary database and the
// virtual address. Killed at every point, failed at every step, every step twice.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { createCloudStack } from '#src/drivers/cloudstack/client.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { readJobFacts } from '#src/jobs/view.ts'
import { checkConfig } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { rollbackAdmission } from '#src/modules/lifecycle/rollback/rollback.job.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { haMembers, setHaMember } from '#src/store/ha-members.ts'
import { moveNode } from '#src/store/node-lifecycle.ts'
import { findNode, type NodeRow } from '#src/store/nodes.ts'
import { crashInTurn, failEverywhere, repeatEverywhere, type Walk } from '../support/job-harness.ts'
import { addManagementNode, joiningJob, leavingJob } from '../support/management-jobs.ts'
import { simulatedNode } from '../support/setup-node.ts'
import {
  agentsOfCluster, portsOf, type SimulatedCluster, simulatedCluster, standbysOf,
} from '../support/simulated-cluster.ts' // biome-ignore format: one import
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'

interface Fixture {
  cluster: SimulatedCluster
  /** The one that joins or leaves. */
  bmc_ip: string
  node_id: number
}

const log = createLog({ level: 'silent' })
const [ONE, TWO, THREE] = ['10.60.0.1', '10.60.0.2', '10.60.0.3'] as const
const POINTS = /:(sent|saved)$/

suite('management nodes', () => {
  let test_database: TestDatabase
  let database: Database
  let count = 0
  const cloudstack = createCloudStack(checkConfig({}).compute, { log })
  before(async () => {
    test_database = await createTestDatabase()
    database = openDatabase({ connection: test_database.connection, pool_size: 4, log })
  })
  after(async () => {
    await cloudstack.close()
    await database.close()
    await test_database.drop()
  })

  /** Registered, with an agent that has a certificate. */
  async function addNode(cluster: SimulatedCluster, address: string): Promise<NodeRow> {
    count += 1
    const bmc_ip = `10.9.${count >> 8}.${count & 255}`
    cluster.nodes.set(bmc_ip, simulatedNode(address, `mgmt-${count}.example.internal`))
    return addManagementNode(database, bmc_ip, address)
  }

  const addMember = async (cluster: SimulatedCluster, address: string, priority: number): Promise<NodeRow> => {
    const row = await addNode(cluster, address)
    await database.transact((trx) => setHaMember(trx, row.bmc_ip, { address, interface: 'eth0', priority }))
    return row
  }

  async function freshCluster(): Promise<SimulatedCluster> {
    await database.db.deleteFrom('ha_member').execute()
    const cluster = simulatedCluster(ONE)
    cluster.by_hand.add(ONE)
    return cluster
  }

  async function join() {
    const cluster = await freshCluster()
    await addMember(cluster, ONE, 130)
    const { bmc_ip, node_id } = await addNode(cluster, TWO)
    await database.db.transaction().execute((trx) => moveNode(trx, bmc_ip, 'discovered', 'configuring', randomUUIDv7()))
    const ports = { agents: agentsOfCluster(cluster), cluster: portsOf(cluster, database, ONE) }
    const order = joiningJob({ database, cloudstack, ...ports }, { bmc_ip, node_id })
    const fixture: Fixture = { cluster, bmc_ip, node_id }
    return { fixture, ...order, connection: test_database.connection }
  }

  const peersOf = ({ cluster }: Fixture, address: string): unknown => {
    const node = [...cluster.nodes.values()].find(({ node_ip }) => node_ip === address)
    return (node?.areas.get('failover')?.document as { peers?: string[] } | undefined)?.peers
  }
  const membersNow = async () => (await haMembers(database.db)).map(({ address }) => address)

  async function joined(fixture: Fixture, job: JobRow, where: string): Promise<void> {
    const { cluster, bmc_ip, node_id } = fixture
    assert.equal(job.job_status, 'completed', `${where}: ${job.failed_step}: ${job.failure_reason}`)
    const row = await findNode(database.db, bmc_ip)
    assert.deepEqual([row?.provision_status, row?.role], ['configured', 'management'], where)
    assert.deepEqual(await membersNow(), [ONE, TWO], where)
    assert.deepEqual([...(cluster.slots.get(ONE) ?? [])], [[`mgmt_${node_id}`, TWO]], where)
    assert.deepEqual(standbysOf(cluster, ONE), [TWO], where)
    assert.deepEqual([peersOf(fixture, ONE), peersOf(fixture, TWO)], [[TWO], [ONE]], where)
    const areas = [...(cluster.nodes.get(bmc_ip)?.areas.keys() ?? [])].sort()
    assert.deepEqual(areas, ['base', 'database', 'failover', 'services'], where)
    assert.ok(
      (await haMembers(database.db)).every(({ filesync_key }) => filesync_key !== null),
      where,
    )
    assert.deepEqual([cluster.primary, cluster.vip.at(-1)], [ONE, cluster.vip[0]], `${where}: nothing moved`)
  }

  async function notJoined(fixture: Fixture, job: JobRow, where: string): Promise<void> {
    const { cluster, bmc_ip } = fixture
    const row = await findNode(database.db, bmc_ip)
    assert.equal(row?.provision_status, 'discovered', `${where}: ${job.status}`)
    assert.deepEqual(await membersNow(), [ONE], where)
    assert.deepEqual([...(cluster.slots.get(ONE) ?? [])], [], where)
    assert.deepEqual([...(cluster.nodes.get(bmc_ip)?.areas.keys() ?? [])], [], where)
    assert.deepEqual(peersOf(fixture, ONE) ?? [], [], where)
  }

  const joining: Walk<Fixture> = { make: join, points: POINTS, completed: joined, failed: notJoined }

  test('a process killed at any point of a joining is followed by one that makes the node a member', async () => {
    const points = await crashInTurn(joining)
    for (const point of ['slot', 'set:database', 'set:services', 'scripts', 'set:failover', 'keys'])
      assert.ok(points.includes(`${point}:sent`), `${point} is a point`)
  })

  test('a joining that fails at any step leaves no slot, no copy, no member and nothing on the node', async () => {
    const steps = [
      'db-slot',
      'db-clone',
      'db-standby',
      'services',
      'scripts',
      'member-add',
      'failover-daemon',
      'filesync-keys',
    ]
    assert.equal(await failEverywhere({ ...joining, steps }), steps.length)
  })

  test('every step of a joining may run twice', async () => {
    await repeatEverywhere(joining)
  })

  /** What a joining left that died right before its end. */
  async function halfJoined() {
    const cluster = await freshCluster()
    const first = await addMember(cluster, ONE, 130)
    const second = await addMember(cluster, TWO, 120)
    const { bmc_ip, node_id } = second
    await database.db
      .transaction()
      .execute((trx) => moveNode(trx, bmc_ip, 'discovered', 'configure_failed', randomUUIDv7()))
    const documents = {
      base: {},
      database: { primary: { host: ONE } },
      services: {},
      failover: { priority: 120, peers: [ONE] },
    }
    for (const [area, document] of Object.entries(documents))
      cluster.nodes.get(bmc_ip)?.areas.set(area, { hash: 'h', document })
    cluster.nodes.get(first.bmc_ip)?.areas.set('failover', { hash: 'h', document: { priority: 130, peers: [TWO] } })
    cluster.slots.set(ONE, new Map([[`mgmt_${node_id}`, TWO]]))
    cluster.vip.push(ONE)
    const ports = { agents: agentsOfCluster(cluster), cluster: portsOf(cluster, database, ONE) }
    const { children } = joiningJob({ database, cloudstack, ...ports }, second)
    const { input } = await rollbackAdmission(database.db, second, { by: 'test' })
    const fixture: Fixture = { cluster, bmc_ip, node_id }
    return { fixture, bound: children[0] ?? assert.fail(), input, connection: test_database.connection }
  }

  test('processes that are killed at each point of the rollback of a half-joined node, one after the other, leave the cluster as it was', async () => {
    const points = await crashInTurn({
      make: halfJoined,
      points: /:(started|sent|saved)$/,
      async completed(fixture, job, where) {
        await notJoined(fixture, job, where)
        const { cluster } = fixture
        assert.deepEqual([cluster.primary, cluster.promotions, [...cluster.stopped], standbysOf(cluster, ONE)], [ONE, [], [], []]) // biome-ignore format: one row
        assert.deepEqual(cluster.vip, [ONE], 'the address never moved')
      },
      failed: (_fixture, _job, where) => assert.fail(where),
    })
    for (const area of ['failover', 'services', 'database', 'base'])
      assert.ok(points.includes(`remove:${area}:sent`), `${area} is removed`)
    for (const point of ['drop-slot', 'set:failover', 'keys']) assert.ok(points.includes(`${point}:sent`), point)
  })

  /** Three members; the one that leaves has the primary database and the address. */
  async function leave(prepare: (cluster: SimulatedCluster) => void = () => {}) {
    const cluster = await freshCluster()
    const [first, second, third] = [
      await addMember(cluster, ONE, 130),
      await addMember(cluster, TWO, 120),
      await addMember(cluster, THREE, 110),
    ] as const
    cluster.by_hand.delete(ONE)
    for (const { bmc_ip } of [first, second, third]) {
      const { areas } = cluster.nodes.get(bmc_ip) ?? assert.fail()
      areas.set('services', { hash: 'h', document: {} })
      areas.set('failover', { hash: 'h', document: { priority: bmc_ip === first.bmc_ip ? 130 : 120 } })
      if (bmc_ip !== first.bmc_ip) areas.set('database', { hash: 'h', document: { primary: { host: ONE } } })
    }
    cluster.slots.set(ONE, new Map([second, third].map((row) => [`mgmt_${row.node_id}`, row.node_ip ?? ''])))
    cluster.vip.push(ONE)
    prepare(cluster)
    const { bmc_ip, node_id } = first
    await database.db
      .transaction()
      .execute((trx) => moveNode(trx, bmc_ip, 'discovered', 'decommissioning', randomUUIDv7()))
    const ports = { agents: agentsOfCluster(cluster), cluster: portsOf(cluster, database, TWO) }
    const order = leavingJob({ database, cloudstack, ...ports }, { bmc_ip, node_id, address: ONE })
    const fixture: Fixture & { second: NodeRow; third: NodeRow } = { cluster, bmc_ip, node_id, second, third }
    return { fixture, ...order, connection: test_database.connection }
  }
  type Leaving = Awaited<ReturnType<typeof leave>>['fixture']

  async function left(fixture: Leaving, job: JobRow, where: string): Promise<void> {
    const { cluster, bmc_ip, third } = fixture
    assert.equal(job.job_status, 'completed', `${where}: ${job.failed_step}: ${job.failure_reason}`)
    assert.equal((await findNode(database.db, bmc_ip))?.provision_status, 'discovered', where)
    assert.deepEqual(await membersNow(), [TWO, THREE], where)
    assert.deepEqual([cluster.primary, cluster.promotions], [TWO, [TWO]], `${where}: promoted once`)
    assert.ok(cluster.stopped.has(ONE), where)
    assert.deepEqual(standbysOf(cluster, TWO), [THREE], where)
    assert.deepEqual([...(cluster.slots.get(TWO) ?? [])], [[`mgmt_${third.node_id}`, THREE]], where)
    assert.deepEqual(cluster.vip, [ONE, TWO], `${where}: the address moved once`)
    assert.deepEqual([peersOf(fixture, TWO), peersOf(fixture, THREE)], [[THREE], [TWO]], where)
    assert.deepEqual([...(cluster.nodes.get(bmc_ip)?.areas.keys() ?? [])], [], where)
  }

  const leaving: Walk<Leaving> = {
    make: () => leave(),
    points: POINTS,
    completed: left,
    failed: (_fixture, job, where) => assert.fail(`${where}: ${job.failed_step}: ${job.failure_reason}`),
  }

  test('a process killed at any point of a leaving is followed by one that ends it; the database is promoted once', async () => {
    const points = await crashInTurn(leaving)
    for (const point of ['remove:failover', 'remove:services', 'database-stop', 'promote', 'slot', 'follow', 'keys'])
      assert.ok(points.includes(`${point}:sent`), `${point} is a point`)
  })

  test('every step of a leaving may run twice', async () => {
    await repeatEverywhere(leaving)
  })

  test('a standby that leaves takes its slot with it, and the primary stays where it is', async () => {
    const swap = (cluster: SimulatedCluster): void => {
      const [one, two] = [...cluster.nodes.values()]
      const document = { primary: { host: TWO } }
      cluster.primary = TWO
      cluster.followed.set(THREE, TWO)
      two?.areas.delete('database')
      one?.areas.set('database', { hash: 'h', document })
    }
    await repeatEverywhere({
      ...leaving,
      async make() {
        const made = await leave(swap)
        const { cluster, node_id, third } = made.fixture
        cluster.slots.set(TWO, new Map([[`mgmt_${node_id}`, ONE], [`mgmt_${third.node_id}`, THREE]])) // biome-ignore format: two slots
        return made
      },
      async completed({ cluster, third }, job, where) {
        assert.equal(job.job_status, 'completed', `${where}: ${job.failed_step}: ${job.failure_reason}`)
        assert.deepEqual([cluster.primary, cluster.promotions, [...cluster.stopped]], [TWO, [], []])
        assert.deepEqual([...(cluster.slots.get(TWO) ?? [])], [[`mgmt_${third.node_id}`, THREE]])
        assert.deepEqual(standbysOf(cluster, TWO), [THREE])
      },
    })
  })

  test('a primary without a standby that has caught up stays a member and goes on', async () => {
    await repeatEverywhere({
      ...leaving,
      make: () => leave(({ followed }) => void followed.set(TWO, '10.60.0.9').set(THREE, '10.60.0.9')),
      async completed({ cluster }, job) {
        assert.deepEqual([job.failed_step, job.failure_code], ['db-switchover', 'NODE_STATE'])
        assert.match(job.failure_reason ?? '', /No standby has caught up with the primary database on 10\.60\.0\.1/)
        assert.deepEqual([cluster.primary, [...cluster.stopped], await membersNow()], [ONE, [], [ONE, TWO, THREE]])
        const { steps } = await readJobFacts(database.db, job.id)
        assert.equal(
          steps.find(({ name }) => name === 'slot-drop'),
          undefined,
        )
      },
    })
  })
})
