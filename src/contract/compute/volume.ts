// A volume as callers see it: the disk of a machine, or one that waits for a machine.
import { type Static, Type } from 'typebox'
import { KnownText, NullableInteger, NullableText, NullableTime } from '../common.ts'
import { VOLUME_STATES } from './vm-can.ts'

export const VOLUME_COLUMNS = [
  'name', 'size_bytes', 'state', 'type', 'tenant_name', 'virtual_machine_name', 'created_at',
] as const // biome-ignore format: a list

export const Volume = Type.Object(
  {
    id: Type.String({ description: 'Opaque identifier, a UUID.' }),
    name: Type.String({ description: 'Free text; need not be unique.' }),
    type: KnownText(['ROOT', 'DATADISK'], 'Whether a machine starts from it.'),
    state: KnownText(VOLUME_STATES, 'State of the life cycle.'),
    size_bytes: NullableInteger('Size the guest sees.'),
    device_id: NullableInteger('Slot in the machine; null while it is detached.'),
    virtual_machine_id: NullableText('Machine it is attached to; null while it is detached.'),
    virtual_machine_name: NullableText(),
    tenant_id: NullableText('Tenant that owns it.'),
    tenant_name: NullableText(),
    account: NullableText('Account within the tenant.'),
    project_id: NullableText(),
    zone_id: NullableText(),
    zone_name: NullableText(),
    disk_offering_id: NullableText('Null for a root disk made with its machine.'),
    disk_offering_name: NullableText(),
    storage_id: NullableText('Storage it lies on; null until it is first attached.'),
    storage_name: NullableText(),
    snapshot_id: NullableText('Snapshot it was made from.'),
    min_iops: NullableInteger('Least operations a second.'),
    max_iops: NullableInteger('Most operations a second.'),
    pending_job_id: NullableText('Job that is changing it now.'),
    attached_at: NullableTime,
    created_at: NullableTime,
  },
  { title: 'Volume' },
)
export type Volume = Static<typeof Volume>

export const volumeExample: Volume = {
  id: 'b1f0c2d3-4e5f-4a6b-8c7d-9e0f1a2b3c4d', name: 'web-41-data', type: 'DATADISK', state: 'Ready', size_bytes: 107_374_182_400,
  device_id: 1, virtual_machine_id: '6a1f2c9e-0d4b-4d8a-9b52-5d9a7c1e0041', virtual_machine_name: 'web-41',
  tenant_id: '2d0c7c52-8e0e-4b1f-9d3f-0a4f5a0c1d10', tenant_name: 'acme', account: 'acme', project_id: null,
  zone_id: '1b0f6f0e-54d1-4d2e-8a60-2f1d6b7c0001', zone_name: 'Frankfurt-1', disk_offering_id: '0a9b8c7d-6e5f-4d3c-8b2a-190817263544',
  disk_offering_name: 'ssd-100', storage_id: 'd4c3b2a1-0f9e-4d8c-8b7a-695847362514', storage_name: 'cluster-ssd', snapshot_id: null,
  min_iops: null, max_iops: null, pending_job_id: null, attached_at: '2026-11-20T03:20:00.000Z', created_at: '2026-11-20T03:19:41.000Z',
} // biome-ignore format: one record
