// Prefixes of NetBox with what lies in them: router, excluded ranges and addresses are objects of their own there.
import type { IpamPrefix } from '#src/contract/ddi/ipam.ts'
import type { PrefixFilter } from '../ddi/ipam-store.ts'
import type { Listing, Reads } from './reads.ts'
import {
  AddressRow,
  GATEWAY,
  hostOf,
  isInside,
  nameServersIn,
  PrefixRow,
  RangeRow,
  rangeSize,
  type RoleSlugs,
  sizeOf,
} from './rows.ts'

export function prefixListing(
  { site_id, role, vlan_id, contains }: PrefixFilter,
  slugs: RoleSlugs,
  signal: AbortSignal | undefined,
): Listing<PrefixRow> {
  const slug = role === undefined ? undefined : slugs.theirs(role)
  return {
    path: 'ipam/prefixes/',
    query: { site_id, role: slug, vlan_id, contains, ordering: 'prefix' },
    form: PrefixRow,
    // A location lies in a site; its prefixes are of the site, too.
    fits: (row) =>
      (site_id === undefined || row.scope_type !== 'dcim.site' || row.scope_id === site_id) &&
      (site_id === undefined || row.scope_type !== null) &&
      (slug === undefined || row.role?.slug === slug) &&
      (vlan_id === undefined || row.vlan?.id === vlan_id) &&
      (contains === undefined || isInside(contains, row.prefix)),
    signal,
  }
}

/** What lies in a prefix and its VRF. */
export function inPrefix({ prefix, vrf }: PrefixRow): { parent: string; vrf_id: string } {
  return { parent: prefix, vrf_id: vrf === null ? 'null' : String(vrf.id) }
}

export async function prefixOf(reads: Reads, row: PrefixRow, signal?: AbortSignal): Promise<IpamPrefix> {
  const addresses = (more: { description?: string }): Listing<AddressRow> => ({
    path: 'ipam/ip-addresses/',
    query: { ...inPrefix(row), ...more },
    form: AddressRow,
    fits: (one) =>
      isInside(hostOf(one.address), row.prefix) &&
      (more.description === undefined || one.description === more.description),
    signal,
  })
  const one = { page: 1, page_size: 1 }
  const [held, gateways, populated] = await Promise.all([
    reads.page(addresses({}), one),
    reads.page(addresses({ description: GATEWAY }), one),
    ranges(reads, row, signal),
  ])
  const gateway = gateways.rows[0] === undefined ? null : hostOf(gateways.rows[0].address)
  const excluded = populated.reduce((sum, { first, last }) => sum + rangeSize(first, last), 0)
  return {
    id: row.id,
    cidr: row.prefix,
    site_id: row.scope_type === 'dcim.site' ? row.scope_id : null,
    vlan_id: row.vlan?.id ?? null,
    role_id: row.role?.id ?? null,
    gateway,
    dns_servers: nameServersIn(row.comments),
    is_pool: row.is_pool,
    excluded_ranges: populated.map(({ first, last }) => (first === last ? first : `${first}-${last}`)),
    description: row.description,
    total: sizeOf(row) - excluded - (gateway === null ? 0 : 1),
    used: held.count - gateways.count,
  }
}

interface PopulatedRange {
  id: number
  first: string
  last: string
  description: string
}

/** Ranges from which nothing is allocated. */
export async function ranges(reads: Reads, row: PrefixRow, signal?: AbortSignal): Promise<PopulatedRange[]> {
  const found = await reads.all({
    path: 'ipam/ip-ranges/',
    query: inPrefix(row),
    form: RangeRow,
    fits: (one) => isInside(hostOf(one.start_address), row.prefix),
    signal,
  })
  return found
    .filter((one) => one.mark_populated)
    .map(({ id, start_address, end_address, description }) => ({
      id,
      first: hostOf(start_address),
      last: hostOf(end_address),
      description,
    }))
}
