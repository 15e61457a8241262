// What address management needs of a DHCP server. Kea and Technitium fulfil it; nothing above this file knows which.

import type { AddressRange } from '#src/kernel/ipv4.ts'

export interface DhcpScope {
  name: string
  /** CIDR, host bits zero. */
  network: string
  range: AddressRange
  /** Merged, ascending, inside the range. */
  excluded: readonly AddressRange[]
  gateway: string
  dns_servers: readonly string[]
  lease_seconds: number
  enabled: boolean
}

/** MACs are lower case with colons everywhere above the drivers. */
export interface DhcpReservation {
  mac: string
  ip: string
  hostname: string
  comment: string
}

export interface DhcpLease {
  mac: string
  ip: string
  scope: string
  hostname: string | null
  /** Null where the server does not say. */
  renewed_at: Date | null
  expires_at: Date
  lease_seconds: number
}

/** What a server has, read once: of one scope (none when it is not there), or of all. */
export interface DhcpState {
  scopes: DhcpScope[]
  /** In the order of their addresses. */
  reservations: (DhcpReservation & { scope: string })[]
  /** Those that are held now, in the order of their addresses. */
  leases: DhcpLease[]
}

export interface ReservationChange {
  /** New ones, and those whose address, name or comment is another now. */
  put?: readonly DhcpReservation[]
  /** MACs. */
  remove?: readonly string[]
}

/** What a server cannot express; refused before anything changes. Generates docs/reference/ddi-backends.md. */
export interface DhcpLimits {
  /** Lease times must be a multiple of this. */
  lease_step_seconds: number
  max_excluded_ranges: number
  /** Bytes of a host name or comment. */
  max_text_bytes: number
  /** Whether a range of one address can be served. */
  single_address_range: boolean
}

/**
 * Every call is bounded in time and throws UpstreamError (subsystem DHCP). Writers hold the lock of the server
 * (`withServerLock`), because none of the servers compares before it sets.
 */
export interface DhcpServer {
  readonly kind: 'kea' | 'technitium' | 'none'
  readonly limits: DhcpLimits
  /** Cheap; throws when the server does not answer or refuses our credentials. */
  check(signal?: AbortSignal): Promise<void>
  scopes(signal?: AbortSignal): Promise<DhcpScope[]>
  /** Everything at once, for who needs more than one of the three: a large configuration takes a second to read. */
  state(scope?: string, signal?: AbortSignal): Promise<DhcpState>
  /** Of one scope, or of all; in the order of their addresses. */
  reservations(scope?: string, signal?: AbortSignal): Promise<(DhcpReservation & { scope: string })[]>
  /** Leases that are held now, by scope, MAC, or all; in the order of their addresses. */
  leases(of: { scope?: string; mac?: string }, signal?: AbortSignal): Promise<DhcpLease[]>
  /** Figures of one scope that only the server knows (declined addresses and the like). */
  counters(scope: string, signal?: AbortSignal): Promise<Record<string, number>>
  createScope(scope: DhcpScope): Promise<void>
  updateScope(name: string, scope: DhcpScope): Promise<void>
  /** With its reservations and leases. */
  deleteScope(name: string): Promise<void>
  /** All or nothing. A client whose reservation moved is refused its old address at the next renewal and gets the new one. */
  changeReservations(scope: string, change: ReservationChange): Promise<void>
  /** Makes a reservation of the lease so that the client's next renewal is granted; false when the lease is gone. */
  reserveLease(scope: string, reservation: DhcpReservation): Promise<boolean>
  /** Takes the reservation away; the client keeps its address as a dynamic lease where the range allows it. */
  releaseReservation(scope: string, mac: string): Promise<void>
}
