// Backups of virtual machines, as the backup provider of the platform keeps them (extension of Part 3, 4.1).
import { type Static, Type } from 'typebox'
import {
  Closed, KnownText, ListOf, NullableInteger, NullableText, NullableTime, OptionalId, PageFields, Words,
} from '../common.ts' // biome-ignore format: one import
import { defineArea } from '../route.ts'
import { OwnedFields } from './owner.ts'
import { vmExample } from './virtual-machine.ts'

const BACKUP_STATES = [
  'Allocated', 'Queued', 'BackingUp', 'BackedUp', 'Error', 'Failed', 'Restoring', 'Removed', 'Expunged',
] as const // biome-ignore format: one list

export const Backup = Type.Object(
  {
    id: Type.String({ description: '`backup_id` of restore with source backup.' }),
    name: NullableText(),
    state: KnownText(BACKUP_STATES, 'BackedUp is complete, and can be restored.'),
    type: NullableText('FULL or INCREMENTAL.'),
    virtual_machine_id: NullableText('Machine it is of.'),
    virtual_machine_name: NullableText(),
    backup_offering_id: NullableText(),
    backup_offering_name: NullableText(),
    size_bytes: NullableInteger('What it takes where it is kept.'),
    disk_bytes: NullableInteger('Size of the disks that it holds.'),
    zone_id: NullableText(),
    zone_name: NullableText(),
    ...OwnedFields,
    created_at: NullableTime,
  },
  { title: 'Backup' },
)
export type Backup = Static<typeof Backup>

const backupExample: Backup = {
  id: 'ba5e0001-1111-4222-8333-444455556666', name: 'web-41-nightly', state: 'BackedUp', type: 'FULL', virtual_machine_id: vmExample.id,
  virtual_machine_name: vmExample.name, backup_offering_id: 'ba5e0002-1111-4222-8333-444455556666', backup_offering_name: 'nightly',
  size_bytes: 3_221_225_472, disk_bytes: 21_474_836_480, zone_id: vmExample.zone_id, zone_name: vmExample.zone_name,
  tenant_id: vmExample.tenant_id, tenant_name: 'acme', account: 'acme', project_id: null, created_at: '2026-11-20T02:00:00.000Z',
} // biome-ignore format: one record

export const backups = defineArea({
  name: 'backups',
  description:
    'Backups of virtual machines. `POST /compute/vms/restore` with source backup brings a machine back from one.',
  routes: {
    backupList: {
      method: 'POST',
      path: '/compute/backups/list',
      summary: 'List backups',
      description: 'Every filter narrows. 409 BACKUPS_NOT_AVAILABLE where the platform has no backup provider.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      extension: true,
      body: Closed({
        id: OptionalId,
        virtual_machine_id: OptionalId,
        zone_id: OptionalId,
        name: Words('Exact name.'),
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('backups', Backup, 'BackupPage') },
      errors: [400, 409, 500],
      example: {
        body: { virtual_machine_id: vmExample.id },
        answer: { backups: [backupExample], count: 1, page: 1, page_size: 50 },
      },
    },
  },
})
