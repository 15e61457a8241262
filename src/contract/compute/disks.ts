// Disks and ISO images of virtual machines, and the volumes there are (Part 3, 4.1).
import { type Static, Type } from 'typebox'
import {
  ActionAccepted,
  Closed,
  DestructionPlan,
  Count,
  Done,
  Flag,
  Id,
  ListOf,
  OneOf,
  OptionalId,
  PageFields,
  Words,
  LONG_LIST_ORDER,
  SortFields,
} from '../common.ts'
import { defineArea } from '../route.ts'
import { VOLUME_STATES } from './vm-can.ts'
import { VirtualMachine, vmExample } from './virtual-machine.ts'
import { Volume, VOLUME_COLUMNS, volumeExample } from './volume.ts'

/** The root disk is slot 0 and slot 3 belongs to the CD drive. */
const DeviceId = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 255,
    description: 'Slot in the machine; not 3, which is the CD drive. Chosen when left out.',
  }),
)

const VolumeOrAccepted = Type.Union([ActionAccepted, Volume])
const VmOrAccepted = Type.Union([ActionAccepted, VirtualMachine])

const job_id = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10'
const accepted = { job_id, correlation_id: job_id, status: 'IN_PROGRESS', resource_id: volumeExample.id }

const change = { method: 'POST', access: 'operator', tenant: 'own', errors: [400, 500] } as const
const aboutVolume = { ...change, event: { resource_type: 'VOLUME' }, ok: { 200: VolumeOrAccepted } } as const
const aboutVm = { ...change, event: { resource_type: 'VM' }, ok: { 200: VmOrAccepted } } as const

export const DiskCreate = Closed(
  {
    virtual_machine_id: Id,
    name: Words('Name of the volume; made of the machine’s name when left out.'),
    disk_offering_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'Kind of disk. Needed unless snapshot_id is given.' }),
    ),
    size_gb: Count(1_048_576, 'Size in GiB; needed by offerings of custom size, refused by others.'),
    snapshot_id: OptionalId,
    zone_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'The machine’s zone; another is refused.' }),
    ),
    device_id: DeviceId,
  },
  { title: 'DiskCreate' },
)
export type DiskCreate = Static<typeof DiskCreate>

