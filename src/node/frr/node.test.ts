// Recorded outputs of FRR 8.4.4, three-router fabric seen from r1 (test/fixtures/linux/frr), and the faults of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrrNode } from '#src/contract/network/frr.ts'
import { Compile } from 'typebox/compile'
import { linuxFixture } from '../../../test/support/linux-fixture.ts'
import { scriptedHost } from '../../../test/support/scripted-host.ts'
import { recordedRouter } from '../../../test/support/recorded-router.ts'
import { createFrrCollector, frrNode } from './node.ts'

const NAMED = { fqdn: 'r1.example.test', ip_address: '192.0.2.1' }
const answer = (file: string) => ({ stdout: linuxFixture('frr', file) })

function fieldOf(node: FrrNode, field: string): string | undefined {
  return node.unavailable.find((one) => one.field === field)?.reason
}

test('a healthy router of the fabric is read completely', async () => {
  const node = await frrNode(recordedRouter(), NAMED)
  assert.ok(Compile(FrrNode).Check(node), JSON.stringify(Compile(FrrNode).Errors(node)))
  assert.deepEqual([node.status, node.error, node.as, node.name], ['online', null, 65000, 'vm'])
  assert.deepEqual(
    node.bgp?.sessions.map((one) => [one.peer, one.state, one.messages_received, one.prefixes_received]),
    [
      ['10.255.0.2', 'Established', 40, 18],
      ['10.255.0.3', 'Established', 40, 18],
    ],
  )
  assert.deepEqual(node.evpn_routes, { imet: 6, macip: 9, prefix: 18, total_routes: 21 })
  assert.deepEqual(node.frr?.daemons, ['zebra', 'ospfd', 'bgpd', 'staticd', 'bfdd'])
  assert.deepEqual([node.frr?.version, node.frr?.routes_total, node.frr?.routes_installed], ['8.4.4', 16, 10])
  assert.deepEqual(
    node.ospf_neighbors?.map((one) => [one.neighbor_id, one.state, one.interface_name]),
    [
      ['10.255.0.2', 'Full', 'eth12'],
      ['10.255.0.3', 'Full', 'eth13'],
    ],
  )
  assert.deepEqual(node.ospf?.areas, [{ area: '0.0.0.0', full_adjacencies: 2 }])
})

test('a single-hop BFD session gets the address of its interface, and only the clock that runs', async () => {
  const node = await frrNode(recordedRouter(), NAMED)
  const peer = node.bfd_peers?.find((one) => one.peer === '10.12.0.2')
  assert.deepEqual(peer, {
    peer: '10.12.0.2',
    local: '10.12.0.1',
    status: 'up',
    multihop: false,
    diagnostic: 'ok',
    uptime: 62,
    downtime: 0,
  })
})

test('the record of a bridged VNI joins daemons and kernel', async () => {
  const node = await frrNode(recordedRouter(), NAMED)
  const vni = node.vnis?.find((one) => one.vni === 100)
  assert.ok(vni)
  assert.deepEqual(
    [vni.type, vni.state, vni.bridge, vni.svi_if, vni.vxlan_if, vni.vlan, vni.local_vtep, vni.rd],
    ['L2', 'Up', 'br100', 'br100', 'vxlan100', 0, '10.255.0.1', '10.255.0.1:2'],
  )
  assert.deepEqual([vni.num_macs, vni.num_arp_entries, vni.num_remote_vteps], [3, 6, 2])
  assert.deepEqual(
    vni.mac_table?.map((one) => [one.type, one.source_port, one.remote_vtep, one.age_mins]),
    [
      ['remote', null, '10.255.0.2', 0],
      ['local', 'vnet1', null, 1],
      ['remote', null, '10.255.0.3', 0],
    ],
  )
  assert.equal(vni.arp_table?.length, 6)
  assert.deepEqual(vni.vxlan_tunnel?.status, 'up')
  const near = vni.remote_vtep_info.find((one) => one.vtep_ip === '10.255.0.2')
  assert.deepEqual(near, {
    vtep_ip: '10.255.0.2',
    state: 'up',
    connection_source: '10.255.0.1',
    neighbors: ['10.12.0.2'],
  })
})

