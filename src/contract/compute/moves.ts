// What moves, resizes or restores virtual machines, and their snapshots (Part 3, 4.1).
import { type Static, Type } from 'typebox'
import {
  ActionAccepted,
  Closed,
  DestructionPlan,
  Count,
  Flag,
  Id,
  KnownText,
  ListOf,
  NullableFlag,
  NullableText,
  NullableTime,
  OneOf,
  OptionalId,
  PageFields,
  Words,
} from '../common.ts'
import { Host } from '../infrastructure.ts'
import { defineArea } from '../route.ts'
import { VirtualMachine, vmExample } from './virtual-machine.ts'

const VmOrAccepted = Type.Union([ActionAccepted, VirtualMachine])

export const ComputeSize = Closed(
  {
    virtual_machine_id: Id,
    service_offering_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'New offering; the present one when left out.' }),
    ),
    cpu_cores: Count(1024, 'Cores, for an offering of custom size.'),
    memory_mb: Count(16_777_216, 'Memory in MiB, for an offering of custom size.'),
    cpu_speed_mhz: Count(10_000, 'Speed of a core, for an offering without a fixed one.'),
    auto_migrate: Flag('Move the root disk to other storage when the new offering needs that.'),
    shrink_ok: Flag('Agree to a smaller root disk.'),
  },
  { title: 'ComputeSize' },
)
export type ComputeSize = Static<typeof ComputeSize>

export const MigrationHost = Type.Object(
  {
    ...Host.properties,
    suitable: NullableFlag('Whether the platform would choose it.'),
    has_enough_capacity: NullableFlag('Whether it has room.'),
    requires_storage_motion: NullableFlag('Whether disks must move too.'),
  },
  { title: 'MigrationHost' },
)

const VM_SNAPSHOT_STATES = ['Allocated', 'Creating', 'Ready', 'Reverting', 'Expunging', 'Error'] as const

export const VmSnapshot = Type.Object(
  {
    id: Type.String(),
    name: Type.String({ description: 'Name on the platform.' }),
    display_name: NullableText('Name for people.'),
    description: NullableText(),
    state: KnownText(VM_SNAPSHOT_STATES, 'State of the life cycle.'),
    type: KnownText(['Disk', 'DiskAndMemory'], 'Whether the memory of the running machine is in it.'),
    virtual_machine_id: NullableText(),
    virtual_machine_name: NullableText(),
    parent_id: NullableText('Snapshot it was made after.'),
    is_current: NullableFlag('Whether the machine stands on it.'),
    tenant_id: NullableText(),
    tenant_name: NullableText(),
    account: NullableText(),
    project_id: NullableText(),
    created_at: NullableTime,
  },
  { title: 'VmSnapshot' },
)
export type VmSnapshot = Static<typeof VmSnapshot>

const id = vmExample.id
const host_id = '7c5e9d80-6a43-4b9e-8f0e-3a2b1c0d0002'
const job_id = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10'
const accepted = { job_id, correlation_id: job_id, status: 'IN_PROGRESS', resource_id: id }
const snapshotExample: VmSnapshot = {
  id: 'f00dbabe-1111-4222-8333-444455556666', name: 'i-2-41-VM_VS_20261120', display_name: 'before upgrade', description: null,
  state: 'Ready', type: 'Disk', virtual_machine_id: id, virtual_machine_name: 'web-41', parent_id: null, is_current: true,
  tenant_id: '2d0c7c52-8e0e-4b1f-9d3f-0a4f5a0c1d10', tenant_name: 'acme', account: 'acme', project_id: null,
  created_at: '2026-11-20T04:00:00.000Z',
} // biome-ignore format: one record

const change = { method: 'POST', access: 'operator', event: { resource_type: 'VM' }, errors: [400, 500] } as const

