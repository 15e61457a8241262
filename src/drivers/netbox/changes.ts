// Sites, roles, VLANs and prefixes of NetBox: it lets VLANs and prefixes overlap, and deletes what others still use, so both
// is looked up before; writers hold the store's lock.
import type { IpamPrefix } from '#src/contract/ddi/ipam.ts'
import type { IpamStore, Missing, NewPrefix } from '../ddi/ipam-store.ts'
import { inPrefix, ranges } from './prefixes.ts'
import { type Form, type Listing, type Reads, unexpected } from './reads.ts'
import {
  AddressRow,
  commentsOf,
  EXCLUDED,
  GATEWAY,
  hostOf,
  isInside,
  NamedRow,
  PrefixRow,
  roleOf,
  type RoleSlugs,
  VlanRow,
  vlanOf,
} from './rows.ts'
import type { NetBoxTransport, Query } from './transport.ts'

interface Parts {
  transport: NetBoxTransport
  reads: Reads
  slugs: RoleSlugs
  prefix(id: number): Promise<IpamPrefix | undefined>
}

type Changes = Pick<IpamStore, 'createSite' | 'createRole' | 'createVlan' | 'createPrefix' | 'remove'>

const PATHS = { site: 'dcim/sites/', role: 'ipam/roles/', vlan: 'ipam/vlans/', prefix: 'ipam/prefixes/' } as const

export function createChanges(parts: Parts): Changes {
  const { transport, reads, slugs } = parts
  const make = async <T>(path: string, body: object, form: Form<T>): Promise<T> => {
    const answer = await transport.send({ method: 'POST', path, body })
    if (form.Check(answer.body)) return answer.body
    throw unexpected(path, 'what was made does not have the form that this version knows')
  }
  const named = async (path: string, slug: string): Promise<boolean> => {
    const fits = (row: NamedRow): boolean => row.slug === slug
    return (await count(reads, { path, query: { slug }, form: NamedRow, fits })) > 0
  }
  return {
    async createSite({ slug, name }) {
      if (await named(PATHS.site, slug)) return 'exists'
      const made = await make(PATHS.site, { slug, name, status: 'active' }, NamedRow)
      return { id: made.id, slug: made.slug, name: made.name, is_default: false }
    },
    async createRole({ slug, name }) {
      if (await named(PATHS.role, slugs.theirs(slug))) return 'exists'
      return roleOf(await make(PATHS.role, { slug: slugs.theirs(slug), name }, NamedRow), slugs)
    },
    async createVlan({ vid, name, site_id, role_id }) {
      const missing = await firstMissing(reads, { site_id, role_id })
      if (missing !== undefined) return missing
      const same = {
        path: PATHS.vlan,
        query: { vid, site_id: site_id ?? 'null' },
        form: VlanRow,
        fits: (row: VlanRow) => row.vid === vid && (row.site?.id ?? null) === site_id,
      }
      if ((await count(reads, same)) > 0) return 'exists'
      const body = { vid, name, site: site_id, role: role_id, status: 'active' }
      return vlanOf(await make(PATHS.vlan, body, VlanRow))
    },
    createPrefix: (wanted) => createPrefix(parts, make, wanted),
    remove: (kind, id) => (kind === 'prefix' ? removePrefix(parts, id) : removeNamed(parts, kind, id)),
  }
}

async function count<T>(reads: Reads, listing: Listing<T>): Promise<number> {
  return (await reads.page(listing, { page: 1, page_size: 1 })).count
}

async function firstMissing(
  reads: Reads,
  wanted: { site_id?: number | null; vlan_id?: number | null; role_id?: number | null },
): Promise<Missing | undefined> {
  const kinds = [['site_id', PATHS.site], ['vlan_id', PATHS.vlan], ['role_id', PATHS.role]] as const // biome-ignore format: a list
  for (const [missing, path] of kinds) {
    const id = wanted[missing] ?? null
    if (id === null) continue
    const form: Form<unknown> = missing === 'vlan_id' ? VlanRow : NamedRow
    if ((await reads.one(`${path}${id}/`, form)) === undefined) return { missing }
  }
  return undefined
}

type Make = <T>(path: string, body: object, form: Form<T>) => Promise<T>