test('a VTEP without a selected route is down', async () => {
  const node = await frrNode(recordedRouter(), NAMED)
  const far = node.vnis?.[0]?.remote_vtep_info.find((one) => one.vtep_ip === '10.255.0.3')
  assert.equal(far?.state, 'down')
})

test('a routed VNI counts the VTEPs of its router MACs, for its count is the text "n/a"', async () => {
  const node = await frrNode(recordedRouter(), NAMED)
  const vni = node.vnis?.find((one) => one.vni === 4001)
  assert.deepEqual(
    [vni?.type, vni?.num_remote_vteps, vni?.remote_vteps, vni?.router_mac, vni?.state, vni?.l2_vnis],
    ['L3', 2, ['10.255.0.2', '10.255.0.3'], '02:00:00:01:40:01', 'Up', [100, 200]],
  )
})

test('a peer that stopped talking is a session that is not established, and its BFD sessions are down', async () => {
  const node = await frrNode(
    recordedRouter({
      'show bgp summary json': answer('fault-bfd-stopped-bgp-summary.json'),
      'show bfd peers json': answer('fault-bfd-stopped-bfd-peers.json'),
      'show ip ospf neighbor json': answer('fault-bfd-stopped-ospf-neighbor.json'),
    }),
    NAMED,
  )
  const lost = node.bgp?.sessions.find((one) => one.peer === '10.255.0.3')
  assert.deepEqual(
    [lost?.state, lost?.uptime_seconds, lost?.down_seconds, lost?.connections_dropped],
    ['Active', null, 2, 1],
  )
  const bfd = node.bfd_peers?.find((one) => one.peer === '10.255.0.3')
  assert.deepEqual(
    [bfd?.status, bfd?.uptime, bfd?.downtime, bfd?.diagnostic],
    ['down', 0, 2, 'control detection time expired'],
  )
  assert.equal(node.status, 'online')
})

test('a neighbour lost with its link disappears, as the daemon has it', async () => {
  const node = await frrNode(
    recordedRouter({
      'show ip ospf neighbor json': answer('fault-link-down-ospf-neighbor.json'),
      'show bfd peers json': answer('fault-link-down-bfd-peers.json'),
    }),
    NAMED,
  )
  assert.deepEqual(
    node.ospf_neighbors?.map((one) => one.neighbor_id),
    ['10.255.0.2'],
  )
  assert.equal(node.bfd_peers?.filter((one) => one.status === 'up').length, 3)
})

test('a dead router leaves the VTEP lists of the others', async () => {
  const node = await frrNode(recordedRouter({ 'show evpn vni json': answer('fault-peer-dead-evpn-vni.json') }), NAMED)
  assert.deepEqual(node.vnis?.find((one) => one.vni === 100)?.remote_vteps, ['10.255.0.2'])
})

test('a dead BGP daemon is offline, with everything of it null and the rest read', async () => {
  const dead = { exit_code: 1, stdout: linuxFixture('frr', 'fault-bgpd-dead-bgp-summary.txt') }
  const node = await frrNode(recordedRouter({ bgpd: dead }), NAMED)
  assert.deepEqual([node.status, node.error, node.bgp, node.as], ['offline', 'bgpd is not running', null, null])
  assert.deepEqual(node.evpn_routes, { imet: null, macip: null, prefix: null, total_routes: null })
  assert.equal(fieldOf(node, 'bgp'), 'bgpd is not running')
  assert.equal(fieldOf(node, 'evpn_routes.imet'), 'bgpd is not running')
  assert.equal(node.vnis?.length, 3)
  assert.ok(!node.frr?.daemons.includes('bgpd'))
})

