// Figures of one scope: counted on the server now, and what the collector has seen over time.
import type { dhcp } from '#src/contract/ddi/dhcp.ts'
import type { Lease, ScopeStatistics } from '#src/contract/ddi/dhcp-records.ts'
import type { Input } from '#src/contract/route.ts'
import type { DhcpLease, DhcpScope } from '#src/drivers/ddi/dhcp-server.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { textOf } from '#src/kernel/ipv4.ts'
import { endedLeases, firstSeen, leaseKey, meanHeldSeconds } from '#src/store/dhcp-leases.ts'
import { scopeNotes } from '#src/store/dhcp-orders.ts'
import type { DhcpDeps } from './deps.ts'
import { allReservations, requireScope } from './reading.ts'
import { durationOf } from './scope-rules.ts'
import { activeLease, countsOf } from './views.ts'

type In = Input<(typeof dhcp.routes)['dhcpScopeStatistics']>

const TOP = 10

export function dhcpScopeStatistics(deps: DhcpDeps) {
  return async ({ params }: In, ctx: RequestContext) => {
    const scope = await requireScope(deps, params.scope_name, ctx.signal)
    const data = await statisticsOf(deps, scope, ctx.signal)
    return { success: true, message: `Scope ${scope.name} uses ${data.utilization_percent} %.`, data }
  }
}

/** As the server lists them, and as the API shows them. */
export async function activeLeases(
  { server, database }: DhcpDeps,
  scope: string,
  signal?: AbortSignal,
): Promise<{ raw: DhcpLease[]; views: Lease[] }> {
  const [raw, reservations] = await Promise.all([server.leases({ scope }, signal), server.reservations(scope, signal)])
  const seen = await firstSeen(database.db, raw)
  const reserved = new Set(reservations.map(leaseKey))
  return { raw, views: raw.map((lease) => activeLease(lease, reserved, seen.get(leaseKey(lease)))) }
}

export async function statisticsOf(deps: DhcpDeps, scope: DhcpScope, signal?: AbortSignal): Promise<ScopeStatistics> {
  const { server, database } = deps
  const { name } = scope
  const [{ raw, views }, reservations, notes, expired, mean_s, counters] = await Promise.all([
    activeLeases(deps, name, signal),
    allReservations(deps, name, signal),
    scopeNotes(database.db),
    endedLeases(database.db, { scope: name, state: 'expired' }, { limit: 1, offset: 0 }),
    meanHeldSeconds(database.db, name),
    server.counters(name, signal),
  ])
  const enabled = reservations.filter((row) => row.enabled)
  const counts = countsOf(scope, { leases: raw, reservations: enabled })
  const peak = notes.find((row) => row.name === name)?.peak_utilization ?? null
  const newest = views.toSorted((a, b) => (b.last_renewal ?? '').localeCompare(a.last_renewal ?? ''))
  const order = new Map(newest.map((lease, index) => [lease.mac, index]))
  return {
    active_leases: counts.active,
    available_addresses: counts.available,
    expired_leases: expired.count,
    reserved_count: enabled.length,
    total_addresses: counts.total,
    additional_stats: counters,
    avg_lease_duration: mean_s === null ? null : durationOf(Math.max(1, Math.round(mean_s))),
    last_updated: new Date().toISOString(),
    scope_name: name,
    excluded_ranges: scope.excluded.map(textOf),
    peak_utilization: peak === null ? null : Math.max(peak, counts.utilization),
    utilization_percent: counts.utilization,
    recent_leases: newest.slice(0, TOP),
    top_reservations: enabled
      .toSorted((a, b) => (order.get(a.mac) ?? Infinity) - (order.get(b.mac) ?? Infinity))
      .slice(0, TOP),
    unavailable: [
      ...(peak === null
        ? [{ field: 'peak_utilization', reason: 'The collector has not looked at this scope yet.' }]
        : []),
      ...(mean_s === null ? [{ field: 'avg_lease_duration', reason: 'No lease of this scope has ended yet.' }] : []),
    ],
  }
}
