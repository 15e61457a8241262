// Projects: accounts that several people of a tenant share (extension of Part 3, 4.1).
import { type Static, Type } from 'typebox'
import {
  Closed, KnownText, ListOf, NullableText, NullableTime, OneOf, OptionalId, PageFields, Words,
} from '../common.ts' // biome-ignore format: one import
import { defineArea } from '../route.ts'
import { vmExample } from './virtual-machine.ts'

const PROJECT_STATES = ['Active', 'Disabled', 'Suspended'] as const

export const Project = Type.Object(
  {
    id: Type.String({ description: '`project_id` of whatever it is to own.' }),
    name: Type.String(),
    display_text: NullableText(),
    state: KnownText(PROJECT_STATES, 'Suspended: its machines are stopped, and nothing new is made in it.'),
    tenant_id: NullableText('Tenant that owns it.'),
    tenant_name: NullableText(),
    owners: Type.Array(Type.String(), { description: 'Accounts that administer it.' }),
    created_at: NullableTime,
  },
  { title: 'Project' },
)
export type Project = Static<typeof Project>

const projectExample: Project = {
  id: 'e1a2b3c4-1111-4222-8333-444455556666', name: 'shop', display_text: 'Web shop', state: 'Active', tenant_id: vmExample.tenant_id,
  tenant_name: 'acme', owners: ['acme'], created_at: '2026-10-01T08:00:00.000Z',
} // biome-ignore format: one record

export const projects = defineArea({
  name: 'projects',
  description: 'Projects of tenants: what they own is not their members’ own.',
  routes: {
    projectList: {
      method: 'POST',
      path: '/compute/projects/list',
      summary: 'List projects',
      description: 'Every filter narrows.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      extension: true,
      body: Closed({
        id: OptionalId,
        name: Words('Exact name.'),
        state: Type.Optional(OneOf([...PROJECT_STATES], { description: 'A state.' })),
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('projects', Project, 'ProjectPage') },
      errors: [400, 500],
      example: { body: {}, answer: { projects: [projectExample], count: 1, page: 1, page_size: 50 } },
    },
  },
})
