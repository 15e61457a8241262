// What the jobs of a management node say when the cluster is not as they need it: the thing and the value; nothing moved.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { createCloudStack } from '#src/drivers/cloudstack/client.ts'
import type { BoundJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { checkConfig } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import type { NodeAgents } from '#src/modules/node-agents.ts'
import { rollbackAdmission } from '#src/modules/lifecycle/rollback/rollback.job.ts'
import type { DatabaseCluster } from '#src/store/database-cluster.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { haMembers, setHaMember } from '#src/store/ha-members.ts'
import { moveNode } from '#src/store/node-lifecycle.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import { ended } from '../support/job-harness.ts'
import { admit, startJobProcess, testKeyring } from '../support/job-process.ts'
import { addManagementNode, joiningJob, leavingJob } from '../support/management-jobs.ts'
import { simulatedNode } from '../support/setup-node.ts'
import {
  agentsOfCluster, portsOf, type SimulatedCluster, simulatedCluster,
} from '../support/simulated-cluster.ts' // biome-ignore format: one import
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'

const log = createLog({ level: 'silent' })
const [ONE, TWO, THREE] = ['10.60.0.1', '10.60.0.2', '10.60.0.3'] as const

suite('a cluster that is not as a job needs it', () => {
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
    await database?.close()
    await test_database?.drop()
  })

  async function addNode(cluster: SimulatedCluster, address: string): Promise<NodeRow> {
    count += 1
    const bmc_ip = `10.9.0.${count}`
    cluster.nodes.set(bmc_ip, simulatedNode(address, `mgmt-${count}.example.internal`))
    return addManagementNode(database, bmc_ip, address)
  }

  /** Three members, the first of which has the primary database. */
  async function threeMembers() {
    await database.db.deleteFrom('ha_member').execute()
    const cluster = simulatedCluster(ONE)
    const rows: NodeRow[] = []
    const priorities = { [ONE]: 130, [TWO]: 120, [THREE]: 110 }
    for (const [address, priority] of Object.entries(priorities)) {
      const row = await addNode(cluster, address)
      await database.transact((trx) => setHaMember(trx, row.bmc_ip, { address, interface: 'eth0', priority }))
      const { areas } = cluster.nodes.get(row.bmc_ip) ?? assert.fail()
      areas.set('services', { hash: 'h', document: {} })
      if (address !== ONE) areas.set('database', { hash: 'h', document: { primary: { host: ONE } } })
      rows.push(row)
    }
    const [first, second, third] = rows
    assert.ok(first !== undefined && second !== undefined && third !== undefined)
    cluster.slots.set(ONE, new Map([second, third].map((row) => [`mgmt_${row.node_id}`, row.node_ip ?? ''])))
    return { cluster, first, second, third }
  }

  /** What the servers of the database do instead. */
  type Servers = Partial<DatabaseCluster>

  function siteOf(cluster: SimulatedCluster, servers: Servers = {}, agents = agentsOfCluster(cluster)) {
    const own = portsOf(cluster, database, TWO)
    assert.ok(own.servers !== undefined)
    return {
      database,
      cloudstack,
      agents,
      cluster: { ...own, servers: { ...own.servers, ...servers } },
    }
  }

  const moveTo = (row: NodeRow, state: Parameters<typeof moveNode>[3]): Promise<void> =>
    database.transact(async (trx) => void (await moveNode(trx, row.bmc_ip, 'discovered', state, randomUUIDv7())))

  async function run(bound: BoundJob, input: unknown): Promise<JobRow> {
    const { connection } = test_database
    const process = await startJobProcess({ connection, database, keyring: testKeyring(), bound: [bound] })
    try {
      return await ended(process, (await admit(process, bound, input)).id)
    } finally {
      await process.stop()
    }
  }

  /** The first of three leaves; only this step, as the steps before it have a test of their own. */
  async function leave(
    { cluster, first }: Awaited<ReturnType<typeof threeMembers>>,
    step: string,
    servers: Servers,
    agents?: NodeAgents,
  ) {
    await moveTo(first, 'decommissioning')
    const order = leavingJob(siteOf(cluster, servers, agents), { ...first, address: ONE })
    return run(only(order.bound, step), order.input)
  }
  const only = (bound: BoundJob, step: string): BoundJob => ({
    ...bound,
    definition: { ...bound.definition, steps: bound.definition.steps.filter(({ name }) => name === step) },
  })
  const says = ({ failed_step, failure_code, failure_reason, status }: JobRow): unknown[] => [
    failed_step,
    failure_code,
    failure_reason ?? status,
  ]
  async function untouched(cluster: SimulatedCluster): Promise<void> {
    const members = (await haMembers(database.db)).map(({ address }) => address)
    assert.deepEqual([members, cluster.primary, cluster.promotions, [...cluster.stopped]], [[ONE, TWO, THREE], ONE, [], []]) // biome-ignore format: one row
  }

  const serverAt = (address: string, is_primary: boolean, position: string) => ({
    address, is_primary, system_identifier: '7000000000000000001', position, receives_from: is_primary ? null : ONE,
  }) // biome-ignore format: one record
  const WAY_OUT = 'answers as the primary database; exactly one member must. See `groundplane ha member-list`.'

  test('two primary databases are named by their addresses, none as none, and neither is stopped or promoted', async () => {
    const two = await threeMembers()
    const servers = async () => [serverAt(ONE, true, '0/20'), serverAt(TWO, true, '0/20')]
    const split = await leave(two, 'db-switchover', { servers })
    assert.deepEqual(says(split), ['db-switchover', 'NODE_STATE', `${ONE} and ${TWO} ${WAY_OUT}`])
    await untouched(two.cluster)
    const none = await threeMembers()
    const silent = await leave(none, 'db-switchover', { servers: async () => [] })
    assert.deepEqual(says(silent), ['db-switchover', 'NODE_STATE', `No member ${WAY_OUT}`])
    await untouched(none.cluster)
  })

  test('a standby that has not received everything is named with the position, and the old primary runs again', async () => {
    const made = await threeMembers()
    const servers = async (addresses: readonly string[]) =>
      addresses.map((address) => serverAt(address, address === ONE, address === ONE ? '0/20' : '0/8'))
    const job = await leave(made, 'db-switchover', { servers })
    assert.deepEqual(says(job), ['db-switchover', 'NODE_STATE', `The standby on ${TWO} has not received everything up to 0/10, so ${ONE} stays the primary.`]) // biome-ignore format: one sentence
    await untouched(made.cluster)
  })

  test('a member that is removed while the database is about to move to it is named, and the primary stays', async () => {
    const made = await threeMembers()
    const standbys = async () => {
      await database.db.deleteFrom('ha_member').where('address', '=', TWO).execute()
      return [{ address: TWO, streaming: true, behind_bytes: 0 }]
    }
    const job = await leave(made, 'db-switchover', { standbys })
    assert.deepEqual(says(job), ['db-switchover', 'NODE_STATE', `Member ${made.second.bmc_ip}, which the database moves to, is gone.`]) // biome-ignore format: one sentence
    assert.deepEqual([made.cluster.primary, made.cluster.promotions, [...made.cluster.stopped]], [ONE, [], []])
  })

  test('another member whose node is deleted while the others are configured is named', async () => {
    const made = await threeMembers()
    for (const { areas } of made.cluster.nodes.values()) areas.set('failover', { hash: 'h', document: { priority: 1 } })
    const agents = agentsOfCluster(made.cluster)
    /** Whoever asks the second member finds the third gone afterwards. */
    const client = (...[row, routes, options]: Parameters<NodeAgents['client']>): object => {
      const calls = agents.client(row, routes, options) as Record<string, (input: unknown) => Promise<unknown>>
      if (row.bmc_ip !== made.second.bmc_ip) return calls
      const last = async (name: string, input: unknown): Promise<unknown> => {
        await database.db.deleteFrom('node').where('id', '=', made.third.id).execute()
        return calls[name]?.(input)
      }
      return Object.fromEntries(Object.keys(calls).map((name) => [name, (input: unknown) => last(name, input)]))
    }
    const job = await leave(made, 'peer-config', {}, { ...agents, client: client as NodeAgents['client'] })
    const sentence = `Member ${made.third.bmc_ip} is not registered any more.`
    assert.deepEqual(says(job), ['peer-config', 'NODE_NOT_FOUND', sentence])
  })

  test('a half-joined node that got the primary database is named and not rolled back', async () => {
    const { cluster, first } = await threeMembers()
    await moveTo(first, 'configure_failed')
    const [rollback] = joiningJob(siteOf(cluster), first).children
    const { input } = await rollbackAdmission(database.db, first, { by: 'test' })
    const job = await run(rollback ?? assert.fail(), input)
    assert.deepEqual(says(job), ['cluster-guard', 'NODE_IN_SERVICE', `Node ${first.bmc_ip} has the primary database: it is in service. Nothing was touched.`]) // biome-ignore format: one sentence
    await untouched(cluster)
  })
})
