// Snapshots of single volumes: what a disk held at one moment, kept apart from it (extension of Part 3, 4.1).
import { type Static, Type } from 'typebox'
import {
  ActionAccepted, Closed, DestructionPlan, Flag, Id, KnownText, ListOf, NullableInteger, NullableText, NullableTime, OptionalId, PageFields, Words,
} from '../common.ts' // biome-ignore format: one import
import { defineArea } from '../route.ts'
import { volumeExample } from './volume.ts'

const SNAPSHOT_STATES = [
  'Allocated', 'Creating', 'CreatedOnPrimary', 'BackingUp', 'BackedUp', 'Copying', 'Destroying', 'Destroyed', 'Hidden', 'Error',
] as const // biome-ignore format: one list
export type VolumeSnapshotState = (typeof SNAPSHOT_STATES)[number]

export const volumeSnapshotCan = {
  revert: ['BackedUp'],
  delete: ['BackedUp', 'Error'],
} as const satisfies Record<string, readonly VolumeSnapshotState[]>

export const VolumeSnapshot = Type.Object(
  {
    id: Type.String(),
    name: Type.String({ description: 'Free text; need not be unique.' }),
    state: KnownText(SNAPSHOT_STATES, 'State of the life cycle; BackedUp is complete.'),
    volume_id: NullableText('Volume it is of.'),
    volume_name: NullableText(),
    volume_type: NullableText('ROOT or DATADISK.'),
    size_bytes: NullableInteger('Size that the guest saw.'),
    stored_bytes: NullableInteger('What it takes where it is kept.'),
    zone_id: NullableText(),
    zone_name: NullableText(),
    tenant_id: NullableText('Tenant that owns it.'),
    tenant_name: NullableText(),
    account: NullableText('Account within the tenant.'),
    project_id: NullableText(),
    created_at: NullableTime,
  },
  { title: 'VolumeSnapshot' },
)
export type VolumeSnapshot = Static<typeof VolumeSnapshot>

const job_id = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10'
const snapshotExample: VolumeSnapshot = {
  id: 'f00dbabe-2222-4333-8444-555566667777', name: 'before-upgrade', state: 'BackedUp', volume_id: volumeExample.id,
  volume_name: volumeExample.name, volume_type: 'DATADISK', size_bytes: 107_374_182_400, stored_bytes: 3_221_225_472,
  zone_id: volumeExample.zone_id, zone_name: volumeExample.zone_name, tenant_id: volumeExample.tenant_id,
  tenant_name: volumeExample.tenant_name, account: volumeExample.account, project_id: null, created_at: '2026-11-20T04:00:00.000Z',
} // biome-ignore format: one record
const accepted = { job_id, correlation_id: job_id, status: 'IN_PROGRESS', resource_id: snapshotExample.id }

const change = {
  method: 'POST', access: 'operator', tenant: 'own', extension: true, event: { resource_type: 'SNAPSHOT' }, errors: [400, 500],
} as const // biome-ignore format: one record

export const volumeSnapshots = defineArea({
  name: 'volume-snapshots',
  description: 'Snapshots of single volumes, and their end.',
  routes: {
    volumeSnapshotList: {
      method: 'POST',
      path: '/compute/volumes/snapshots/list',
      summary: 'List snapshots of volumes',
      description: 'Every filter narrows.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      extension: true,
      body: Closed({
        id: OptionalId,
        volume_id: OptionalId,
        name: Words('Exact name.'),
        zone_id: OptionalId,
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('volume_snapshots', VolumeSnapshot, 'VolumeSnapshotPage') },
      errors: [400, 500],
      example: {
        body: { volume_id: volumeExample.id },
        answer: { volume_snapshots: [snapshotExample], count: 1, page: 1, page_size: 50 },
      },
    },
    volumeSnapshotCreate: {
      ...change,
      path: '/compute/volumes/snapshots/create',
      summary: 'Create snapshot of volume',
      description:
        'The volume must be Ready. Its machine may run; what the guest has not written to its disk yet is not in it.',
      body: Closed({
        volume_id: Id,
        name: Words('Name; made of machine, volume and time when left out.'),
        quiesce: Flag('Ask the guest to settle its file systems first.'),
      }),
      ok: { 200: Type.Union([ActionAccepted, VolumeSnapshot]) },
      example: {
        body: { volume_id: volumeExample.id, name: snapshotExample.name },
        answer: { ...accepted, message: 'Creating a snapshot of volume web-41-data.' },
      },
    },
    volumeSnapshotRevert: {
      ...change,
      path: '/compute/volumes/snapshots/revert',
      summary: 'Revert volume to snapshot',
      description:
        'The snapshot must be BackedUp, and the machine of the volume Stopped; a detached volume needs none. What was written since is lost. For a new volume of it see create-and-attach-disk.',
      event: { resource_type: 'VOLUME' },
      body: Closed({ snapshot_id: Id }),
      dry_run: true,
      ok: { 200: Type.Union([ActionAccepted, DestructionPlan]) },
      example: {
        body: { snapshot_id: snapshotExample.id },
        answer: {
          ...accepted,
          resource_id: volumeExample.id,
          message: 'Reverting volume web-41-data to snapshot before-upgrade.',
        },
      },
    },
    volumeSnapshotDelete: {
      ...change,
      path: '/compute/volumes/snapshots/delete',
      summary: 'Delete snapshot of volume',
      description: 'It must be BackedUp or in Error; the volume stays as it is.',
      body: Closed({ snapshot_id: Id }),
      dry_run: true,
      ok: { 200: Type.Union([ActionAccepted, DestructionPlan]) },
      example: {
        body: { snapshot_id: snapshotExample.id },
        answer: { ...accepted, message: 'Deleting snapshot before-upgrade of volume web-41-data.' },
      },
    },
  },
})
