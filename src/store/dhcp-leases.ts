// Who held which address when: one row a time that a client held an address. Servers forget a lease when it ends.
import { type Selectable, sql } from 'kysely'
import type { Db, Trx } from './database.ts'
import type { Tables } from './tables.ts'

export type LeaseRow = Selectable<Tables['dhcp_lease']>

/** A lease as a server lists it. */
export interface SeenLease {
  scope: string
  mac: string
  ip: string
  hostname: string | null
  renewed_at: Date | null
  expires_at: Date
  lease_seconds: number
}

const columns = [
  'id',
  'scope',
  sql<string>`mac::text`.as('mac'),
  sql<string>`host(ip)`.as('ip'),
  'hostname',
  'first_seen',
  'renewed_at',
  'expires_at',
  'lease_seconds',
  'state',
  'ended_at',
] as const

/**
 * Takes in a whole list of the server: leases seen are begun or renewed, and those of the named scopes that are gone have
 * ended: released when they would still run, expired when their time was over.
 */
export async function noteLeases(trx: Trx, seen: readonly SeenLease[], scopes: readonly string[]): Promise<void> {
  const rows = JSON.stringify(seen)
  await sql`
    with seen as (
      select * from jsonb_to_recordset(${rows}::jsonb) as lease(
        scope text, mac macaddr, ip inet, hostname text, renewed_at timestamptz, expires_at timestamptz, lease_seconds integer)
    ), ended as (
      update dhcp_lease held
         set state = case when held.expires_at > now() then 'released' else 'expired' end,
             ended_at = least(now(), held.expires_at)
       where held.state = 'active' and held.scope = any(${[...scopes]}::text[])
         and not exists (select 1 from seen where seen.scope = held.scope and seen.mac = held.mac and seen.ip = held.ip)
    )
    insert into dhcp_lease (scope, mac, ip, hostname, first_seen, renewed_at, expires_at, lease_seconds, state)
    select scope, mac, ip, hostname, coalesce(renewed_at, now()), renewed_at, expires_at, lease_seconds, 'active' from seen
    on conflict (scope, mac, ip) where state = 'active' do update
       set hostname = excluded.hostname, renewed_at = excluded.renewed_at, expires_at = excluded.expires_at,
           lease_seconds = excluded.lease_seconds
     where (dhcp_lease.hostname, dhcp_lease.renewed_at, dhcp_lease.expires_at)
           is distinct from (excluded.hostname, excluded.renewed_at, excluded.expires_at)`.execute(trx)
}

/** When each held address was first seen with its client. */
export async function firstSeen(
  db: Db,
  leases: readonly Pick<SeenLease, 'scope' | 'mac' | 'ip'>[],
): Promise<Map<string, Date>> {
  if (leases.length === 0) return new Map()
  const rows = await db
    .selectFrom('dhcp_lease')
    .select(['scope', sql<string>`mac::text`.as('mac'), sql<string>`host(ip)`.as('ip'), 'first_seen'])
    .where('state', '=', 'active')
    // One parameter: a statement takes 65,535 of them, and a scope may hold more leases.
    .where(sql<boolean>`ip = any(${leases.map((lease) => lease.ip)}::inet[])`)
    .execute()
  return new Map(rows.map((row) => [leaseKey(row), row.first_seen]))
}

export function leaseKey({ scope, mac, ip }: Pick<SeenLease, 'scope' | 'mac' | 'ip'>): string {
  return `${scope} ${mac} ${ip}`
}

/** Ended ones, newest first. */
export async function endedLeases(
  db: Db,
  of: { scope?: string; mac?: string; state?: 'expired' | 'released' },
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: LeaseRow[]; count: number }> {
  let matching = db.selectFrom('dhcp_lease')
  if (of.scope !== undefined) matching = matching.where('scope', '=', of.scope)
  if (of.mac !== undefined) matching = matching.where('mac', '=', of.mac)
  matching = of.state === undefined ? matching.where('state', '<>', 'active') : matching.where('state', '=', of.state)
  const [rows, total] = await Promise.all([
    matching
      .select([...columns])
      .orderBy('ended_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .offset(offset)
      .execute(),
    matching.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow(),
  ])
  return { rows, count: total.count }
}

/** Mean seconds that ended leases of a scope were held; null until one has ended. */
export async function meanHeldSeconds(db: Db, scope: string): Promise<number | null> {
  const row = await db
    .selectFrom('dhcp_lease')
    .select(sql<number | null>`extract(epoch from avg(ended_at - first_seen))::float8`.as('seconds'))
    .where('scope', '=', scope)
    .where('state', '<>', 'active')
    .executeTakeFirst()
  return row?.seconds ?? null
}
