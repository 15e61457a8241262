// Registered user data: what cloud-init of new virtual machines reads, under a name (extension of Part 3, 4.1).
import { type Static, Type } from 'typebox'
import { Closed, DestructionPlan, Done, Id, ListOf, OptionalId, PageFields, Words } from '../common.ts'
import { defineArea } from '../route.ts'
import { NewOwnerFields, OwnedFields } from './owner.ts'
import { vmExample } from './virtual-machine.ts'

export const UserData = Type.Object(
  {
    id: Type.String({ description: '`user_data_id` of a new virtual machine names it.' }),
    name: Type.String({ description: 'Unique within its account.' }),
    ...OwnedFields,
  },
  { title: 'UserData' },
)
export type UserData = Static<typeof UserData>

const dataExample: UserData = {
  id: 'c8f3e4d5-1111-4222-8333-444455556666', name: 'web-base', tenant_id: vmExample.tenant_id, tenant_name: 'acme', account: 'acme',
  project_id: null,
} // biome-ignore format: one record

const change = {
  method: 'POST', access: 'operator', tenant: 'own', extension: true, event: { resource_type: 'USER_DATA' }, errors: [400, 500],
} as const // biome-ignore format: one record

export const userData = defineArea({
  name: 'user-data',
  description:
    'User data under a name, for any number of virtual machines. Its text is never shown: it may hold passwords.',
  routes: {
    userDataList: {
      method: 'POST',
      path: '/compute/user-data/list',
      summary: 'List user data',
      description: 'Every filter narrows.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      extension: true,
      body: Closed({
        id: OptionalId,
        name: Words('Exact name.'),
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('user_data', UserData, 'UserDataPage') },
      errors: [400, 500],
      example: { body: {}, answer: { user_data: [dataExample], count: 1, page: 1, page_size: 50 } },
    },
    userDataCreate: {
      ...change,
      path: '/compute/user-data/create',
      summary: 'Create user data',
      description: 'The platform takes the same text once for each account.',
      body: Closed({
        name: Type.String({ minLength: 1, maxLength: 255 }),
        user_data: Type.String({
          minLength: 4, maxLength: 1_400_000, contentEncoding: 'base64', pattern: '^[A-Za-z0-9+/]+={0,2}$', 'x-secret': true,
          description: 'Cloud-init data in Base64.',
        }), // biome-ignore format: one field
        ...NewOwnerFields,
      }),
      ok: { 200: UserData },
      example: { body: { name: dataExample.name, user_data: 'I2Nsb3VkLWNvbmZpZwo=' }, answer: dataExample },
    },
    userDataDelete: {
      ...change,
      path: '/compute/user-data/delete',
      summary: 'Delete user data',
      description: 'No machine may use it.',
      body: Closed({ user_data_id: Id }),
      dry_run: true,
      ok: { 200: Type.Union([Done, DestructionPlan]) },
      example: { body: { user_data_id: dataExample.id }, answer: { message: 'Deleted user data web-base.' } },
    },
  },
})
