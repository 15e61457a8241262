// Application events: the timeline of what was done (Part 1, 2.3 and 6).
import { type Static, Type } from 'typebox'
import {
  Closed,
  Id,
  KnownText,
  ListOf,
  MAX_INT32,
  Nullable,
  NullableTime,
  OneOf,
  PageFields,
  Time,
  TimeGiven,
} from './common.ts'
import { Job } from './jobs.ts'
import { defineArea } from './route.ts'

/**
 * What these events are about belongs to areas that only admins of the whole installation read, so they alone read the
 * events, too.
 */
export const ADMIN_EVENT_TYPES = ['BMC_RECORD', 'SESSION', 'TOKEN', 'USER'] as const

export const AppEventStatus = OneOf(['IN_PROGRESS', 'SUCCESS', 'FAILED'], {
  description: 'A start event is IN_PROGRESS; its terminal event, the same row, is SUCCESS or FAILED.',
})

export const AppEvent = Type.Object(
  {
    id: Type.String(),
    action: Type.String({ description: 'Operation name (`vmStart`); HA events keep the sender’s word.' }),
    archived: Type.Boolean(),
    level: KnownText(['INFO', 'WARN', 'ERROR'], 'Weight of the event.'),
    status: AppEventStatus,
    description: Type.String({ description: 'Sentence for the timeline; derived when nobody gave one.' }),
    error_message: Type.String({ description: 'Why it failed; empty otherwise.' }),
    progress: Type.Integer({
      minimum: 0,
      maximum: 100,
      description: 'Completion of a long operation; 0 for instantaneous ones. Streamed live, stored on a throttle.',
    }),
    correlation_id: Nullable(
      Type.String({ description: 'Ties one operation together and is unique; null for one-shot events.' }),
    ),
    cs_start_id: Nullable(Type.Integer({ description: 'The platform’s own number of its start event, when known.' })),
    created_at: Time,
    completed_at: NullableTime,
    resource_type: Type.String({ description: 'Upper-case noun: VM, NODE, TENANT, HA, …' }),
    resource_uuid: Type.String(),
    related: Type.Array(Type.String(), {
      'x-extension': true,
      description: 'Ids of what else it touched: of an operation on a disk, the machine.',
    }),
    tenant_id: Nullable(Type.String()),
    user_id: Nullable(Type.Integer({ description: 'User behind the caller; null for tokens without one.' })),
    username: Type.String(),
    audit_head: Type.Optional(
      Type.String({
        'x-extension': true,
        description: 'Hash of the last line of the job’s audit log, over all lines before it: shows later tampering.',
      }),
    ),
  },
  { title: 'AppEvent' },
)
export type AppEvent = Static<typeof AppEvent>

/** An event of the platform's own log, linked to one of ours or listed by itself. */
export const PlatformEvent = Type.Object(
  {
    id: Type.String(),
    type: Type.String({ description: 'VM.START and the like; GET /events/types lists them.' }),
    level: Type.String(),
    state: Type.String({ description: 'Created, Scheduled, Started or Completed.' }),
    description: Type.String(),
    username: Type.String(),
    account: Nullable(Type.String()),
    tenant_id: Nullable(Type.String()),
    resource_id: Nullable(Type.String()),
    resource_type: Nullable(Type.String()),
    resource_name: Nullable(Type.String()),
    parent_id: Nullable(Type.String()),
    archived: Type.Boolean(),
    created_at: NullableTime,
  },
  { title: 'PlatformEvent' },
)
export type PlatformEvent = Static<typeof PlatformEvent>

const SORT_FIELDS = ['created_at', 'completed_at', 'action', 'level', 'status', 'resource_type', 'username'] as const

