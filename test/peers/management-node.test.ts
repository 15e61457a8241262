// A real PostgreSQL and a real keepalived on each of two nodes: the second joins by a setup, then the first, which has the primary
// database and the virtual address, leaves by a decommission while a client writes.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { createCloudStack } from '#src/drivers/cloudstack/client.ts'
import { checkConfig } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { documentHash } from '#src/kernel/document-hash.ts'
import { failoverDocument } from '#src/modules/lifecycle/cluster/failover.ts'
import type { ClusterPorts } from '#src/modules/lifecycle/cluster/ports.ts'
import type { NodeAgents } from '#src/modules/node-agents.ts'
import { createDatabaseCluster } from '#src/store/database-cluster.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { setHaMember } from '#src/store/ha-members.ts'
import { moveNode } from '#src/store/node-lifecycle.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import { mostHolders, pairRefused } from '../support/failover-pair.ts'
import { ended } from '../support/job-harness.ts'
import { admit, startJobProcess, testKeyring } from '../support/job-process.ts'
import { addManagementNode, joiningJob, leavingJob } from '../support/management-jobs.ts'
import { type ManagementNode, startManagementNode } from '../support/management-node.ts'
import { agentsOf, nicOf, simulatedNode } from '../support/setup-node.ts'
import { portsOf, type SimulatedCluster, simulatedCluster } from '../support/simulated-cluster.ts'
import { type StandbyPair, standbyPairRefused, startStandbyPair } from '../support/standby-pair.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { createTestDatabase, onDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const VIP = '10.61.0.100'
const TAKEN_OFF = /Deleted.* 10\.61\.0\.100\//
const log = createLog({ level: 'silent' })
/** What the real agent answers; the rest of a setup is not what this is about. */
const REAL_AREAS = ['database', 'failover']

