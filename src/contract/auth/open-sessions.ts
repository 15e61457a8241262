// Console sessions that are open: who is signed in, and how somebody is signed out by an admin.
import { type Static, Type } from 'typebox'
import { Closed, Done, ListOf, Nullable, PageFields, Time } from '../common.ts'
import type { Routes } from '../route.ts'
import { CallerRole, Line, NullableTenantId } from './rights.ts'

export const OpenSession = Type.Object(
  {
    id: Type.String({ description: 'UUID; not the secret of the session.' }),
    username: Type.String(),
    role: CallerRole,
    tenant_id: NullableTenantId,
    user_id: Nullable(Type.Integer({ description: 'Local user; null for people of the identity provider.' })),
    created_at: Time,
    seen_at: Type.String({ format: 'date-time', description: 'Last use, kept to the minute.' }),
    expires_at: Time,
  },
  { title: 'OpenSession' },
)
export type OpenSession = Static<typeof OpenSession>

const exampleSession: OpenSession = {
  id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d12',
  username: 'mira',
  role: 'operator',
  tenant_id: null,
  user_id: 1,
  created_at: '2026-11-20T03:12:45.120Z',
  seen_at: '2026-11-20T04:02:11.310Z',
  expires_at: '2026-11-20T15:12:45.120Z',
}

export const openSessionRoutes = {
  sessionList: {
    method: 'GET',
    path: '/auth/sessions',
    summary: 'List open sessions',
    description: 'Who is signed in, by password or through the identity provider; newest first.',
    access: 'admin',
    query: Closed({
      username: Type.Optional(Line({ maxLength: 100, description: 'The whole name, without regard to case.' })),
      user_id: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
      ...PageFields,
    }),
    ok: { 200: ListOf('sessions', OpenSession, 'OpenSessionPage') },
    errors: [400, 500],
    extension: true,
    example: { query: { username: 'mira' }, answer: { sessions: [exampleSession], count: 1, page: 1, page_size: 50 } },
  },
  sessionEnd: {
    method: 'DELETE',
    path: '/auth/sessions/{id}',
    summary: 'End session',
    description:
      'At once, on every replica, with the streams that it opened. Somebody of the identity provider who may sign in there can begin another one; a local user is kept out by `disabled`.',
    access: 'admin',
    params: Closed({ id: Type.String({ format: 'uuid', description: 'Id of the session.' }) }),
    ok: { 200: Done },
    errors: [400, 404, 500],
    event: { resource_type: 'SESSION' },
    extension: true,
    example: { params: { id: exampleSession.id }, answer: { message: 'The session of mira has ended.' } },
  },
} as const satisfies Routes
