// Disk offerings: what kinds of disks tenants may make (Part 3, 4.4).
import { type Static, Type } from 'typebox'
import {
  Closed,
  Flag,
  Id,
  KnownText,
  ListOf,
  MAX_INT32,
  MAX_INT64,
  NullableFlag,
  NullableNumber,
  NullableText,
  NullableTime,
  OneOf,
  PageFields,
  Words,
} from './common.ts'
import { defineArea } from './route.ts'

const Rate = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_INT64, description }))
const Ids = (description: string) => Type.Optional(Type.Array(Id, { maxItems: 500, uniqueItems: true, description }))

export const DiskOffering = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    display_text: NullableText(),
    disk_size_gb: NullableNumber('Size in GiB; null when each disk chooses its own.'),
    customized: NullableFlag('Whether each disk chooses its size.'),
    storage_type: KnownText(['shared', 'local'], 'Where disks are kept.'),
    provisioning_type: NullableText('thin, sparse or fat.'),
    tags: Type.Array(Type.String(), { description: 'Storage must carry all of these.' }),
    state: KnownText(['Active', 'Inactive'], 'Whether disks can be made with it.'),
    domain_ids: Type.Array(Type.String(), { description: 'Tenants it is for; empty means everybody.' }),
    zone_ids: Type.Array(Type.String(), { description: 'Zones it is for; empty means all.' }),
    display_offering: NullableFlag('Whether tenants see it.'),
    disk_size_strictness: NullableFlag('Whether the size of a disk may never change.'),
    encrypt: NullableFlag('Whether disks are encrypted.'),
    cache_mode: NullableText('none, writeback, writethrough or hypervisor_default.'),
    bytes_read_rate: NullableNumber('Bytes a second; null is unlimited.'),
    bytes_write_rate: NullableNumber('Bytes a second; null is unlimited.'),
    iops_read_rate: NullableNumber('Operations a second; null is unlimited.'),
    iops_write_rate: NullableNumber('Operations a second; null is unlimited.'),
    customized_iops: NullableFlag('Whether each disk chooses its least and most operations.'),
    min_iops: NullableNumber('Least operations a second.'),
    max_iops: NullableNumber('Most operations a second.'),
    suitable_for_virtual_machine: NullableFlag('Answered when the list was asked for one virtual machine.'),
    created_at: NullableTime,
  },
  { title: 'DiskOffering' },
)
export type DiskOffering = Static<typeof DiskOffering>

const CacheMode = OneOf(['none', 'writeback', 'writethrough', 'hypervisor_default'], {
  description: 'Cache of the host.',
})

const rates = {
  bytes_read_rate: Rate('Bytes a second.'),
  bytes_write_rate: Rate('Bytes a second.'),
  iops_read_rate: Rate('Operations a second.'),
  iops_write_rate: Rate('Operations a second.'),
}

export const DiskOfferingCreate = Closed(
  {
    name: Type.String({ minLength: 1, maxLength: 255, description: 'Names are not unique.' }),
    display_text: Words('One line for people; the name when left out.'),
    disk_size_gb: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'GiB; required unless customized.' }),
    ),
    customized: Flag('Each disk chooses its size.'),
    storage_type: Type.Optional(OneOf(['shared', 'local'])),
    provisioning_type: Type.Optional(OneOf(['thin', 'sparse', 'fat'])),
    tags: Words('Storage tags, with commas.'),
    domain_ids: Ids('Tenants it is for; left out means everybody.'),
    zone_ids: Ids('Zones it is for; left out means all.'),
    display_offering: Flag('Whether tenants see it.'),
    disk_size_strictness: Flag('The size of a disk may never change.'),
    encrypt: Flag('Encrypt disks.'),
    cache_mode: Type.Optional(CacheMode),
    ...rates,
    min_iops: Rate('Least operations a second.'),
    max_iops: Rate('Most operations a second.'),
    customized_iops: Flag('Each disk chooses its least and most operations.'),
  },
  { title: 'DiskOfferingCreate' },
)
export type DiskOfferingCreate = Static<typeof DiskOfferingCreate>

export const DiskOfferingUpdate = Closed(
  {
    id: Id,
    name: Words('New name.'),
    display_text: Words('One line for people.'),
    sort_key: Type.Optional(
      Type.Integer({ minimum: -MAX_INT32, maximum: MAX_INT32, description: 'Higher stands first in lists.' }),
    ),
    display_offering: Flag('Whether tenants see it.'),
    tags: Type.Optional(Type.String({ maxLength: 255, description: 'Storage tags, with commas; empty removes them.' })),
    state: Type.Optional(OneOf(['Active', 'Inactive'])),
    domain_ids: Ids('The whole new set of tenants; empty makes it for everybody.'),
    zone_ids: Ids('The whole new set of zones; empty makes it for all.'),
    cache_mode: Type.Optional(CacheMode),
    ...rates,
  },
  { title: 'DiskOfferingUpdate' },
)