suite('a management node joins and leaves', { skip: pairRefused() || standbyPairRefused() }, () => {
  let ledger: TestDatabase
  let database: Database
  let pair: StandbyPair
  let cluster: SimulatedCluster
  let ports: ClusterPorts
  let agents: NodeAgents
  const nodes: ManagementNode[] = []
  const rows: NodeRow[] = []
  const cloudstack = createCloudStack(checkConfig({}).compute, { log })

  before(async () => {
    ledger = await createTestDatabase()
    database = openDatabase({ connection: ledger.connection, pool_size: 4, log })
    pair = await startStandbyPair()
    cluster = simulatedCluster('')
    for (const [at, site] of [pair.primary, pair.standby].entries()) {
      const node = await startManagementNode(site, tempFolder('gp-management-'), at === 0)
      nodes.push(node)
      rows.push(await addManagementNode(database, `10.9.0.${at + 1}`, node.address))
      cluster.nodes.set(`10.9.0.${at + 1}`, simulatedNode(node.address, `mgmt-${at}.example.internal`))
    }
    cluster.by_hand.add(nodes[0]?.address ?? '')
    agents = agentsOfNodes()
    const { replication } = checkConfig({
      database: { replication: { username: 'postgres', password: 'trusted' } },
    }).database
    // Over the sockets: only the nodes have the network.
    const servers = createDatabaseCluster(replication ?? assert.fail(), log, (address) => ({
      host: pair.primary.addresses[0] === address ? pair.primary.folder : (nodes[1]?.data_dir ?? ''),
      port: 5432,
      user: 'postgres',
      database: 'postgres',
    }))
    ports = {
      ...portsOf(cluster, database, nodes[0]?.address ?? ''),
      virtual_addresses: [`${VIP}/24`],
      // The notify script of the daemons writes there.
      data_dir: tempFolder('gp-management-data-'),
      servers,
      settle_ms: 500,
      poll_ms: 200,
    }
  })
  after(async () => {
    await Promise.all(nodes.map((node) => node.close()))
    await pair?.close()
    await cloudstack.close()
    await database?.close()
    await ledger?.drop()
  })

  function agentsOfNodes(): NodeAgents {
    const simulated = agentsOf((row) => cluster.nodes.get(row.bmc_ip) ?? assert.fail())
    const client: unknown = (row: NodeRow, routes: object, options: Parameters<NodeAgents['client']>[2]) => {
      const node = nodes[Number(row.bmc_ip.split('.').at(-1)) - 1] ?? assert.fail(`no agent of ${row.bmc_ip}`)
      const others = simulated.client(row, {}, options) as Record<string, (input: unknown) => unknown>
      const real = (operation: string) => (input: object) =>
        Promise.resolve(node.call(operation, { query: {}, ...input }))
      const ofArea = (operation: string) => (input: { params: { area: string } }) =>
        REAL_AREAS.includes(input.params.area) ? real(operation)(input) : others[operation]?.(input)
      return {
        ...others,
        agentNicsList: async () => ({ nics: [nicOf('eth1', { isManagementNIC: true, ipAddress: node.address })] }),
        agentFailoverRead: real('agentFailoverRead'),
        agentDatabaseRun: real('agentDatabaseRun'),
        haScriptsReconcile: () => real('haScriptsReconcile')({}),
        agentDesiredGet: ofArea('agentDesiredGet'),
        agentDesiredSet: ofArea('agentDesiredSet'),
        agentDesiredRemove: ofArea('agentDesiredRemove'),
      }
    }
    return { client } as NodeAgents
  }

  const first = () => nodes[0] ?? assert.fail()
  const second = () => nodes[1] ?? assert.fail()
  const holds = async (node: ManagementNode) => (await node.addresses()).includes(`${VIP}/`)
  const onSecond = <T>(work: (client: pg.Client) => Promise<T>) =>
    onDatabase({ host: second().data_dir, port: 5432, user: 'postgres', database: 'postgres' }, work)

  async function applyFailover(node: ManagementNode, document: object): Promise<void> {
    const order = { params: { area: 'failover' }, body: { document, hash: documentHash(document) } }
    // The same order again joins the task.
    await until('its daemon is configured', async () => {
      const { status, message } = (await node.call('agentDesiredSet', order)) as { status: string; message: string }
      assert.notEqual(status, 'failed', message)
      return status === 'completed'
    })
  }

  async function runJob({
    bound,
    input,
  }: ReturnType<typeof joiningJob> | ReturnType<typeof leavingJob>): Promise<void> {
    const { connection } = ledger
    const process = await startJobProcess({ connection, keyring: testKeyring(), bound: [bound] })
    try {
      const job = await ended(process, (await admit(process, bound, input)).id)
      assert.equal(job.job_status, 'completed', `${job.failed_step}: ${job.failure_reason}`)
    } finally {
      await process.stop()
    }
  }
  const moveTo = (row: NodeRow, state: 'configuring' | 'decommissioning') =>
    database.transact((trx) => moveNode(trx, row.bmc_ip, 'discovered', state, randomUUIDv7()))

  test('a node joins: its database is copied through its slot and streams, and the address stays where it is', async () => {
    const [one, two] = [rows[0] ?? assert.fail(), rows[1] ?? assert.fail()]
    const member = { address: first().address, interface: 'eth1', priority: 130 }
    await database.transact((trx) => setHaMember(trx, one.bmc_ip, member))
    await onDatabase(pair.primary.connection, (client) => client.query('create table written (id bigint primary key)'))
    // The first member, as an earlier setup left it.
    await applyFailover(first(), failoverDocument(ports, { ...member, bmc_ip: one.bmc_ip }, []))
    await until('it holds the address', () => holds(first()))

    await moveTo(two, 'configuring')
    await runJob(joiningJob({ database, cloudstack, agents, cluster: ports }, two))

    const slots = await ports.servers?.slots(first().address)
    assert.deepEqual(
      slots?.map(({ name, active, client_address }) => [name, active, client_address]),
      [[`mgmt_${two.node_id}`, true, second().address]],
    )
    assert.equal(
      await onSecond(async (client) => (await client.query('select pg_is_in_recovery() as yes')).rows[0].yes),
      true,
    )
    assert.deepEqual([await holds(first()), await holds(second())], [true, false])
    assert.doesNotMatch(first().monitor.output(), TAKEN_OFF, 'it was there at every moment')
  })

  test('the holder and primary leaves under a writing client: nothing acknowledged is lost, and the address is on one node', async () => {
    const acknowledged: number[] = []
    const client = new pg.Client(pair.primary.connection)
    client.on('error', () => {})
    await client.connect()
    const writing = (async () => {
      for (let id = 1; ; id += 1) {
        await client.query('insert into written values ($1)', [id])
        acknowledged.push(id)
      }
    })().catch(() => {})
    const one = rows[0] ?? assert.fail()
    await until('it writes', () => acknowledged.length > 20)
    await moveTo(one, 'decommissioning')
    await runJob(leavingJob({ database, cloudstack, agents, cluster: ports }, { ...one, address: first().address }))
    await writing

    const written = await onSecond(async (other) => {
      await other.query('insert into written values (-1)')
      return (await other.query('select id from written')).rows.map(({ id }) => Number(id))
    })
    assert.deepEqual(acknowledged.filter((id) => !written.includes(id)), [], 'every acknowledged row is there') // biome-ignore format: one check
    assert.deepEqual(await ports.servers?.slots(second().address), [], 'no slot keeps log')
    assert.deepEqual(await ports.servers?.servers([first().address]), [], 'the old primary is stopped')
    assert.deepEqual([await holds(first()), await holds(second())], [false, true])
    assert.doesNotMatch(second().monitor.output(), TAKEN_OFF, 'it stays from the moment that it came')
    assert.equal(
      mostHolders(
        nodes.map(({ monitor }) => monitor.output()),
        VIP,
      ),
      1,
      'never on both',
    )
  })

  test('another machine that answers for a held address is seen on the wire', async () => {
    const answered = async () => {
      const state = await second().call('agentFailoverRead', { query: { addresses: VIP } })
      return (state as { answered_by_others: string[] | null }).answered_by_others
    }
    assert.deepEqual(await answered(), [])
    await first().ip('address', 'add', `${VIP}/24`, 'dev', 'eth1')
    await until('it is seen', async () => (await answered())?.includes(VIP))
    await first().ip('address', 'del', `${VIP}/24`, 'dev', 'eth1')
    assert.deepEqual(await answered(), [])
  })
})
