// DHCP: scopes, leases and reservations (Part 2, 4.1). The address server behind them is Kea or Technitium.
import { Type } from 'typebox'
import { Closed, DestructionPlan, Flag, Id, OneOf, SortFields } from '../common.ts'
import { defineArea } from '../route.ts'
import { Enveloped, FlatEnvelope, Mac, PageData, PageQuery, PlainEnvelope, Text } from './envelope.ts'

import {
  LEASE_STATES,
  LEASE_TYPES,
  Lease,
  LeaseConversion,
  Reservation,
  ReservationCreate,
  ReservationUpdate,
  Scope,
  ScopeCreate,
  ScopeName,
  ScopeStatistics,
  ScopeUpdate,
  LEASE_COLUMNS,
  RESERVATION_COLUMNS,
  SCOPE_COLUMNS,
} from './dhcp-records.ts'

const ReservationMade = {
  hostname: Type.String(),
  ip: Type.String(),
  mac: Type.String(),
  scope: Type.String(),
}
const total_count = Type.Integer({ minimum: 0, description: 'Rows that match, over all pages.' })
const MacPath = Closed({ mac_address: Mac('MAC address, with colons or hyphens.') })
const ScopePath = Closed({ scope_name: ScopeName('Name of the scope.') })

const lease: Lease = {
  first_seen: '2026-11-18T08:00:00.000Z', hostname: 'printer-2', ip: '10.20.0.51', last_renewal: '2026-11-20T03:12:45.000Z',
  lease_expires: '2026-11-20T15:12:45.000Z', lease_time: '12h', mac: '52:54:00:4a:01:33', scope: 'office', lease_type: 'dynamic', state: 'active',
} // biome-ignore format: one record
const reservation: Reservation = {
  comment: 'rack 4', created_at: '2026-11-18T08:00:00.000Z', hostname: 'web-01', ip: '10.20.0.60', mac: '52:54:00:4a:01:10',
  modified_at: '2026-11-18T08:00:00.000Z', scope: 'office', enabled: true,
} // biome-ignore format: one record
const scope: Scope = {
  active_count: 12, available_count: 137, reserved_count: 3, description: 'Second floor', end_address: '10.20.0.199', gateway: '10.20.0.1',
  lease_time: '12h', name: 'office', network: '10.20.0.0/24', start_address: '10.20.0.50', updated_at: '2026-11-18T08:00:00.000Z',
  dns_servers: ['10.20.0.2'], enabled: true, utilization: 8, excluded_ranges: ['10.20.0.100-10.20.0.109'], network_id: null,
} // biome-ignore format: one record
const statistics: ScopeStatistics = {
  active_leases: 12, available_addresses: 125, expired_leases: 4, reserved_count: 3, total_addresses: 140, additional_stats: { declined: 0 },
  avg_lease_duration: '9h', last_updated: '2026-11-20T03:12:45.000Z', scope_name: 'office', excluded_ranges: ['10.20.0.100-10.20.0.109'],
  peak_utilization: 31.5, utilization_percent: 8.6, recent_leases: [lease], top_reservations: [reservation], unavailable: [],
} // biome-ignore format: one record

const read = { method: 'GET', access: 'viewer' } as const
const change = (resource_type: 'DHCP_SCOPE' | 'DHCP_RESERVATION') =>
  ({ access: 'operator', event: { resource_type }, errors: [400, 500] }) as const
const params = { mac_address: lease.mac }
const scope_params = { scope_name: scope.name }

