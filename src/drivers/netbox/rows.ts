// The rows of NetBox as far as we read them, and what they are in our words.
import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { ADDRESS_STATUSES, type IpamAddress, type IpamRole, type IpamVlan } from '#src/contract/ddi/ipam.ts'

const Named = Type.Object({ id: Type.Integer(), slug: Type.String(), name: Type.String() })
const Link = Type.Union([Type.Object({ id: Type.Integer() }), Type.Null()])
const RoleLink = Type.Union([Type.Object({ id: Type.Integer(), slug: Type.String() }), Type.Null()])
const Choice = Type.Object({ value: Type.String() })

export const NamedRow = Compile(Named)
export type NamedRow = Static<typeof Named>

const Vlan = Type.Object({
  id: Type.Integer(),
  vid: Type.Integer(),
  name: Type.String(),
  site: Link,
  role: RoleLink,
})
export const VlanRow = Compile(Vlan)
export type VlanRow = Static<typeof Vlan>

const Prefix = Type.Object({
  id: Type.Integer(),
  prefix: Type.String(),
  vrf: Link,
  scope_type: Type.Union([Type.String(), Type.Null()]),
  scope_id: Type.Union([Type.Integer(), Type.Null()]),
  vlan: Link,
  role: RoleLink,
  status: Choice,
  is_pool: Type.Boolean(),
  description: Type.String(),
  comments: Type.String(),
})
export const PrefixRow = Compile(Prefix)
export type PrefixRow = Static<typeof Prefix>

const Address = Type.Object({
  id: Type.Integer(),
  address: Type.String(),
  status: Choice,
  dns_name: Type.String(),
  description: Type.String(),
  comments: Type.String(),
  created: Type.Union([Type.String(), Type.Null()]),
})
export const AddressRow = Compile(Address)
export type AddressRow = Static<typeof Address>

const Range = Type.Object({
  id: Type.Integer(),
  start_address: Type.String(),
  end_address: Type.String(),
  description: Type.String(),
  mark_populated: Type.Boolean(),
})
export const RangeRow = Compile(Range)
export type RangeRow = Static<typeof Range>

/** Descriptions by which people and we know the router of a prefix, and what is never allocated. */
export const GATEWAY = 'gateway'
export const EXCLUDED = 'excluded'

/** Our words for network roles, and NetBox's slugs for them. */
export interface RoleSlugs {
  ours(slug: string): string
  theirs(slug: string): string
}

export function roleSlugs(map: Readonly<Record<string, string>>): RoleSlugs {
  const back = new Map(Object.entries(map).map(([ours, theirs]) => [theirs, ours]))
  return { ours: (slug) => back.get(slug) ?? slug, theirs: (slug) => map[slug] ?? slug }
}

export function roleOf({ id, slug, name }: NamedRow, slugs: RoleSlugs): IpamRole {
  return { id, slug: slugs.ours(slug), name }
}

export function vlanOf({ id, vid, name, site, role }: VlanRow): IpamVlan {
  return { id, vid, name, site_id: site?.id ?? null, role_id: role?.id ?? null }
}

/** `10.0.0.1/24` is `10.0.0.1`. */
export function hostOf(address: string): string {
  const [host = ''] = address.split('/')
  return ipaddr.isValid(host) ? ipaddr.parse(host).toString() : host
}

export function isInside(address: string, cidr: string): boolean {
  if (!ipaddr.isValid(address) || !ipaddr.isValidCIDR(cidr)) return false
  const [host, network] = [ipaddr.parse(address), ipaddr.parseCIDR(cidr)]
  return host.kind() === network[0].kind() && host.match(network)
}

/** Whose address it is, as the beginning of its description: a hash of the key, the prefix, and the owner. */
export function markOf(key: string, prefix_id: number, owner_kind: string | null, owner_id: string | null): string {
  const owner = owner_kind === null ? '' : ` ${owner_kind}/${owner_id ?? ''}`
  return `${keyMark(key)}${prefix_id}${owner}`
}

/** With what the mark of every address of the key begins. */
export function keyMark(key: string): string {
  return `${MARK_START}${createHash('sha256').update(key).digest('hex').slice(0, 16)}:`
}

/** With what every mark begins. */
export const MARK_START = 'gp:'
const MARK = /^gp:[0-9a-f]{16}:(\d+)(?: ([a-z][a-z0-9-]*)\/(.*))?$/

export function addressOf(row: AddressRow): IpamAddress {
  const [mark, prefix_id, owner_kind = null, owner_id = null] = MARK.exec(row.description) ?? []
  const length = Number(row.address.split('/')[1] ?? 32)
  return {
    id: row.id,
    address: hostOf(row.address),
    prefix_id: prefix_id === undefined ? null : Number(prefix_id),
    prefix_length: length,
    status: ADDRESS_STATUSES.find((status) => status === row.status.value) ?? 'active',
    dns_name: row.dns_name === '' ? null : row.dns_name,
    owner_kind,
    owner_id,
    description: mark === undefined ? row.description : row.comments,
    created_at:
      row.created === null || Number.isNaN(Date.parse(row.created)) ? null : new Date(row.created).toISOString(),
  }
}

/** A prefix has no field for its name servers: they are a line of its comments. */
export function nameServersIn(comments: string): string[] {
  const line = /^DNS servers: (.+)$/m.exec(comments)?.[1] ?? ''
  return line
    .split(',')
    .map((text) => text.trim())
    .filter((text) => ipaddr.isValid(text))
}

export function commentsOf(dns_servers: readonly string[]): string {
  return dns_servers.length === 0 ? '' : `DNS servers: ${dns_servers.join(', ')}`
}

/** How many addresses of a prefix can be allocated at all: NetBox leaves out the same ones. */
export function sizeOf({ prefix, is_pool }: Pick<PrefixRow, 'prefix' | 'is_pool'>): number {
  const [network, length] = ipaddr.parseCIDR(prefix)
  const bits = network.kind() === 'ipv4' ? 32 : 128
  const edges = is_pool || length >= bits - 1 ? 0 : bits === 32 ? 2 : 1
  return 2 ** (bits - length) - edges
}

export function rangeSize(first: string, last: string): number {
  return Number(numberOf(last) - numberOf(first)) + 1
}

function numberOf(address: string): bigint {
  return ipaddr
    .parse(address)
    .toByteArray()
    .reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
}
