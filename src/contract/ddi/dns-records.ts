// Schemas of DNS: zones, records and the requests that change them (Part 2, 4.2).
import { type Static, Type } from 'typebox'
import { Closed, Flag, Id, KnownText, Nullable, NullableInteger, OneOf, Unavailable } from '../common.ts'
import { Comment, DnsName, Text, Timestamp } from './envelope.ts'

export const RECORD_TYPES = ['A', 'AAAA', 'CNAME', 'PTR', 'MX', 'TXT', 'SRV', 'NS', 'CAA'] as const
export const ZONE_TYPES = ['Primary', 'Secondary', 'Stub', 'Forwarder'] as const
export const ZONE_STATUSES = ['active', 'paused', 'disabled'] as const

const MAX_TTL = 2_147_483_647
const Ttl = Type.Integer({
  minimum: 0,
  maximum: MAX_TTL,
  description: 'Seconds that others may keep it; all records of one name and type share it.',
})
const Port = (description: string) => Type.Integer({ minimum: 0, maximum: 65_535, description })
/** `@` is the zone itself; `*` as the first label answers for every name. */
const RecordName = (description: string) =>
  Type.String({ minLength: 1, maxLength: 254, pattern: '^[A-Za-z0-9_*@./-]+$', description })
const RecordValue = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: 'Address, target or text; targets are full names.',
})
export const RecordType = Type.String({
  pattern: '^[A-Za-z][A-Za-z0-9]{0,15}$',
  'x-known-values': [...RECORD_TYPES],
  description: 'Record type.',
})
/** A master of a secondary zone: an address, and a port unless it is 53. */
const Master = Type.String({
  minLength: 2,
  maxLength: 64,
  description: 'Address of a name server, with :port unless it is 53.',
})

export const RECORD_COLUMNS = ['fqdn', 'type', 'value', 'ttl'] as const
export const ZONE_COLUMNS = ['name', 'type', 'status', 'updated_at'] as const

export const DnsRecord = Type.Object(
  {
    comment: Type.String(),
    created_at: Timestamp('When it was made or first seen here.'),
    fqdn: Type.String({ description: 'Fully qualified name without a dot at its end.' }),
    id: Type.String({ description: 'Stays when the record is changed.' }),
    name: Type.String({ description: 'Relative name; @ is the zone itself.' }),
    type: KnownText(RECORD_TYPES, 'Record type.'),
    updated_at: Timestamp('Last change that is known.'),
    value: Type.String(),
    zone: Type.String(),
    port: NullableInteger('SRV only.'),
    priority: NullableInteger('MX and SRV only.'),
    ttl: Type.Integer(),
    weight: NullableInteger('SRV only.'),
  },
  { title: 'DnsRecord' },
)
export type DnsRecord = Static<typeof DnsRecord>

export const DnsZone = Type.Object(
  {
    comment: Type.String(),
    name: Type.String(),
    updated_at: Timestamp('Last change that is known.'),
    masters: Type.Array(Type.String(), { description: 'Of a secondary zone.' }),
    notify_enabled: Type.Boolean({ description: 'Tells its secondaries of changes.' }),
    transfer_enabled: Type.Boolean({ description: 'Lets configured networks copy it.' }),
    record_count: NullableInteger('Null while it cannot be counted.'),
    status: OneOf([...ZONE_STATUSES]),
    type: OneOf([...ZONE_TYPES]),
    network_id: Nullable(Type.String({ description: 'Guest network it belongs to.', 'x-extension': true })),
    records: Type.Optional(
      Type.Array(DnsRecord, {
        description: 'Only with include_records; the first 500 of each zone.',
        'x-extension': true,
      }),
    ),
  },
  { title: 'DnsZone' },
)
export type DnsZone = Static<typeof DnsZone>

const recordInput = {
  comment: Type.Optional(Comment('For people.')),
  create_ptr: Flag('Create the reverse record of an A or AAAA, too.'),
  create_reverse_zone: Flag('Create the reverse zone when none fits.'),
  name: RecordName('Relative to the zone, or full; @ is the zone itself.'),
  overwrite: Flag('Replace every record of this name and type.'),
  port: Type.Optional(Port('SRV.')),
  priority: Type.Optional(Port('MX and SRV.')),
  ttl: Type.Optional(Ttl),
  type: RecordType,
  value: RecordValue,
  weight: Type.Optional(Port('SRV.')),
  zone: DnsName('Zone.'),
}
export const RecordInput = Closed(recordInput, { title: 'DnsRecordInput' })
export type RecordInput = Static<typeof RecordInput>

/** The record as it was: by its id, or by what it says. */
export const OldRecord = Closed(
  {
    id: Type.Optional(Id),
    name: Type.Optional(RecordName('Name.')),
    type: Type.Optional(RecordType),
    value: Type.Optional(RecordValue),
    priority: Type.Optional(Port('MX and SRV.')),
    port: Type.Optional(Port('SRV.')),
    weight: Type.Optional(Port('SRV.')),
  },
  {
    title: 'DnsOldRecord',
    description: 'For UPDATE and DELETE: the id, or name and type (and value when several match).',
  },
)

