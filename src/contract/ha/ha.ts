// High availability of the management nodes: what failover daemons and peers report, the scripts that the daemons run, the keys
// by which files are copied, and who belongs to the cluster (Part 2, 4.7).
import { type Static, Type } from 'typebox'
import { Closed, Count, IpAddress, Nullable, NullableTime, NullableText, OneOf, Time, TimeGiven } from '../common.ts'
import { defineArea } from '../route.ts'

export const HA_LEVELS = ['INFO', 'WARN', 'ERROR'] as const
export const HA_STATUSES = ['COMPLETED', 'FAILED', 'IN_PROGRESS'] as const

const Action = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9_]+$',
  description: 'What happened: HA_PROMOTED, VIP_ACQUIRED, … The list is open.',
})

export const HaEventIngest = Closed(
  {
    action: Action,
    level: Type.Optional(OneOf([...HA_LEVELS], { description: 'Left out: ERROR for FAILED, else INFO.' })),
    message: Type.Optional(Type.String({ maxLength: 1000 })),
    resource_uuid: Type.String({ minLength: 2, maxLength: 45, description: 'IP of the node that fired the event.' }),
    status: Type.Optional(OneOf([...HA_STATUSES], { description: 'Left out: COMPLETED.' })),
    counter: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description:
          'Grows with every event of the node, also over restarts: events are ordered by it, because scripts that run beside each other may overtake one another.',
        'x-extension': true,
      }),
    ),
    occurred_at: TimeGiven('When it happened, for an event that waited in a spool. Left out, or later than now: now.'),
  },
  { title: 'HaEventIngest' },
)
export type HaEventIngest = Static<typeof HaEventIngest>

export const HaEvent = Type.Object(
  {
    event_id: Type.String({ description: 'Id of the application event.' }),
    action: Type.String(),
    level: OneOf([...HA_LEVELS]),
    message: Type.String(),
    resource_uuid: Type.String({ description: 'IP of the node that fired it.' }),
    status: OneOf([...HA_STATUSES]),
    counter: Nullable(Type.Integer()),
    occurred_at: Time,
    received_at: Time,
  },
  { title: 'HaEvent' },
)
export type HaEvent = Static<typeof HaEvent>

export const HaMember = Type.Object(
  {
    bmc_ip: Type.String({ description: 'The node, as everywhere.' }),
    address: Type.String({ description: 'Its address on the cluster network.' }),
    interface: Type.String({ description: 'Device that carries the virtual addresses there.' }),
    priority: Type.Integer({ description: 'The healthy member with the greatest one holds the virtual addresses.' }),
    state: NullableText('Action of its last state event: HA_PROMOTED, HA_DEMOTED, HA_FAULT or HA_STOPPED.'),
    state_since: NullableTime,
    holds_vip: Nullable(Type.Boolean({ description: 'As its agent last saw; null: not known.' })),
    checked_at: NullableTime,
    filesync_fingerprint: NullableText('Of its file-sync key, once it was fetched from it.'),
  },
  { title: 'HaMember' },
)
export type HaMember = Static<typeof HaMember>

export const ScriptsReport = Type.Object(
  {
    checked: Type.Integer(),
    ok: Type.Array(Type.String()),
    restored: Type.Array(
      Type.Object({
        name: Type.String(),
        reason: OneOf(['missing', 'content', 'mode', 'owner', 'symlink', 'kind', 'links']),
        previous_sha256: NullableText('Of what stood there, where it was a file.'),
      }),
    ),
    failed: Type.Array(Type.Object({ name: Type.String(), error: Type.String() })),
    unknown: Type.Array(Type.String({ description: 'In the folder, but not ours: left alone.' })),
    reloaded: Type.Boolean({ description: 'The failover daemon was asked to read its scripts again.' }),
  },
  { title: 'ScriptsReport' },
)
export type ScriptsReport = Static<typeof ScriptsReport>

const Member = Type.Object({
  bmcIP: Type.String({ minLength: 2, maxLength: 45, description: 'BMC address of the node.' }),
})

