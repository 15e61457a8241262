// Drift: where DHCP, DNS and what this service ordered disagree, and how to mend it (extensions).
import { type Static, Type } from 'typebox'
import { Closed, KnownText, OneOf } from '../common.ts'
import { defineArea } from '../route.ts'
import { Enveloped, PageData, PageQuery, PlainEnvelope, Text, Timestamp } from './envelope.ts'

export const DRIFT_KINDS = [
  'reservation_missing',
  'reservation_unknown',
  'reservation_differs',
  'reservation_outside_scope',
  'lease_differs',
  'scope_missing',
  'scope_differs',
  'record_missing',
  'record_differs',
  'ptr_missing',
  'ptr_differs',
] as const

export const Drift = Type.Object(
  {
    id: Type.String({ description: 'Stays while the same thing differs in the same way.' }),
    kind: KnownText(DRIFT_KINDS, 'What differs.'),
    subject: Type.String({ description: 'The thing: a MAC, an address, a name.' }),
    scope: Text('Scope, where one is concerned.'),
    zone: Text('Zone, where one is concerned.'),
    expected: Text('What this service ordered.'),
    actual: Text('What the server has; null when it has nothing.'),
    message: Type.String({ description: 'One sentence for people, with the way out.' }),
    first_seen: Timestamp('When it was first found.'),
    repair: OneOf(['restore', 'adopt', 'none'], {
      description:
        'What a repair does: restore what was ordered, adopt what the server has, or nothing that this service may decide.',
    }),
  },
  { title: 'DdiDrift' },
)
export type Drift = Static<typeof Drift>

const drift: Drift = {
  id: 'b3c1f0a2d4e5', kind: 'ptr_differs', subject: '10.20.0.60', scope: 'office', zone: '0.20.10.in-addr.arpa', expected: 'web-01.lab.example',
  actual: 'old.lab.example', message: '10.20.0.60 leads back to old.lab.example instead of web-01.lab.example; repair restores it.',
  first_seen: '2026-11-20T03:12:45.000Z', repair: 'restore',
} // biome-ignore format: one record

export const ddiDrift = defineArea({
  name: 'drift',
  description: 'Where DHCP and DNS servers disagree with each other or with what was ordered.',
  errors: 'envelope',
  routes: {
    ddiDriftList: {
      method: 'GET',
      access: 'viewer',
      path: '/ddi/drift',
      summary: 'List drift of DHCP and DNS',
      description: 'As the last comparison found it; `checked_at` says when.',
      extension: true,
      query: Type.Object({
        kind: Type.Optional(OneOf([...DRIFT_KINDS])),
        scope_name: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Only this scope.' })),
        ...PageQuery,
      }),
      ok: {
        200: Enveloped(
          Type.Object({
            drift: Type.Array(Drift),
            total_count: Type.Integer({ minimum: 0 }),
            checked_at: Timestamp('When everything was last compared; null until it was.'),
            ...PageData,
          }),
          'DdiDriftPage',
        ),
      },
      errors: [400, 500],
      example: {
        answer: {
          success: true, message: '1 difference.', data: { drift: [drift], total_count: 1, checked_at: '2026-11-20T03:13:00.000Z', page: 1, page_size: 50 },
        }, // biome-ignore format: one record
      },
    },
    ddiDriftCheck: {
      method: 'POST',
      access: 'operator',
      path: '/ddi/drift/check',
      summary: 'Compare DHCP and DNS now',
      extension: true,
      event: { resource_type: 'DDI' },
      ok: { 200: PlainEnvelope },
      errors: [500],
      example: { answer: { success: true, message: '1 difference.' } },
    },
    ddiDriftRepair: {
      method: 'POST',
      access: 'operator',
      path: '/ddi/drift/{id}/repair',
      summary: 'Repair difference',
      extension: true,
      event: { resource_type: 'DDI' },
      params: Closed({ id: Type.String({ minLength: 1, maxLength: 64, description: 'Id of the difference.' }) }),
      ok: { 200: PlainEnvelope },
      errors: [400, 404, 500],
      example: {
        params: { id: drift.id },
        answer: { success: true, message: '10.20.0.60 leads back to web-01.lab.example.' },
      },
    },
  },
})
