// Local users: people who sign in with a password.
import { type Static, Type } from 'typebox'
import { Closed, Done, ListOf, NullableTime, PageFields, SortFields, Time } from '../common.ts'
import type { Routes } from '../route.ts'
import { CallerRole, Line, NewPassword, NullableTenantId, TenantId, Username } from './rights.ts'

export const USER_COLUMNS = ['username', 'role', 'created_at', 'last_login_at'] as const

export const User = Type.Object(
  {
    id: Type.Integer(),
    username: Type.String(),
    role: CallerRole,
    tenant_id: NullableTenantId,
    disabled: Type.Boolean(),
    disabled_at: NullableTime,
    created_at: Time,
    last_login_at: NullableTime,
  },
  { title: 'User' },
)
export type User = Static<typeof User>

const UserParams = Closed({ id: Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Id of the user.' }) })

const exampleUser: User = {
  id: 7,
  username: 'mira',
  role: 'operator',
  tenant_id: null,
  disabled: false,
  disabled_at: null,
  created_at: '2026-11-20T03:12:45.120Z',
  last_login_at: null,
}

export const userRoutes = {
  userList: {
    method: 'GET',
    path: '/auth/users',
    summary: 'List users',
    access: 'admin',
    query: Closed({
      username: Type.Optional(Line({ maxLength: 64, description: 'Text within the user name.' })),
      role: Type.Optional(CallerRole),
      tenant_id: Type.Optional(TenantId),
      disabled: Type.Optional(Type.Boolean()),
      ...SortFields([...USER_COLUMNS], 'by user name'),
      ...PageFields,
    }),
    ok: { 200: ListOf('users', User, 'UserPage') },
    errors: [400, 500],
    extension: true,
    example: { query: { role: 'operator' }, answer: { users: [exampleUser], count: 1, page: 1, page_size: 50 } },
  },
  userCreate: {
    method: 'POST',
    path: '/auth/users',
    summary: 'Create user',
    access: 'admin',
    body: Closed({
      username: Username,
      password: NewPassword,
      role: CallerRole,
      tenant_id: Type.Optional(NullableTenantId),
    }),
    ok: { 201: User },
    errors: [400, 409, 500],
    event: { resource_type: 'USER' },
    extension: true,
    example: {
      body: { username: 'mira', password: 'correct horse battery', role: 'operator' },
      answer: exampleUser,
    },
  },
  userGet: {
    method: 'GET',
    path: '/auth/users/{id}',
    summary: 'Get user',
    access: 'admin',
    params: UserParams,
    ok: { 200: User },
    errors: [400, 404, 500],
    extension: true,
    example: { params: { id: 7 }, answer: exampleUser },
  },
  userUpdate: {
    method: 'PUT',
    path: '/auth/users/{id}',
    summary: 'Change user',
    description:
      'Only the members sent are changed, and they count at once: for sessions and for the API tokens that the user made, which never have more right than the user has now. A new password or `disabled: true` ends all sessions of the user. The last enabled admin who is not tenant-scoped stays one: 409 LAST_ADMIN.',
    access: 'admin',
    params: UserParams,
    body: Closed(
      {
        role: Type.Optional(CallerRole),
        password: Type.Optional(NewPassword),
        disabled: Type.Optional(Type.Boolean()),
        tenant_id: Type.Optional(NullableTenantId),
      },
      { minProperties: 1 },
    ),
    ok: { 200: User },
    errors: [400, 404, 409, 500],
    event: { resource_type: 'USER' },
    extension: true,
    example: { params: { id: 7 }, body: { role: 'viewer' }, answer: { ...exampleUser, role: 'viewer' } },
  },
  userDelete: {
    method: 'DELETE',
    path: '/auth/users/{id}',
    summary: 'Delete user',
    description:
      'Its sessions end and the API tokens it made are deleted with it. The last enabled admin who is not tenant-scoped cannot be deleted: 409 LAST_ADMIN.',
    access: 'admin',
    params: UserParams,
    ok: { 200: Done },
    errors: [400, 404, 409, 500],
    event: { resource_type: 'USER' },
    extension: true,
    example: { params: { id: 7 }, answer: { message: 'User mira is deleted.' } },
  },
} as const satisfies Routes
