// What several DHCP handlers read: scopes by name, reservations joined with what was ordered, pages.
import type { Reservation } from '#src/contract/ddi/dhcp-records.ts'
import type { DhcpScope, DhcpState } from '#src/drivers/ddi/dhcp-server.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { numberOf } from '#src/kernel/ipv4.ts'
import { reservationOrders } from '#src/store/dhcp-orders.ts'
import type { DhcpDeps } from './deps.ts'
import { type AnyReservation, reservationKey, reservationView, type ServerReservation } from './views.ts'

export async function requireScope(
  { server }: Pick<DhcpDeps, 'server'>,
  name: string,
  signal?: AbortSignal,
): Promise<DhcpScope> {
  return found(name, await server.scopes(signal))
}

export type ScopeState = Omit<DhcpState, 'scopes'> & { scope: DhcpScope }

/** With what is in it. */
export async function requireState(
  { server }: Pick<DhcpDeps, 'server'>,
  name: string,
  signal?: AbortSignal,
): Promise<ScopeState> {
  const { scopes, reservations, leases } = await server.state(name, signal)
  return { scope: found(name, scopes), reservations, leases }
}

function found(name: string, scopes: readonly DhcpScope[]): DhcpScope {
  const scope = scopes.find((candidate) => candidate.name === name)
  if (scope === undefined) throw new ApiError('DHCP_SCOPE_NOT_FOUND', `DHCP scope ${name} not found.`)
  return scope
}

/** Those on the server, of a scope that must be there; an empty answer alone does not say whether it is. */
export async function requireReservations(
  deps: Pick<DhcpDeps, 'server'>,
  scope: string | undefined,
  signal?: AbortSignal,
): Promise<ServerReservation[]> {
  const rows = await deps.server.reservations(scope, signal)
  if (rows.length === 0 && scope !== undefined) await requireScope(deps, scope, signal)
  return rows
}

/** Those on the server and the disabled ones, by scope and address; what was ordered is read for the rows that are shown. */
export async function allReservations(
  { database }: Pick<DhcpDeps, 'database'>,
  scope: string | undefined,
  rows: readonly ServerReservation[] | Promise<readonly ServerReservation[]>,
): Promise<AnyReservation[]> {
  const of = scope === undefined ? {} : { scope }
  const [on_server, orders] = await Promise.all([rows, reservationOrders(database.db, { ...of, enabled: false })])
  const there = orders.length === 0 ? undefined : new Set(on_server.map(reservationKey))
  const disabled = orders.filter((order) => there?.has(reservationKey(order)) !== true)
  // Each address is read once: there may be tens of thousands.
  return [
    ...on_server.map((row) => ({ row: { ...row, order: undefined }, number: numberOf(row.ip) })),
    ...disabled.map((order) => ({ row: { ...order, order }, number: numberOf(order.ip) })),
  ]
    .sort((a, b) => (a.row.scope === b.row.scope ? a.number - b.number : a.row.scope.localeCompare(b.row.scope)))
    .map(({ row }) => row)
}

export async function reservationViews(
  { database }: Pick<DhcpDeps, 'database'>,
  rows: readonly AnyReservation[],
): Promise<Reservation[]> {
  const macs = rows.filter((row) => row.order === undefined).map((row) => row.mac)
  const orders = macs.length === 0 ? [] : await reservationOrders(database.db, { macs })
  const known = new Map(orders.map((order) => [reservationKey(order), order]))
  return rows.map((row) => reservationView(row, row.order ?? known.get(reservationKey(row))))
}

export function paged<T>(rows: readonly T[], { page = 1, page_size = 50 }: { page?: number; page_size?: number }) {
  return { rows: rows.slice((page - 1) * page_size, page * page_size), total_count: rows.length, page, page_size }
}

export function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}.`
}
