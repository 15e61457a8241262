// Guest networks on the nodes over real agents on captured hosts: made everywhere or nowhere, checked, deleted, and reported.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { LabAgents } from '../../lab/agents.ts'
import { seededId, wellKnown } from '../../lab/site.ts'
import { type FakeAgent, enrolNode, sendHeartbeat, serveAs } from '../support/fake-agent.ts'
import { startEnrolledAgents } from '../support/enrolled-agents.ts'
import { control } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

suite('guest networks on nodes', () => {
  let lab: Lab
  let agents: LabAgents
  let zone_id = ''
  let network_offering_id = ''
  before(async () => {
    lab = await startLab({
      config: { nodes: { heartbeat_interval_ms: 300, offline_after_ms: 60_000, agent_timeout_ms: 15_000 } },
    })
    agents = await startEnrolledAgents(lab)
    const { body } = await lab.call('POST', '/network/guest-networks/list', {})
    const shared =
      body.guest_networks.find((one: { type: string }) => one.type === 'L2') ??
      body.guest_networks.find((one: { type: string }) => one.type === 'Shared')
    zone_id = shared.zone_id
    network_offering_id = shared.network_offering_id
  })
  const fakes: FakeAgent[] = []
  after(async () => {
    for (const fake of fakes) await fake.close()
    await agents?.close()
    await lab?.close()
  })
  const waiting = { headers: { prefer: 'wait=60' } }
  const create = (name: string, segment_id: number, more: object = {}) =>
    lab.call('POST', '/network/guest-networks', {
      name, zone_id, network_offering_id, kind: 'vlan', segment_id, nic: 'bond0', gateway: '10.77.0.1', netmask: '255.255.255.0',
      start_ip: '10.77.0.10', end_ip: '10.77.0.90', ...more,
    }, waiting) // biome-ignore format: one call
  const latest = async (network: string) =>
    (await lab.call('GET', `/network/guest-networks/jobs/latest?network=${network}`)).body
  const bridgesOf = async (target: string): Promise<string[]> => {
    const { body } = await lab.call('GET', '/network/monitoring/node-summary', undefined, {
      headers: { 'x-target-node': target },
    })
    return body.main_bridges.map((one: { name: string }) => one.name)
  }
  /** The view of a node may be a moment old. */
  const shown = (target: string, bridge: string, there: boolean): Promise<boolean> =>
    until(
      `${target} ${there ? 'has' : 'has no'} ${bridge}`,
      async () => (await bridgesOf(target)).includes(bridge) === there,
    )
  const onPlatform = async (name: string): Promise<{ id: string; vlan: string }[]> =>
    (await lab.call('POST', '/network/guest-networks/list', { name })).body.guest_networks

  test('a network is made on every hypervisor and on the platform, checked, and deleted from both', async () => {
    const made = await create('office-700', 700, { mtu: 1450 })
    assert.deepEqual([made.status, made.body.status], [200, 'SUCCESS'], made.text)
    const [network, ...more] = await onPlatform('office-700')
    assert.ok(network !== undefined && more.length === 0)
    assert.equal(made.body.resource_id, network.id)
    assert.match(network.vlan, /700/)
    for (const node of ['kvm-01', 'kvm-02']) await shown(node, 'gn700', true)
    assert.equal((await bridgesOf('mgmt-01')).includes('gn700'), false, 'no machine runs on a management node')
    const result = await latest('office-700')
    assert.deepEqual(
      [
        result.state,
        result.operation,
        result.total_nodes,
        result.bridge_result.succeeded,
        result.bridge_result.bridge_name,
      ],
      ['completed', 'create', 2, 2, 'gn700'],
    )
    assert.equal((await create('office-700', 701)).body.code, 'NETWORK_EXISTS')
    assert.equal((await create('office-other', 700)).body.code, 'NETWORK_EXISTS')

    const check = () => lab.call('POST', `/network/guest-networks/${network.id}/check`, undefined, waiting)
    assert.equal((await check()).body.status, 'SUCCESS')
    const last = (await lab.call('GET', '/network/guest-networks/jobs/last')).body
    assert.deepEqual(
      last.map((one: { network: string; operation: string }) => [one.network, one.operation]),
      [['office-700', 'check']],
    )
    assert.equal((await latest('office-700')).operation, 'create', 'a check is no create or delete')

    const plan = await lab.call('DELETE', `/network/guest-networks/${network.id}?dry_run=true`)
    assert.equal(plan.body.dry_run, true, plan.text)
    assert.match(plan.body.message, /guest network office-700 .* its bridge gn700 from 2 nodes/)
    assert.deepEqual(
      plan.body.affected.map(({ kind, name }: { kind: string; name: string }) => [kind, name]),
      [
        ['node', 'kvm-01.example.internal'],
        ['node', 'kvm-02.example.internal'],
      ],
    )
    assert.equal((await check()).body.status, 'SUCCESS', 'it is still there')
    const deleted = await lab.call('DELETE', `/network/guest-networks/${network.id}`, undefined, waiting)
    assert.equal(deleted.body.status, 'SUCCESS', deleted.text)
    assert.deepEqual(await onPlatform('office-700'), [])
    for (const node of ['kvm-01', 'kvm-02']) await shown(node, 'gn700', false)
    assert.equal((await check()).body.code, 'NETWORK_NOT_FOUND')
    const again = await create('office-700', 700)
    assert.equal(again.body.status, 'SUCCESS', again.text)
    const [fresh] = await onPlatform('office-700')
    await lab.call('DELETE', `/network/guest-networks/${fresh?.id ?? ''}`, undefined, waiting)
  })

  test('what the platform refuses leaves no bridge behind', async () => {
    const taken = (await lab.call('POST', '/network/guest-networks/list', {})).body.guest_networks.find(
      (one: { vlan: string | null }) => one.vlan !== null && Number.isInteger(Number(one.vlan)),
    )
    assert.ok(taken !== undefined)
    const { status, body } = await create('office-twice', Number(taken.vlan))
    assert.ok(status === 400 || status === 409, JSON.stringify(body))
    assert.match(body.code, /^COMPUTE_/)
    for (const node of ['kvm-01', 'kvm-02']) assert.equal((await bridgesOf(node)).includes(`gn${taken.vlan}`), false)
    assert.equal((await latest('office-twice')).state, 'failed')
  })

  test('a network that the platform made without saying which is 500, and no bridge stays', async () => {
    await control(lab, 'pretend', { command: 'createNetwork', times: 1 })
    const { status, body } = await create('office-705', 705)
    assert.deepEqual([status, body.code], [500, 'CHANGE_NOT_SEEN'], JSON.stringify(body))
    assert.match(body.detail, /it did not say which guest network it made/)
    for (const node of ['kvm-01', 'kvm-02']) assert.equal((await bridgesOf(node)).includes('gn705'), false, node)
  })

  test('a network that machines use is not deleted and names them; one that the platform lost fails its check', async () => {
    const { body: made } = await create('office-706', 706)
    const { vms, networks } = lab.platform.state.tables
    const [vm] = vms.filter((one) => one.name === 'web-01')
    const [nic] = vm?.nics ?? []
    assert.ok(vm !== undefined && nic !== undefined)
    vms.put({ ...vm, nics: [...vm.nics, { ...nic, id: seededId('nic', 'office-706'), networkid: made.resource_id }] })
    const used = await lab.call('DELETE', `/network/guest-networks/${made.resource_id}`, undefined, waiting)
    assert.equal(used.body.code, 'NETWORK_IN_USE', used.text)
    assert.equal(used.body.detail, 'Machines use guest network office-706: web-01.')
    await shown('kvm-01', 'gn706', true)
    vms.put(vm)
    networks.remove(made.resource_id)
    const lost = await lab.call('POST', `/network/guest-networks/${made.resource_id}/check`, undefined, waiting)
    assert.equal(lost.body.code, 'NETWORK_NOT_FOUND', lost.text)
    assert.equal(lost.body.detail, 'The compute platform has no network office-706 any more.')
  })

  test('a node that cannot follow is named, and the others are as before', async () => {
    const { status, body } = await create('office-702', 702, { nic: 'eth77' })
    assert.deepEqual([status, body.code], [500, 'NETWORK_NODES_FAILED'])
    assert.match(body.detail, /kvm-01.*eth77/)
    const result = await latest('office-702')
    assert.equal(result.bridge_result.failed, 2)
    assert.equal(result.bridge_result.failed_nodes[0].reachable, true)
    assert.deepEqual(await onPlatform('office-702'), [])
  })

  test('a request that cannot be is refused as such', async () => {
    assert.equal((await create('office-9', 5000)).status, 400)
    assert.equal((await create('office-9', 703, { nic: undefined })).status, 400)
    assert.equal((await create('office-9', 703, { bridge: 'a b' })).status, 400)
    assert.equal((await create('office-9', 703, { network_offering_id: wellKnown.zone })).status, 400)
    assert.equal((await lab.call('DELETE', '/network/guest-networks/nosuch')).status, 404)
    assert.equal((await lab.call('GET', '/network/guest-networks/jobs/latest?network=none')).status, 404)
  })

  test('a node that fails half-way: what the others did is rolled back, the unreachable one is named as such', async () => {
    let broken = true
    const claims = new Set<string>()
    const who = await enrolNode(lab, '10.8.9.1')
    const fake: FakeAgent = await serveAs(who, (request, response) => {
      const report = { bridge: 'gn704', present: false, problems: [], members: [] }
      const create_call = request.url?.includes('create') ?? false
      if (create_call) claims.add([request.headers['x-step'], request.headers['x-epoch']].join(' '))
      response.statusCode = broken && create_call ? 500 : 200
      response.end(
        JSON.stringify(broken && create_call ? { code: 'BRIDGE_FAILED', detail: 'The disk is full.' } : report),
      )
    })
    fakes.push(fake)
    await sendHeartbeat(lab, who, fake.port)
    const failed = await create('office-704', 704)
    assert.deepEqual([failed.status, failed.body.code], [500, 'NETWORK_NODES_FAILED'])
    assert.match(failed.body.detail, /fake-10-8-9-1.*disk is full/)
    assert.deepEqual([...claims], ['nodes 1'], 'an agent can tell a process that lost the job')
    assert.deepEqual((await latest('office-704')).bridge_result.nodes.length, 2)
    for (const node of ['kvm-01', 'kvm-02']) assert.equal((await bridgesOf(node)).includes('gn704'), false, node)
    broken = false
    await fake.close()
    const unreachable = await create('office-704', 704)
    assert.equal(unreachable.body.code, 'NETWORK_NODES_FAILED')
    const result = await latest('office-704')
    assert.deepEqual(
      result.bridge_result.failed_nodes.map((one: { fqdn: string; reachable: boolean }) => [one.fqdn, one.reachable]),
      [['fake-10-8-9-1.example.internal', false]],
    )
    assert.deepEqual(await onPlatform('office-704'), [])
  })
})
