// What several DHCP handlers read: scopes by name, reservations joined with what was ordered, pages.
import type { Reservation } from '#src/contract/ddi/dhcp-records.ts'
import type { DhcpScope, DhcpState } from '#src/drivers/ddi/dhcp-server.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { numberOf } from '#src/kernel/ipv4.ts'
import { reservationOrders } from '#src/store/dhcp-orders.ts'
import type { DhcpDeps } from './deps.ts'
import { reservationKey, reservationView } from './views.ts'

export async function requireScope(
  { server }: Pick<DhcpDeps, 'server'>,
  name: string,
  signal?: AbortSignal,
): Promise<DhcpScope> {
  return found(name, await server.scopes(signal))
}

/** With what is in it. */
export async function requireState(
  { server }: Pick<DhcpDeps, 'server'>,
  name: string,
  signal?: AbortSignal,
): Promise<Omit<DhcpState, 'scopes'> & { scope: DhcpScope }> {
  const { scopes, reservations, leases } = await server.state(name, signal)
  return { scope: found(name, scopes), reservations, leases }
}

function found(name: string, scopes: readonly DhcpScope[]): DhcpScope {
  const scope = scopes.find((candidate) => candidate.name === name)
  if (scope === undefined) throw new ApiError('DHCP_SCOPE_NOT_FOUND', `DHCP scope ${name} not found.`)
  return scope
}

/** Those on the server and the disabled ones, by scope and address. */
export async function allReservations(
  { server, database }: Pick<DhcpDeps, 'server' | 'database'>,
  scope: string | undefined,
  signal?: AbortSignal,
): Promise<Reservation[]> {
  const [on_server, orders] = await Promise.all([
    server.reservations(scope, signal),
    reservationOrders(database.db, scope === undefined ? {} : { scope }),
  ])
  const known = new Map(orders.map((order) => [reservationKey(order), order]))
  const there = new Set(on_server.map(reservationKey))
  const disabled = orders.filter((order) => !order.enabled && !there.has(reservationKey(order)))
  return [
    ...on_server.map((row) => reservationView(row, known.get(reservationKey(row)))),
    ...disabled.map((order) => reservationView(undefined, order)),
  ].sort((a, b) => a.scope.localeCompare(b.scope) || numberOf(a.ip) - numberOf(b.ip))
}

export function paged<T>(rows: readonly T[], { page = 1, page_size = 50 }: { page?: number; page_size?: number }) {
  return { rows: rows.slice((page - 1) * page_size, page * page_size), total_count: rows.length, page, page_size }
}

export function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}.`
}
