// Schemas of DHCP: scopes, leases, reservations and the requests that change them (Part 2, 4.1).
import { type Static, Type } from 'typebox'
import { Closed, Flag, Id, Nullable, NullableInteger, NullableNumber, OneOf, Unavailable } from '../common.ts'
import { Comment, DnsName, HostName, Ipv4, Mac, Text, Timestamp } from './envelope.ts'

export const LEASE_STATES = ['active', 'expired', 'released'] as const
export const LEASE_TYPES = ['dynamic', 'reserved'] as const

export const SCOPE_COLUMNS = ['name', 'network', 'updated_at'] as const
export const RESERVATION_COLUMNS = ['ip', 'mac', 'hostname', 'scope'] as const
export const LEASE_COLUMNS = ['ip', 'mac', 'hostname', 'scope', 'last_renewal', 'lease_expires'] as const

const LEASE_TIME = 'Whole seconds, minutes, hours or days: 3600s, 90m, 12h, 7d.'

/** Name of a scope: also a file name on one of the address servers. */
export const ScopeName = (description: string) =>
  Type.String({ minLength: 1, maxLength: 100, pattern: '^[A-Za-z0-9]([A-Za-z0-9 ._-]*[A-Za-z0-9])?$', description })
const AddressRange = (description: string) =>
  Type.String({ pattern: '^[0-9.]{7,15}(-[0-9.]{7,15})?$', description: `${description} One address, or first-last.` })
const LeaseTime = Type.String({
  pattern: '^[1-9][0-9]{0,8}[smhd]?$',
  description: `${LEASE_TIME} A bare number is seconds.`,
})

export const Lease = Type.Object(
  {
    first_seen: Timestamp('When this address was first seen with this MAC.'),
    hostname: Text('Name that the client sent or its reservation gives.'),
    ip: Type.String(),
    last_renewal: Timestamp('Last request that was granted.'),
    lease_expires: Timestamp('When it ends unless renewed.'),
    lease_time: Text(LEASE_TIME),
    mac: Type.String({ description: 'Lower case with colons.' }),
    scope: Type.String(),
    lease_type: OneOf([...LEASE_TYPES]),
    state: OneOf([...LEASE_STATES], { description: 'Expired and released ones come from the history kept here.' }),
  },
  { title: 'DhcpLease' },
)
export type Lease = Static<typeof Lease>

export const Reservation = Type.Object(
  {
    comment: Type.String(),
    created_at: Timestamp('When it was made; null when it was made on the address server itself.'),
    hostname: Text(),
    ip: Type.String(),
    mac: Type.String({ description: 'Lower case with colons.' }),
    modified_at: Timestamp('Last change through this service.'),
    scope: Type.String(),
    enabled: Type.Boolean({ description: 'A disabled one is kept here and not on the address server.' }),
    dns_records: Type.Optional(
      Type.Array(Type.Object({ zone: Type.String(), name: Type.String(), type: Type.String(), value: Type.String() }), {
        description: 'Names that lead to it and back; only with include_dns.',
        'x-extension': true,
      }),
    ),
  },
  { title: 'DhcpReservation' },
)
export type Reservation = Static<typeof Reservation>

export const Scope = Type.Object(
  {
    active_count: NullableInteger('Active leases.'),
    available_count: NullableInteger('Addresses that a new client could get.'),
    reserved_count: Type.Integer({ description: 'Enabled reservations.' }),
    description: Type.String(),
    end_address: Type.String(),
    gateway: Text('Router given to clients.'),
    lease_time: Type.String({ description: LEASE_TIME }),
    name: Type.String(),
    network: Type.String({ description: 'CIDR.' }),
    start_address: Type.String(),
    updated_at: Timestamp('Last change through this service.'),
    dns_servers: Type.Array(Type.String()),
    enabled: Type.Boolean(),
    utilization: NullableNumber('Active leases of the range in percent of its usable addresses.'),
    excluded_ranges: Type.Array(Type.String(), { description: 'Never handed out.', 'x-extension': true }),
    network_id: Nullable(Type.String({ description: 'Guest network it serves.', 'x-extension': true })),
  },
  { title: 'DhcpScope' },
)
export type Scope = Static<typeof Scope>