export const dhcp = defineArea({
  name: 'dhcp',
  description: 'DHCP scopes, leases and reservations, with the names that belong to them.',
  errors: 'envelope',
  routes: {
    dhcpLeaseList: {
      ...read,
      path: '/ddi/dhcp/leases',
      summary: 'List leases',
      description:
        'Active leases come from the address server; expired and released ones from the history that is kept here. Without `state` all of them.',
      query: Type.Object({
        scope_name: Type.Optional(ScopeName('Only this scope.')),
        state: Type.Optional(OneOf([...LEASE_STATES])),
        ...SortFields(
          [...LEASE_COLUMNS],
          'active ones first; needs `state` active, because ended ones come from the history',
        ),
        ...PageQuery,
      }),
      ok: {
        200: Enveloped(
          Type.Object({ scope: Text('The scope asked for.'), total_count, leases: Type.Array(Lease), ...PageData }),
          'DhcpLeasePage',
        ),
      },
      errors: [400, 500],
      example: {
        query: { scope_name: 'office', state: 'active' },
        answer: {
          success: true, message: '1 lease.', data: { scope: 'office', total_count: 1, leases: [lease], page: 1, page_size: 50 },
        }, // biome-ignore format: one record
      },
    },
    dhcpLeaseGet: {
      ...read,
      path: '/ddi/dhcp/leases/{mac_address}',
      summary: 'Get lease',
      description: 'The newest of this MAC address over all scopes; when none is active, the last one known.',
      params: MacPath,
      ok: { 200: Enveloped(Lease, 'DhcpLeaseAnswer') },
      errors: [404, 500],
      example: { params, answer: { success: true, message: 'Lease of 10.20.0.51.', data: lease } },
    },
    dhcpLeaseConvert: {
      ...change('DHCP_RESERVATION'),
      method: 'POST',
      path: '/ddi/dhcp/leases/{mac_address}/convert',
      summary: 'Convert lease to reservation or back',
      description: 'The client keeps its address through its next renewals, both ways.',
      params: MacPath,
      body: LeaseConversion,
      ok: { 200: PlainEnvelope },
      example: {
        params,
        body: { mac: lease.mac, mode: 'reserved', hostname: 'printer-2', scope_name: 'office' },
        answer: { success: true, message: '10.20.0.51 is reserved for 52:54:00:4a:01:33.' },
      },
    },
    dhcpReservationList: {
      ...read,
      path: '/ddi/dhcp/reservations',
      summary: 'List reservations',
      description:
        '`lease_type` reserved gives those whose client holds its address now, dynamic those whose client holds another. `vm_id` gives those of the NICs of a virtual machine, `network_id` those of scopes that serve a guest network.',
      query: Type.Object({
        scope_name: Type.Optional(ScopeName('Only this scope.')),
        network_id: Type.Optional(Id),
        vm_id: Type.Optional(Id),
        lease_type: Type.Optional(OneOf([...LEASE_TYPES])),
        include_dns: Flag('Look the names up that lead to each and back.'),
        search: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 100,
            description: 'Part of MAC, address, name or comment.',
            'x-extension': true,
          }),
        ),
        ...SortFields([...RESERVATION_COLUMNS], 'by scope and address'),
        ...PageQuery,
      }),
      ok: {
        200: Enveloped(
          Type.Object({
            scope: Text('The scope asked for.'),
            total_count,
            reservations: Type.Array(Reservation),
            ...PageData,
          }),
          'DhcpReservationPage',
        ),
      },
      errors: [400, 500],
      example: {
        query: { scope_name: 'office' },
        answer: {
          success: true, message: '1 reservation.', data: { scope: 'office', total_count: 1, reservations: [reservation], page: 1, page_size: 50 },
        }, // biome-ignore format: one record
      },
    },
    dhcpReservationCreate: {
      ...change('DHCP_RESERVATION'),
      method: 'POST',
      path: '/ddi/dhcp/reservations',
      summary: 'Create reservation',
      description:
        'Reservation, A and PTR record are made together or not at all. A MAC has one reservation a scope, an address one reservation. An address that another client holds is refused.',
      body: ReservationCreate,
      ok: {
        201: FlatEnvelope(
          {
            dns_created: Type.Boolean({ description: 'Whether an A record was made.' }),
            fqdn: Text('Its full name; null without create_dns.'),
            ...ReservationMade,
          },
          'DhcpReservationMade',
        ),
      },
      example: {
        body: {
          hostname: 'web-01',
          mac: reservation.mac,
          scope_name: 'office',
          create_dns: true,
          dns_zone: 'lab.example',
        },
        answer: {
          dns_created: true, fqdn: 'web-01.lab.example', hostname: 'web-01', ip: '10.20.0.60', mac: reservation.mac, scope: 'office',
          success: true, message: '10.20.0.60 is reserved for web-01.',
        }, // biome-ignore format: one record
      },
    },
    dhcpReservationUpdate: {
      ...change('DHCP_RESERVATION'),
      method: 'PUT',
      path: '/ddi/dhcp/reservations/{mac_address}',
      summary: 'Update reservation',
      description: 'What is left out stays. A move ends the lease of the old address, so that the client asks again.',
      params: MacPath,
      body: ReservationUpdate,
      ok: { 200: FlatEnvelope(ReservationMade, 'DhcpReservationChanged') },
      example: {
        params: { mac_address: reservation.mac },
        body: { mac: reservation.mac, scope_name: 'office', new_ip: '10.20.0.61', update_dns: true },
        answer: {
          hostname: 'web-01', ip: '10.20.0.61', mac: reservation.mac, scope: 'office', success: true, message: 'web-01 is reserved 10.20.0.61 now.',
        }, // biome-ignore format: one record
      },
    },
    dhcpReservationDelete: {
      ...change('DHCP_RESERVATION'),
      method: 'DELETE',
      path: '/ddi/dhcp/reservations/{mac_address}',
      summary: 'Delete reservation',
      description:
        'With `delete_dns` its A and PTR records go with it. A client keeps an address of the range as a dynamic lease.',
      extension: true,
      params: MacPath,
      query: Closed({
        scope_name: ScopeName('Scope of the reservation.'),
        delete_dns: Flag('Delete its records, too.'),
      }),
      errors: [400, 404, 500],
      ok: { 200: PlainEnvelope },
      example: {
        params: { mac_address: reservation.mac },
        query: { scope_name: 'office' },
        answer: { success: true, message: '10.20.0.60 is reserved no longer.' },
      },
    },
    dhcpScopeList: {
      ...read,
      path: '/ddi/dhcp/scopes',
      summary: 'List scopes',
      description:
        'Counts and utilization are null unless `include_stats` is true. `zone_id` and `network_id` name the zone or guest network that a scope serves.',
      query: Type.Object({
        network_id: Type.Optional(Id),
        zone_id: Type.Optional(Id),
        enabled: Flag('Only enabled, or only disabled ones.'),
        include_stats: Flag('Count leases.'),
        ...SortFields([...SCOPE_COLUMNS], 'as the address server lists them'),
        ...PageQuery,
      }),
      ok: {
        200: Enveloped(Type.Object({ scopes: Type.Array(Scope), total_count, ...PageData }), 'DhcpScopePage'),
      },
      errors: [500],
      example: {
        query: { include_stats: true },
        answer: {
          success: true,
          message: '1 scope.',
          data: { scopes: [scope], total_count: 1, page: 1, page_size: 50 },
        },
      },
    },
    dhcpScopeCreate: {
      ...change('DHCP_SCOPE'),
      method: 'POST',
      path: '/ddi/dhcp/scopes',
      summary: 'Create scope',
      description:
        'The subnet may not overlap another scope. Gateway, network and broadcast address are never handed out, whatever the range says.',
      body: ScopeCreate,
      ok: {
        201: FlatEnvelope(
          {
            end_address: Type.String(),
            network: Type.String(),
            scope_name: Type.String(),
            start_address: Type.String(),
          },
          'DhcpScopeMade',
        ),
      },
      example: {
        body: {
          name: 'office',
          network_cidr: '10.20.0.0/24',
          start_address: '10.20.0.50',
          end_address: '10.20.0.199',
          gateway: '10.20.0.1',
        },
        answer: {
          end_address: '10.20.0.199', network: '10.20.0.0/24', scope_name: 'office', start_address: '10.20.0.50', success: true,
          message: 'Scope office serves 10.20.0.50 to 10.20.0.199.',
        }, // biome-ignore format: one record
      },
    },
    dhcpScopeGet: {
      ...read,
      path: '/ddi/dhcp/scopes/{scope_name}',
      summary: 'Get scope',
      description: 'With the first 500 reservations and active leases each; the lists give the rest.',
      params: ScopePath,
      ok: {
        200: Enveloped(
          Type.Object({
            scope: Scope,
            reservations: Type.Array(Reservation),
            active_leases: Type.Array(Lease),
            statistics: ScopeStatistics,
          }),
          'DhcpScopeDetail',
        ),
      },
      errors: [404, 500],
      example: {
        params: scope_params,
        answer: {
          success: true, message: 'Scope office.', data: { scope, reservations: [reservation], active_leases: [lease], statistics },
        }, // biome-ignore format: one record
      },
    },
    dhcpScopeUpdate: {
      ...change('DHCP_SCOPE'),
      method: 'PUT',
      path: '/ddi/dhcp/scopes/{scope_name}',
      summary: 'Update scope',
      description:
        'What is left out stays. A range that would leave an enabled reservation outside the subnet is refused; leases outside a smaller range run until they end.',
      params: ScopePath,
      body: ScopeUpdate,
      ok: { 200: PlainEnvelope },
      example: {
        params: scope_params,
        body: { name: 'office', exclude_range: '10.20.0.100-10.20.0.109' },
        answer: { success: true, message: 'Scope office is changed.' },
      },
    },
    dhcpScopeDelete: {
      ...change('DHCP_SCOPE'),
      method: 'DELETE',
      path: '/ddi/dhcp/scopes/{scope_name}',
      summary: 'Delete scope',
      description: 'Refused while it has reservations or active leases, unless `force` is true.',
      extension: true,
      params: ScopePath,
      dry_run: true,
      query: Closed({ force: Flag('Delete its reservations and leases with it.') }),
      errors: [400, 404, 409, 500],
      ok: { 200: Type.Union([PlainEnvelope, DestructionPlan]) },
      example: { params: scope_params, answer: { success: true, message: 'Scope office is deleted.' } },
    },
    dhcpScopeDisable: {
      ...change('DHCP_SCOPE'),
      method: 'POST',
      path: '/ddi/dhcp/scopes/{scope_name}/disable',
      summary: 'Disable scope',
      description: 'The address server falls silent for it; leases and reservations stay.',
      params: ScopePath,
      errors: [500],
      ok: { 200: PlainEnvelope },
      example: { params: scope_params, answer: { success: true, message: 'Scope office is disabled.' } },
    },
    dhcpScopeEnable: {
      ...change('DHCP_SCOPE'),
      method: 'POST',
      path: '/ddi/dhcp/scopes/{scope_name}/enable',
      summary: 'Enable scope',
      params: ScopePath,
      errors: [500],
      ok: { 200: PlainEnvelope },
      example: { params: scope_params, answer: { success: true, message: 'Scope office is enabled.' } },
    },
    dhcpScopeStatistics: {
      ...read,
      path: '/ddi/dhcp/scopes/{scope_name}/statistics',
      summary: 'Get statistics of scope',
      params: ScopePath,
      ok: { 200: Enveloped(ScopeStatistics, 'DhcpScopeStatisticsAnswer') },
      errors: [404, 500],
      example: {
        params: scope_params,
        answer: { success: true, message: 'Scope office uses 8.6 %.', data: statistics },
      },
    },
  },
})
