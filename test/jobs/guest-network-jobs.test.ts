// The walks of the guest network jobs: killed at every point, failed at every step, every step twice. Afterwards the network is
// on every node and on the platform, or nowhere.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import type { BridgeReport, BridgeSpec } from '#src/contract/nodes/agent-bridges.ts'
import { bindJob, type JobDefinition } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { UpstreamError } from '#src/kernel/errors.ts'
import { createLog } from '#src/kernel/log.ts'
import {
  guestNetworkCheckJob,
  guestNetworkCreateJob,
  guestNetworkDeleteJob,
} from '#src/modules/network/guest-network-nodes.job.ts'
import type { GuestNetworkDeps, GuestNetworkInput } from '#src/modules/network/guest-network-run.ts'
import type { NodeAgents } from '#src/modules/node-agents.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { reserveSite } from '#src/store/guest-networks.ts'
import { crashEverywhere, failEverywhere, repeatEverywhere, send, type Walk } from '../support/job-harness.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { startWalkPlatform, type WalkPlatform } from '../support/walk-platform.ts'

interface Fixture {
  name: string
  /** Bridges of each node. */
  nodes: Map<string, Set<string>>
  bridge: string
  /** Claims under which nodes were told to change something. */
  claims: Set<string>
}

type Definition = JobDefinition<GuestNetworkDeps, GuestNetworkInput>

const IDS = [randomUUID(), randomUUID(), randomUUID()]

suite('guest network jobs', () => {
  let test_database: TestDatabase
  let database: Database
  let walks_on: WalkPlatform
  let count = 0
  before(async () => {
    const log = createLog({ level: 'silent' })
    test_database = await createTestDatabase()
    database = openDatabase({ connection: test_database.connection, pool_size: 2, log })
    walks_on = await startWalkPlatform()
    for (const [at, id] of IDS.entries()) {
      await database.db
        .insertInto('node')
        .values({ id, bmc_ip: `10.0.0.${at + 1}`, registered_by: 'test' } as never)
        .execute()
    }
  })
  after(async () => {
    await walks_on.close()
    await database.close()
    await test_database.drop()
  })

  const networksOf = (name: string) => walks_on.platform.state.tables.networks.filter((one) => one.name === name)

  /** A network of its own each time; `there`: it exists when the job begins. */
  async function make(definition: Definition, there: boolean, broken_node = false) {
    count += 1
    const name = `net-${count}`
    const segment_id = 3000 + count
    const bridge: BridgeSpec = { bridge: `gn${segment_id}`, kind: 'vlan', segment_id, nic: 'bond0' }
    const nodes = new Map(IDS.map((id) => [id, new Set(there ? [bridge.bridge] : [])]))
    const fixture: Fixture = { name, nodes, bridge: bridge.bridge, claims: new Set() }
    const args = {
      name, displaytext: name, zoneid: wellKnown.zone, networkofferingid: wellKnown.network_offerings.l2, vlan: `${segment_id}`,
    } // biome-ignore format: one record
    if (there) await walks_on.cloudstack.call('createNetwork', args)
    const network_id = networksOf(name)[0]?.id ?? null
    const site = { name, network_id, bridge: bridge.bridge, kind: 'vlan', segment_id, nic: 'bond0', mtu: null } as const
    assert.ok(await database.transact((trx) => reserveSite(trx, site)))
    const input: GuestNetworkInput = {
      name,
      network_id,
      bridge,
      nodes: IDS.map((node_id, at) => ({ node_id, name: `n${at}`, fqdn: '', node_ip: `10.1.0.${at}` })),
      platform: args,
    }
    const deps = { database, cloudstack: walks_on.cloudstack, agents: fakeAgents(fixture, broken_node) }
    return { fixture, bound: bindJob(definition, deps), input, connection: test_database.connection }
  }

  async function everywhere({ name, nodes, bridge }: Fixture, job: JobRow, where: string): Promise<void> {
    for (const bridges of nodes.values()) assert.deepEqual([...bridges], [bridge], `${where}: ${job.status}`)
    assert.equal(networksOf(name).length, 1, where)
    assert.deepEqual(await siteOf(name), [networksOf(name)[0]?.id], where)
  }
  async function nowhere({ name, nodes }: Fixture, job: JobRow, where: string): Promise<void> {
    for (const bridges of nodes.values()) assert.deepEqual([...bridges], [], `${where}: ${job.status}`)
    assert.deepEqual([networksOf(name).length, await siteOf(name)], [0, []], where)
  }
  /** What the platform gave up does not come back; the rest does, known as before, so that it can be deleted again. */
  async function deletable({ name, nodes, bridge }: Fixture, job: JobRow, where: string): Promise<void> {
    for (const bridges of nodes.values()) assert.deepEqual([...bridges], [bridge], `${where}: ${job.status}`)
    assert.equal((await siteOf(name)).length, 1, where)
  }
  const siteOf = async (name: string) =>
    (await database.db.selectFrom('guest_network_site').select('network_id').where('name', '=', name).execute()).map(
      (row) => row.network_id,
    )

  const walks: { title: string; steps: number; sent: string[]; walk: Walk<Fixture> }[] = [
    {
      title: 'created',
      steps: 3,
      sent: ['agentBridgeCreate', 'createNetwork'],
      walk: { make: () => make(guestNetworkCreateJob, false), completed: everywhere, failed: nowhere },
    },
    {
      title: 'deleted',
      steps: 4,
      sent: ['agentBridgeDelete', 'deleteNetwork'],
      walk: { make: () => make(guestNetworkDeleteJob, true), completed: nowhere, failed: deletable },
    },
    {
      title: 'checked',
      steps: 2,
      sent: [],
      walk: { make: () => make(guestNetworkCheckJob, true), completed: everywhere, failed: everywhere },
    },
  ]
  for (const { title, steps, sent, walk } of walks) {
    test(`a network that is ${title}: a process killed at any point is followed by one that ends the job well${sent.length > 0 ? ', and tells nodes so by a higher epoch' : ''}`, async () => {
      const claims: string[] = []
      const points = await crashEverywhere({
        ...walk,
        completed: (fixture, job, where) => {
          claims.push([...fixture.claims].join())
          return walk.completed(fixture, job, where)
        },
      })
      for (const point of sent) assert.ok(points.includes(`${point}:sent`), point)
      // Nodes are told by a higher epoch that another process has the job.
      const taken_over = claims.some((all) => /(\w+) 1,\1 2/.test(all))
      assert.ok(sent.length === 0 || taken_over, claims.join(' | '))
    })
    test(`a network that is ${title}: a step that fails is compensated on every node`, async () => {
      assert.equal(await failEverywhere(walk), steps)
    })
    test(`a network that is ${title}: every step may run twice`, async () => {
      await repeatEverywhere(walk)
    })
  }

  test('a node that is not registered any more is named, and the others keep no bridge of the network', async () => {
    const gone = randomUUID()
    const walk: Walk<Fixture> = {
      async make() {
        const { input, ...made } = await make(guestNetworkCreateJob, false)
        const nodes = [...input.nodes, { node_id: gone, name: 'n3', fqdn: '', node_ip: '10.1.0.3' }]
        return { ...made, input: { ...input, nodes } }
      },
      async completed(fixture, job, where) {
        assert.match(job.failure_reason ?? '', new RegExp(`n3: Node ${gone} is not registered any more`), where)
        await nowhere(fixture, job, where)
      },
      failed: nowhere,
    }
    await repeatEverywhere(walk)
  })

  test('one node that fails leaves no bridge on the others, however often the process dies meanwhile', async () => {
    const walk: Walk<Fixture> = {
      make: () => make(guestNetworkCreateJob, false, true),
      completed: (_fixture, job, where) => assert.fail(`${where}: ${job.status}`),
      failed: nowhere,
      may_fail: 'one node takes no bridge',
    }
    await crashEverywhere(walk)
  })
})

