// What was ordered of the DHCP server, with what it cannot keep itself: descriptions, comments, times, disabled
// reservations, and which DNS records belong to a reservation. Drift is found against these rows.
import { type Selectable, sql } from 'kysely'
import type { AddressRange } from '#src/kernel/ipv4.ts'
import type { Db, Trx } from './database.ts'
import type { Tables } from './tables.ts'

export type ReservationOrder = Selectable<Tables['dhcp_reservation']>
export type ScopeNote = Selectable<Tables['dhcp_scope']>

/** As ordered; the same members as the server's scope. */
export interface ScopeOrder {
  name: string
  network: string
  range: AddressRange
  excluded: readonly AddressRange[]
  gateway: string
  dns_servers: readonly string[]
  lease_seconds: number
  enabled: boolean
}

export function scopeNotes(db: Db): Promise<ScopeNote[]> {
  return db.selectFrom('dhcp_scope').selectAll().orderBy('name').execute()
}

export async function saveScope(
  db: Db,
  ordered: ScopeOrder,
  note: { description?: string | undefined; network_id?: string | null | undefined },
): Promise<void> {
  const set = {
    ordered: JSON.stringify(ordered),
    ...(note.description === undefined ? {} : { description: note.description }),
    ...(note.network_id === undefined ? {} : { network_id: note.network_id }),
  }
  await db
    .insertInto('dhcp_scope')
    .values({ name: ordered.name, ...set })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ ...set, updated_at: sql`now()` }))
    .execute()
}

/** With its reservations; the history of its leases stays until retention takes it. */
export async function forgetScope(trx: Trx, name: string): Promise<void> {
  await trx.deleteFrom('dhcp_reservation').where('scope', '=', name).execute()
  await trx.deleteFrom('dhcp_scope').where('name', '=', name).execute()
}

/** The collector's highest figure so far. */
export async function notePeak(db: Db, name: string, utilization: number): Promise<void> {
  await db
    .updateTable('dhcp_scope')
    .set({ peak_utilization: sql`greatest(coalesce(peak_utilization, 0), ${utilization})` })
    .where('name', '=', name)
    .execute()
}

const columns = [
  'scope',
  sql<string>`mac::text`.as('mac'),
  sql<string>`host(ip)`.as('ip'),
  'hostname',
  'comment',
  'enabled',
  'fqdn',
  'dns_zone',
  'ptr',
  'created_at',
  'modified_at',
] as const

export function reservationOrders(
  db: Db,
  of: { scope?: string; mac?: string; macs?: readonly string[]; ip?: string; enabled?: boolean } = {},
): Promise<ReservationOrder[]> {
  let rows = db.selectFrom('dhcp_reservation').select([...columns])
  if (of.macs !== undefined) rows = rows.where(sql<boolean>`mac = any(${[...of.macs]}::macaddr[])`)
  if (of.enabled !== undefined) rows = rows.where('enabled', '=', of.enabled)
  if (of.scope !== undefined) rows = rows.where('scope', '=', of.scope)
  if (of.mac !== undefined) rows = rows.where('mac', '=', of.mac)
  if (of.ip !== undefined) rows = rows.where('ip', '=', of.ip)
  return rows.orderBy('scope').orderBy('ip').execute()
}

export type ReservationWrite = Pick<ReservationOrder, 'scope' | 'mac' | 'ip' | 'hostname'> &
  Partial<Pick<ReservationOrder, 'comment' | 'enabled' | 'fqdn' | 'dns_zone' | 'ptr'>>

export async function saveReservation(db: Db, order: ReservationWrite): Promise<void> {
  const { scope: _scope, mac: _mac, ...rest } = order
  await db
    .insertInto('dhcp_reservation')
    .values(order)
    .onConflict((conflict) => conflict.columns(['scope', 'mac']).doUpdateSet({ ...rest, modified_at: sql`now()` }))
    .execute()
}

export async function forgetReservation(db: Db, scope: string, mac: string): Promise<void> {
  await db.deleteFrom('dhcp_reservation').where('scope', '=', scope).where('mac', '=', mac).execute()
}

/** The names of a zone that is called otherwise now: reservations keep theirs. */
export async function renameReservationZone(db: Db, zone: string, new_name: string): Promise<void> {
  const fqdn = sql<string>`left(fqdn, length(fqdn) - ${zone.length}) || ${new_name}`
  await db.updateTable('dhcp_reservation').set({ dns_zone: new_name, fqdn }).where('dns_zone', '=', zone).execute()
}

/** The names of a zone that is gone belong to no reservation any more. */
export async function forgetReservationZone(db: Db, zone: string): Promise<void> {
  const none = { dns_zone: null, fqdn: null, ptr: false }
  await db.updateTable('dhcp_reservation').set(none).where('dns_zone', '=', zone).execute()
}
