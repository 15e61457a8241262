// What the service needs of an IP address store. The built-in tables and NetBox fulfil it; ids are integers in both.
import type { IpamAddress, IpamPrefix, IpamRole, IpamSite, IpamVlan } from '#src/contract/ddi/ipam.ts'

/** What holds addresses: a node, a reservation, a public address. */
export interface AddressOwner {
  kind: string
  id: string
}

export interface AllocationWish {
  /** This very address, or the lowest free one. */
  address?: string
  owner?: AddressOwner
  status?: IpamAddress['status']
  dns_name?: string
  description?: string
  /** The same key again gives the same address: a lost answer never leaks one. */
  key: string
}

export interface Page {
  page: number
  page_size: number
}

export interface Rows<T> {
  rows: T[]
  count: number
}

/** Throws ApiError IPAM_… for what the caller caused, UpstreamError (subsystem IPAM) for the store's own trouble. */
export interface IpamStore {
  readonly kind: 'built-in' | 'netbox'
  check(signal?: AbortSignal): Promise<void>
  sites(page: Page): Promise<Rows<IpamSite>>
  defaultSite(): Promise<IpamSite | undefined>
  roles(page: Page): Promise<Rows<IpamRole>>
  /** Of a site those of every site are part; strict ones first. */
  vlans(of: { site_id?: number; role?: string; vid?: number }, page: Page): Promise<Rows<IpamVlan>>
  prefixes(
    of: { site_id?: number; role?: string; vlan_id?: number; contains?: string },
    page: Page,
  ): Promise<Rows<IpamPrefix>>
  prefix(id: number): Promise<IpamPrefix | undefined>
  addresses(
    of: { prefix_id?: number; address?: string; owner?: Partial<AddressOwner> },
    page: Page,
  ): Promise<Rows<IpamAddress>>
  /** Atomic over all callers; undefined when the prefix is full or the address taken. */
  allocate(prefix_id: number, wish: AllocationWish): Promise<IpamAddress | undefined>
  /** Nothing happens when it is free already. */
  release(address_id: number): Promise<void>
  releaseOwner(owner: AddressOwner, keep?: readonly string[]): Promise<number>
}