/** Nodes that keep their bridges; the last one cannot make any when `broken`. */
function fakeAgents({ nodes, claims }: Fixture, broken: boolean): Pick<NodeAgents, 'client'> {
  const client: unknown = (row: { id: string }, _routes: unknown, { job }: Parameters<NodeAgents['client']>[2]) => {
    const bridges = nodes.get(row.id)
    assert.ok(bridges !== undefined && job !== undefined)
    const report = (bridge: string): BridgeReport => {
      const present = bridges.has(bridge)
      return { bridge, present, problems: present ? [] : ['there is no bridge'], members: [] }
    }
    const changing =
      (name: string, change: (bridge: string) => void) =>
      ({ body: { bridge } }: { body: BridgeSpec }) =>
        send(name, () => {
          claims.add(`${job.step} ${job.epoch}`)
          change(bridge)
          return report(bridge)
        })
    return {
      agentBridgeCreate: changing('agentBridgeCreate', (bridge) => {
        if (broken && row.id === IDS.at(-1))
          throw new UpstreamError({ upstream: 'AGENT', operation: 'n2', failure: 'error', detail: 'full' })
        bridges.add(bridge)
      }),
      agentBridgeDelete: changing('agentBridgeDelete', (bridge) => bridges.delete(bridge)),
      agentBridgeCheck: async ({ body: { bridge } }: { body: BridgeSpec }) => report(bridge),
    }
  }
  return { client: client as NodeAgents['client'] }
}
