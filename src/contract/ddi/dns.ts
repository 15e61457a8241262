// DNS: zones and records (Part 2, 4.2). The name server behind them is PowerDNS or Technitium.
import { Type } from 'typebox'
import { Closed, DestructionPlan, Flag, Id, OneOf, SortFields } from '../common.ts'
import { defineArea } from '../route.ts'
import { DnsName, Enveloped, FlatEnvelope, PageData, PageQuery, PlainEnvelope, Text } from './envelope.ts'

import {
  BulkResult,
  DnsRecord,
  DnsZone,
  RecordBulk,
  RecordInput,
  RecordType,
  RecordUpdate,
  ZoneCreate,
  ZoneImport,
  ZoneStatistics,
  ZoneUpdate,
  RECORD_COLUMNS,
  ZONE_COLUMNS,
} from './dns-records.ts'

const record: DnsRecord = {
  comment: 'front end', created_at: '2026-11-18T08:00:00.000Z', fqdn: 'web-01.lab.example', id: '0193a7c2-6d1e-7a51-b7f0-0c9a2e5d7b10', name: 'web-01',
  type: 'A', updated_at: '2026-11-18T08:00:00.000Z', value: '10.20.0.60', zone: 'lab.example', port: null, priority: null, ttl: 3600, weight: null,
} // biome-ignore format: one record
const zone: DnsZone = {
  comment: '', name: 'lab.example', updated_at: '2026-11-18T08:00:00.000Z', masters: [], notify_enabled: true, transfer_enabled: false,
  record_count: 3, status: 'active', type: 'Primary', network_id: null,
} // biome-ignore format: one record
const statistics: ZoneStatistics = {
  last_modified: '2026-11-18T08:00:00.000Z', soa_serial: '2026111801', zone_name: 'lab.example', query_count: 120, total_records: 3,
  transfer_count: 0, records_by_type: { SOA: 1, NS: 1, A: 1 }, unavailable: [],
} // biome-ignore format: one record

const read = { method: 'GET', access: 'viewer' } as const
const change = (resource_type: 'DNS_ZONE' | 'DNS_RECORD') =>
  ({ access: 'operator', event: { resource_type }, errors: [400, 500] }) as const
const total_count = Type.Integer({ minimum: 0, description: 'Rows that match, over all pages.' })
const ZonePath = Closed({ zone_name: DnsName('Name of the zone.') })
const RecordPath = Closed({ zone_name: DnsName('Name of the zone.'), record_id: Id })
const zone_params = { zone_name: zone.name }
const record_params = { zone_name: zone.name, record_id: record.id }
const Made = { name: Type.String(), type: Type.String(), value: Type.String(), zone: Type.String() }

