// What address management needs of a store of IP addresses. The built-in tables and NetBox fulfil it; ids are integers in both.
import type { IpamAddress, IpamPrefix, IpamRole, IpamSite, IpamVlan } from '#src/contract/ddi/ipam.ts'

export interface IpamPage {
  page: number
  page_size: number
}

export interface IpamRows<T> {
  rows: T[]
  /** Over all pages. */
  count: number
}

export interface NewPrefix {
  cidr: string
  site_id: number | null
  vlan_id: number | null
  role_id: number | null
  gateway: string | null
  dns_servers: string[]
  is_pool: boolean
  description: string
  excluded: readonly { first: string; last: string }[]
}

export interface Allocation {
  /** This very address; null: the lowest free one. */
  address: string | null
  status: IpamAddress['status']
  dns_name: string | null
  owner_kind: string | null
  owner_id: string | null
  description: string
  /** The same key again answers the address it got: a lost answer never leaks one. */
  key: string
}

export interface VlanFilter {
  site_id?: number
  role?: string
  vid?: number
}

export interface PrefixFilter {
  site_id?: number
  role?: string
  vlan_id?: number
  contains?: string
}

export interface AddressFilter {
  prefix_id?: number
  address?: string
  owner_kind?: string
  owner_id?: string
}

/** Something that a new row names is not there. */
export interface Missing {
  missing: 'site_id' | 'vlan_id' | 'role_id'
}

export type Made<T> = T | 'exists' | Missing

/** What a store cannot express; refused before anything changes. Generates docs/reference/ddi-backends.md. */
export interface IpamLimits {
  /** Whether one site can be marked as the one that counts where none is named. */
  default_site: boolean
  /** Whether prefixes that the store marks as containers may enclose others. */
  containers: boolean
  /** Whether names of sites and roles are unique, besides their slugs. */
  unique_names: boolean
  /** Where gateway, name servers and excluded ranges of a prefix are kept. */
  prefix_details: string
}

/** Every call is bounded in time and throws UpstreamError (subsystem IPAM) for trouble of the store. */
export interface IpamStore {
  readonly kind: 'built-in' | 'netbox'
  readonly limits: IpamLimits
  /** Cheap; throws when the store does not answer or refuses our credentials. */
  check(signal?: AbortSignal): Promise<void>
  sites(page: IpamPage, signal?: AbortSignal): Promise<IpamRows<IpamSite>>
  roles(page: IpamPage, signal?: AbortSignal): Promise<IpamRows<IpamRole>>
  /** Of a site, those of every site are part; its own come first. */
  vlans(of: VlanFilter, page: IpamPage, signal?: AbortSignal): Promise<IpamRows<IpamVlan>>
  prefixes(of: PrefixFilter, page: IpamPage, signal?: AbortSignal): Promise<IpamRows<IpamPrefix>>
  prefix(id: number, signal?: AbortSignal): Promise<IpamPrefix | undefined>
  addresses(of: AddressFilter, page: IpamPage, signal?: AbortSignal): Promise<IpamRows<IpamAddress>>
  /** Those that any of the owners has, of whatever kind. */
  addressesOfOwners(owner_ids: readonly string[], signal?: AbortSignal): Promise<string[]>
  createSite(site: Omit<IpamSite, 'id'>): Promise<IpamSite | 'exists'>
  createRole(role: Omit<IpamRole, 'id'>): Promise<IpamRole | 'exists'>
  createVlan(vlan: Omit<IpamVlan, 'id'>): Promise<Made<IpamVlan>>
  /** `exists`: it overlaps another one. */
  createPrefix(prefix: NewPrefix): Promise<Made<IpamPrefix>>
  /** `in_use`: others name it. */
  remove(kind: 'site' | 'role' | 'vlan' | 'prefix', id: number): Promise<'deleted' | 'not_found' | 'in_use'>
  /** Atomic over all callers. `full`: none is free. `taken`: the address asked for is not. */
  allocate(prefix_id: number, wish: Allocation): Promise<IpamAddress | 'no_prefix' | 'full' | 'taken'>
  /** The address; undefined when it is free already. */
  release(address_id: number): Promise<string | undefined>
  /** Releases what the key got, however late; answers the addresses. */
  releaseKey(key: string): Promise<string[]>
}
