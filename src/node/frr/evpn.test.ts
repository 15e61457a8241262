// Spellings of other versions, as their documentation has them; the recorded ones are in node.test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linuxFixtureJson } from '../../../test/support/linux-fixture.ts'
import { parseBfdPeers } from './adjacency.ts'
import { ageMinutes, parseArp, parseEvpnVnis } from './evpn.ts'
import { parseFloods, parseLinks, parsePortVlans } from './kernel.ts'
import { vniRecords } from './vni-records.ts'

test('remote VTEPs are read as addresses, as records, and from the field that is sometimes a count', () => {
  const vteps = (row: object) => parseEvpnVnis({ 100: { vni: 100, type: 'L2', ...row } })[0]?.remote_vteps
  assert.deepEqual(vteps({ numRemoteVteps: 2, remoteVteps: ['10.0.0.2', '10.0.0.1'] }), ['10.0.0.1', '10.0.0.2'])
  assert.deepEqual(vteps({ remoteVteps: [{ ip: '10.0.0.1', flood: 'HER' }] }), ['10.0.0.1'])
  assert.deepEqual(vteps({ numRemoteVteps: ['10.0.0.1'] }), ['10.0.0.1'])
  assert.deepEqual(vteps({ numRemoteVteps: 'n/a' }), [])
})

test('the VXLAN device is found under each of its names', () => {
  for (const key of ['vxlanIf', 'vxlanIntf', 'vxlanInterface']) {
    assert.equal(parseEvpnVnis({ 1: { vni: 1, [key]: 'vx1' } })[0]?.vxlan_if, 'vx1')
  }
})

test('ages are whole minutes in every form, and unknown forms are unknown', () => {
  const forms: [string | null, number | null][] = [
    ['00:00:51', 0],
    ['00:01:03', 1],
    ['23:59:59', 1439],
    ['1d02h03m', 1563],
    ['01w2d03h', 10_080 + 2_880 + 180],
    ['never', null],
    [null, null],
  ]
  for (const [text, minutes] of forms) assert.equal(ageMinutes(text), minutes, String(text))
})

test('IPv6 link-local neighbours are rows, summary members are not', () => {
  const rows = parseArp(linuxFixtureJson('frr', 'evpn-arp-vni-all-detail.json')).get(100) ?? []
  assert.equal(rows.length, 6)
  assert.ok(rows.some((row) => row.ip.startsWith('fe80::')))
  assert.ok(!rows.some((row) => row.ip === 'numArpNd'))
})

test('a BFD session in state init counts neither clock', () => {
  const [peer] = parseBfdPeers([{ peer: '10.0.0.1', status: 'init', downtime: 4 }], () => null)
  assert.deepEqual([peer?.uptime, peer?.downtime, peer?.local, peer?.multihop], [0, 4, null, null])
})

test('the VLAN of a VNI is the PVID of its port in a bridge that filters, and 0 in one that does not', () => {
  const vlan = (vlan_filtering: number) => {
    const links = parseLinks([
      { ifname: 'br1', flags: ['UP'], operstate: 'UP', mtu: 1500, linkinfo: { info_data: { vlan_filtering } } },
      { ifname: 'vx1', flags: ['UP', 'LOWER_UP'], mtu: 1450, master: 'br1' },
    ])
    const port_vlans = parsePortVlans([
      { ifname: 'vx1', vlans: [{ vlan: 1 }, { vlan: 30, flags: ['PVID', 'Egress Untagged'] }] },
    ])
    const vnis = parseEvpnVnis({ 1: { vni: 1, type: 'L2', vxlanIf: 'vx1', remoteVteps: ['10.0.0.9'] } })
    const empty = { details: new Map(), bgp: new Map(), macs: null, arp: null, rmac_vteps: new Map() }
    const routes = new Map([['10.0.0.9', { reachable: true, next_hops: [] }]])
    return vniRecords({ vnis, ...empty, routes, kernel: { links, floods: parseFloods([]), port_vlans } })[0]
  }
  assert.equal(vlan(1)?.vlan, 30)
  assert.equal(vlan(0)?.vlan, 0)
  assert.equal(vlan(0)?.remote_vtep_info[0]?.state, 'down', 'a route without a flood entry does not make a bridged VNI')
  assert.deepEqual([vlan(0)?.mac_table, vlan(0)?.state], [null, 'Up'])
})
