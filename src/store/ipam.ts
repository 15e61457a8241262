// The built-in IP address store: sites, network roles, VLANs, prefixes, and addresses that are allocated atomically.
import { type Kysely, sql } from 'kysely'
import type { IpamAddress, IpamPrefix, IpamRole, IpamSite, IpamVlan } from '#src/contract/ddi/ipam.ts'
import type { Database, Db, Trx } from './database.ts'
import type { Tables } from './tables.ts'

export interface Page {
  page: number
  page_size: number
}

interface Rows<T> {
  rows: T[]
  count: number
}

interface Countable<T> {
  limit(rows: number): Countable<T>
  offset(rows: number): Countable<T>
  execute(): Promise<T[]>
}

async function pageOf<T>(query: Countable<T & { total: number }>, { page, page_size }: Page): Promise<Rows<T>> {
  const found = await query
    .limit(page_size)
    .offset((page - 1) * page_size)
    .execute()
  const rows = found.map(({ total: _total, ...row }) => row as unknown as T)
  return { rows, count: found[0]?.total ?? 0 }
}

const total = sql<number>`count(*) over ()`.as('total')

export function listSites(db: Db, page: Page): Promise<Rows<IpamSite>> {
  return pageOf<IpamSite>(db.selectFrom('ipam_site').selectAll().select(total).orderBy('slug'), page)
}

export function listRoles(db: Db, page: Page): Promise<Rows<IpamRole>> {
  return pageOf<IpamRole>(db.selectFrom('ipam_role').selectAll().select(total).orderBy('slug'), page)
}

/** Undefined: there is one with this slug. */
export async function insertSite(database: Database, site: Omit<IpamSite, 'id'>): Promise<IpamSite | undefined> {
  return database.transact(async (trx) => {
    if (site.is_default) await trx.updateTable('ipam_site').set({ is_default: false }).execute()
    return trx.insertInto('ipam_site').values(site).onConflict((conflict) => conflict.doNothing()).returningAll().executeTakeFirst() // biome-ignore format: one statement
  })
}

export function insertRole(db: Db, role: Omit<IpamRole, 'id'>): Promise<IpamRole | undefined> {
  return db
    .insertInto('ipam_role')
    .values(role)
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
}

export interface VlanFilter {
  site_id?: number
  role?: string
  vid?: number
}

/** Those of the site first, then those of every site. */
export function listVlans(db: Db, { site_id, role, vid }: VlanFilter, page: Page): Promise<Rows<IpamVlan>> {
  let query = db.selectFrom('ipam_vlan').selectAll('ipam_vlan').select(total)
  if (site_id !== undefined)
    query = query.where((eb) => eb.or([eb('site_id', '=', site_id), eb('site_id', 'is', null)]))
  if (role !== undefined) query = query.where('role_id', '=', ({ selectFrom }) => selectFrom('ipam_role').select('id').where('slug', '=', role)) // biome-ignore format: one condition
  if (vid !== undefined) query = query.where('vid', '=', vid)
  return pageOf<IpamVlan>(query.orderBy(sql`site_id nulls last`).orderBy('vid'), page)
}

export function insertVlan(db: Db, vlan: Omit<IpamVlan, 'id'>): Promise<IpamVlan | undefined> {
  return db
    .insertInto('ipam_vlan')
    .values(vlan)
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
}

export interface PrefixFilter {
  id?: number
  site_id?: number
  role?: string
  vlan_id?: number
  contains?: string
}

/** First and last address that can be allocated: without network and broadcast address, unless the prefix is a pool. */
const FIRST = sql`case when prefix.is_pool or masklen(prefix.cidr) >= case family(prefix.cidr) when 4 then 31 else 127 end
  then host(prefix.cidr)::inet else host(prefix.cidr)::inet + 1 end`
const LAST = sql`case when prefix.is_pool or family(prefix.cidr) = 6 or masklen(prefix.cidr) >= 31
  then host(broadcast(prefix.cidr))::inet else host(broadcast(prefix.cidr))::inet - 1 end`

/** How many addresses that leaves out; the size itself may be beyond what inet arithmetic counts. */
const EDGES = sql`case when prefix.is_pool or masklen(prefix.cidr) >= case family(prefix.cidr) when 4 then 31 else 127 end then 0
  when family(prefix.cidr) = 4 then 2 else 1 end`

