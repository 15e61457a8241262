import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import type { FrrNode } from '#src/contract/network/frr.ts'
import { NetworkSummary } from '#src/contract/network/monitoring.ts'
import { exampleNodeNet } from '#src/contract/network/monitoring-example.ts'
import type { NodeNet } from '#src/contract/network/node-net.ts'
import { dashboardSummary, fleetAlerts, type FleetNode, mtuDrifts, snapshotDigest } from './fleet.ts'
import { type RouterDigest, routerDigest } from './frr-summary.ts'

function online(name: string, change: Partial<NodeNet> = {}): FleetNode {
  const data = snapshotDigest({ ...exampleNodeNet, ...change })
  return {
    fqdn: name,
    node_ip: `ip-${name}`,
    bmc_ip: `bmc-${name}`,
    node_role: 'kvm_host',
    status: 'online',
    error: null,
    data,
  }
}

function offline(name: string): FleetNode {
  const error = 'the node did not answer within 5 s'
  return {
    fqdn: name,
    node_ip: `ip-${name}`,
    bmc_ip: `bmc-${name}`,
    node_role: 'kvm_host',
    status: 'offline',
    error,
    data: null,
  }
}

function bridge(name: string, mtu: number, members: string[] = []) {
  const [own] = exampleNodeNet.main_bridges
  assert.ok(own)
  return { ...own, name, mtu, members }
}

function nic(name: string, mtu: number) {
  const [own] = exampleNodeNet.nics
  assert.ok(own)
  return { ...own, name, mtu }
}

/** What the fabric looks like from one node: only the fields that are read. */
function router(vteps: Record<number, number | null>, states = ['Established']): RouterDigest {
  const vnis = Object.entries(vteps).map(([vni, num_remote_vteps]) => ({
    vni: Number(vni),
    type: 'L2',
    num_remote_vteps,
    vxlan_if: `vxlan${vni}`,
  }))
  const sessions = states.map((state) => ({ peer: '10.255.0.2', state, address_families: ['l2VpnEvpn'] }))
  const record = { status: 'online', vnis, bgp: { sessions }, bfd_peers: null, ospf_neighbors: null, evpn_routes: {} }
  return routerDigest(record as unknown as FrrNode) // the other fields are not looked at
}

const healthy: Partial<NodeNet> = { links_down: 0, mtu_mismatches: [], ntp_synced: true }

test('a device drifts when nodes differ, and the odd one out is named', () => {
  const nodes = ['a', 'b', 'c'].map((name, at) =>
    online(name, { main_bridges: [bridge('cloudbr2', at === 1 ? 1500 : 9000)], nics: [] }),
  )
  const drifts = mtuDrifts(nodes)
  assert.deepEqual(
    drifts.map(({ per_node: _nodes, ...drift }) => drift),
    [{ device_name: 'cloudbr2', device_type: 'bridge', expected_mtu: 0, min_mtu: 1500, max_mtu: 9000 }],
  )
  const alerts = fleetAlerts(nodes, drifts)
  assert.deepEqual(
    alerts.map((alert) => [alert.category, alert.severity, alert.node, alert.message]),
    [['mtu_drift', 'warning', 'b', 'cloudbr2 has MTU 1500; other nodes have 9000.']],
  )
})

test('a declared MTU is what every node is held against, even when all agree on another', () => {
  const nodes = ['a', 'b'].map((name) => online(name, { main_bridges: [bridge('cloudbr2', 1500)], nics: [] }))
  assert.deepEqual(mtuDrifts(nodes), [])
  assert.equal(mtuDrifts(nodes, { cloudbr2: 9000 })[0]?.expected_mtu, 9000)
  assert.deepEqual(mtuDrifts(nodes, { cloudbr2: 1500 }), [])
  assert.equal(fleetAlerts(nodes, mtuDrifts(nodes, { cloudbr2: 9000 })).length, 2)
})

test('only NICs under a main bridge are compared: a spare NIC may be set as it likes', () => {
  const nodes = [9000, 1500].map((mtu, at) =>
    online(`n${at}`, { main_bridges: [bridge('br', 1500, ['bond0.7'])], nics: [nic('bond0', mtu), nic('eth9', mtu)] }),
  )
  assert.deepEqual(
    mtuDrifts(nodes).map((drift) => [drift.device_name, drift.device_type]),
    [['bond0', 'interface']],
  )
})