const example: DiskOffering = {
  id: '5b5d2f0c-3c0b-4d51-9e34-7d4b3f5f0a11',
  name: 'ssd-100',
  display_text: 'SSD, 100 GiB',
  disk_size_gb: 100,
  customized: false,
  storage_type: 'shared',
  provisioning_type: 'thin',
  tags: ['ssd'],
  state: 'Active',
  domain_ids: [],
  zone_ids: [],
  display_offering: true,
  disk_size_strictness: false,
  encrypt: false,
  cache_mode: 'none',
  bytes_read_rate: null,
  bytes_write_rate: null,
  iops_read_rate: null,
  iops_write_rate: null,
  customized_iops: false,
  min_iops: null,
  max_iops: null,
  suitable_for_virtual_machine: null,
  created_at: '2026-10-01T08:00:00.000Z',
}

const read = { method: 'POST', access: 'viewer', tenant: 'own', effect: 'read', errors: [400, 500] } as const
const change = {
  method: 'POST',
  access: 'operator',
  event: { resource_type: 'DISK_OFFERING' },
  errors: [400, 500],
} as const
const base = '/catalog/serviceofferings/diskoffering'

export const diskOfferings = defineArea({
  name: 'disk-offerings',
  description: 'What kinds of disks tenants may make.',
  routes: {
    diskOfferingCreate: {
      ...change,
      path: `${base}/create`,
      summary: 'Create disk offering',
      description:
        'A size is required unless `customized`, and refused with it. `min_iops` and `max_iops` go together.',
      body: DiskOfferingCreate,
      ok: { 201: DiskOffering },
      example: {
        body: { name: 'ssd-100', display_text: 'SSD, 100 GiB', disk_size_gb: 100, tags: 'ssd' },
        answer: example,
      },
    },
    diskOfferingUpdate: {
      ...change,
      path: `${base}/update`,
      summary: 'Update disk offering',
      description: 'Size, storage type and customization never change. Disks that exist keep what they have.',
      body: DiskOfferingUpdate,
      ok: { 200: DiskOffering },
      example: { body: { id: example.id, display_text: 'SSD, 100 GiB' }, answer: example },
    },
    diskOfferingList: {
      ...read,
      path: `${base}/list`,
      summary: 'List disk offerings',
      description: 'Every filter narrows. Only active offerings are listed unless `state` says otherwise.',
      body: Closed(
        {
          id: Type.Optional(Id),
          name: Words('Exact name.'),
          zone_id: Type.Optional(Id),
          storage_type: Type.Optional(OneOf(['shared', 'local'])),
          state: Type.Optional(OneOf(['Active', 'Inactive', 'all'])),
          domain_id: Type.Optional(
            Type.String({ minLength: 1, maxLength: 128, description: 'Offerings this tenant may use.' }),
          ),
          virtual_machine_id: Type.Optional(Id),
          keyword: Words('Part of a name.'),
          ...PageFields,
        },
        { title: 'DiskOfferingFilter' },
      ),
      body_optional: true,
      ok: { 200: ListOf('disk_offerings', DiskOffering, 'DiskOfferingPage') },
      example: { body: { state: 'Active' }, answer: { disk_offerings: [example], count: 1, page: 1, page_size: 50 } },
    },
    diskOfferingGet: {
      ...read,
      path: `${base}/getByID`,
      summary: 'Get disk offering by id',
      description: 'Active or not.',
      body: Closed({ id: Id }),
      ok: { 200: DiskOffering },
      example: { body: { id: example.id }, answer: example },
    },
    diskOfferingGetByName: {
      ...read,
      path: `${base}/getByName`,
      summary: 'Get disk offering by name',
      description:
        'Active or not. Names are not unique: several hits are 400 DISK_OFFERING_NAME_AMBIGUOUS, which names their ids.',
      body: Closed({ name: Type.String({ minLength: 1, maxLength: 255 }) }),
      ok: { 200: DiskOffering },
      example: { body: { name: 'ssd-100' }, answer: example },
    },
    diskOfferingIdGet: {
      ...read,
      path: `${base}/getID`,
      summary: 'Get id of disk offering by name',
      description: 'As for getByName, several hits are 400 DISK_OFFERING_NAME_AMBIGUOUS.',
      body: Closed({ name: Type.String({ minLength: 1, maxLength: 255 }) }),
      ok: { 200: Type.Object({ id: Type.String(), name: Type.String() }, { title: 'DiskOfferingRef' }) },
      example: { body: { name: 'ssd-100' }, answer: { id: example.id, name: 'ssd-100' } },
    },
  },
})
