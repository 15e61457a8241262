// The walks of nodeSetupStart: killed at every point, failed at every step, every step twice. Afterwards the node is in service
// with all it needs, or nothing of it is left anywhere.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { bindJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { readJobFacts } from '#src/jobs/view.ts'
import { checkConfig } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { builtInStore } from '#src/modules/ddi/ipam/built-in.ts'
import type { SetupDeps, SetupInput } from '#src/modules/lifecycle/setup/input.ts'
import { nodeSetupStartJob } from '#src/modules/lifecycle/setup/setup.job.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { heldAddresses, moveNode, recordNics } from '#src/store/node-lifecycle.ts'
import { findNode, insertNode } from '#src/store/nodes.ts'
import { crashEverywhere, failEverywhere, repeatEverywhere, type Walk } from '../support/job-harness.ts'
import { agentsOf, namesOf, type SimulatedNode, simulatedNode } from '../support/setup-node.ts'
import { NO_CLUSTER } from '../support/simulated-cluster.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { startWalkPlatform, type WalkPlatform } from '../support/walk-platform.ts'

interface Fixture {
  bmc_ip: string
  node: SimulatedNode
}

suite('setup of a node', () => {
  let test_database: TestDatabase
  let database: Database
  let walks_on: WalkPlatform
  let count = 0
  before(async () => {
    test_database = await createTestDatabase()
    database = openDatabase({ connection: test_database.connection, pool_size: 4, log: createLog({ level: 'silent' }) })
    walks_on = await startWalkPlatform()
    const store = builtInStore(database)
    const role = await store.createRole({ slug: 'storage', name: 'Storage' })
    assert.ok(role !== 'exists')
    const fields = {
      site_id: null,
      vlan_id: null,
      gateway: null,
      dns_servers: [],
      is_pool: false,
      description: '',
      excluded: [],
    }
    const prefix = await store.createPrefix({ cidr: '10.30.0.0/20', role_id: role.id, ...fields })
    assert.ok(typeof prefix === 'object' && 'id' in prefix)
    const own = await store.createPrefix({ cidr: '10.50.0.0/16', role_id: null, ...fields })
    assert.ok(typeof own === 'object')
  })
  after(async () => {
    await walks_on.close()
    await database.close()
    await test_database.drop()
  })

  async function make(order: Partial<SetupInput> = {}, broken_area?: string, platform_hosts = ['10.0.0.5']) {
    count += 1
    const bmc_ip = `10.9.${count >> 8}.${count & 255}`
    const node = simulatedNode(`10.50.${count >> 8}.${count & 255}`, `kvm-n${count}.example.internal`)
    if (broken_area !== undefined) node.broken_area = broken_area
    const row = { id: randomUUIDv7(), bmc_ip, node_ip: node.node_ip, fqdn: node.fqdn, hostname: null, role: null, zone: 'Frankfurt-1', registered_by: 'test' } // biome-ignore format: one row
    await database.db.transaction().execute(async (trx) => {
      await insertNode(trx, row)
      await moveNode(trx, bmc_ip, 'discovered', 'configuring', randomUUIDv7())
    })
    const { node_id } = (await findNode(database.db, bmc_ip)) ?? assert.fail()
    const input: SetupInput = {
      bmc_ip,
      node_id,
      role: 'compute',
      site_id: null,
      nics: [{ interface: 'eth1', untagged: null, tagged: [{ role: 'storage', vlans: [30] }] }],
      bond: null,
      guest_bridges: [],
      benchmark_enabled: true,
      hold_on_failure: false,
      ...order,
    }
    const deps: SetupDeps = {
      database,
      agents: agentsOf(node),
      bmcs: { find: async () => undefined, open: () => assert.fail('no BMC is asked') },
      cloudstack: walks_on.cloudstack,
      store: builtInStore(database),
      names: namesOf(node),
      setup: checkConfig({ setup: { cluster: 'cluster-a' } }).setup,
      platform_hosts,
      offline_after_ms: 30_000,
      cluster: NO_CLUSTER,
    }
    const fixture: Fixture = { bmc_ip, node }
    return { fixture, bound: bindJob(nodeSetupStartJob, deps), input, connection: test_database.connection }
  }

  const hostsOf = ({ node }: Fixture) =>
    walks_on.platform.state.tables.hosts.filter(({ ipaddress }) => ipaddress === node.node_ip)
  const rowOf = async ({ bmc_ip }: Fixture) => (await findNode(database.db, bmc_ip)) ?? assert.fail()
  const storedAddresses = async ({ bmc_ip }: Fixture): Promise<number> =>
    (
      await builtInStore(database).addresses(
        { owner_kind: 'node', owner_id: (await rowOf({ bmc_ip } as Fixture)).id },
        { page: 1, page_size: 50 },
      )
    ).count

  async function inService(fixture: Fixture, job: JobRow, where: string): Promise<void> {
    const row = await rowOf(fixture)
    assert.equal(job.job_status, 'completed', `${where}: ${job.status}`)
    assert.deepEqual([row.provision_status, row.role, row.benchmark_enabled], ['configured', 'compute', true], where)
    const hosts = hostsOf(fixture)
    assert.deepEqual(hosts.map(({ state, resourcestate, clusterid }) => [state, resourcestate, clusterid]), [['Up', 'Enabled', wellKnown.clusters['cluster-a']]], where) // biome-ignore format: one row
    assert.deepEqual([...fixture.node.areas.keys()].sort(), ['base', 'hypervisor', 'network', 'platform-agent'], where)
    assert.deepEqual([...fixture.node.names], [[fixture.node.fqdn, fixture.node.node_ip]], where)
    assert.equal(fixture.node.pending, null, where)
    const held = await heldAddresses(database.db, row.node_id)
    assert.deepEqual(held.map(({ kind }) => kind).sort(), ['dns', 'management', 'storage'], where)
    assert.equal(await storedAddresses(fixture), 2, where)
  }

  async function nothingLeft(fixture: Fixture, job: JobRow, where: string): Promise<void> {
    const row = await rowOf(fixture)
    assert.equal(row.provision_status, 'discovered', `${where}: ${job.status}`)
    assert.deepEqual(hostsOf(fixture), [], where)
    assert.deepEqual([...fixture.node.areas.keys()], [], where)
    assert.deepEqual([...fixture.node.names], [], where)
    assert.deepEqual(await heldAddresses(database.db, row.node_id), [], where)
    assert.equal(await storedAddresses(fixture), 0, where)
  }

  const walk: Walk<Fixture> = { make: () => make(), completed: inService, failed: nothingLeft }

  test('a process killed at any point of a setup is followed by one that puts the node into service', async () => {
    const claims: string[] = []
    const points = await crashEverywhere({
      ...walk,
      // Each effect outside, and each commit of what the job knows of it.
      points: /:(sent|saved)$/,
      completed: (fixture, job, where) => {
        claims.push([...fixture.node.claims].join())
        return inService(fixture, job, where)
      },
    })
    for (const point of ['set:network', 'confirm:network', 'set:base', 'publish', 'addHost', 'updateHost'])
      assert.ok(points.includes(`${point}:sent`), `${point} is a point`)
    assert.ok(
      claims.some((all) => /(\S+) 1,\1 2/.test(all)),
      'the agent is told by a higher epoch that another process has the job',
    )
  })

  test('a setup that fails at any step leaves nothing on the node, the platform, the address store and the name server', async () => {
    assert.equal(await failEverywhere(walk), nodeSetupStartJob.steps.length)
  })

  test('every step of a setup may run twice', async () => {
    await repeatEverywhere(walk)
  })

  test('an agent on another machine than the one on record is refused before anything is done', async () => {
    await repeatEverywhere({
      ...walk,
      async make() {
        const made = await make()
        const nics = [{ name: 'eth0', permanent_mac: '52:54:00:FF:FF:01' }]
        await database.db.transaction().execute((trx) => recordNics(trx, made.input.node_id, nics))
        return made
      },
      async completed(fixture, job, where) {
        assert.deepEqual([job.failed_step, job.failure_code], ['agent-connect', 'NODE_IDENTITY'])
        assert.match(job.failure_reason ?? '', /52:54:00:ff:ff:01/)
        await nothingLeft(fixture, job, where)
      },
    })
  })

  test('without a server of the platform a setup says so, and leaves nothing', async () => {
    await repeatEverywhere({
      ...walk,
      make: () => make({}, undefined, []),
      async completed(fixture, job, where) {
        assert.deepEqual([job.failed_step, job.failure_code], ['platform-agent', 'COMPUTE_NOT_CONFIGURED'])
        await nothingLeft(fixture, job, where)
      },
    })
  })

  test('a management node gets no hypervisor and is no host; without a cluster each step of joining says why it is skipped', async () => {
    await repeatEverywhere({
      make: () => make({ role: 'management', benchmark_enabled: false, nics: [] }),
      async completed(fixture, job, where) {
        const row = await rowOf(fixture)
        assert.deepEqual(
          [job.job_status, row.provision_status, row.role],
          ['completed', 'configured', 'management'],
          where,
        )
        assert.deepEqual(hostsOf(fixture), [])
        assert.deepEqual([...fixture.node.areas.keys()], ['base'])
        const { outstanding, steps } = await readJobFacts(database.db, job.id)
        const joining = steps.filter(({ name }) => ['trust', 'db-clone', 'services', 'failover-daemon'].includes(name))
        assert.deepEqual(
          joining.map(({ state, error }) => [state, error]),
          joining.map(() => ['skipped', 'this control plane is no member of a cluster (ha.address)']),
        )
        assert.deepEqual([joining.length, outstanding], [4, []])
      },
      failed: nothingLeft,
    })
  })

  test('a setup that holds on failure leaves the node as it stands, with what it holds', async () => {
    await repeatEverywhere({
      make: () => make({ hold_on_failure: true }, 'hypervisor'),
      failed: nothingLeft,
      async completed(fixture, job) {
        const row = await rowOf(fixture)
        assert.deepEqual([job.failed_step, row.provision_status], ['hypervisor', 'configure_failed'])
        assert.deepEqual([...fixture.node.areas.keys()].sort(), ['base', 'network'])
        assert.equal((await heldAddresses(database.db, row.node_id)).length, 3)
      },
    })
  })
})
