// Alerts of the compute platform (Part 3, 4.5). The platform forgets an alert when it is archived; our copy stays readable.
import { type Static, Type } from 'typebox'
import { Closed, Id, ListOf, Nullable, NullableTime, PageFields, TimeGiven, Words } from './common.ts'
import { defineArea } from './route.ts'

const AlertTypeNumber = Type.Integer({
  minimum: 0,
  maximum: 32_767,
  description: 'Number of the type; several names may share one.',
})

export const Alert = Type.Object(
  {
    id: Type.String(),
    type: Nullable(Type.Integer({ description: 'Number of the type.' })),
    name: Nullable(Type.String({ description: 'What kind of alert it is.' })),
    description: Nullable(Type.String()),
    sent_at: NullableTime,
    archived: Type.Boolean(),
    archived_at: NullableTime,
  },
  { title: 'Alert' },
)
export type Alert = Static<typeof Alert>

const example: Alert = {
  id: '8d3d8f3e-2b7e-4a56-9d0c-1f6f5a9b1c22',
  type: 7,
  name: 'ALERT.COMPUTE.HOST',
  description: 'Host kvm-05 lost its connection for 42 seconds',
  sent_at: '2026-11-20T02:11:09.000Z',
  archived: false,
  archived_at: null,
}

const read = { access: 'viewer', effect: 'read', errors: [400, 500] } as const

export const alerts = defineArea({
  name: 'alerts',
  description: 'Alerts of the compute platform.',
  routes: {
    alertList: {
      ...read,
      method: 'POST',
      path: '/alerts/list',
      summary: 'List alerts',
      description:
        'Newest first. The platform cannot show archived alerts: `archived: true` lists the copies kept here.',
      body: Closed(
        {
          id: Type.Optional(Id),
          type: Type.Optional(AlertTypeNumber),
          name: Words('Exact name of the kind.'),
          keyword: Words('Part of the name or the text.'),
          archived: Type.Optional(
            Type.Boolean({ default: false, description: 'Archived alerts instead of open ones.', 'x-extension': true }),
          ),
          ...PageFields,
        },
        { title: 'AlertFilter' },
      ),
      body_optional: true,
      ok: { 200: ListOf('alerts', Alert, 'AlertPage') },
      example: { body: { type: 7 }, answer: { alerts: [example], count: 1, page: 1, page_size: 50 } },
    },
    alertGet: {
      ...read,
      method: 'POST',
      path: '/alerts/get-by-id',
      summary: 'Get alert by id',
      description: 'Open or archived.',
      body: Closed({ id: Id }),
      ok: { 200: Alert },
      example: { body: { id: example.id }, answer: example },
    },
    alertIdGet: {
      ...read,
      method: 'POST',
      path: '/alerts/get-id',
      summary: 'Get id of newest alert that matches',
      description: 'At least one of the three is required; open alerts only.',
      body: Closed({
        name: Words('Exact name of the kind.'),
        keyword: Words('Part of the name or the text.'),
        type: Type.Optional(AlertTypeNumber),
      }),
      ok: { 200: Type.Object({ id: Type.String(), name: Nullable(Type.String()) }, { title: 'AlertRef' }) },
      example: { body: { name: 'ALERT.COMPUTE.HOST' }, answer: { id: example.id, name: example.name } },
    },
    alertArchive: {
      method: 'POST',
      path: '/alerts/archive',
      summary: 'Archive alerts',
      description:
        'At least one of the four is required, and `start_date` needs `end_date`; together they narrow. Each alert is copied before the platform forgets it, so archived ones can still be listed.',
      access: 'operator',
      event: { resource_type: 'ALERT' },
      body: Closed(
        {
          ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 500, uniqueItems: true })),
          type: Type.Optional(AlertTypeNumber),
          start_date: TimeGiven('Needs end_date.'),
          end_date: TimeGiven('Inclusive.'),
        },
        { title: 'AlertArchive' },
      ),
      ok: {
        200: Type.Object(
          {
            message: Type.String(),
            archived_count: Type.Integer({ minimum: 0, description: 'Alerts archived by this call.' }),
          },
          { title: 'AlertsArchived' },
        ),
      },
      errors: [400, 500],
      example: { body: { ids: [example.id] }, answer: { message: '1 alert is archived.', archived_count: 1 } },
    },
    alertTypeList: {
      ...read,
      method: 'GET',
      path: '/alerts/types',
      summary: 'List alert types',
      description: 'Tell types apart by name: three of them share number 32.',
      query: Type.Object({ ...PageFields }),
      ok: {
        200: ListOf(
          'alert_types',
          Type.Object({ type: Nullable(Type.Integer()), name: Type.String() }, { title: 'AlertType' }),
          'AlertTypePage',
        ),
      },
      example: { answer: { alert_types: [{ type: 7, name: 'ALERT.COMPUTE.HOST' }], count: 1, page: 1, page_size: 50 } },
    },
  },
})
