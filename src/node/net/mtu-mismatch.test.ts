import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linuxFixtureJson } from '../../../test/support/linux-fixture.ts'
import { type Link, parseLinks } from './links.ts'
import { mtuMismatches } from './mtu-mismatch.ts'

const recorded = parseLinks(linuxFixtureJson('iproute2', 'vm-ip-j-d-s-s-link.json'))

function changed(changes: Record<string, Partial<Link>>): Link[] {
  return recorded.map((link) => ({ ...link, ...changes[link.ifname] }))
}

function kinds(links: readonly Link[], uplinks: readonly string[] = []): [string, string, number, number, string][] {
  return mtuMismatches(links, new Set(uplinks)).map((row) => [
    row.interface,
    row.type,
    row.actual,
    row.expected,
    row.severity,
  ])
}

test('a member that is smaller than its bridge is the black hole; a larger one is a note', () => {
  assert.deepEqual(kinds(changed({ 'bond0.100': { mtu: 1450 } })), [
    ['bond0.100', 'bridge_member', 1450, 1500, 'critical'],
  ])
  assert.deepEqual(kinds(changed({ vx500: { mtu: 1600 } })), [['vx500', 'bridge_member', 1600, 1500, 'info']])
})

test('a guest that allows itself a larger MTU is not reported, a smaller one is', () => {
  const guest = { ...recorded[0], ifname: 'vnet0', master: 'cloudbr0', kind: 'tun', slave_kind: 'bridge' }
  assert.deepEqual(kinds([...recorded, { ...guest, mtu: 9000 } as Link]), [])
  assert.deepEqual(kinds([...recorded, { ...guest, mtu: 1400 } as Link]), [
    ['vnet0', 'bridge_member', 1400, 1500, 'critical'],
  ])
})

test('bond slaves, vlans and tunnels are compared with what they stand on', () => {
  assert.deepEqual(kinds(changed({ eth1: { mtu: 1400 } })), [['eth1', 'bond_slave', 1400, 1500, 'critical']])
  assert.deepEqual(kinds(changed({ 'bond0.200': { mtu: 9000 } })), [
    ['bond0.200', 'vlan_parent', 9000, 1500, 'critical'],
  ])
  assert.deepEqual(kinds(changed({ vx500: { lower: 'eth2' } })), [['vx500', 'vxlan_underlay', 1500, 1450, 'warning']])
})

test('a tunnel over IPv6 needs 70 bytes, over IPv4 50', () => {
  const over = (local: string, mtu: number) => {
    const info = { id: 500, local, mode: null, vlan_filtering: false, external: false }
    return kinds(changed({ vx500: { lower: 'eth2', info, mtu }, cloudbr0: { mtu }, 'bond0.100': { mtu } }))
  }
  assert.deepEqual(over('10.1.0.1', 1450), [])
  assert.equal(over('fd00::1', 1450).length, 1)
  assert.deepEqual(over('fd00::1', 1430), [])
})

test('a tunnel whose address lies on the loopback is held against the uplinks that have addresses', () => {
  const fabric = parseLinks(linuxFixtureJson('iproute2', 'r1-ip-j-d-s-s-link.json'))
  const addressed = (mtu: number) =>
    fabric.map((link) =>
      link.ifname === 'eth12'
        ? { ...link, mtu, addresses: [{ family: 'inet' as const, local: '10.12.0.1', prefixlen: 30, scope: 'global' }] }
        : link,
    )
  assert.deepEqual(kinds(addressed(9000), ['eth12', 'eth13']), [])
  assert.deepEqual(
    kinds(addressed(1500), ['eth12', 'eth13']).map(([name]) => name),
    ['vxlan100', 'vxlan200', 'vxlan4001'],
  )
})
