// Order and limits on links like those of test/fixtures/linux/mtu: a bond of two cards under a vlan under a bridge.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainOf, planChain } from './chain.ts'
import { type MtuLink, parseLinks } from './links.ts'

const link = (name: string, mtu: number, more: Partial<MtuLink> = {}): MtuLink => ({
  name,
  ifindex: 1,
  mtu,
  min_mtu: 68,
  max_mtu: 65_535,
  lower: null,
  master: null,
  info_kind: null,
  link_type: 'ether',
  admin_up: true,
  carrier: true,
  ...more,
})

function node(mtu: number): MtuLink[] {
  return [
    link('eth0', mtu, { master: 'bond0', max_mtu: 9000 }),
    link('eth1', mtu, { master: 'bond0', max_mtu: 9600 }),
    link('bond0', mtu, { info_kind: 'bond' }),
    link('bond0.100', mtu, { info_kind: 'vlan', lower: 'bond0', master: 'mgmt0' }),
    link('mgmt0', mtu, { info_kind: 'bridge' }),
    link('tap7', 1500, { info_kind: 'tun', master: 'mgmt0' }),
    link('bond0.200', mtu, { info_kind: 'vlan', lower: 'bond0', master: 'store0' }),
    link('store0', mtu, { info_kind: 'bridge' }),
  ]
}

const request = { bridge: 'mgmt0', uplinks: [], underlay_limit: null }
const names = (rows: readonly { name: string }[]): string[] => rows.map(({ name }) => name)

test('a raise goes from the cards to the bridge and leaves guests alone; the cards decide the limit', () => {
  const plan = planChain(node(1500), { ...request, mtu: 9000 })
  assert.deepEqual(names(plan.steps), ['eth0', 'eth1', 'bond0', 'bond0.100', 'mgmt0'])
  assert.equal(plan.limit_mtu, 9000)
  assert.equal(planChain(node(1500), { ...request, mtu: 9000, underlay_limit: 8950 }).limit_mtu, 8950)
})

test('a lowering goes from the bridge down and never takes what lies below a vlan from its other users', () => {
  assert.deepEqual(names(planChain(node(9000), { ...request, mtu: 1500 }).steps), ['mgmt0', 'bond0.100'])
  const plain = node(9000)
    .filter(({ info_kind }) => info_kind !== 'vlan')
    .map((row) => (row.name === 'bond0' ? { ...row, master: 'mgmt0' } : row))
  assert.deepEqual(names(planChain(plain, { ...request, mtu: 1500 }).steps), ['mgmt0', 'bond0', 'eth1', 'eth0'])
})

test('a veth leads outside only where the node configuration names it as uplink', () => {
  const links = [link('eth1', 1500, { info_kind: 'veth', master: 'br0' }), link('br0', 1500, { info_kind: 'bridge' })]
  assert.deepEqual(names(chainOf(links, 'br0', [])), ['br0'])
  assert.deepEqual(names(chainOf(links, 'br0', ['eth1'])), ['eth1', 'br0'])
})

test('output of ip that is no list is unknown, not an empty node', () => {
  assert.equal(parseLinks(''), null)
  assert.equal(parseLinks('{"a":1}'), null)
  assert.deepEqual(parseLinks('[{"ifname":"x"}]'), [])
})
