// DHCP scopes, leases and reservations as Technitium answers and takes them, and back.
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { addressOf, type AddressRange, numberOf, subnetOf, without } from '#src/kernel/ipv4.ts'
import type { DhcpLease, DhcpReservation, DhcpScope } from '../ddi/dhcp-server.ts'
import type { Form } from './transport.ts'

const ListedScope = Type.Object({
  name: Type.String(),
  enabled: Type.Boolean(),
  startingAddress: Type.String(),
  endingAddress: Type.String(),
  subnetMask: Type.String(),
  networkAddress: Type.String(),
})
export type ListedScope = Static<typeof ListedScope>
export const ListedScopes = Compile(Type.Object({ scopes: Type.Array(ListedScope) }))

const Text = Type.Optional(Type.Union([Type.String(), Type.Null()]))
const ReservedLease = Type.Object({
  hostName: Text,
  hardwareAddress: Type.String(),
  address: Type.String(),
  comments: Text,
})
const Settings = Type.Object({
  leaseTimeDays: Type.Integer(),
  leaseTimeHours: Type.Integer(),
  leaseTimeMinutes: Type.Integer(),
  routerAddress: Text,
  dnsServers: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
  exclusions: Type.Optional(
    Type.Union([
      Type.Array(Type.Object({ startingAddress: Type.String(), endingAddress: Type.String() })),
      Type.Null(),
    ]),
  ),
  reservedLeases: Type.Optional(Type.Union([Type.Array(ReservedLease), Type.Null()])),
})
export type ScopeSettings = Static<typeof Settings>
export const ScopeSettings = Compile(Settings)

const Lease = Type.Object({
  scope: Type.String(),
  type: Type.String(),
  hardwareAddress: Type.String(),
  address: Type.String(),
  hostName: Text,
  leaseExpires: Type.String(),
})
export type LeaseRow = Static<typeof Lease>
export const Leases = Compile(Type.Object({ leases: Type.Array(Lease) }))

const MINUTE_S = 60
const HOUR_S = 3600
const DAY_S = 86_400

export function scopeOf(row: ListedScope, settings: ScopeSettings): DhcpScope {
  const range = { first: row.startingAddress, last: row.endingAddress }
  const excluded = (settings.exclusions ?? []).map(({ startingAddress: first, endingAddress: last }) => ({
    first,
    last,
  }))
  return {
    name: row.name,
    network: networkOf(row),
    range,
    // Of what lies outside of the range nothing is ever handed out anyway.
    excluded: without([range], without([range], excluded)),
    gateway: settings.routerAddress ?? '',
    dns_servers: settings.dnsServers ?? [],
    lease_seconds: leaseSeconds(settings),
    enabled: row.enabled,
  }
}

/** Every setting that is ours: what is left out keeps its old value, lists are replaced whole. */
export function formOf(scope: DhcpScope): Form {
  const { first, last } = scope.range
  const seconds = scope.lease_seconds
  return {
    startingAddress: first,
    endingAddress: last,
    subnetMask: maskOf(scope.network),
    routerAddress: scope.gateway,
    useThisDnsServer: false,
    dnsServers: scope.dns_servers.join(','),
    leaseTimeDays: Math.floor(seconds / DAY_S),
    leaseTimeHours: Math.floor((seconds % DAY_S) / HOUR_S),
    leaseTimeMinutes: Math.floor((seconds % HOUR_S) / MINUTE_S),
    exclusions: scope.excluded.map((range: AddressRange) => `${range.first}|${range.last}`).join('|'),
    // Names are ours to publish: the server would make zones and records of its own besides.
    dnsUpdates: false,
  }
}

export function leaseSeconds(settings: ScopeSettings): number {
  return settings.leaseTimeDays * DAY_S + settings.leaseTimeHours * HOUR_S + settings.leaseTimeMinutes * MINUTE_S
}

export function reservationsOf(settings: ScopeSettings): DhcpReservation[] {
  return (settings.reservedLeases ?? [])
    .map(({ hardwareAddress, address, hostName, comments }) => ({
      mac: macOf(hardwareAddress),
      ip: address,
      hostname: hostName ?? '',
      comment: comments ?? '',
    }))
    .sort((a, b) => numberOf(a.ip) - numberOf(b.ip))
}

/** Renewals set the end to the lease time of the scope from then on, and are not told otherwise. */
export function leaseOf(row: LeaseRow, lease_seconds: number): DhcpLease {
  const expires_at = new Date(row.leaseExpires)
  const { hostName } = row
  return {
    mac: macOf(row.hardwareAddress),
    ip: row.address,
    scope: row.scope,
    hostname: hostName === undefined || hostName === '' ? null : hostName,
    renewed_at: new Date(expires_at.getTime() - lease_seconds * 1000),
    expires_at,
    lease_seconds,
  }
}

export function macOf(hardware: string): string {
  return hardware.toLowerCase().replaceAll('-', ':')
}

function maskOf(network: string): string {
  const bits = subnetOf(network)?.bits ?? 32
  return addressOf(2 ** 32 - 2 ** (32 - bits))
}

export function networkOf({ networkAddress, subnetMask }: ListedScope): string {
  return `${networkAddress}/${32 - Math.log2(2 ** 32 - numberOf(subnetMask))}`
}