export const BulkOperation = Closed(
  {
    action: OneOf(['ADD', 'UPDATE', 'DELETE']),
    old_record: Type.Optional(OldRecord),
    record: Type.Optional(RecordInput),
  },
  { title: 'DnsBulkOperation' },
)
export type BulkOperation = Static<typeof BulkOperation>

export const RecordBulk = Closed(
  {
    zone: DnsName('Zone of every operation.'),
    operations: Type.Optional(
      Type.Array(BulkOperation, {
        maxItems: 1000,
        description: 'Applied in this order; one that fails does not stop the others.',
      }),
    ),
  },
  { title: 'DnsRecordBulk' },
)
export type RecordBulk = Static<typeof RecordBulk>

export const BulkResult = Type.Object(
  {
    action: Type.String(),
    error: Type.String({ description: 'Empty when it succeeded.' }),
    index: Type.Integer({ description: 'Place of the operation, from 0.' }),
    name: Type.String(),
    status: OneOf(['succeeded', 'failed']),
    type: Type.String(),
    record_id: Nullable(Type.String({ description: 'The record afterwards.', 'x-extension': true })),
    code: Nullable(Type.String({ description: 'Error code of one that failed.', 'x-extension': true })),
  },
  { title: 'DnsBulkResult' },
)
export type BulkResult = Static<typeof BulkResult>

export const RecordUpdate = Closed(
  {
    comment: Type.Optional(Comment('For people.')),
    name: Type.Optional(RecordName('New name.')),
    port: Type.Optional(Port('SRV.')),
    priority: Type.Optional(Port('MX and SRV.')),
    record_id: Type.String({ minLength: 1, maxLength: 128, description: 'As in the path.' }),
    ttl: Type.Optional(Ttl),
    type: Type.Optional(RecordType),
    update_ptr: Flag('Let the reverse record follow.'),
    value: Type.Optional(RecordValue),
    weight: Type.Optional(Port('SRV.')),
    zone: DnsName('As in the path.'),
  },
  { title: 'DnsRecordUpdate' },
)
export type RecordUpdate = Static<typeof RecordUpdate>

export const ZoneCreate = Closed(
  {
    comment: Type.Optional(Comment('For people.')),
    create_reverse_zone: Flag('Create the reverse zones of reverse_zone_cidr, too.'),
    masters: Type.Optional(
      Type.Array(Master, { maxItems: 16, description: 'Needed for Secondary, refused for Primary.' }),
    ),
    name: DnsName('Name of the zone.'),
    network_id: Type.Optional(Id),
    notify_enabled: Flag('Tell secondaries of changes; true when left out.'),
    reverse_zone_cidr: Type.Optional(
      Type.String({
        minLength: 4,
        maxLength: 49,
        description: 'Subnet in CIDR form; needed with create_reverse_zone.',
      }),
    ),
    transfer_enabled: Flag('Let configured networks copy it; false when left out.'),
    type: OneOf(['Primary', 'Secondary']),
  },
  { title: 'DnsZoneCreate' },
)
export type ZoneCreate = Static<typeof ZoneCreate>

export const ZoneUpdate = Closed(
  {
    comment: Type.Optional(Comment('For people.')),
    masters: Type.Optional(Type.Array(Master, { maxItems: 16 })),
    name: DnsName('As in the path.'),
    new_name: Type.Optional(DnsName('Renames a Primary zone: its records move with it.')),
    notify_enabled: Flag('Tell secondaries of changes.'),
    status: Type.Optional(OneOf([...ZONE_STATUSES])),
    transfer_enabled: Flag('Let configured networks copy it.'),
    type: Type.Optional(OneOf([...ZONE_TYPES])),
  },
  { title: 'DnsZoneUpdate' },
)
export type ZoneUpdate = Static<typeof ZoneUpdate>

export const ZoneStatistics = Type.Object(
  {
    last_modified: Timestamp('Last change that is known.'),
    soa_serial: Text('Serial of the zone.'),
    zone_name: Type.String(),
    query_count: NullableInteger('Recent queries, as far as the name server counts them.'),
    total_records: Type.Integer(),
    transfer_count: NullableInteger('Transfers asked for through this service.'),
    records_by_type: Type.Record(Type.String(), Type.Integer()),
    unavailable: Type.Array(Unavailable, { 'x-extension': true }),
  },
  { title: 'DnsZoneStatistics' },
)
export type ZoneStatistics = Static<typeof ZoneStatistics>

export const ZoneImport = Closed(
  {
    zone_file: Type.String({
      minLength: 1,
      maxLength: 1_500_000,
      contentMediaType: 'text/dns',
      description: 'Zone file of RFC 1035, without $INCLUDE.',
    }),
    overwrite: Flag('Replace the records of names and types that the file has; otherwise they must be new.'),
  },
  { title: 'DnsZoneImport' },
)
export type ZoneImport = Static<typeof ZoneImport>
