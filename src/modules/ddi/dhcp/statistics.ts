// Figures of one scope: counted on the server now, and what the collector has seen over time.
import type { dhcp } from '#src/contract/ddi/dhcp.ts'
import type { Lease, Reservation, ScopeStatistics } from '#src/contract/ddi/dhcp-records.ts'
import type { Input } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { textOf } from '#src/kernel/ipv4.ts'
import { endedLeases, firstSeen, leaseKey, meanHeldSeconds } from '#src/store/dhcp-leases.ts'
import { scopeNotes } from '#src/store/dhcp-orders.ts'
import type { DhcpDeps } from './deps.ts'
import { allReservations, requireState, reservationViews, type ScopeState } from './reading.ts'
import { durationOf } from './scope-rules.ts'
import { activeLease, type AnyReservation, countsOf, isEnabled } from './views.ts'

type In = Input<(typeof dhcp.routes)['dhcpScopeStatistics']>

const TOP = 10

export function dhcpScopeStatistics(deps: DhcpDeps) {
  return async ({ params }: In, ctx: RequestContext) => {
    const state = await requireState(deps, params.scope_name, ctx.signal)
    const { data } = await figuresOf(deps, state, ctx.signal)
    return { success: true, message: `Scope ${data.scope_name} uses ${data.utilization_percent} %.`, data }
  }
}

/** What the statistics of a scope were counted from, too. */
export interface ScopeFigures {
  data: ScopeStatistics
  reservations: AnyReservation[]
  leases: Lease[]
}

export async function figuresOf(deps: DhcpDeps, state: ScopeState, signal?: AbortSignal): Promise<ScopeFigures> {
  const { scope } = state
  const [reservations, leases, facts] = await Promise.all([
    allReservations(deps, scope.name, state.reservations),
    activeLeases(deps, state),
    factsOf(deps, scope.name, signal),
  ])
  const enabled = reservations.filter(isEnabled)
  const top_reservations = await reservationViews(deps, byNewestLease(enabled, leases).slice(0, TOP))
  return { reservations, leases, data: statisticsOf(state, { enabled, leases, top_reservations, ...facts }) }
}

async function activeLeases({ database }: DhcpDeps, { leases, reservations }: ScopeState): Promise<Lease[]> {
  const seen = await firstSeen(database.db, leases)
  const reserved = new Set(reservations.map(leaseKey))
  return leases.map((lease) => activeLease(lease, reserved, seen.get(leaseKey(lease))))
}

/** What the collector has seen over time, and what only the server counts. */
async function factsOf({ server, database }: DhcpDeps, name: string, signal?: AbortSignal) {
  const [notes, expired, mean_s, counters] = await Promise.all([
    scopeNotes(database.db),
    endedLeases(database.db, { scope: name, state: 'expired' }, { limit: 1, offset: 0 }),
    meanHeldSeconds(database.db, name),
    server.counters(name, signal),
  ])
  const peak = notes.find((row) => row.name === name)?.peak_utilization ?? null
  return { peak, expired: expired.count, mean_s, counters }
}

interface Facts extends Awaited<ReturnType<typeof factsOf>> {
  enabled: AnyReservation[]
  leases: Lease[]
  top_reservations: Reservation[]
}

function newestFirst(leases: readonly Lease[]): Lease[] {
  return leases.toSorted((a, b) => (b.last_renewal ?? '').localeCompare(a.last_renewal ?? ''))
}

function byNewestLease(reservations: readonly AnyReservation[], leases: readonly Lease[]): AnyReservation[] {
  const order = new Map(newestFirst(leases).map((lease, index) => [lease.mac, index]))
  return reservations.toSorted((a, b) => (order.get(a.mac) ?? Infinity) - (order.get(b.mac) ?? Infinity))
}

function statisticsOf(
  { scope, leases: held }: ScopeState,
  { enabled, leases, top_reservations, peak, expired, mean_s, counters }: Facts,
): ScopeStatistics {
  const counts = countsOf(scope, { leases: held, reservations: enabled })
  return {
    active_leases: counts.active,
    available_addresses: counts.available,
    expired_leases: expired,
    reserved_count: enabled.length,
    total_addresses: counts.total,
    additional_stats: counters,
    avg_lease_duration: mean_s === null ? null : durationOf(Math.max(1, Math.round(mean_s))),
    last_updated: new Date().toISOString(),
    scope_name: scope.name,
    excluded_ranges: scope.excluded.map(textOf),
    peak_utilization: peak === null ? null : Math.max(peak, counts.utilization),
    utilization_percent: counts.utilization,
    recent_leases: newestFirst(leases).slice(0, TOP),
    top_reservations,
    unavailable: [
      ...(peak === null
        ? [{ field: 'peak_utilization', reason: 'The collector has not looked at this scope yet.' }]
        : []),
      ...(mean_s === null ? [{ field: 'avg_lease_duration', reason: 'No lease of this scope has ended yet.' }] : []),
    ],
  }
}