const AppEventFilter = Closed(
  {
    action: Type.Optional(Type.String({ maxLength: 200 })),
    archived: Type.Optional(Type.Boolean({ description: 'Without it: events that are not archived.' })),
    created_at_from: TimeGiven('From here on, inclusive.'),
    correlation_id: Type.Optional(
      Type.String({ 'x-extension': true, maxLength: 100, description: 'The event of one operation.' }),
    ),
    created_at_to: TimeGiven('Up to here, inclusive.'),
    error_message: Type.Optional(Type.String({ maxLength: 500, description: 'Text within the error message.' })),
    keyword: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'Text within description, error message, action, resource uuid or user name.',
      }),
    ),
    level: Type.Optional(OneOf(['INFO', 'WARN', 'ERROR'])),
    page: PageFields.page,
    page_size: PageFields.page_size,
    resource_type: Type.Optional(Type.String({ maxLength: 100 })),
    resource_uuid: Type.Optional(Type.String({ maxLength: 200 })),
    related_to: Type.Optional(
      Type.String({
        'x-extension': true,
        maxLength: 200,
        description: 'Id of a thing: events about it, and those that touched it beside their own resource.',
      }),
    ),
    sort_by: Type.Optional(OneOf([...SORT_FIELDS], { description: 'created_at by default.' })),
    sort_order: Type.Optional(OneOf(['asc', 'desc', 'ASC', 'DESC'], { description: 'desc by default.' })),
    status: Type.Optional(AppEventStatus),
    user_id: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_INT32 })),
    username: Type.Optional(Type.String({ maxLength: 200 })),
  },
  { title: 'AppEventFilter' },
)
export type AppEventFilter = Static<typeof AppEventFilter>
export type AppEventSort = (typeof SORT_FIELDS)[number]

const exampleEvent: AppEvent = {
  id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11',
  action: 'vmStart',
  archived: false,
  level: 'INFO',
  status: 'SUCCESS',
  description: 'Start virtual machine web-01',
  error_message: '',
  progress: 100,
  correlation_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10',
  cs_start_id: null,
  created_at: '2026-11-20T03:12:45.120Z',
  completed_at: '2026-11-20T03:12:49.004Z',
  resource_type: 'VM',
  resource_uuid: '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001',
  related: [],
  tenant_id: null,
  user_id: 1,
  username: 'mira',
}