async function createPrefix(parts: Parts, make: Make, wanted: NewPrefix) {
  const { reads } = parts
  const missing = await firstMissing(reads, wanted)
  if (missing !== undefined) return missing
  if (await overlaps(reads, wanted.cidr)) return 'exists'
  const { site_id, gateway } = wanted
  const length = wanted.cidr.split('/')[1] ?? ''
  try {
    const made = await make(
      PATHS.prefix,
      {
        prefix: wanted.cidr,
        ...(site_id === null ? {} : { scope_type: 'dcim.site', scope_id: site_id }),
        vlan: wanted.vlan_id,
        role: wanted.role_id,
        is_pool: wanted.is_pool,
        status: 'active',
        description: wanted.description,
        comments: commentsOf(wanted.dns_servers),
      },
      PrefixRow,
    )
    // An address that exists is allocated to nobody, and neither is one of a populated range.
    if (gateway !== null) {
      const body = { address: `${gateway}/${length}`, status: 'reserved', description: GATEWAY }
      await make('ipam/ip-addresses/', body, AddressRow)
    }
    for (const { first, last } of wanted.excluded) {
      const [start_address, end_address] = [`${first}/${length}`, `${last}/${length}`]
      const body = { start_address, end_address, mark_populated: true, description: EXCLUDED }
      await parts.transport.send({ method: 'POST', path: 'ipam/ip-ranges/', body })
    }
    return (await parts.prefix(made.id)) ?? 'exists'
  } catch (error) {
    // Also after a lost answer: what stands there now is read, not remembered. What cannot be deleted then is listed like any other.
    const same = await samePrefix(reads, wanted.cidr).catch(() => undefined)
    if (same !== undefined) await dropPrefix(parts, same).catch(() => undefined)
    throw error
  }
}

/** Those that are no containers, of no VRF. */
async function overlaps(reads: Reads, cidr: string): Promise<boolean> {
  for (const query of [{ contains: cidr }, { within: cidr }] as Query[]) {
    const rows = await reads.all({
      path: PATHS.prefix,
      query: { ...query, vrf_id: 'null' },
      form: PrefixRow,
      fits: ({ prefix }) => isInside(hostOf(cidr), prefix) || isInside(hostOf(prefix), cidr),
    })
    if (rows.some((row) => row.status.value !== 'container' || row.prefix === cidr)) return true
  }
  return false
}

async function samePrefix(reads: Reads, cidr: string): Promise<PrefixRow | undefined> {
  const query = { prefix: cidr, vrf_id: 'null' }
  const rows = await reads.all({ path: PATHS.prefix, query, form: PrefixRow, fits: (row) => row.prefix === cidr })
  return rows[0]
}

/** With its router and the ranges that we excluded; those of others stay. */
async function dropPrefix({ transport, reads }: Parts, row: PrefixRow): Promise<void> {
  const drop = (path: string) => transport.send({ method: 'DELETE', path, expect: [404] })
  await drop(`${PATHS.prefix}${row.id}/`)
  for (const { id, description } of await ranges(reads, row))
    if (description === EXCLUDED) await drop(`ipam/ip-ranges/${id}/`)
  for (const { id } of await gateways(reads, row)) await drop(`ipam/ip-addresses/${id}/`)
}

function gateways(reads: Reads, row: PrefixRow): Promise<AddressRow[]> {
  return reads.all({
    path: 'ipam/ip-addresses/',
    query: { ...inPrefix(row), description: GATEWAY },
    form: AddressRow,
    fits: (one) => one.description === GATEWAY && isInside(hostOf(one.address), row.prefix),
  })
}

type Removed = Awaited<ReturnType<IpamStore['remove']>>

async function removePrefix(parts: Parts, id: number): Promise<Removed> {
  const { reads } = parts
  const row = await reads.one(`${PATHS.prefix}${id}/`, PrefixRow)
  if (row === undefined) return 'not_found'
  const fits = (one: AddressRow): boolean => isInside(hostOf(one.address), row.prefix)
  const held = await count(reads, { path: 'ipam/ip-addresses/', query: inPrefix(row), form: AddressRow, fits })
  if (held > (await gateways(reads, row)).length) return 'in_use'
  await dropPrefix(parts, row)
  return 'deleted'
}

const IN_USE = 409

/** A role in use would go and leave its VLANs and prefixes without one; a site would leave its prefixes. */
async function removeNamed({ transport, reads }: Parts, kind: 'site' | 'role' | 'vlan', id: number): Promise<Removed> {
  const path = `${PATHS[kind]}${id}/`
  const form: Form<unknown> = kind === 'vlan' ? VlanRow : NamedRow
  if ((await reads.one(path, form)) === undefined) return 'not_found'
  const prefixes = await count(reads, {
    path: PATHS.prefix,
    query: { [`${kind}_id`]: id },
    form: PrefixRow,
    fits: (row) => (kind === 'site' ? row.scope_type !== null : row[kind]?.id === id),
  })
  const vlans =
    kind === 'vlan'
      ? 0
      : await count(reads, {
          path: PATHS.vlan,
          query: { [`${kind}_id`]: id },
          form: VlanRow,
          fits: (row) => row[kind]?.id === id,
        })
  if (prefixes + vlans > 0) return 'in_use'
  const { status } = await transport.send({ method: 'DELETE', path, expect: [404, IN_USE] })
  return status === IN_USE ? 'in_use' : status === 404 ? 'not_found' : 'deleted'
}
