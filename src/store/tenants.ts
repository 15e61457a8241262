// Table tenant: the tenants as this service knows them, from the claim of a name to the mark that the domain is gone.
import { type Selectable, type SelectQueryBuilder, sql, type Updateable } from 'kysely'
import type { TENANT_COLUMNS } from '#src/contract/tenants.ts'
import type { ListOrder } from '#src/kernel/sorted.ts'
import { type Db, type Trx, violates } from './database.ts'
import { listOrder } from './list-order.ts'
import type { Tables } from './tables.ts'

export type TenantRow = Selectable<Tables['tenant']>
export type TenantChange = Omit<Updateable<Tables['tenant']>, 'id' | 'changed_at'>

export interface TenantClaim {
  id: string
  name: string
  description: string
  network_domain: string | null
  admin_account: string
  admin_username: string
  /** Encrypted. */
  admin_password: string
  created_by: string
}

/** Claims name and id before anything is made. False: another tenant has one of them. */
export async function claimTenant(db: Db | Trx, claim: TenantClaim): Promise<boolean> {
  const row = await db
    .insertInto('tenant')
    .values({ ...claim, source: 'service', stage: 'creating' })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** Gives name and id back: creating the tenant was undone in full. */
export async function forgetTenant(db: Db | Trx, id: string): Promise<void> {
  await db.deleteFrom('tenant').where('id', '=', id).execute()
}

export async function findTenant(db: Db | Trx, id: string): Promise<TenantRow | undefined> {
  return db.selectFrom('tenant').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function tenantNames(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('tenant')
    .select(['id', 'name'])
    .where('id', 'in', [...new Set(ids)])
    .execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

export async function changeTenant(db: Db | Trx, id: string, change: TenantChange): Promise<TenantRow | undefined> {
  return db
    .updateTable('tenant')
    .set({ ...change, changed_at: sql<Date>`clock_timestamp()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

export interface TenantFilter extends ListOrder<(typeof TENANT_COLUMNS)[number]> {
  name?: string
  keyword?: string
  is_active?: boolean
  source?: 'service' | 'platform'
  flag?: 'CREATING' | 'CREATE_FAILED' | 'REMOVED_ELSEWHERE' | 'NONE'
}

const COLUMNS = { name: sql`lower(name)`, source: sql`source`, is_active: sql`is_active`, created_at: sql`created_at` }

export async function listTenants(
  db: Db,
  filter: TenantFilter,
  page: { page: number; page_size: number },
  tenant_id: string | null,
): Promise<{ rows: TenantRow[]; count: number }> {
  const matching = filtered(db.selectFrom('tenant'), filter, tenant_id)
  const { count } = await matching.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const rows = await matching
    .selectAll()
    .orderBy(listOrder(filter, COLUMNS, sql`lower(name), id`, sql`id`))
    .limit(page.page_size)
    .offset((page.page - 1) * page.page_size)
    .execute()
  return { rows, count }
}

type Query<O> = SelectQueryBuilder<Tables, 'tenant', O>

function filtered<O>(query: Query<O>, filter: TenantFilter, tenant_id: string | null): Query<O> {
  const { name, keyword, is_active, source, flag } = filter
  let out = query
  if (tenant_id !== null) out = out.where('id', '=', tenant_id)
  if (name !== undefined) out = out.where(sql<boolean>`lower(name) = lower(${name})`)
  if (keyword !== undefined) out = out.where(sql<boolean>`position(lower(${keyword}) in lower(name)) > 0`)
  if (is_active !== undefined) out = out.where('is_active', '=', is_active)
  if (source !== undefined) out = out.where('source', '=', source)
  if (flag === 'REMOVED_ELSEWHERE') out = out.where('missing_since', 'is not', null)
  else if (flag !== undefined) {
    const stage = ({ CREATING: 'creating', CREATE_FAILED: 'create_failed', NONE: 'ready' } as const)[flag]
    out = out.where('missing_since', 'is', null).where('stage', '=', stage)
  }
  return out
}

export interface TenantCounts {
  active: number
  billable: number
  fully_onboarded: number
  inactive: number
  partially_onboarded: number
  total: number
}

/** Complete tenants that are on the platform. Full onboarding is the same rule as `isFullyOnboarded`. */
export async function countTenants(db: Db): Promise<TenantCounts> {
  const full = sql<boolean>`(vlan_range_id is not null and limits_set_at is not null and auth_source_set_at is not null)`
  const counted = (condition: ReturnType<typeof sql<boolean>>) =>
    sql<number>`(count(*) filter (where ${condition}))::int`
  const row = await db
    .selectFrom('tenant')
    .select([
      counted(sql<boolean>`is_active`).as('active'),
      counted(sql<boolean>`is_active and ${full}`).as('billable'),
      counted(full).as('fully_onboarded'),
      counted(sql<boolean>`not is_active`).as('inactive'),
      counted(sql<boolean>`not ${full}`).as('partially_onboarded'),
      sql<number>`count(*)::int`.as('total'),
    ])
    .where('stage', '=', 'ready')
    .where('missing_since', 'is', null)
    .executeTakeFirstOrThrow()
  return row
}

export function isFullyOnboarded(row: TenantRow): boolean {
  return row.vlan_range_id !== null && row.limits_set_at !== null && row.auth_source_set_at !== null
}

/** False only for a tenant that is known to be deactivated. */
export async function isTenantActive(db: Db, id: string): Promise<boolean> {
  const row = await db.selectFrom('tenant').select('is_active').where('id', '=', id).executeTakeFirst()
  return row?.is_active ?? true
}

/** A domain as the platform lists it. */
export interface SeenDomain {
  id: string
  name: string
  path: string | null
  network_domain: string | null
  created_at: string | null
  /** Null: it has no accounts that would tell. */
  is_active: boolean | null
}

/** Writes what the platform shows. `read_at` is the database's clock before the read: newer changes of ours stand. */
export async function recordDomain(db: Db, seen: SeenDomain, read_at: Date): Promise<'made' | 'unchanged' | 'taken'> {
  const facts = { name: seen.name, path: seen.path, network_domain: seen.network_domain, seen_at: read_at }
  try {
    const changed = await db
      .updateTable('tenant')
      .set({ ...facts, missing_since: null, ...(seen.is_active === null ? {} : { is_active: seen.is_active }) })
      .where('id', '=', seen.id)
      .where('changed_at', '<', read_at)
      .where('stage', '<>', 'creating')
      .returning('id')
      .executeTakeFirst()
    if (changed !== undefined) return 'unchanged'
    const made = await db
      .insertInto('tenant')
      .values({
        ...facts,
        id: seen.id,
        source: 'platform',
        is_active: seen.is_active ?? true,
        created_by: 'platform',
        changed_at: read_at,
        ...(seen.created_at === null ? {} : { created_at: seen.created_at }),
      })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .executeTakeFirst()
    return made === undefined ? 'unchanged' : 'made'
  } catch (error) {
    // The name is still with another row: one that was renamed or removed in the same read, or is being made here.
    if (violates(error, 'tenant_name')) return 'taken'
    throw error
  }
}

/** Tenants that were on the platform at the last read, and that nothing of ours has changed since this one began. */
export async function presentTenantIds(db: Db, read_at: Date): Promise<string[]> {
  const rows = await db
    .selectFrom('tenant')
    .select('id')
    .where('missing_since', 'is', null)
    .where('stage', '<>', 'creating')
    .where('changed_at', '<', read_at)
    .execute()
  return rows.map((row) => row.id)
}

/** Marks tenants whose domain is gone; answers those that were not marked before. */
export async function recordMissing(db: Db, read_at: Date, ids: readonly string[]): Promise<string[]> {
  const rows = await db
    .updateTable('tenant')
    .set({ missing_since: read_at })
    .where('id', 'in', [...ids])
    .where('missing_since', 'is', null)
    .where('stage', '<>', 'creating')
    .where('changed_at', '<', read_at)
    .returning('id')
    .execute()
  return rows.map((row) => row.id)
}

export async function databaseClock(db: Db): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`select clock_timestamp() as at`.execute(db)
  const at = rows[0]?.at
  if (at === undefined) throw new Error('the database told no time')
  return at
}