const device = Type.String({ minLength: 1, maxLength: 15, pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]*$' })

const member_example = {
  bmc_ip: '10.0.9.1', address: '10.60.0.1', interface: 'bond0', priority: 120, state: 'HA_PROMOTED',
  state_since: '2026-11-20T03:12:45.120Z', holds_vip: true, checked_at: '2026-11-20T03:12:55.120Z', filesync_fingerprint: null,
} as const // biome-ignore format: one record

const inside = { inside_only: true } as const

export const ha = defineArea({
  name: 'ha',
  description: 'Failover of the management nodes: events, members, scripts and keys.',
  routes: {
    haEventIngest: {
      ...inside,
      method: 'POST',
      path: '/internal/ha/events/ingest',
      summary: 'Ingest failover event',
      description:
        'Called by the notify scripts of the failover daemon. With the cluster secret from this machine alone, about one of its own addresses; by a peer under its certificate, about that peer. Writes an application event (COMPLETED is stored as SUCCESS) and sends it on the channel `ha`. The same counter, or without one the same node, action and status within 5 seconds, is the same event.',
      access: 'cluster',
      body: HaEventIngest,
      ok: {
        200: Type.Object({
          event_id: Type.String({ description: 'Id of the application event.' }),
          duplicate: Type.Boolean({ description: 'The event was known; nothing was written.' }),
        }),
      },
      errors: [400],
      event: { resource_type: 'HA' },
      example: {
        body: {
          action: 'HA_PROMOTED', level: 'INFO', message: 'VI is MASTER', resource_uuid: '10.60.0.1', status: 'COMPLETED', counter: 1795143600000001,
        }, // biome-ignore format: one event
        answer: { event_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d00', duplicate: false },
      },
    },
    haConfigUpdate: {
      ...inside,
      method: 'POST',
      path: '/internal/haconfig/update',
      summary: 'Synchronise keys of peers',
      description:
        'Called by peers when the cluster changes. Fetches the file-sync key of every other member from that member, and rewrites the managed block of authorised keys: removed members lose their line. Members that cannot be reached keep what is known of them and are asked again later.',
      access: 'cluster',
      body: Closed({}),
      body_optional: true,
      ok: {
        200: Type.Object({
          peers: Type.Integer({ description: 'Other members.' }),
          updated: Type.Array(Type.String(), { description: 'Addresses with a new key.' }),
          removed: Type.Array(Type.String(), { description: 'Addresses whose line was removed.' }),
          unreachable: Type.Array(Type.Object({ address: Type.String(), reason: Type.String() })),
        }),
      },
      errors: [500],
      event: { resource_type: 'HA' },
      example: { answer: { peers: 2, updated: ['10.60.0.2'], removed: [], unreachable: [] } },
    },
    haScriptsReconcile: {
      ...inside,
      method: 'POST',
      path: '/internal/scripts/reconcile',
      summary: 'Restore managed failover scripts',
      description:
        'Compares content, owner, mode and kind of every managed script of this node (or of X-Target-Node) with the embedded version and restores what differs, each in one step; a differing file goes to quarantine. Repeating it finds nothing to do. 500 when a script could not be restored, with its name.',
      access: 'admin',
      runs_on: 'node',
      ok: { 200: ScriptsReport },
      errors: [500],
      event: { resource_type: 'HA' },
      example: {
        answer: { checked: 3, ok: ['check-api.sh', 'notify.sh', 'remove-vips.sh'], restored: [], failed: [], unknown: [], reloaded: false },
      }, // biome-ignore format: one report
    },
    haScriptGet: {
      ...inside,
      method: 'GET',
      path: '/internal/scripts/{name}',
      summary: 'Get embedded failover script',
      description: 'Its authoritative content. The ETag is made of its SHA-256.',
      access: 'cluster',
      kind: 'bytes',
      params: Type.Object({
        name: Type.String({ minLength: 1, maxLength: 100, description: 'Basename, for example check-api.sh.' }),
      }),
      ok: {
        200: Type.String({ contentMediaType: 'text/plain' }),
        304: Type.Null({ description: 'What the client has, as its If-None-Match says, is still the same.' }),
      },
      errors: [404],
      example: { params: { name: 'check-api.sh' } },
    },
    haFilesyncKeyGet: {
      ...inside,
      method: 'GET',
      path: '/internal/ssh/filesync-pubkey',
      summary: 'Get file-sync key of this node',
      description: 'The public half; made at the first call.',
      access: 'public',
      ok: {
        200: Type.Object({
          public_key: Type.String({ description: 'As a line of authorised keys.' }),
          fingerprint: Type.String({ description: 'SHA256:… as ssh-keygen prints it.' }),
          node: Type.String({ description: 'Address of this member, or its host name where it is none.' }),
        }),
      },
      errors: [403, 500],
      example: {
        answer: {
          public_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ… groundplane-filesync-10.60.0.1',
          fingerprint: 'SHA256:2bCmQ…',
          node: '10.60.0.1',
        },
      },
    },
    haEventList: {
      method: 'GET',
      path: '/ha/events',
      summary: 'List failover events',
      description: 'Newest first; those of one node in the order of its counter, whatever order they arrived in.',
      access: 'viewer',
      extension: true,
      query: Type.Object({
        resource_uuid: Type.Optional(IpAddress),
        action: Type.Optional(Action),
        limit: Count(500, 'Events at most; 100 when left out.'),
      }),
      ok: { 200: Type.Object({ events: Type.Array(HaEvent) }) },
      errors: [400],
      example: { query: { limit: 10 }, answer: { events: [] } },
    },
    haMemberList: {
      method: 'GET',
      path: '/ha/members',
      summary: 'List members of management cluster',
      access: 'viewer',
      extension: true,
      ok: { 200: Type.Object({ members: Type.Array(HaMember) }) },
      errors: [],
      example: { answer: { members: [member_example] } },
    },
    haMemberSet: {
      method: 'PUT',
      path: '/ha/members/{bmcIP}',
      summary: 'Set member of management cluster',
      description:
        'The node must be registered. Other members are asked to synchronise their keys; their failover daemons are not reconfigured by it.',
      access: 'admin',
      extension: true,
      params: Member,
      body: Closed({
        address: IpAddress,
        interface: device,
        priority: Type.Integer({ minimum: 1, maximum: 254, description: '255 is for owners of an address only.' }),
      }),
      ok: { 200: HaMember },
      errors: [404, 409],
      event: { resource_type: 'HA' },
      example: {
        params: { bmcIP: '10.0.9.1' },
        body: { address: '10.60.0.1', interface: 'bond0', priority: 120 },
        answer: { ...member_example },
      },
    },
    haMemberRemove: {
      method: 'DELETE',
      path: '/ha/members/{bmcIP}',
      summary: 'Remove member of management cluster',
      description: 'Other members take its key out of their authorised keys.',
      access: 'admin',
      extension: true,
      params: Member,
      ok: { 200: Type.Object({ bmc_ip: Type.String() }) },
      errors: [404],
      event: { resource_type: 'HA' },
      example: { params: { bmcIP: '10.0.9.1' }, answer: { bmc_ip: '10.0.9.1' } },
    },
  },
})