export const vmMoves = defineArea({
  name: 'vm-moves',
  description: 'Moving, resizing and bringing back virtual machines.',
  routes: {
    vmMigrate: {
      ...change,
      path: '/compute/vms/migrate',
      summary: 'Migrate virtual machine',
      description:
        'Exactly one of host_id, storage_id and auto_select. A Running machine moves to another host, a Stopped one to other storage. Machines with GPUs do not move while they run.',
      body: Closed({
        virtual_machine_id: Id,
        host_id: OptionalId,
        storage_id: OptionalId,
        auto_select: Flag('Let the platform choose the host.'),
      }),
      ok: { 200: VmOrAccepted },
      example: {
        body: { virtual_machine_id: id, host_id },
        answer: { ...accepted, message: 'Migrating virtual machine web-41.' },
      },
    },
    vmMigrateCandidates: {
      method: 'POST',
      path: '/compute/vms/migrate/candidates',
      summary: 'List hosts that virtual machine can migrate to',
      description: 'The machine must be Running.',
      access: 'viewer',
      effect: 'read',
      extension: true,
      body: Closed({ virtual_machine_id: Id, keyword: Words('Part of a host’s name.'), ...PageFields }),
      ok: { 200: ListOf('hosts', MigrationHost, 'MigrationHostPage') },
      errors: [400, 500],
      example: { body: { virtual_machine_id: id }, answer: { hosts: [], count: 0, page: 1, page_size: 50 } },
    },
    vmScale: {
      ...change,
      tenant: 'own',
      path: '/compute/vms/scale',
      summary: 'Scale virtual machine',
      description:
        'A Stopped machine takes any size. A Running one grows only: no value may fall and one must rise, the machine and both offerings must allow it, and on KVM the present offering must be of custom size.',
      body: ComputeSize,
      ok: { 200: VmOrAccepted },
      example: {
        body: { virtual_machine_id: id, service_offering_id: '3f2e1d0c-9b8a-4796-8584-736251400001' },
        answer: { ...accepted, message: 'Scaling virtual machine web-41.' },
      },
    },
    vmRecover: {
      ...change,
      tenant: 'own',
      path: '/compute/vms/recover',
      summary: 'Recover destroyed virtual machine',
      description: 'The machine must be Destroyed and not yet expunged; it is Stopped afterwards.',
      body: Closed({ virtual_machine_id: Id }),
      ok: { 200: VirtualMachine },
      example: {
        body: { virtual_machine_id: id },
        answer: { ...vmExample, state: 'Stopped', host_id: null, host_name: null },
      },
    },
    vmRestore: {
      ...change,
      tenant: 'own',
      path: '/compute/vms/restore',
      summary: 'Restore virtual machine',
      description:
        'By `source`: template recreates the root disk (Running or Stopped, no snapshots); backup needs backup_id and a Stopped or Destroyed machine; vm_snapshot needs snapshot_id, a Running machine for one with memory and a Stopped one for one without; volume_snapshot needs snapshot_id and a Stopped machine. What the disks hold now is lost.',
      body: Closed(
        {
          source: OneOf(['template', 'backup', 'vm_snapshot', 'volume_snapshot'], {
            description: 'What to restore from.',
          }),
          virtual_machine_id: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 128,
              description: 'Needed with template; with the others it must be the machine they are of.',
            }),
          ),
          template_id: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 128,
              description: 'Template or ISO; the present one when left out.',
            }),
          ),
          disk_offering_id: OptionalId,
          root_disk_size_gb: Count(1_048_576, 'Size of the new root disk.'),
          expunge: Flag('Remove the old root disk for good.'),
          backup_id: OptionalId,
          snapshot_id: OptionalId,
        },
        { title: 'VmRestore' },
      ),
      ok: { 200: VmOrAccepted },
      example: {
        body: { source: 'vm_snapshot', snapshot_id: snapshotExample.id },
        answer: { ...accepted, message: 'Restoring virtual machine web-41.' },
      },
    },
  },
})

export const vmSnapshots = defineArea({
  name: 'vm-snapshots',
  description: 'Snapshots of virtual machines: all disks at one moment, with or without memory.',
  routes: {
    vmSnapshotList: {
      method: 'POST',
      path: '/compute/vms/snapshots/list',
      summary: 'List snapshots of virtual machines',
      description: 'Every filter narrows.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      extension: true,
      body: Closed({
        id: OptionalId,
        virtual_machine_id: OptionalId,
        name: Words('Exact name.'),
        state: Type.Optional(OneOf([...VM_SNAPSHOT_STATES], { description: 'A state.' })),
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('vm_snapshots', VmSnapshot, 'VmSnapshotPage') },
      errors: [400, 500],
      example: {
        body: { virtual_machine_id: id },
        answer: { vm_snapshots: [snapshotExample], count: 1, page: 1, page_size: 50 },
      },
    },
    vmSnapshotCreate: {
      ...change,
      tenant: 'own',
      extension: true,
      path: '/compute/vms/snapshots/create',
      summary: 'Create snapshot of virtual machine',
      description: 'The machine must be Running or Stopped; with `memory` it must be Running.',
      event: { resource_type: 'SNAPSHOT' },
      body: Closed({
        virtual_machine_id: Id,
        name: Words('Name for people.'),
        description: Words('Free text.'),
        memory: Flag('Keep the memory too.'),
        quiesce: Flag('Ask the guest to settle its file systems first.'),
      }),
      ok: { 200: Type.Union([ActionAccepted, VmSnapshot]) },
      example: {
        body: { virtual_machine_id: id, name: 'before upgrade' },
        answer: {
          ...accepted,
          resource_id: snapshotExample.id,
          message: 'Creating a snapshot of virtual machine web-41.',
        },
      },
    },
    vmSnapshotRevert: {
      ...change,
      tenant: 'own',
      extension: true,
      path: '/compute/vms/snapshots/revert',
      summary: 'Revert virtual machine to snapshot',
      description:
        'A snapshot with memory needs a Running machine, one without a Stopped machine. What was written since is lost.',
      body: Closed({ snapshot_id: Id }),
      dry_run: true,
      ok: { 200: Type.Union([...VmOrAccepted.anyOf, DestructionPlan]) },
      example: {
        body: { snapshot_id: snapshotExample.id },
        answer: { ...accepted, message: 'Reverting virtual machine web-41 to a snapshot.' },
      },
    },
    vmSnapshotDelete: {
      ...change,
      tenant: 'own',
      extension: true,
      path: '/compute/vms/snapshots/delete',
      summary: 'Delete snapshot of virtual machine',
      description: 'It must be Ready or in Error; the machine stays as it is.',
      event: { resource_type: 'SNAPSHOT' },
      body: Closed({ snapshot_id: Id }),
      dry_run: true,
      ok: { 200: Type.Union([ActionAccepted, DestructionPlan]) },
      example: {
        body: { snapshot_id: snapshotExample.id },
        answer: { ...accepted, resource_id: snapshotExample.id, message: 'Deleting snapshot before upgrade.' },
      },
    },
  },
})
