// DHCP records as the API shows them: what the server says, with what only our own tables know.
import type { Lease, Reservation, Scope } from '#src/contract/ddi/dhcp-records.ts'
import type { DhcpLease, DhcpReservation, DhcpScope } from '#src/drivers/ddi/dhcp-server.ts'
import { isInRange, sizeOf, textOf } from '#src/kernel/ipv4.ts'
import { leaseKey, type LeaseRow } from '#src/store/dhcp-leases.ts'
import type { ReservationOrder, ScopeNote } from '#src/store/dhcp-orders.ts'
import { durationOf, usableRanges } from './scope-rules.ts'

export type ServerReservation = DhcpReservation & { scope: string }
/** On the server; or disabled, and then known from our tables alone: its order. */
export type AnyReservation = ServerReservation & { order: ReservationOrder | undefined }

export function reservationKey({ scope, mac }: { scope: string; mac: string }): string {
  return `${scope} ${mac}`
}

/** `reserved`: keys of leases whose address is reserved for their client. */
export function activeLease(lease: DhcpLease, reserved: ReadonlySet<string>, first_seen: Date | undefined): Lease {
  return {
    first_seen: (first_seen ?? lease.renewed_at)?.toISOString() ?? null,
    hostname: lease.hostname,
    ip: lease.ip,
    last_renewal: lease.renewed_at?.toISOString() ?? null,
    lease_expires: lease.expires_at.toISOString(),
    lease_time: durationOf(lease.lease_seconds),
    mac: lease.mac,
    scope: lease.scope,
    lease_type: reserved.has(leaseKey(lease)) ? 'reserved' : 'dynamic',
    state: 'active',
  }
}

export function endedLease(row: LeaseRow): Lease {
  return {
    first_seen: row.first_seen.toISOString(),
    hostname: row.hostname,
    ip: row.ip,
    last_renewal: row.renewed_at?.toISOString() ?? null,
    lease_expires: row.expires_at.toISOString(),
    lease_time: durationOf(row.lease_seconds),
    mac: row.mac,
    scope: row.scope,
    lease_type: 'dynamic',
    state: row.state === 'released' ? 'released' : 'expired',
  }
}

/** As it is on the server, or in our tables alone when it is disabled. */
export function reservationView(now: AnyReservation, order: ReservationOrder | undefined): Reservation {
  return {
    comment: order?.comment ?? now.comment,
    created_at: order?.created_at.toISOString() ?? null,
    hostname: now.hostname,
    ip: now.ip,
    mac: now.mac,
    modified_at: order?.modified_at.toISOString() ?? null,
    scope: now.scope,
    enabled: isEnabled(now),
  }
}

/** One that is disabled is known from our tables alone. */
export function isEnabled({ order }: AnyReservation): boolean {
  return order === undefined
}

export interface ScopeCounts {
  leases: readonly DhcpLease[]
  reservations: readonly Pick<DhcpReservation, 'ip'>[]
}

export function countsOf(scope: DhcpScope, { leases, reservations }: ScopeCounts) {
  const ranges = usableRanges(scope)
  const usable = (ip: string): boolean => ranges.some((range) => isInRange(ip, range))
  const leased = new Set(leases.map((lease) => lease.ip).filter(usable))
  const reserved = reservations.filter(({ ip }) => usable(ip) && !leased.has(ip)).length
  const total = sizeOf(ranges)
  return {
    total,
    active: leases.length,
    available: Math.max(0, total - leased.size - reserved),
    utilization: total === 0 ? 100 : Math.round((1000 * leased.size) / total) / 10,
  }
}

/** Without `counts` nobody asked how full it is. */
export function scopeView(
  scope: DhcpScope,
  note: ScopeNote | undefined,
  reserved_count: number,
  counts?: ScopeCounts,
): Scope {
  const figures = counts === undefined ? undefined : countsOf(scope, counts)
  return {
    active_count: figures?.active ?? null,
    available_count: figures?.available ?? null,
    reserved_count,
    description: note?.description ?? '',
    end_address: scope.range.last,
    gateway: scope.gateway === '' ? null : scope.gateway,
    lease_time: durationOf(scope.lease_seconds),
    name: scope.name,
    network: scope.network,
    start_address: scope.range.first,
    updated_at: note?.updated_at.toISOString() ?? null,
    dns_servers: [...scope.dns_servers],
    enabled: scope.enabled,
    utilization: figures?.utilization ?? null,
    excluded_ranges: scope.excluded.map(textOf),
    network_id: note?.network_id ?? null,
  }
}

export function macOf(text: string): string {
  return text.toLowerCase().replaceAll('-', ':')
}