test('a silent node is critical, an unconfigured one a note', () => {
  const unconfigured: FleetNode = { ...offline('x'), node_ip: null, status: 'unconfigured-noIP' }
  const alerts = fleetAlerts([offline('a'), unconfigured, online('b')], [])
  assert.deepEqual(
    alerts.map((alert) => [alert.category, alert.severity, alert.node]),
    [
      ['node_offline', 'critical', 'a'],
      ['node_offline', 'info', 'x'],
    ],
  )
  assert.match(alerts[0]?.message ?? '', /did not answer within 5 s/)
})

test('alerts of two nodes without name and address are told apart', () => {
  const unnamed = (name: string): FleetNode => ({
    ...offline(name),
    fqdn: null,
    node_ip: null,
    status: 'unconfigured-noIP',
  })
  assert.deepEqual(
    fleetAlerts([unnamed('a'), unnamed('b')], []).map(({ node }) => node),
    ['the node of BMC bmc-a', 'the node of BMC bmc-b'],
  )
})

test('a node that misses the tunnel end of another that shares the VNI is told', () => {
  const nodes = ['a', 'b', 'c'].map((name) => online(name))
  const fabric = new Map([
    ['ip-a', router({ 100: 2 })],
    ['ip-b', router({ 100: 1 })],
    ['ip-c', router({ 100: null })],
  ])
  const alerts = fleetAlerts(nodes, [], fabric)
  assert.deepEqual(
    alerts.map((alert) => [alert.node, alert.device, alert.message]),
    [['b', 'vxlan100', 'VNI 100 reaches 1 of 2 other nodes that share it.']],
  )
})

test('the dashboard sums the nodes that answered and counts the others', () => {
  const nodes = [online('a'), online('b', { links_up: 3 }), offline('c')]
  const summary = dashboardSummary(nodes, [])
  assert.ok(Compile(NetworkSummary).Check(summary))
  assert.deepEqual([summary.total_nodes, summary.online_nodes, summary.offline_nodes], [3, 2, 1])
  assert.equal(summary.total_links_up, exampleNodeNet.links_up + 3)
  assert.equal(summary.total_traffic_bytes, 2 * exampleNodeNet.total_traffic_bytes)
})

test('health loses each weight by its share, is 0 when nobody answers and unknown without nodes', () => {
  const pct = (nodes: FleetNode[], fabric?: Map<string, RouterDigest>) =>
    dashboardSummary(nodes, [], fabric).network_health_pct
  const fine = () => online('a', healthy)
  assert.equal(pct([fine(), fine()]), 100)
  assert.equal(pct([fine(), offline('b')]), 80)
  assert.equal(pct([fine(), online('b', { ...healthy, ntp_synced: null })]), 95)
  assert.equal(pct([fine(), online('b', { ...healthy, links_up: 1, links_down: 1 })]), 93)
  assert.equal(pct([offline('a'), offline('b')]), 0)
  assert.equal(pct([{ ...offline('a'), status: 'unconfigured-noIP' }]), null)
  const tunnel = { ...healthy, vxlan_count: 1, active_vxlan_count: 1 }
  assert.equal(pct([online('a', tunnel)], new Map([['ip-a', router({}, ['Established', 'Active'])]])), 90)
})

test('a fabric is healthy on a node only with its tunnels up and every session established', () => {
  const count = (change: Partial<NodeNet>, frr: RouterDigest) =>
    dashboardSummary([online('a', change)], [], new Map([['ip-a', frr]])).vxlan_fabric_healthy
  assert.equal(count({ vxlan_count: 2, active_vxlan_count: 2 }, router({})), 1)
  assert.equal(count({ vxlan_count: 2, active_vxlan_count: 1 }, router({})), 0)
  assert.equal(count({ vxlan_count: 2, active_vxlan_count: 2 }, router({}, [])), 0)
  assert.equal(count({ vxlan_count: 0 }, router({})), 0)
})

test('a member larger than its bridge is no MTU issue', () => {
  const row = {
    interface: 'x',
    peer_device: 'br',
    type: 'bridge_member' as const,
    actual: 2,
    expected: 1,
    description: '',
  }
  const issues = (severity: 'info' | 'critical') =>
    dashboardSummary([online('a', { mtu_mismatches: [{ ...row, severity }] })], []).nodes_with_mtu_issues
  assert.deepEqual([issues('info'), issues('critical')], [0, 1])
})
