// Affinity groups: which virtual machines share a host, or never do (extension of Part 3, 4.1).
import { type Static, Type } from 'typebox'
import {
  ActionAccepted,
  Closed,
  DestructionPlan,
  Id,
  KnownText,
  ListOf,
  NullableText,
  OneOf,
  OptionalId,
  PageFields,
  Words,
} from '../common.ts'
import { defineArea } from '../route.ts'
import { NewOwnerFields, OwnedFields } from './owner.ts'
import { vmExample } from './virtual-machine.ts'

const AFFINITY_TYPES = [
  'host anti-affinity', 'host affinity', 'non-strict host anti-affinity', 'non-strict host affinity',
] as const // biome-ignore format: one list

export const AffinityGroup = Type.Object(
  {
    id: Type.String(),
    name: Type.String({ description: 'Unique within its account.' }),
    description: NullableText(),
    type: KnownText(AFFINITY_TYPES, 'Whether its machines are kept apart or together; non-strict is a wish.'),
    virtual_machine_ids: Type.Array(Type.String(), { description: 'Machines that are in it.' }),
    ...OwnedFields,
  },
  { title: 'AffinityGroup' },
)
export type AffinityGroup = Static<typeof AffinityGroup>

const groupExample: AffinityGroup = {
  id: 'a4f1b2c3-1111-4222-8333-444455556666', name: 'web-apart', description: 'No two web servers on one host',
  type: 'host anti-affinity', virtual_machine_ids: [], tenant_id: vmExample.tenant_id, tenant_name: 'acme', account: 'acme',
  project_id: null,
} // biome-ignore format: one record
const job_id = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10'
const accepted = { job_id, correlation_id: job_id, status: 'IN_PROGRESS', resource_id: groupExample.id }

const change = {
  method: 'POST', access: 'operator', tenant: 'own', extension: true, event: { resource_type: 'AFFINITY_GROUP' }, errors: [400, 500],
} as const // biome-ignore format: one record

export const affinityGroups = defineArea({
  name: 'affinity-groups',
  description:
    'Which virtual machines share a host, or never do. A machine is put into them when it is made, or by update-affinity.',
  routes: {
    affinityGroupList: {
      method: 'POST',
      path: '/compute/affinity-groups/list',
      summary: 'List affinity groups',
      description: 'Every filter narrows.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      extension: true,
      body: Closed({
        id: OptionalId,
        name: Words('Exact name.'),
        type: Type.Optional(OneOf([...AFFINITY_TYPES], { description: 'A kind.' })),
        virtual_machine_id: OptionalId,
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('affinity_groups', AffinityGroup, 'AffinityGroupPage') },
      errors: [400, 500],
      example: { body: {}, answer: { affinity_groups: [groupExample], count: 1, page: 1, page_size: 50 } },
    },
    affinityGroupCreate: {
      ...change,
      path: '/compute/affinity-groups/create',
      summary: 'Create affinity group',
      body: Closed({
        name: Type.String({ minLength: 1, maxLength: 255 }),
        type: OneOf([...AFFINITY_TYPES], { description: 'Apart or together; non-strict is a wish.' }),
        description: Words('One line for people.'),
        ...NewOwnerFields,
      }),
      ok: { 200: Type.Union([ActionAccepted, AffinityGroup]) },
      example: {
        body: { name: groupExample.name, type: 'host anti-affinity' },
        answer: { ...accepted, message: 'Creating affinity group web-apart.' },
      },
    },
    affinityGroupDelete: {
      ...change,
      path: '/compute/affinity-groups/delete',
      summary: 'Delete affinity group',
      description: 'No machine may be in it.',
      body: Closed({ affinity_group_id: Id }),
      dry_run: true,
      ok: { 200: Type.Union([ActionAccepted, DestructionPlan]) },
      example: {
        body: { affinity_group_id: groupExample.id },
        answer: { ...accepted, message: 'Deleting affinity group web-apart.' },
      },
    },
  },
})