test('a hung daemon is named, is asked only once, and does not hide the others', async () => {
  const hung = { outcome: 'timeout' as const, exit_code: null }
  const host = recordedRouter({ bgpd: hung })
  const node = await frrNode(host, NAMED)
  assert.deepEqual([node.status, node.error], ['offline', 'bgpd does not answer within 3000 ms'])
  assert.deepEqual(node.frr?.silent_daemons, ['bgpd'])
  assert.ok(!node.frr?.daemons.includes('bgpd'))
  assert.equal(
    host.ran.filter((line) => line.includes('-d bgpd')).length,
    2,
    'one for the tables, one for the route dumps',
  )
  assert.equal(node.bfd_peers?.length, 4)
})

test('an unconfigured BGP daemon is online with nothing, not unknown', async () => {
  const nothing = { stdout: '' }
  const host = recordedRouter({
    bgpd: nothing,
    'show bgp summary json': answer('fault-bgp-not-configured-summary.json'),
    'show bgp l2vpn evpn vni json': nothing,
    'show bgp l2vpn evpn statistics json': nothing,
    'show bgp l2vpn evpn route type multicast json': nothing,
    'show bgp l2vpn evpn route type macip json': nothing,
    'show bgp l2vpn evpn route type prefix json': nothing,
    'show evpn json': nothing,
    'show evpn vni json': nothing,
    'show evpn vni detail json': nothing,
  })
  const node = await frrNode(host, NAMED)
  assert.deepEqual(
    [node.status, node.bgp, node.as],
    ['online', { configured: false, router_id: null, sessions: [] }, null],
  )
  assert.deepEqual(node.evpn_routes, { imet: 0, macip: 0, prefix: 0, total_routes: 0 })
  assert.deepEqual([node.vnis, node.frr?.vni_count], [[], 0])
  assert.equal(fieldOf(node, 'as'), 'BGP is not configured')
})

test('a command that this version does not know is unavailable, not zero', async () => {
  const unknown = { exit_code: 1, stdout: '% Unknown command: show bfd peers json\n' }
  const node = await frrNode(recordedRouter({ 'show bfd peers json': unknown }), NAMED)
  assert.equal(node.bfd_peers, null)
  assert.match(fieldOf(node, 'bfd_peers') ?? '', /does not know/)
})

test('a machine without the routing suite is offline and says so', async () => {
  const node = await frrNode(scriptedHost({}), NAMED)
  assert.deepEqual(
    [node.status, node.error, node.frr, node.vnis],
    ['offline', 'routing daemon not installed', null, null],
  )
  assert.ok(Compile(FrrNode).Check(node))
})

test('callers within five seconds share one reading; the route dumps live for fifteen', async () => {
  const host = recordedRouter()
  const collector = createFrrCollector(host, NAMED)
  const dumps = () => host.ran.filter((line) => line.includes('route type')).length
  const summaries = () => host.ran.filter((line) => line.includes('bgp summary')).length
  await Promise.all([collector.node(), collector.node()])
  assert.deepEqual([summaries(), dumps()], [1, 3])
  host.pass(6_000)
  await collector.node()
  assert.deepEqual([summaries(), dumps()], [2, 3])
  host.pass(10_000)
  await collector.node()
  assert.deepEqual([summaries(), dumps()], [3, 6])
})

test('the intended configuration shows drift without telling secrets', async () => {
  const intended = { intended_config_path: '/etc/groundplane/intended.conf' }
  assert.equal((await frrNode(recordedRouter(), { ...NAMED, ...intended })).sdn_status, 'in_sync')
  const changed = linuxFixture('frr', 'running-config.txt').replace(
    'neighbor 10.255.0.2 bfd',
    'neighbor 10.255.0.2 password hunter2',
  )
  const node = await frrNode(recordedRouter({ 'show running-config': { stdout: changed } }), { ...NAMED, ...intended })
  assert.equal(node.sdn_status, 'drifted')
  assert.match(node.sdn_last_error ?? '', /^1 statements missing, 1 not intended/)
  assert.doesNotMatch(node.sdn_last_error ?? '', /hunter2/)
})
