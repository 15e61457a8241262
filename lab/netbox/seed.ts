/** What the simulated NetBox holds at its start: two sites with their VLANs and prefixes, as an operator would have made them. */
import { type KindName } from './kinds.ts'
import { emptyState, type Fields, type NetBoxState } from './state.ts'
import { create } from './writes.ts'

const ROWS: readonly [KindName, Fields][] = [
  ['site', { name: 'Frankfurt 1', slug: 'fra1' }],
  ['site', { name: 'Berlin 1', slug: 'ber1' }],
  ['role', { name: 'Infrastructure management', slug: 'infra-mgmt' }],
  ['role', { name: 'Storage', slug: 'storage' }],
  ['role', { name: 'Guest', slug: 'guest' }],
  ['vlan', { vid: 20, name: 'mgmt', site: 1, role: 1 }],
  ['vlan', { vid: 30, name: 'stor', site: 1, role: 2 }],
  ['vlan', { vid: 20, name: 'mgmt', site: 2, role: 1 }],
  ['vlan', { vid: 900, name: 'everywhere', role: 3 }],
  ['prefix', { prefix: '10.20.0.0/16', status: 'container' }],
  ['prefix', { prefix: '10.20.0.0/24', scope_type: 'dcim.site', scope_id: 1, vlan: 1, role: 1, comments: 'DNS servers: 10.20.0.2' }],
  ['prefix', { prefix: '10.30.0.0/24', scope_type: 'dcim.site', scope_id: 1, vlan: 2, role: 2 }],
  ['ip_address', { address: '10.20.0.1/24', status: 'reserved', description: 'gateway' }],
  ['ip_address', { address: '10.20.0.2/24', dns_name: 'ns1.lab.example', description: 'name server' }],
  ['ip_range', { start_address: '10.20.0.100/24', end_address: '10.20.0.199/24', mark_populated: true, description: 'DHCP' }],
] // biome-ignore format: one row a line

export function seed(): NetBoxState {
  const state = emptyState()
  for (const [kind, fields] of ROWS) create(state, kind, fields)
  return state
}