export async function listPrefixes(db: Db, filter: PrefixFilter, { page, page_size }: Page): Promise<Rows<IpamPrefix>> {
  const { id = null, site_id = null, role = null, vlan_id = null, contains = null } = filter
  const { rows } = await sql<IpamPrefix & { all_rows: number }>`
    select prefix.id, prefix.cidr::text as cidr, prefix.site_id, prefix.vlan_id, prefix.role_id, host(prefix.gateway) as gateway,
           (select coalesce(array_agg(host(server)), '{}') from unnest(prefix.dns_servers) server) as dns_servers, prefix.is_pool,
           prefix.description,
           (select coalesce(array_agg(case when hole.first = hole.last then host(hole.first)
                                           else host(hole.first) || '-' || host(hole.last) end order by hole.first), '{}')
              from ipam_range hole where hole.prefix_id = prefix.id) as excluded_ranges,
           (power(2::float8, case family(prefix.cidr) when 4 then 32 else 128 end - masklen(prefix.cidr)) - ${EDGES}
             - coalesce((select sum(hole.last - hole.first + 1) from ipam_range hole where hole.prefix_id = prefix.id), 0)
             - case when prefix.gateway between (${FIRST}) and (${LAST}) then 1 else 0 end)::float8 as total,
           (select count(*) from ipam_address address where address.prefix_id = prefix.id) as used,
           count(*) over () as all_rows
      from ipam_prefix prefix left join ipam_role role on role.id = prefix.role_id
     where (${id}::int is null or prefix.id = ${id}) and (${site_id}::int is null or prefix.site_id = ${site_id})
       and (${role}::text is null or role.slug = ${role}) and (${vlan_id}::int is null or prefix.vlan_id = ${vlan_id})
       and (${contains}::inet is null or prefix.cidr >>= ${contains}::inet)
     order by prefix.cidr limit ${page_size} offset ${(page - 1) * page_size}`.execute(db)
  return { rows: rows.map(({ all_rows: _all, ...row }) => row), count: rows[0]?.all_rows ?? 0 }
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

/** Undefined: it overlaps another prefix. */
export async function insertPrefix(
  database: Database,
  { excluded, ...prefix }: NewPrefix,
): Promise<number | undefined> {
  try {
    return await database.transact(async (trx) => {
      const { id } = await trx.insertInto('ipam_prefix').values(prefix).returning('id').executeTakeFirstOrThrow()
      for (const { first, last } of excluded)
        await trx.insertInto('ipam_range').values({ prefix_id: id, first, last }).execute()
      return id
    })
  } catch (error) {
    if (codeOf(error) === EXCLUSION) return undefined
    throw error
  }
}

const EXCLUSION = '23P01'
const FOREIGN_KEY = '23503'

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/** `in_use`: other rows name it. */
export async function deleteRow(
  db: Kysely<Tables>,
  table: 'ipam_site' | 'ipam_role' | 'ipam_vlan' | 'ipam_prefix',
  id: number,
): Promise<'deleted' | 'not_found' | 'in_use'> {
  try {
    const { numDeletedRows } = await db.deleteFrom(table).where('id', '=', id).executeTakeFirst()
    return numDeletedRows > 0n ? 'deleted' : 'not_found'
  } catch (error) {
    if (codeOf(error) === FOREIGN_KEY) return 'in_use'
    throw error
  }
}

const ADDRESS = sql`id, host(address) as address, prefix_id,
  (select masklen(prefix.cidr) from ipam_prefix prefix where prefix.id = prefix_id) as prefix_length,
  status, dns_name, owner_kind, owner_id, description, created_at`

interface AddressRow extends Omit<IpamAddress, 'created_at'> {
  created_at: Date
}

function addressOf({ created_at, ...row }: AddressRow): IpamAddress {
  return { ...row, created_at: created_at.toISOString() }
}

export interface AddressFilter {
  id?: number
  prefix_id?: number
  address?: string
  owner_kind?: string
  owner_id?: string
}

export async function listAddresses(
  db: Db,
  filter: AddressFilter,
  { page, page_size }: Page,
): Promise<Rows<IpamAddress>> {
  const { id = null, prefix_id = null, address = null, owner_kind = null, owner_id = null } = filter
  const { rows } = await sql<AddressRow & { all_rows: number }>`
    select ${ADDRESS}, count(*) over () as all_rows from ipam_address
     where (${id}::int is null or id = ${id}) and (${prefix_id}::int is null or prefix_id = ${prefix_id})
       and (${address}::inet is null or address = ${address}::inet)
       and (${owner_kind}::text is null or owner_kind = ${owner_kind}) and (${owner_id}::text is null or owner_id = ${owner_id})
     order by address limit ${page_size} offset ${(page - 1) * page_size}`.execute(db)
  return { rows: rows.map(({ all_rows: _all, ...row }) => addressOf(row)), count: rows[0]?.all_rows ?? 0 }
}

/** In order. */
export async function addressesOfOwners(db: Db, owner_ids: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('ipam_address')
    .select(sql<string>`host(address)`.as('address'))
    .where(sql<boolean>`owner_id = any(${[...owner_ids]}::text[])`)
    .orderBy('address')
    .execute()
  return rows.map(({ address }) => address)
}

export interface Allocation {
  address: string | null
  status: IpamAddress['status']
  dns_name: string | null
  owner_kind: string | null
  owner_id: string | null
  description: string
  key: string
}

/** `full`: none is free. `taken`: the address asked for is not free. The same key again answers the address it got. */
export async function allocate(
  database: Database,
  prefix_id: number,
  wish: Allocation,
): Promise<IpamAddress | 'no_prefix' | 'full' | 'taken'> {
  return database.transact(async (trx) => {
    // Everybody who allocates from this prefix stands in line here, over all replicas.
    const locked = await trx
      .selectFrom('ipam_prefix')
      .select('id')
      .where('id', '=', prefix_id)
      .forUpdate()
      .executeTakeFirst()
    if (locked === undefined) return 'no_prefix'
    const known = await addressByKey(trx, wish.key)
    if (known !== undefined) return known
    const free = await freeAddress(trx, prefix_id, wish.address)
    if (free === undefined) return wish.address === null ? 'full' : 'taken'
    const { address: _wished, ...fields } = wish
    await trx
      .insertInto('ipam_address')
      .values({ ...fields, prefix_id, address: free })
      .execute()
    return (await addressByKey(trx, wish.key)) ?? 'taken'
  })
}

async function addressByKey(trx: Trx, key: string): Promise<IpamAddress | undefined> {
  const { rows } = await sql<AddressRow>`select ${ADDRESS} from ipam_address where key = ${key}`.execute(trx)
  return rows[0] === undefined ? undefined : addressOf(rows[0])
}

/**
 * The lowest gap: what is used (addresses, ranges, gateway, and the bounds of the prefix) as intervals in order, with the
 * highest end so far; the first interval that begins later than one behind it leaves a gap.
 */
async function freeAddress(trx: Trx, prefix_id: number, wished: string | null): Promise<string | undefined> {
  const used = sql`
    select address as first, address as last from ipam_address where prefix_id = ${prefix_id}
    union all select first, last from ipam_range where prefix_id = ${prefix_id}
    union all select gateway, gateway from ipam_prefix where id = ${prefix_id} and gateway is not null`
  const bounds = sql`select (${FIRST}) as first, (${LAST}) as last from ipam_prefix prefix where prefix.id = ${prefix_id}`
  if (wished !== null) {
    const { rows } = await sql<{ free: string | null }>`
      with used as (${used}), bounds as (${bounds})
      select host(${wished}::inet) as free from bounds
       where ${wished}::inet between bounds.first and bounds.last and family(${wished}::inet) = family(bounds.first)
         and not exists (select 1 from used where ${wished}::inet between used.first and used.last)`.execute(trx)
    return rows[0]?.free ?? undefined
  }
  const { rows } = await sql<{ free: string | null }>`
    with bounds as (${bounds}), used as (${used}),
    placed as (
      select first, last from used
      union all select bounds.first - 1, bounds.first - 1 from bounds where bounds.first > '0.0.0.0'::inet
    ), reached as (
      select first, last, lead(first) over (order by first, last) as next,
             max(last) over (order by first, last rows unbounded preceding) as highest
        from placed
    )
    select host(greatest(reached.highest + 1, bounds.first)) as free from reached, bounds
     where reached.highest < bounds.last and (reached.next is null or reached.next > reached.highest + 1)
       and reached.highest + 1 >= bounds.first
     order by reached.highest limit 1`.execute(trx)
  return rows[0]?.free ?? undefined
}

export async function releaseAddress(db: Db, id: number): Promise<string | undefined> {
  const row = await db.deleteFrom('ipam_address').where('id', '=', id).returning(sql<string>`host(address)`.as('address')).executeTakeFirst() // biome-ignore format: one statement
  return row?.address
}

export async function releaseKey(db: Db, key: string): Promise<string[]> {
  const rows = await db.deleteFrom('ipam_address').where('key', '=', key).returning(sql<string>`host(address)`.as('address')).execute() // biome-ignore format: one statement
  return rows.map(({ address }) => address)
}

/** Written before another store is asked for an address, so that one whose answer is lost is found again. */
export async function addPending(db: Db, key: string): Promise<void> {
  await db
    .insertInto('ipam_pending')
    .values({ key })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function removePending(db: Db, key: string): Promise<void> {
  await db.deleteFrom('ipam_pending').where('key', '=', key).execute()
}

/** Those that were asked for so long ago that no answer will come. */
export async function pendingKeys(db: Db, older_than_ms: number): Promise<{ key: string; age_ms: number }[]> {
  return db
    .selectFrom('ipam_pending')
    .select(['key', sql<number>`extract(epoch from now() - created_at)::float8 * 1000`.as('age_ms')])
    .where('created_at', '<=', sql<Date>`now() - ${older_than_ms} * interval '1 millisecond'`)
    .orderBy('created_at')
    .execute()
}
