// API tokens: how programs call.
import { type Static, Type } from 'typebox'
import { Closed, Done, ListOf, Nullable, NullableTime, OneOf, PageFields, SortFields, Time } from '../common.ts'
import type { Routes } from '../route.ts'
import { CallerRole, Line, NullableTenantId, TenantId } from './rights.ts'

export const TOKEN_COLUMNS = ['name', 'role', 'created_at', 'expires_at', 'last_used_at'] as const
export const TOKEN_STATES = ['ACTIVE', 'EXPIRED', 'REVOKED'] as const

const tokenFields = {
  id: Type.String({ description: 'UUID; not the token itself.' }),
  name: Type.String(),
  prefix: Type.String({ description: 'First characters of the token, to recognise it by.' }),
  role: CallerRole,
  tenant_id: NullableTenantId,
  state: OneOf([...TOKEN_STATES]),
  user_id: Nullable(Type.Integer({ description: 'Local user who made it; the token ends with that user.' })),
  created_by: Type.String({ description: 'Name of the caller who made it.' }),
  created_at: Time,
  expires_at: Nullable(Type.String({ format: 'date-time', description: 'Null: it does not expire.' })),
  revoked_at: NullableTime,
  last_used_at: Nullable(Type.String({ format: 'date-time', description: 'Kept to the minute; null: not used yet.' })),
}

export const ApiToken = Type.Object(tokenFields, { title: 'ApiToken' })
export type ApiToken = Static<typeof ApiToken>

const NewApiToken = Type.Object(
  {
    ...tokenFields,
    token: Type.String({ description: 'The token. It is shown this once; keep it.', 'x-secret': true }),
  },
  { title: 'NewApiToken' },
)

const TokenParams = Closed({ id: Type.String({ format: 'uuid', description: 'Id of the token.' }) })

const exampleToken: ApiToken = {
  id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11',
  name: 'ci',
  prefix: 'gp_Zm9vYm',
  role: 'viewer',
  tenant_id: null,
  state: 'ACTIVE',
  user_id: null,
  created_by: 'first admin token',
  created_at: '2026-11-20T03:12:45.120Z',
  expires_at: '2027-02-18T03:12:45.120Z',
  revoked_at: null,
  last_used_at: null,
}

export const tokenRoutes = {
  tokenList: {
    method: 'GET',
    path: '/auth/tokens',
    summary: 'List API tokens',
    description: 'Newest first; revoked and expired ones are listed too.',
    access: 'admin',
    query: Closed({
      name: Type.Optional(Line({ maxLength: 100, description: 'Text within the name.' })),
      role: Type.Optional(CallerRole),
      tenant_id: Type.Optional(TenantId),
      state: Type.Optional(OneOf([...TOKEN_STATES])),
      user_id: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
      ...SortFields([...TOKEN_COLUMNS], 'newest first'),
      ...PageFields,
    }),
    ok: { 200: ListOf('tokens', ApiToken, 'ApiTokenPage') },
    errors: [400, 500],
    extension: true,
    example: { query: { state: 'ACTIVE' }, answer: { tokens: [exampleToken], count: 1, page: 1, page_size: 50 } },
  },
  tokenCreate: {
    method: 'POST',
    path: '/auth/tokens',
    summary: 'Create API token',
    description:
      'A token made by a local user never has more right than that user has at the moment of use. With neither expires_at nor expires_in_days it does not expire; both together are refused.',
    access: 'admin',
    body: Closed({
      name: Type.String({
        minLength: 1,
        maxLength: 100,
        pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f]+$',
        description: 'What the token is for.',
      }),
      role: CallerRole,
      tenant_id: Type.Optional(NullableTenantId),
      expires_at: Type.Optional(Type.String({ format: 'date-time', description: 'RFC 3339 time in the future.' })),
      expires_in_days: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 3650 })),
    }),
    ok: { 201: NewApiToken },
    errors: [400, 409, 500],
    event: { resource_type: 'TOKEN' },
    extension: true,
    example: {
      body: { name: 'ci', role: 'viewer', expires_in_days: 90 },
      answer: { ...exampleToken, token: 'gp_Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmE' },
    },
  },
  tokenGet: {
    method: 'GET',
    path: '/auth/tokens/{id}',
    summary: 'Get API token',
    access: 'admin',
    params: TokenParams,
    ok: { 200: ApiToken },
    errors: [400, 404, 500],
    extension: true,
    example: { params: { id: exampleToken.id }, answer: exampleToken },
  },
  tokenRevoke: {
    method: 'DELETE',
    path: '/auth/tokens/{id}',
    summary: 'Revoke API token',
    description:
      'It stops at once, on every replica, and so do the streams that it opened. Revoking it again is harmless. Where no enabled admin user exists the last admin token cannot be revoked: 409 LAST_ADMIN.',
    access: 'admin',
    params: TokenParams,
    ok: { 200: Done },
    errors: [400, 404, 409, 500],
    event: { resource_type: 'TOKEN' },
    extension: true,
    example: { params: { id: exampleToken.id }, answer: { message: 'Token ci is revoked.' } },
  },
} as const satisfies Routes
