// The walks of nodeSetupStart: killed at every point, failed at every step, every step twice. Afterwards the node is in service
// with all it needs, or the rollback that follows has left nothing of it anywhere.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { bindJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { lastJob } from '#src/jobs/lookup.ts'
import { readJobFacts } from '#src/jobs/view.ts'
import type { SetupInput } from '#src/modules/lifecycle/setup/input.ts'
import { nodeSetupStartJob } from '#src/modules/lifecycle/setup/setup.job.ts'
import { crashInTurn, failEverywhere, repeatEverywhere, type Walk } from '../support/job-harness.ts'
import { nicOf } from '../support/setup-node.ts'
import { NOTHING, rollbackOf, startWalkSite, type WalkNode, type WalkSite } from '../support/walk-site.ts'

suite('setup of a node', () => {
  let site: WalkSite
  before(async () => {
    site = await startWalkSite()
  })
  after(() => site.close())

  async function make(order: Partial<SetupInput> = {}, broken_area?: string, platform_hosts?: string[]) {
    const { row, ...fixture } = await site.addNode('configuring')
    if (broken_area !== undefined) fixture.node.broken_area = broken_area
    const input: SetupInput = {
      bmc_ip: row.bmc_ip,
      node_id: row.node_id,
      role: 'compute',
      site_id: null,
      nics: [{ interface: 'eth1', untagged: null, tagged: [{ role: 'storage', vlans: [30] }] }],
      bond: null,
      guest_bridges: [],
      benchmark_enabled: true,
      hold_on_failure: false,
      ...order,
    }
    const bound = bindJob(nodeSetupStartJob, site.setupDeps(fixture, platform_hosts))
    return { fixture, bound, input, children: [rollbackOf(site, fixture)], connection: site.connection }
  }

  async function inService(fixture: WalkNode, job: JobRow, where: string): Promise<void> {
    const row = await site.rowOf(fixture)
    assert.equal(job.job_status, 'completed', `${where}: ${job.status}`)
    assert.deepEqual([row.provision_status, row.role, row.benchmark_enabled], ['configured', 'compute', true], where)
    const hosts = site.hostsOf(fixture)
    assert.deepEqual(hosts.map(({ state, resourcestate, clusterid }) => [state, resourcestate, clusterid]), [['Up', 'Enabled', wellKnown.clusters['cluster-a']]], where) // biome-ignore format: one row
    assert.deepEqual(
      [...fixture.node.areas.keys()].sort(),
      ['base', 'fabric', 'hypervisor', 'network', 'platform-agent', 'storage'],
      where,
    )
    assert.equal((await site.keysOf(fixture)).length, 1, where)
    assert.deepEqual(site.namesOf(fixture), ['A', 'PTR'], where)
    assert.equal(fixture.node.pending, null, where)
    const held = await site.heldBy(fixture)
    assert.deepEqual(held.map(({ kind }) => kind).sort(), ['dns', 'management', 'storage'], where)
    assert.equal(await site.storedAddresses(fixture), 2, where)
  }

  const rollbackSays = async ({ bmc_ip }: WalkNode): Promise<string> =>
    (await lastJob(site.database.db, { types: ['node.rollback'], node_ip: bmc_ip }))?.status ?? 'no rollback'

  async function nothingLeft(fixture: WalkNode, job: JobRow, where: string): Promise<void> {
    const row = await site.rowOf(fixture)
    assert.equal(row.provision_status, 'discovered', `${where}: ${job.status}; ${await rollbackSays(fixture)}`)
    assert.deepEqual(await site.leftOf(fixture), NOTHING, where)
  }

  const walk: Walk<WalkNode> = { make: () => make(), completed: inService, failed: nothingLeft }

  test('a process killed at any point of a setup is followed by one that puts the node into service', async () => {
    const claims: string[] = []
    const points = await crashInTurn({
      ...walk,
      // Each effect outside, and each commit of what the job knows of it.
      points: /:(sent|saved)$/,
      completed: (fixture, job, where) => {
        claims.push([...fixture.node.claims].join())
        return inService(fixture, job, where)
      },
    })
    for (const point of [
      'set:network',
      'confirm:network',
      'set:base',
      'changeRecords',
      'makeClient',
      'set:storage',
      'addHost',
      'set:fabric',
      'updateHost',
    ])
      assert.ok(points.includes(`${point}:sent`), `${point} is a point`)
    assert.ok(
      claims.some((all) => /(?:^|,)(\S+) \d+,\1 \d+/.test(all)),
      'the agent is told by a higher epoch that another process has the job',
    )
  })

  test('a setup that fails at any step leaves nothing on the node, the platform, the address store, the name server and the distributed store', async () => {
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
        made.fixture.node.nics = [nicOf('eth0', { macAddress: '52:54:00:FF:FF:01' })]
        return made
      },
      async completed(fixture, job, where) {
        assert.deepEqual([job.failed_step, job.failure_code], ['agent-connect', 'NODE_IDENTITY'])
        assert.match(job.failure_reason ?? '', /none of its NICs/)
        assert.deepEqual([...fixture.node.claims], [], 'nothing was changed there, also not by the rollback')
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
        const row = await site.rowOf(fixture)
        assert.deepEqual(
          [job.job_status, row.provision_status, row.role],
          ['completed', 'configured', 'management'],
          where,
        )
        assert.deepEqual(site.hostsOf(fixture), [])
        assert.deepEqual([...fixture.node.areas.keys()], ['base'])
        const { outstanding, steps } = await readJobFacts(site.database.db, job.id)
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
        const row = await site.rowOf(fixture)
        assert.deepEqual([job.failed_step, row.provision_status], ['hypervisor', 'configure_failed'])
        assert.deepEqual([...fixture.node.areas.keys()].sort(), ['base', 'network'])
        assert.equal((await site.heldBy(fixture)).length, 3)
      },
    })
  })
})