export const ScopeStatistics = Type.Object(
  {
    active_leases: Type.Integer(),
    available_addresses: Type.Integer(),
    expired_leases: Type.Integer({ description: 'In the history kept here.' }),
    reserved_count: Type.Integer(),
    total_addresses: Type.Integer({ description: 'Addresses of the range without exclusions and gateway.' }),
    additional_stats: Type.Record(Type.String(), Type.Unknown(), {
      description: 'What the address server counts besides: declined addresses and similar.',
    }),
    avg_lease_duration: Text('Mean time that ended leases were held; null until one has ended.'),
    last_updated: Timestamp('When these figures were taken.'),
    scope_name: Type.String(),
    excluded_ranges: Type.Array(Type.String()),
    peak_utilization: NullableNumber('Highest utilization seen by the collector; null until it has looked once.'),
    utilization_percent: Type.Number(),
    recent_leases: Type.Array(Lease, { description: 'The ten newest.' }),
    top_reservations: Type.Array(Reservation, { description: 'The ten with the newest lease.' }),
    unavailable: Type.Array(Unavailable, { 'x-extension': true }),
  },
  { title: 'DhcpScopeStatistics' },
)
export type ScopeStatistics = Static<typeof ScopeStatistics>

export const LeaseConversion = Closed(
  {
    comment: Type.Optional(Comment('Kept with the reservation.')),
    hostname: Type.Optional(HostName('Needed for mode reserved.')),
    mac: Mac('As in the path.'),
    mode: OneOf([...LEASE_TYPES].reverse() as ['reserved', 'dynamic'], {
      description: 'Wanted kind: reserved makes a reservation of the lease, dynamic takes it away again.',
    }),
    scope_name: ScopeName('Scope of the lease.'),
  },
  { title: 'DhcpLeaseConversion' },
)
export type LeaseConversion = Static<typeof LeaseConversion>

export const ReservationCreate = Closed(
  {
    comment: Type.Optional(Comment('For people.')),
    create_dns: Flag('Create A and PTR records.'),
    create_ptr: Flag('Create the PTR record, too; true unless said otherwise when create_dns is true.'),
    dns_zone: Type.Optional(DnsName('Zone of the A record; needed when create_dns is true.')),
    hostname: HostName('Given to the client, and the name of its records.'),
    ip: Type.Optional(Ipv4('The lowest free address of the scope when left out.')),
    mac: Mac('Of the client.'),
    scope_name: ScopeName('Scope.'),
  },
  { title: 'DhcpReservationCreate' },
)
export type ReservationCreate = Static<typeof ReservationCreate>

export const ReservationUpdate = Closed(
  {
    comment: Type.Optional(Comment('For people.')),
    enabled: Flag('False takes it from the address server and keeps it here.'),
    hostname: Type.Optional(HostName('New name.')),
    mac: Mac('As in the path.'),
    new_ip: Type.Optional(Ipv4('Moves it to this address.')),
    scope_name: ScopeName('Scope of the reservation.'),
    update_dns: Flag('Let its A and PTR records follow a new address or name.'),
  },
  { title: 'DhcpReservationUpdate' },
)
export type ReservationUpdate = Static<typeof ReservationUpdate>

export const ScopeCreate = Closed(
  {
    description: Type.Optional(Comment('For people.')),
    dns_servers: Type.Optional(Type.Array(Ipv4('Name server given to clients.'), { maxItems: 8 })),
    enabled: Flag('Serve clients at once; true when left out.'),
    end_address: Ipv4('Last address of the range.'),
    excluded_ranges: Type.Optional(
      Type.Array(AddressRange('Never handed out.'), { maxItems: 200, description: 'Inside the range.' }),
    ),
    gateway: Ipv4('Router given to clients.'),
    lease_time: Type.Optional(LeaseTime),
    name: ScopeName('Name of the new scope.'),
    network_cidr: Type.String({ pattern: '^[0-9.]{7,15}/[0-9]{1,2}$', description: 'Subnet in CIDR form.' }),
    network_id: Type.Optional(Id),
    start_address: Ipv4('First address of the range.'),
  },
  { title: 'DhcpScopeCreate' },
)
export type ScopeCreate = Static<typeof ScopeCreate>

export const ScopeUpdate = Closed(
  {
    description: Type.Optional(Comment('For people.')),
    dns_servers: Type.Optional(Type.Array(Ipv4('Name server given to clients.'), { maxItems: 8 })),
    enabled: Flag('Serve clients.'),
    end_address: Type.Optional(Ipv4('Last address of the range.')),
    exclude_range: Type.Optional(AddressRange('Excluded from now on.')),
    gateway: Type.Optional(Ipv4('Router given to clients.')),
    include_range: Type.Optional(AddressRange('Excluded no longer.')),
    lease_time: Type.Optional(LeaseTime),
    name: ScopeName('As in the path.'),
    start_address: Type.Optional(Ipv4('First address of the range.')),
  },
  { title: 'DhcpScopeUpdate' },
)
export type ScopeUpdate = Static<typeof ScopeUpdate>