export const appEvents = defineArea({
  name: 'events',
  description: 'Application events: the timeline, its live stream, and the platform’s own event log.',
  routes: {
    appEventList: {
      method: 'POST',
      path: '/events/app-events',
      summary: 'List application events',
      description:
        'Newest first unless sort_by says otherwise. `count` is exact up to 10,000 matches; beyond that it may be an estimate, and then count_exact is false. Events about sessions, tokens and users are listed only for admins who are limited to no tenant. A page_size above 500 is 400; the older name `limit` is not accepted.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      body: AppEventFilter,
      body_optional: true,
      ok: {
        200: Type.Object(
          {
            app_events: Type.Array(
              Type.Object({
                ...AppEvent.properties,
                sub_events: Type.Array(PlatformEvent, {
                  description: 'Linked platform events that were delivered to us; the single event reads them afresh.',
                }),
              }),
            ),
            count: Type.Integer({ minimum: 0 }),
            count_exact: Type.Boolean(),
            page: Type.Integer({ minimum: 1 }),
            page_size: Type.Integer({ minimum: 1 }),
          },
          { title: 'AppEventPage' },
        ),
      },
      errors: [400, 500],
      example: {
        body: { resource_type: 'VM', status: 'FAILED', page: 1, page_size: 20 },
        answer: {
          app_events: [{ ...exampleEvent, sub_events: [] }],
          count: 1,
          count_exact: true,
          page: 1,
          page_size: 20,
        },
      },
    },
    appEventGet: {
      method: 'GET',
      path: '/events/app-events/{id}',
      summary: 'Get application event',
      description: 'sub_events are the platform’s own events of the same operation, read at the moment of the call.',
      access: 'viewer',
      tenant: 'own',
      params: Closed({ id: Id }),
      ok: { 200: Type.Object({ app_event: AppEvent, sub_events: Type.Array(PlatformEvent) }) },
      errors: [400, 404, 500],
      example: {
        params: { id: exampleEvent.id },
        answer: { app_event: exampleEvent, sub_events: [] },
      },
    },
    eventArchive: {
      method: 'POST',
      path: '/events/archive',
      summary: 'Archive old events',
      description:
        'Archives our events and the platform’s. Without ids and dates: everything older than the configured age. Events that still run are never archived.',
      access: 'operator',
      body: Closed({
        ids: Type.Optional(
          Type.Array(Id, { minItems: 1, maxItems: 1000, description: 'Ids of application events or platform events.' }),
        ),
        type: Type.Optional(Type.String({ maxLength: 100, description: 'Action, or the platform’s event type.' })),
        start_date: TimeGiven('Needs end_date.'),
        end_date: TimeGiven('Inclusive.'),
      }),
      body_optional: true,
      ok: {
        200: Type.Object({
          archived: Type.Integer({ minimum: 0, description: 'Application events archived by this call.' }),
          platform_archived: Nullable(
            Type.Boolean({ description: 'Whether the platform archived its own; null when it had nothing to do.' }),
          ),
          message: Type.String(),
        }),
      },
      errors: [400, 500],
      event: { resource_type: 'EVENT' },
      example: {
        body: { end_date: '2026-08-01T00:00:00Z' },
        answer: { archived: 1204, platform_archived: true, message: '1204 application events archived.' },
      },
    },
    eventList: {
      method: 'POST',
      path: '/events/list',
      summary: 'List platform events',
      description: 'The compute platform’s own event log, newest first.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      body: Closed({
        type: Type.Optional(Type.String({ maxLength: 100 })),
        level: Type.Optional(OneOf(['INFO', 'WARN', 'ERROR'])),
        state: Type.Optional(OneOf(['Created', 'Scheduled', 'Started', 'Completed'])),
        start_date: TimeGiven('Inclusive.'),
        end_date: TimeGiven('Inclusive.'),
        resource_id: Type.Optional(Id),
        resource_type: Type.Optional(
          Type.String({ maxLength: 100, description: 'Needed with resource_id: VirtualMachine, Volume, …' }),
        ),
        archived: Type.Optional(Type.Boolean()),
        keyword: Type.Optional(Type.String({ maxLength: 200 })),
        account: Type.Optional(Type.String({ maxLength: 200, description: 'Needs domain_id.' })),
        domain_id: Type.Optional({ ...Id, description: 'Tenant; a tenant-scoped caller can name its own only.' }),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('events', PlatformEvent, 'PlatformEventPage') },
      errors: [400, 500],
      example: { body: { type: 'VM.START', page_size: 10 } },
    },
    eventStream: {
      method: 'GET',
      path: '/events/sse',
      summary: 'Stream events',
      description:
        'Server-sent events. Stored messages carry an id; after a lost connection send it as Last-Event-ID (or last_event_id) and what was missed comes first, each message once. Progress between two stored states comes without an id. A client that reads too slowly gets a final `overflow` event and is cut off; it resumes by id. When the credential is revoked, expires or has other rights than at the start, and when the service stops, the last event is `closing` with the reason; then connect again.',
      access: 'viewer',
      tenant: 'own',
      kind: 'sse',
      query: Type.Object({
        channels: Type.Optional(
          Type.String({ description: 'Comma list of vm, ha, job, app-event, camera; all by default.', maxLength: 100 }),
        ),
        last_event_id: Type.Optional(Type.String({ maxLength: 30, description: 'Id of the last message seen.' })),
      }),
      headers: Type.Object({
        'Last-Event-ID': Type.Optional(Type.String({ description: 'Set by browsers when they reconnect.' })),
      }),
      ok: { 200: Type.String({ contentMediaType: 'text/event-stream' }) },
      messages: {
        'vm-state': Type.Object({
          id: Type.String(),
          name: Type.String(),
          old_state: Nullable(Type.String()),
          new_state: Type.String(),
          host_id: Nullable(Type.String()),
          at: Time,
        }),
        'app-event': AppEvent,
        'nvr-state': Type.Object({
          id: Type.String(),
          name: Type.String(),
          old_state: Type.String(),
          new_state: Type.String(),
          error_message: Type.String(),
          at: Time,
        }),
        job: Job,
        ha: Type.Object({
          event_id: Type.String(),
          at: Time,
          action: Type.String(),
          level: Type.String(),
          message: Type.String(),
          resource_uuid: Type.String(),
          status: Type.String(),
        }),
      },
      errors: [400, 500],
      example: { query: { channels: 'vm,app-event' } },
    },
    eventTypes: {
      method: 'GET',
      path: '/events/types',
      summary: 'List event types',
      description: 'Actions of our events, and the types of the platform’s own.',
      access: 'viewer',
      tenant: 'own',
      ok: {
        200: Type.Object({
          event_types: Type.Array(Type.Object({ name: Type.String(), source: OneOf(['service', 'platform']) })),
          count: Type.Integer({ minimum: 0 }),
        }),
      },
      errors: [500],
      example: { answer: { event_types: [{ name: 'vmStart', source: 'service' }], count: 1 } },
    },
  },
})
