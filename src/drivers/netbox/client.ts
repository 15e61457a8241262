// NetBox as the address store. Addresses come from its available-ips alone, the one call that no load makes give twice.
import pLimit from 'p-limit'
import type { IpamAddress, IpamPrefix } from '#src/contract/ddi/ipam.ts'
import type { AddressFilter, IpamLimits, IpamPage, IpamRows, IpamStore } from '../ddi/ipam-store.ts'
import { createAllocation } from './allocation.ts'
import { createChanges } from './changes.ts'
import { createReads, type Listing, type Reads, unexpected } from './reads.ts'
import { inPrefix, prefixListing, prefixOf } from './prefixes.ts'
import {
  AddressRow,
  addressOf,
  hostOf,
  isInside,
  MARK_START,
  NamedRow,
  PrefixRow,
  roleOf,
  roleSlugs,
  VlanRow,
  vlanOf,
} from './rows.ts'
import { createNetBoxTransport, type NetBoxConfig } from './transport.ts'

export interface NetBox extends IpamStore {
  close(): Promise<void>
}

/** Before it prefixes had a site and no scope. */
const OLDEST = [4, 2] as const
const PREFIXES_AT_ONCE = 8

export const NETBOX_LIMITS: IpamLimits = {
  default_site: false,
  containers: true,
  unique_names: true,
  prefix_details:
    'as objects of their own: an address described as `gateway`, ranges marked populated, a line `DNS servers: …` of the comments',
}

export function createNetBox(config: NetBoxConfig, role_slugs: Readonly<Record<string, string>> = {}): NetBox {
  const transport = createNetBoxTransport(config)
  const reads = createReads(transport)
  const slugs = roleSlugs(role_slugs)
  const prefix = async (id: number, signal?: AbortSignal): Promise<IpamPrefix | undefined> => {
    const row = await reads.one(`ipam/prefixes/${id}/`, PrefixRow, signal)
    return row === undefined ? undefined : prefixOf(reads, row, signal)
  }
  return {
    kind: 'netbox',
    limits: NETBOX_LIMITS,
    async check(signal) {
      const { api_version = '' } = await transport.send({ method: 'GET', path: 'status/', signal })
      const [major = 0, minor = 0] = api_version.split('.').map(Number)
      if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
        throw unexpected('GET status/', `version ${api_version} is older than ${OLDEST.join('.')}`)
    },
    async sites(page, signal) {
      const listing = { path: 'dcim/sites/', query: { ordering: 'slug' }, form: NamedRow, fits: () => true, signal }
      const { rows, count } = await reads.page(listing, page)
      return { rows: rows.map(({ id, slug, name }) => ({ id, slug, name, is_default: false })), count }
    },
    async roles(page, signal) {
      const listing = { path: 'ipam/roles/', query: { ordering: 'slug' }, form: NamedRow, fits: () => true, signal }
      const { rows, count } = await reads.page(listing, page)
      return { rows: rows.map((row) => roleOf(row, slugs)), count }
    },
    async vlans({ site_id, role, vid }, page, signal) {
      const slug = role === undefined ? undefined : slugs.theirs(role)
      const found = await reads.page(
        {
          path: 'ipam/vlans/',
          query: { available_at_site: site_id, role: slug, vid, ordering: 'site,vid' },
          form: VlanRow,
          fits: (row) =>
            (site_id === undefined || row.site === null || row.site.id === site_id) &&
            (slug === undefined || row.role?.slug === slug) &&
            (vid === undefined || row.vid === vid),
          signal,
        },
        page,
      )
      return { rows: found.rows.map(vlanOf), count: found.count }
    },
    async prefixes(of, page, signal) {
      const { rows, count } = await reads.page(prefixListing(of, slugs, signal), page)
      const limit = pLimit(PREFIXES_AT_ONCE)
      return { rows: await Promise.all(rows.map((row) => limit(() => prefixOf(reads, row, signal)))), count }
    },
    prefix,
    addresses: (of, page, signal) => addresses(reads, of, page, signal),
    addressesOfOwners: (owner_ids, signal) => addressesOfOwners(reads, owner_ids, signal),
    ...createChanges({ transport, reads, slugs, prefix }),
    ...createAllocation({ transport, reads }),
    close: () => transport.close(),
  }
}

async function addresses(
  reads: Reads,
  { prefix_id, address, owner_kind, owner_id }: AddressFilter,
  page: IpamPage,
  signal?: AbortSignal,
): Promise<IpamRows<IpamAddress>> {
  const prefix = prefix_id === undefined ? undefined : await reads.one(`ipam/prefixes/${prefix_id}/`, PrefixRow, signal)
  if (prefix_id !== undefined && prefix === undefined) return { rows: [], count: 0 }
  const owner = ownerQuery(owner_kind, owner_id)
  const listing: Listing<AddressRow> = {
    path: 'ipam/ip-addresses/',
    query: { address, ...(prefix === undefined ? {} : inPrefix(prefix)), ...owner.query },
    form: AddressRow,
    fits: (row) =>
      (address === undefined || hostOf(row.address) === hostOf(address)) &&
      (prefix === undefined || isInside(hostOf(row.address), prefix.prefix)) &&
      row.description.toLowerCase().includes(owner.text.toLowerCase()),
    signal,
  }
  if (owner.text === '') {
    const { rows, count } = await reads.page(listing, page)
    return { rows: rows.map(addressOf), count }
  }
  // The server compares without case, and any part of the text: what is of another owner is left out here.
  const own = (await reads.all(listing))
    .map(addressOf)
    .filter(
      (row) =>
        (owner_kind === undefined || row.owner_kind === owner_kind) &&
        (owner_id === undefined || row.owner_id === owner_id),
    )
  const from = (page.page - 1) * page.page_size
  return { rows: own.slice(from, from + page.page_size), count: own.length }
}

/** An owner may have thousands of things, each an owner too: one read of all addresses with a mark instead of one for each. */
async function addressesOfOwners(reads: Reads, owner_ids: readonly string[], signal?: AbortSignal): Promise<string[]> {
  const owners = new Set(owner_ids)
  const marked = await reads.all({
    path: 'ipam/ip-addresses/',
    query: { description__isw: MARK_START, ordering: 'id' },
    form: AddressRow,
    fits: (row) => row.description.toLowerCase().startsWith(MARK_START),
    signal,
  })
  return marked
    .map(addressOf)
    .filter(({ owner_id }) => owner_id !== null && owners.has(owner_id))
    .map(({ address }) => address)
}

function ownerQuery(kind: string | undefined, id: string | undefined): { text: string; query: Record<string, string> } {
  if (kind === undefined && id === undefined) return { text: '', query: {} }
  const text = `${kind ?? ''}/${id ?? ''}`
  return { text, query: { [id === undefined ? 'description__ic' : 'description__iew']: text } }
}
