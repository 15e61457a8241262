/** The kinds of objects that the simulated NetBox has: their fields in the order of its answers, and what it checks of each. */

export type FieldType = 'text' | 'slug' | 'integer' | 'flag' | 'choice' | 'link' | 'tags' | 'plain'

export interface Field {
  type: FieldType
  required?: boolean
  /** Longest text; least and highest number. */
  max?: number
  min?: number
  choices?: readonly string[]
  to?: KindName
  /** What it is when it is left out. */
  initial?: unknown
}

export interface Kind {
  path: string
  /** As in `No Prefix matches the given query.` */
  model: string
  /** As in `site with this name already exists.` */
  noun: string
  fields: Readonly<Record<string, Field>>
  unique: readonly string[]
  /** Counted of others; always 0 here, where nobody reads them. */
  counts: readonly string[]
  /** Of the short form, besides id, url and display. */
  brief: readonly string[]
}

export type KindName =
  | 'site'
  | 'tenant'
  | 'tag'
  | 'role'
  | 'vrf'
  | 'vlan_group'
  | 'vlan'
  | 'prefix'
  | 'ip_range'
  | 'ip_address'

const name: Field = { type: 'text', required: true, max: 100 }
const slug: Field = { type: 'slug', required: true, max: 100 }
const text = (max = 200): Field => ({ type: 'text', max, initial: '' })
const plain = (initial: unknown): Field => ({ type: 'plain', initial })
const link = (to: KindName, required = false): Field => ({ type: 'link', to, required, initial: null })
const choice = (choices: readonly string[], initial: unknown): Field => ({ type: 'choice', choices, initial })
const flag: Field = { type: 'flag', initial: false }
const common = { description: text(), owner: plain(null), comments: text(1_000_000), tags: { type: 'tags', initial: [] } } as const // biome-ignore format: a list
const sites = ['planned', 'staging', 'active', 'decommissioning', 'retired']
const prefixes = ['container', 'active', 'reserved', 'deprecated']
const addresses = ['active', 'reserved', 'deprecated', 'dhcp', 'slaac']
const address_roles = ['loopback', 'secondary', 'anycast', 'vip', 'vrrp', 'hsrp', 'glbp', 'carp']

export const KINDS: Readonly<Record<KindName, Kind>> = {
  site: {
    path: 'dcim/sites', model: 'Site', noun: 'site', unique: ['name', 'slug'], brief: ['name', 'slug', 'description'],
    fields: {
      name, slug, status: choice(sites, 'active'), region: plain(null), group: plain(null), tenant: link('tenant'), facility: text(50),
      time_zone: plain(null), physical_address: text(), shipping_address: text(), latitude: plain(null), longitude: plain(null), asns: plain([]), ...common,
    },
    counts: ['circuit_count', 'device_count', 'prefix_count', 'rack_count', 'virtualmachine_count', 'vlan_count'],
  },
  tenant: {
    path: 'tenancy/tenants', model: 'Tenant', noun: 'tenant', unique: ['name', 'slug'], brief: ['name', 'slug', 'description'],
    fields: { name, slug, group: plain(null), ...common },
    counts: [
      'circuit_count', 'device_count', 'ipaddress_count', 'prefix_count', 'rack_count', 'site_count', 'virtualmachine_count', 'vlan_count',
      'vrf_count', 'cluster_count',
    ],
  },
  tag: {
    path: 'extras/tags', model: 'Tag', noun: 'tag', unique: ['name', 'slug'], brief: ['display_url', 'name', 'slug', 'color'],
    fields: { name, slug, color: plain('9e9e9e'), description: text(), weight: plain(1000), object_types: plain([]) },
    counts: ['tagged_items'],
  },
  role: {
    path: 'ipam/roles', model: 'Role', noun: 'role', unique: ['name', 'slug'], brief: ['name', 'slug', 'description'],
    fields: { name, slug, weight: { type: 'integer', min: 0, max: 32_767, initial: 1000 }, ...common },
    counts: ['prefix_count', 'vlan_count', 'asn_count'],
  },
  vrf: {
    path: 'ipam/vrfs', model: 'VRF', noun: 'VRF', unique: ['rd'], brief: ['name', 'rd', 'description'],
    fields: {
      name, rd: { type: 'text', max: 21, initial: null }, tenant: link('tenant'), enforce_unique: { type: 'flag', initial: true },
      import_targets: plain([]), export_targets: plain([]), ...common,
    },
    counts: ['ipaddress_count', 'prefix_count'],
  },
  vlan_group: {
    path: 'ipam/vlan-groups', model: 'VLANGroup', noun: 'VLAN group', unique: ['name', 'slug'], brief: ['name', 'slug', 'description'],
    fields: {
      name, slug, scope_type: plain(null), scope_id: plain(null), vid_ranges: plain([[1, 4094]]), total_vlan_ids: plain(4094),
      tenant: link('tenant'), utilization: plain('0.0'), ...common,
    },
    counts: ['vlan_count'],
  },
  vlan: {
    path: 'ipam/vlans', model: 'VLAN', noun: 'VLAN', unique: [], brief: ['vid', 'name', 'description'],
    fields: {
      site: link('site'), group: link('vlan_group'), vid: { type: 'integer', required: true, min: 1, max: 4094 },
      name: { type: 'text', required: true, max: 64 }, tenant: link('tenant'), status: choice(['active', 'reserved', 'deprecated'], 'active'),
      role: link('role'), qinq_role: plain(null), qinq_svlan: plain(null), l2vpn_termination: plain(null), ...common,
    },
    counts: ['prefix_count'],
  },
  prefix: {
    path: 'ipam/prefixes', model: 'Prefix', noun: 'prefix', unique: [], brief: ['family', 'prefix', 'description', '_depth'],
    fields: {
      prefix: { type: 'text', required: true }, vrf: link('vrf'), scope_type: plain(null), scope_id: plain(null), tenant: link('tenant'),
      vlan: link('vlan'), status: choice(prefixes, 'active'), role: link('role'), is_pool: flag, mark_utilized: flag, ...common,
    },
    counts: ['children', '_depth'],
  },
  ip_range: {
    path: 'ipam/ip-ranges', model: 'IPRange', noun: 'IP range', unique: [], brief: ['family', 'start_address', 'end_address', 'description'],
    fields: {
      start_address: { type: 'text', required: true }, end_address: { type: 'text', required: true }, vrf: link('vrf'), tenant: link('tenant'),
      status: choice(['active', 'reserved', 'deprecated'], 'active'), role: link('role'), mark_populated: flag, mark_utilized: flag, ...common,
    },
    counts: [],
  },
  ip_address: {
    path: 'ipam/ip-addresses', model: 'IPAddress', noun: 'IP address', unique: [], brief: ['family', 'address', 'description'],
    fields: {
      address: { type: 'text', required: true }, vrf: link('vrf'), tenant: link('tenant'), status: choice(addresses, 'active'),
      role: choice(address_roles, null), assigned_object_type: plain(null), assigned_object_id: plain(null), assigned_object: plain(null),
      nat_inside: plain(null), nat_outside: plain([]), dns_name: text(255), ...common,
    },
    counts: [],
  },
} // biome-ignore format: one kind a paragraph