export const vmDisks = defineArea({
  name: 'vm-disks',
  description: 'Disks and ISO images of virtual machines.',
  routes: {
    vmDiskAttach: {
      ...aboutVolume,
      path: '/compute/vms/attach-disk',
      summary: 'Attach volume to virtual machine',
      description:
        'The machine must be Running or Stopped, in the volume’s zone, and have no snapshots; the volume must be detached and Allocated, Ready or Uploaded.',
      body: Closed({ volume_id: Id, virtual_machine_id: Id, device_id: DeviceId }),
      example: {
        body: { volume_id: volumeExample.id, virtual_machine_id: vmExample.id },
        answer: { ...accepted, message: 'Attaching volume web-41-data to virtual machine web-41.' },
      },
    },
    vmDiskDetach: {
      ...aboutVolume,
      path: '/compute/vms/detach-disk',
      summary: 'Detach volume from virtual machine',
      description:
        'Give volume_id, or virtual_machine_id and device_id. A root disk comes off a Stopped or Destroyed machine only.',
      body: Closed({
        volume_id: OptionalId,
        virtual_machine_id: OptionalId,
        device_id: Type.Optional(Type.Integer({ minimum: 0, maximum: 255, description: 'Slot in the machine.' })),
      }),
      example: {
        body: { volume_id: volumeExample.id },
        answer: { ...accepted, message: 'Detaching volume web-41-data from virtual machine web-41.' },
      },
    },
    vmDiskCreate: {
      ...aboutVolume,
      path: '/compute/vms/create-and-attach-disk',
      summary: 'Create volume and attach it to virtual machine',
      description:
        'One request makes one volume, whatever breaks on the way. It belongs to the machine’s owner. When it cannot be attached it is deleted again.',
      body: DiskCreate,
      example: {
        body: {
          virtual_machine_id: vmExample.id,
          name: 'web-41-data',
          disk_offering_id: volumeExample.disk_offering_id,
        },
        answer: { ...accepted, message: 'Creating volume web-41-data for virtual machine web-41.' },
      },
    },
    vmDiskResize: {
      ...aboutVolume,
      method: 'PUT',
      path: '/compute/vms/update-disksize',
      summary: 'Resize volume or change its offering',
      description:
        'Give size_gb, disk_offering_id or both. The volume must be Ready or Allocated, its machine Running or Stopped. Making it smaller needs shrink_ok and loses what lies beyond the end.',
      body: Closed({
        volume_id: Id,
        size_gb: Count(1_048_576, 'New size in GiB; for offerings of custom size only.'),
        disk_offering_id: OptionalId,
        shrink_ok: Flag('Agree to a smaller size.'),
        min_iops: Count(10_000_000, 'Least operations a second.'),
        max_iops: Count(10_000_000, 'Most operations a second.'),
        auto_migrate: Flag('Move it to other storage when the new offering needs that.'),
      }),
      example: {
        body: { volume_id: volumeExample.id, size_gb: 200 },
        answer: { ...accepted, message: 'Resizing volume web-41-data.' },
      },
    },
    volumeDelete: {
      ...change,
      path: '/compute/volumes/delete',
      summary: 'Delete volume',
      description: 'It must be attached to no virtual machine. What is on it is lost; its snapshots stay.',
      extension: true,
      event: { resource_type: 'VOLUME' },
      body: Closed({ volume_id: Id }),
      dry_run: true,
      ok: { 200: Type.Union([Done, DestructionPlan]) },
      example: { body: { volume_id: volumeExample.id }, answer: { message: `Deleted volume ${volumeExample.id}.` } },
    },
    vmIsoAttach: {
      ...aboutVm,
      path: '/compute/vms/attachiso',
      summary: 'Attach ISO image to virtual machine',
      description: 'The image must be ready in the machine’s zone. A machine has one CD drive.',
      body: Closed({ iso_id: Id, virtual_machine_id: Id, forced: Flag('Replace what is in the drive.') }),
      example: {
        body: { iso_id: 'c0ffee00-1234-4abc-8def-001122334455', virtual_machine_id: vmExample.id },
        answer: {
          ...accepted,
          resource_id: vmExample.id,
          message: 'Attaching ISO image debian-12 to virtual machine web-41.',
        },
      },
    },
    vmIsoDetach: {
      ...aboutVm,
      path: '/compute/vms/detachiso',
      summary: 'Detach ISO image from virtual machine',
      body: Closed({ virtual_machine_id: Id, forced: Flag('Take it out even while the guest holds it.') }),
      example: {
        body: { virtual_machine_id: vmExample.id },
        answer: {
          ...accepted,
          resource_id: vmExample.id,
          message: 'Detaching the ISO image from virtual machine web-41.',
        },
      },
    },
    volumeList: {
      method: 'POST',
      path: '/compute/volumes/list',
      summary: 'List volumes',
      description: 'Every filter narrows.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      extension: true,
      body: Closed(
        {
          id: OptionalId,
          ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 500, description: 'Any of these.' })),
          name: Words('Exact name; `keyword` matches loosely.'),
          virtual_machine_id: OptionalId,
          zone_id: OptionalId,
          type: Type.Optional(OneOf(['ROOT', 'DATADISK'], { description: 'Kind of disk.' })),
          state: Type.Optional(OneOf([...VOLUME_STATES], { description: 'A state.' })),
          disk_offering_id: OptionalId,
          account: Words('Owner; needs domain_id.'),
          domain_id: Type.Optional(
            Type.String({ minLength: 1, maxLength: 128, description: 'Tenant, its children included.' }),
          ),
          project_id: OptionalId,
          keyword: Words('Part of a name.'),
          ...SortFields([...VOLUME_COLUMNS], LONG_LIST_ORDER),
          ...PageFields,
        },
        { title: 'VolumeFilter' },
      ),
      body_optional: true,
      ok: { 200: ListOf('volumes', Volume, 'VolumePage') },
      errors: [400, 500],
      example: {
        body: { virtual_machine_id: vmExample.id },
        answer: { volumes: [volumeExample], count: 1, page: 1, page_size: 50 },
      },
    },
  },
})
