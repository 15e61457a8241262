// Setup of nodes over HTTP: nodeSetupStart, nodeSetupStatus and nodePreflight, with an agent, an address store, a name server and
// the platform.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { NodeSetupResponse } from '#src/contract/nodes/lifecycle-setup.ts'
import { enrolNode, type FakeAgent, registerNode, sendHeartbeat, serveAs } from '../support/fake-agent.ts'
import type { Reply } from '../support/http.ts'
import { answerOf, type SimulatedNode, simulatedNode } from '../support/setup-node.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

const BMC = '10.1.9.21'
const MANAGEMENT = '10.1.9.5'
/** Steps of a whole job: a machine that is busy with other things takes its time. */
const JOB_MS = 200_000
const FACTS = { hostname: 'kvm-n1', fqdn: 'kvm-n1.example.internal', node_ip: '10.50.0.21', addresses: ['10.50.0.21'], boot_id: 'b1', agent_version: '1' } // biome-ignore format: one record

/** Steps of management nodes alone. */
const JOINING = [
  'trust', 'db-slot', 'db-clone', 'db-standby', 'services', 'scripts', 'member-add', 'failover-daemon', 'filesync-keys', 'dns-dhcp',
] // biome-ignore format: one list

suite('node setup', () => {
  let lab: Lab
  let node: SimulatedNode
  const agents: FakeAgent[] = []

  /** Enrolled, with an agent that answers and has sent a heartbeat. */
  async function addAgent(bmc_ip: string, facts: typeof FACTS): Promise<SimulatedNode> {
    const made = simulatedNode(facts.node_ip, facts.fqdn)
    const who = await enrolNode(lab, bmc_ip, facts)
    const agent = await serveAs(who, answerOf(made))
    agents.push(agent)
    await sendHeartbeat(lab, who, agent.port)
    return made
  }

  before(async () => {
    lab = await startLab({
      addresses: true,
      config: { setup: { cluster: 'cluster-a' }, node: { enabled: false }, nodes: { offline_after_ms: 600_000 } },
    })
    for (const [path, body] of [
      ['ipam/roles', { slug: 'storage', name: 'Storage' }],
      ['ipam/sites', { slug: 'fra', name: 'Frankfurt', is_default: true }],
      ['ipam/vlans', { vid: 30, name: 'storage', role_id: 1, site_id: 1 }],
      ['ipam/prefixes', { cidr: '10.30.0.0/24', role_id: 1, site_id: 1, vlan_id: 1 }],
      ['ipam/prefixes', { cidr: '10.50.0.0/24', gateway: '10.50.0.1' }],
      ['dns/zones', { name: 'example.internal', type: 'Primary' }],
    ] as const) {
      const reply = await lab.call('POST', `/ddi/${path}`, body)
      assert.equal(reply.status, 201, reply.text)
    }
    node = await addAgent(BMC, FACTS)
    await registerNode(lab, MANAGEMENT, { role: 'management' })
    await addAgent(MANAGEMENT, {
      ...FACTS,
      hostname: 'mgmt',
      fqdn: 'mgmt.example.internal',
      node_ip: '10.50.0.5',
      addresses: ['10.50.0.5'],
    })
  })
  after(async () => {
    await Promise.all(agents.map((agent) => agent.close()))
    await lab.close()
  })

  const order = (more: object = {}) => ({
    bmc_ip: BMC,
    assignments: { eth1: { tagged: [{ network: 'storage' }] } },
    benchmark_enabled: true,
    ...more,
  })
  const setUp = (body: object, bmc_ip = BMC): Promise<Reply> =>
    lab.call('POST', `/configure/nodes/${bmc_ip}/setup`, body)
  const statusOf = (body: object = order()): Promise<Reply> => lab.call('POST', '/configure/setup/status', body)
  const stateOf = async (): Promise<string> =>
    String((await lab.call('GET', `/configure/nodes/${BMC}`)).body.provision_status)
  const ended = () =>
    until(
      'the setup has ended',
      async () => {
        const { status, body } = await statusOf()
        return status === 200 && (body as NodeSetupResponse)
      },
      JOB_MS,
    )

  test('a request with many mistakes is refused with all of them, and no job begins', async () => {
    const { status, body } = await setUp(
      order({
        bmc_ip: '10.1.9.22',
        assignments: {
          eth0: { untagged: 'storage' },
          eth9: { untagged: 'public' },
          eth1: {
            tagged: [{ network: 'guest' }, { network: 'tunnel', vlans: [7] }, { network: 'benchmark', vlans: [7] }],
          },
          bond0: { untagged: 'storage' },
        },
        bondSlaveOverride: ['eth0', 'eth2', 'eth2'],
        guest_bridges: [{ bridge: 'no-such-net', nic: 'eth9' }],
      }),
    )
    assert.equal(status, 400)
    const paths = (body.errors as { path: string }[]).map(({ path }) => path)
    assert.deepEqual(paths.toSorted(), [
      'body.assignments.bond0', 'body.assignments.eth0', 'body.assignments.eth1.tagged', 'body.assignments.eth1.tagged.0.vlans', 'body.assignments.eth9',
      'body.bmc_ip', 'body.bondSlaveOverride.0', 'body.bondSlaveOverride.2', 'body.guest_bridges.0.bridge', 'body.guest_bridges.0.nic',
    ]) // biome-ignore format: a list
    const management = await setUp(order({ role: 'management' }))
    assert.deepEqual([management.status, (management.body.errors as object[]).length], [400, 2])
    const site = await setUp(order({ siteId: 99 }))
    assert.match(String(site.body.detail), /no site 99/)
    assert.equal((await statusOf()).status, 404)
    assert.equal((await statusOf({ bmc_ip: BMC })).status, 400)
    assert.equal(await stateOf(), 'discovered')
  })

  test('a setup is a job: the same order joins it, another one is refused, and at its end the node is in service', async () => {
    node.busy_area = 'base'
    const first = await setUp(order())
    assert.equal(first.status, 202, first.text)
    const again = await setUp(order())
    assert.deepEqual([again.status, again.body.job_id], [200, first.body.job_id])
    const other = await setUp(order({ benchmark_enabled: false }))
    assert.deepEqual([other.status, other.body.code], [400, 'NODE_JOB_RUNNING'])
    const running = await statusOf()
    assert.deepEqual(
      [running.status, running.body.job_status, running.body.provision_status],
      [202, 'running', 'configuring'],
    )
    delete node.busy_area
    const job = await ended()
    assert.deepEqual([job.job_status, job.provision_status, job.progress, job.status], ['completed', 'configured', 100, `Node ${BMC} is in service as compute.`]) // biome-ignore format: one row
    assert.equal(job.steps[1], 'Reach the agent')
    const { body: events } = await lab.call('POST', '/events/app-events', { action: 'nodeSetupStart' })
    const [event] = events.app_events as { status: string; correlation_id: string; audit_head: string }[]
    assert.deepEqual([event?.status, event?.correlation_id, event?.audit_head.length], ['SUCCESS', job.job_id, 64])
    const hosts = lab.platform.state.tables.hosts.filter(({ ipaddress }) => ipaddress === FACTS.node_ip)
    assert.deepEqual(
      hosts.map(({ resourcestate }) => resourcestate),
      ['Enabled'],
    )
    const records = await lab.call('GET', '/ddi/dns/records?zone_name=example.internal')
    assert.match(records.text, /"kvm-n1".*10\.50\.0\.21/)
    const network = node.areas.get('network')?.document as { devices: { name: string; addresses?: string[] }[] }
    assert.deepEqual(network.devices.map(({ name, addresses }) => [name, addresses ?? []]), [['eth1', []], ['eth1.30', []], ['cloudbr2', ['10.30.0.1/24']]]) // biome-ignore format: a list
    const repeated = await setUp(order())
    assert.deepEqual([repeated.status, repeated.body.code], [400, 'NODE_STATE'])
    const { body: detail } = await lab.call('GET', `/jobs/${job.job_id}`)
    const skipped = (detail.steps as { name: string; status: string; error: string }[]).filter(
      (step) => step.status === 'skipped',
    )
    assert.deepEqual(skipped.map(({ name }) => name), ['bmc-check', 'bridges', 'storage-client', 'storage-disks', 'fabric', 'gpu', ...JOINING]) // biome-ignore format: a list
    assert.ok(
      skipped.every(({ error }) => error !== ''),
      'each says why',
    )
  })

  test('a setup that fails is rolled back by a job of its own, and whoever asks is told to wait, and then to retry', async () => {
    const bmc_ip = '10.1.9.23'
    const facts = {
      ...FACTS,
      hostname: 'kvm-n3',
      fqdn: 'kvm-n3.example.internal',
      node_ip: '10.50.0.23',
      addresses: ['10.50.0.23'],
    }
    const broken = await addAgent(bmc_ip, facts)
    broken.broken_area = 'hypervisor'
    const { status, body } = await setUp(order({ bmc_ip }), bmc_ip)
    assert.equal(status, 202)
    const rollback = await until(
      'the node is rolled back',
      async () => {
        const reply = await lab.call('POST', `/configure/nodes/${bmc_ip}/rollback/status`, {})
        return reply.status === 200 && reply.body.job_status !== 'running' && reply.body
      },
      JOB_MS,
    )
    assert.deepEqual(
      [rollback.job_status, rollback.parent_id, rollback.provision_status],
      ['completed', body.job_id, 'discovered'],
      rollback.status,
    )
    const setup = (await statusOf(order({ bmc_ip }))).body
    assert.deepEqual([setup.job_status, setup.total_jobs, setup.provision_status], ['failed', 2, 'discovered'])
    assert.deepEqual([...broken.areas.keys()], [])
    const { body: stored } = await lab.call('GET', '/ddi/ipam/addresses?page_size=100')
    assert.ok(!JSON.stringify(stored).includes('10.50.0.23'), 'its addresses are free')
    const { body: events } = await lab.call('POST', '/events/app-events', { action: 'rollbackStart' })
    assert.deepEqual(
      events.app_events.map((event: { status: string }) => event.status),
      ['SUCCESS'],
    )
  })

  test('the preflight shows the layout of a management node and the guest networks of the platform', async () => {
    const { status, body } = await lab.call('POST', `/configure/nodes/${BMC}/preflight`, {})
    assert.equal(status, 200)
    assert.deepEqual([body.node_ip, body.controlNodeHasBond, body.defaultMTU], [BMC, true, 1500])
    assert.deepEqual(body.bondParams, { mode: '802.3ad', miimon: '100', hash: 'layer3+4', rate: 'fast' })
    assert.equal((body.bootstrap_nics as object[]).length, 4)
    const names = (body.guest_bridges as { networks: { name: string }[] }[]).flatMap(({ networks }) =>
      networks.map(({ name }) => name),
    )
    assert.ok(names.includes('acme-net') && names.includes('office-shared'))
    assert.equal((await lab.call('POST', '/configure/nodes/10.9.9.9/preflight', {})).status, 404)
    assert.equal((await lab.call('POST', '/configure/nodes/none/preflight', {})).status, 400)
  })

  test('an unknown node is 404, and a node whose agent is silent is 500', async () => {
    const unknown = '10.9.9.9'
    assert.equal((await setUp(order({ bmc_ip: unknown }), unknown)).status, 404)
    assert.equal((await statusOf(order({ bmc_ip: unknown }))).status, 404)
    await registerNode(lab, '10.1.9.30')
    const silent = await setUp(order({ bmc_ip: '10.1.9.30' }), '10.1.9.30')
    assert.deepEqual([silent.status, silent.body.code], [500, 'AGENT_UNAVAILABLE'])
  })
})