export const dns = defineArea({
  name: 'dns',
  description: 'DNS zones and records.',
  errors: 'envelope',
  routes: {
    dnsRecordList: {
      ...read,
      path: '/ddi/dns/records',
      summary: 'List records',
      description: 'Of one zone, or of all. `search` looks in name and value, whatever the case.',
      query: Type.Object({
        zone_name: Type.Optional(DnsName('Only this zone.')),
        record_type: Type.Optional(RecordType),
        search: Type.Optional(Type.String({ minLength: 1, maxLength: 253, description: 'Text in name or value.' })),
        ...SortFields([...RECORD_COLUMNS], 'by zone, name, type and value'),
        ...PageQuery,
      }),
      ok: {
        200: Enveloped(
          Type.Object({ zone: Text('The zone asked for.'), total_count, records: Type.Array(DnsRecord), ...PageData }),
          'DnsRecordPage',
        ),
      },
      errors: [400, 500],
      example: {
        query: { zone_name: 'lab.example', record_type: 'A' },
        answer: {
          success: true, message: '1 record.', data: { zone: 'lab.example', total_count: 1, records: [record], page: 1, page_size: 50 },
        }, // biome-ignore format: one record
      },
    },
    dnsRecordCreate: {
      ...change('DNS_RECORD'),
      method: 'POST',
      path: '/ddi/dns/records',
      summary: 'Create record',
      description:
        'A CNAME stands alone at its name. The same record again is refused unless `overwrite` is true. Without a fitting reverse zone `ptr_created` is false and the message says why.',
      body: RecordInput,
      ok: {
        201: FlatEnvelope(
          {
            fqdn: Type.String(),
            ...Made,
            ptr_created: Type.Boolean(),
            record_id: Type.String({ description: 'Id of the record.', 'x-extension': true }),
          },
          'DnsRecordMade',
        ),
      },
      example: {
        body: { zone: 'lab.example', name: 'web-01', type: 'A', value: '10.20.0.60', ttl: 3600, create_ptr: true },
        answer: {
          fqdn: 'web-01.lab.example', name: 'web-01', type: 'A', value: '10.20.0.60', zone: 'lab.example', ptr_created: true, record_id: record.id,
          success: true, message: 'web-01.lab.example leads to 10.20.0.60.',
        }, // biome-ignore format: one record
      },
    },
    dnsRecordBulk: {
      ...change('DNS_RECORD'),
      method: 'POST',
      path: '/ddi/dns/records/bulk',
      summary: 'Apply several record changes',
      description:
        'Each operation succeeds or fails by itself; `success` is true when none failed. The reverse records of ADD follow `create_ptr` of each record.',
      body: RecordBulk,
      ok: {
        200: FlatEnvelope(
          {
            failed: Type.Integer(),
            succeeded: Type.Integer(),
            total: Type.Integer(),
            results: Type.Array(BulkResult),
          },
          'DnsRecordBulkAnswer',
        ),
      },
      example: {
        body: {
          zone: 'lab.example', operations: [{ action: 'ADD', record: { zone: 'lab.example', name: 'web-02', type: 'A', value: '10.20.0.61' } }],
        }, // biome-ignore format: one record
        answer: {
          failed: 0, succeeded: 1, total: 1, success: true, message: '1 of 1 changes made.',
          results: [{ action: 'ADD', error: '', index: 0, name: 'web-02', status: 'succeeded', type: 'A', record_id: record.id, code: null }],
        }, // biome-ignore format: one record
      },
    },
    dnsRecordGet: {
      ...read,
      path: '/ddi/dns/records/{zone_name}/{record_id}',
      summary: 'Get record',
      params: RecordPath,
      ok: { 200: Enveloped(DnsRecord, 'DnsRecordAnswer') },
      errors: [404, 500],
      example: {
        params: record_params,
        answer: { success: true, message: 'A record of web-01.lab.example.', data: record },
      },
    },
    dnsRecordUpdate: {
      ...change('DNS_RECORD'),
      method: 'PUT',
      path: '/ddi/dns/records/{zone_name}/{record_id}',
      summary: 'Update record',
      description:
        'What is left out stays; the id stays, too. A new `ttl` is that of every record of the same name and type. SOA and the last NS of the zone itself are refused.',
      params: RecordPath,
      body: RecordUpdate,
      ok: {
        200: FlatEnvelope({ ...Made, record_id: Type.String() }, 'DnsRecordChanged'),
      },
      example: {
        params: record_params,
        body: { record_id: record.id, zone: 'lab.example', value: '10.20.0.62', update_ptr: true },
        answer: {
          name: 'web-01', record_id: record.id, type: 'A', value: '10.20.0.62', zone: 'lab.example', success: true,
          message: 'web-01.lab.example leads to 10.20.0.62.',
        }, // biome-ignore format: one record
      },
    },
    dnsRecordDelete: {
      ...change('DNS_RECORD'),
      method: 'DELETE',
      path: '/ddi/dns/records/{zone_name}/{record_id}',
      summary: 'Delete record',
      extension: true,
      params: RecordPath,
      query: Closed({ delete_ptr: Flag('Delete the reverse record that leads to it, too.') }),
      errors: [400, 404, 500],
      ok: { 200: PlainEnvelope },
      example: {
        params: record_params,
        answer: { success: true, message: 'A record of web-01.lab.example is deleted.' },
      },
    },
    dnsZoneList: {
      ...read,
      path: '/ddi/dns/zones',
      summary: 'List zones',
      query: Type.Object({
        network_id: Type.Optional(Id),
        type: Type.Optional(OneOf(['Primary', 'Secondary'])),
        status: Type.Optional(OneOf(['active', 'paused'])),
        include_records: Flag('With the first 500 records of each.'),
        ...SortFields([...ZONE_COLUMNS], 'by name'),
        ...PageQuery,
      }),
      ok: { 200: Enveloped(Type.Object({ total_count, zones: Type.Array(DnsZone), ...PageData }), 'DnsZonePage') },
      errors: [500],
      example: {
        query: { type: 'Primary' },
        answer: { success: true, message: '1 zone.', data: { total_count: 1, zones: [zone], page: 1, page_size: 50 } },
      },
    },
    dnsZoneCreate: {
      ...change('DNS_ZONE'),
      method: 'POST',
      path: '/ddi/dns/zones',
      summary: 'Create zone',
      description:
        'A Secondary needs masters and is copied from them at once. `reverse_zone_cidr` makes one reverse zone for each whole octet (IPv6: nibble) that the subnet needs.',
      body: ZoneCreate,
      ok: {
        201: FlatEnvelope(
          {
            reverse_zone_cidr: Text(),
            reverse_zone_requested: Type.Boolean(),
            type: Type.String(),
            zone_name: Type.String(),
            reverse_zones: Type.Array(Type.String(), { description: 'Reverse zones made.', 'x-extension': true }),
          },
          'DnsZoneMade',
        ),
      },
      example: {
        body: { name: 'lab.example', type: 'Primary', create_reverse_zone: true, reverse_zone_cidr: '10.20.0.0/24' },
        answer: {
          reverse_zone_cidr: '10.20.0.0/24', reverse_zone_requested: true, type: 'Primary', zone_name: 'lab.example',
          reverse_zones: ['0.20.10.in-addr.arpa'], success: true, message: 'Zone lab.example is made.',
        }, // biome-ignore format: one record
      },
    },
    dnsZoneGet: {
      ...read,
      path: '/ddi/dns/zones/{zone_name}',
      summary: 'Get zone',
      description: 'With its first 500 records; the list gives the rest.',
      params: ZonePath,
      ok: {
        200: Enveloped(
          Type.Object({ zone: DnsZone, records: Type.Array(DnsRecord), statistics: ZoneStatistics }),
          'DnsZoneDetail',
        ),
      },
      errors: [404, 500],
      example: {
        params: zone_params,
        answer: { success: true, message: 'Zone lab.example.', data: { zone, records: [record], statistics } },
      },
    },
    dnsZoneUpdate: {
      ...change('DNS_ZONE'),
      method: 'PUT',
      path: '/ddi/dns/zones/{zone_name}',
      summary: 'Update zone',
      description:
        'What is left out stays. Paused and disabled zones are kept and not answered for. What the name server in use cannot do (docs/reference/ddi-backends.md) is refused before anything changes.',
      params: ZonePath,
      body: ZoneUpdate,
      ok: { 200: PlainEnvelope },
      example: {
        params: zone_params,
        body: { name: 'lab.example', status: 'paused' },
        answer: { success: true, message: 'Zone lab.example is paused.' },
      },
    },
    dnsZoneDelete: {
      ...change('DNS_ZONE'),
      method: 'DELETE',
      path: '/ddi/dns/zones/{zone_name}',
      summary: 'Delete zone',
      description: 'With its records. `confirm` must repeat the name of the zone.',
      extension: true,
      dry_run: true,
      params: ZonePath,
      query: Closed({ confirm: Type.Optional(DnsName('Name of the zone once more; not needed with dry_run.')) }),
      errors: [400, 404, 500],
      ok: { 200: Type.Union([PlainEnvelope, DestructionPlan]) },
      example: {
        params: zone_params,
        query: { confirm: 'lab.example' },
        answer: { success: true, message: 'Zone lab.example is deleted.' },
      },
    },
    dnsZoneTransfer: {
      ...change('DNS_ZONE'),
      method: 'POST',
      path: '/ddi/dns/zones/{zone_name}/transfer',
      summary: 'Copy secondary zone from its masters',
      extension: true,
      params: ZonePath,
      errors: [400, 404, 500],
      ok: { 200: PlainEnvelope },
      example: { params: zone_params, answer: { success: true, message: 'Zone lab.example is being copied.' } },
    },
    dnsZoneNotify: {
      ...change('DNS_ZONE'),
      method: 'POST',
      path: '/ddi/dns/zones/{zone_name}/notify',
      summary: 'Tell secondaries of zone to copy it',
      extension: true,
      params: ZonePath,
      errors: [400, 404, 500],
      ok: { 200: PlainEnvelope },
      example: { params: zone_params, answer: { success: true, message: 'The secondaries of lab.example are told.' } },
    },
    dnsZoneExport: {
      ...read,
      path: '/ddi/dns/zones/{zone_name}/export',
      summary: 'Export zone file',
      description: 'text/dns in the form of RFC 1035.',
      kind: 'bytes',
      extension: true,
      params: ZonePath,
      ok: { 200: Type.String({ description: 'Zone file.' }) },
      errors: [400, 404, 500],
      example: { params: zone_params, answer: '$ORIGIN lab.example.\nweb-01 3600 IN A 10.20.0.60\n' },
    },
    dnsZoneImport: {
      ...change('DNS_RECORD'),
      method: 'POST',
      path: '/ddi/dns/zones/{zone_name}/import',
      summary: 'Import zone file',
      description:
        'Every record is checked first: one that is wrong is named with its line, and nothing is changed. SOA is skipped.',
      extension: true,
      params: ZonePath,
      body: ZoneImport,
      errors: [400, 404, 500],
      ok: {
        200: FlatEnvelope(
          { imported: Type.Integer(), replaced: Type.Integer(), skipped: Type.Integer() },
          'DnsZoneImported',
        ),
      },
      example: {
        params: zone_params,
        body: { zone_file: 'web-02 3600 IN A 10.20.0.61\n' },
        answer: { imported: 1, replaced: 0, skipped: 0, success: true, message: '1 record imported into lab.example.' },
      },
    },
  },
})
