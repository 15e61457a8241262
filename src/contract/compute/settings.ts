// Hardware settings of virtual machines, for admins alone (Part 3, 4.1).
import { type Static, type TSchema, Type } from 'typebox'
import { ActionAccepted, Closed, Id, Nullable } from '../common.ts'
import { ServiceOffering } from '../infrastructure.ts'
import { defineArea } from '../route.ts'
import { ComputeSize } from './moves.ts'
import { VirtualMachine, vmExample } from './virtual-machine.ts'

/** The settings with names of ours, and the detail of the platform that each stands in (cloudstack.md 6.1). */
export const CURATED = {
  boot: 'UEFI',
  tpm_model: 'virtual.tpm.model',
  tpm_version: 'virtual.tpm.version',
  nic_adapter: 'nicAdapter',
  root_disk_controller: 'rootDiskController',
  video_hardware: 'video.hardware',
  video_ram: 'video.ram',
  io_policy: 'io.policy',
  iothreads: 'iothreads',
  nic_multiqueue: 'nic.multiqueue.number',
  nic_packed: 'nic.packed.virtqueues.enabled',
  cpu_mode: 'guest.cpu.mode',
  cpu_model: 'guest.cpu.model',
  cores_per_socket: 'cpu.corespersocket',
  threads_per_core: 'cpu.threadspercore',
  keyboard: 'keyboard',
  root_disk_size: 'rootdisksize',
} as const
export type CuratedName = keyof typeof CURATED

const ABOUT: Record<CuratedName, string> = {
  boot: 'UEFI without (LEGACY) or with Secure Boot (SECURE); null is BIOS.',
  tpm_model: 'Model of the virtual TPM.',
  tpm_version: 'Version of the virtual TPM.',
  nic_adapter: 'Adapter that the guest sees.',
  root_disk_controller: 'Controller of the root disk.',
  video_hardware: 'Graphics adapter.',
  video_ram: 'Memory of the graphics adapter in KiB.',
  io_policy: 'How the host does disk operations.',
  iothreads: 'Threads of their own for disk operations.',
  nic_multiqueue: 'Queues of each NIC.',
  nic_packed: 'Packed rings of the NICs.',
  cpu_mode: 'Which processor the guest sees.',
  cpu_model: 'Model of the processor with cpu_mode custom.',
  cores_per_socket: 'Cores of a socket.',
  threads_per_core: 'Threads of a core.',
  keyboard: 'Layout of the console.',
  root_disk_size: 'Size that the root disk was asked for, in GiB.',
}

export const DETAIL_NAME = '^[A-Za-z0-9][A-Za-z0-9._:-]{0,254}$'
/** No control characters but tabs and line ends. */
const XML_TEXT = '^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f]+$'
const DETAIL_VALUE = Type.String({ minLength: 1, maxLength: 4096, pattern: '^[^\\u0000-\\u001f\\u007f]+$' })

function curated<T extends TSchema>(schema: (description: string) => T): Record<CuratedName, T> {
  const entries = Object.entries(ABOUT).map(([name, description]) => [name, schema(description)])
  // One entry for each name of the table above.
  return Object.fromEntries(entries) as Record<CuratedName, T>
}

const TextMap = (description: string) => Type.Record(Type.String(), Type.String(), { description })

export const VmSettings = Type.Object(
  {
    virtual_machine_id: Type.String(),
    name: Type.String(),
    state: Type.String(),
    settings: Type.Object(
      curated((description) => Nullable(Type.String({ description }))),
      { title: 'VmCuratedSettings' },
    ),
    details: TextMap('The whole map of details; names are case-sensitive.'),
    read_only_details: Type.Array(Type.String(), { description: 'Details that users of the tenant cannot change.' }),
    extra_config: TextMap('Hypervisor configuration by name.'),
    compute: Type.Object({
      service_offering_id: Nullable(Type.String()),
      service_offering_name: Nullable(Type.String()),
      is_custom: Nullable(Type.Boolean({ description: 'Whether the machine chooses cores and memory.' })),
      hypervisor: Nullable(Type.String()),
      cpu_cores: Nullable(Type.Integer()),
      cpu_speed_mhz: Nullable(Type.Integer()),
      memory_mb: Nullable(Type.Integer()),
      dynamically_scalable: Nullable(Type.Boolean({ description: 'Whether it may grow while it runs.' })),
      live_scale: Type.Boolean({ description: 'Whether it can grow now, without a stop.' }),
      live_scale_obstacles: Type.Array(Type.String(), { description: 'Why not.' }),
      offerings: Type.Array(ServiceOffering, { description: 'Offerings it can change to, 500 at most.' }),
      offering_count: Type.Integer({ description: 'How many there are.' }),
    }),
  },
  { title: 'VmSettings' },
)
export type VmSettings = Static<typeof VmSettings>

const curatedEdits = curated((description) =>
  Type.Optional(
    Nullable(Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\u0000-\\u001f\\u007f]+$', description })),
  ),
)

export const VmSettingsUpdate = Closed(
  {
    virtual_machine_id: Id,
    settings: Type.Optional(Closed(curatedEdits, { description: 'Settings to change; null removes one.' })),
    details: Type.Optional(
      Type.Record(Type.String({ pattern: DETAIL_NAME }), DETAIL_VALUE, {
        maxProperties: 500,
        description:
          'The whole new map: what is missing is removed. `settings` are laid over it. Cores, memory and speed keep their value.',
        additionalProperties: false,
      }),
    ),
    extra_config: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
        Nullable(
          Type.String({
            minLength: 1,
            maxLength: 16_384,
            pattern: XML_TEXT,
            description: 'XML elements; null removes.',
          }),
        ),
        {
          maxProperties: 32,
          description: 'Hypervisor configuration by name: what is named is set or removed, the rest stays.',
          additionalProperties: false,
        },
      ),
    ),
    display_name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Name for people.' })),
    group: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Free word that groups machines.' })),
    ha_enabled: Type.Optional(
      Type.Boolean({ description: 'Restart elsewhere when the host fails; the offering must allow it.' }),
    ),
    os_type_id: Type.Optional(Id),
    dynamically_scalable: Type.Optional(Type.Boolean({ description: 'Whether it may grow while it runs.' })),
    delete_protection: Type.Optional(Type.Boolean({ description: 'Refuse to be destroyed.' })),
    force: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Write although the machine is not stopped; takes effect at its next start.',
      }),
    ),
  },
  { title: 'VmSettingsUpdate' },
)
export type VmSettingsUpdate = Static<typeof VmSettingsUpdate>

const id = vmExample.id
const job_id = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10'
const settingsExample: VmSettings = {
  virtual_machine_id: id,
  name: 'web-41',
  state: 'Stopped',
  settings: {
    boot: 'SECURE', tpm_model: 'tpm-crb', tpm_version: '2.0', nic_adapter: 'virtio',
    root_disk_controller: null, video_hardware: null, video_ram: null, io_policy: null, iothreads: null, nic_multiqueue: null,
    nic_packed: null, cpu_mode: null, cpu_model: null, cores_per_socket: null, threads_per_core: null, keyboard: null, root_disk_size: null,
  },
  details: { UEFI: 'SECURE', 'virtual.tpm.model': 'tpm-crb', 'virtual.tpm.version': '2.0', nicAdapter: 'virtio' },
  read_only_details: ['rootDiskController'],
  extra_config: {},
  compute: {
    service_offering_id: vmExample.service_offering_id, service_offering_name: 'small', is_custom: false, hypervisor: 'KVM',
    cpu_cores: 2, cpu_speed_mhz: 2000, memory_mb: 4096, dynamically_scalable: false, live_scale: false,
    live_scale_obstacles: ['The virtual machine does not run.'], offerings: [], offering_count: 0,
  },
} // biome-ignore format: one record

const admin = { method: 'POST', access: 'admin', errors: [400, 500] } as const

export const vmSettings = defineArea({
  name: 'vm-settings',
  description: 'Hardware settings of virtual machines, for admins alone.',
  routes: {
    vmSettingsGet: {
      ...admin,
      path: '/compute/vms/settings/get',
      summary: 'Get settings of virtual machine',
      effect: 'read',
      body: Closed({ virtual_machine_id: Id }),
      ok: { 200: VmSettings },
      example: { body: { virtual_machine_id: id }, answer: settingsExample },
    },
    vmSettingsOptions: {
      ...admin,
      path: '/compute/vms/settings/detail-options',
      summary: 'List allowed values of settings',
      description: 'An empty list means free text or a number.',
      effect: 'read',
      errors: [500],
      body: Closed({ virtual_machine_id: Id }),
      ok: {
        200: Type.Object(
          {
            virtual_machine_id: Type.String(),
            settings: Type.Record(Type.String(), Type.Array(Type.String()), {
              description: 'By the name of the setting.',
            }),
            details: Type.Record(Type.String(), Type.Array(Type.String()), {
              description: 'By the name of the detail.',
            }),
          },
          { title: 'VmSettingsOptions' },
        ),
      },
      example: {
        body: { virtual_machine_id: id },
        answer: {
          virtual_machine_id: id,
          settings: { boot: ['LEGACY', 'SECURE'] },
          details: { UEFI: ['LEGACY', 'SECURE'] },
        },
      },
    },
    vmSettingsUpdate: {
      ...admin,
      path: '/compute/vms/settings/update',
      summary: 'Update settings of virtual machine',
      description:
        'Reads the map of details, lays the change over it, writes the whole map and reads it back. Changes of one machine wait for each other. The machine must be Stopped unless `force`; changes take effect at its next start.',
      event: { resource_type: 'VM' },
      body: VmSettingsUpdate,
      ok: { 200: VmSettings },
      example: { body: { virtual_machine_id: id, settings: { nic_adapter: 'virtio' } }, answer: settingsExample },
    },
    vmSettingsCompute: {
      ...admin,
      path: '/compute/vms/settings/compute',
      summary: 'Resize compute of virtual machine',
      description:
        'Grows a Running machine on KVM with an offering of custom size, when it is dynamically scalable and no value falls; anything else needs a Stopped machine.',
      event: { resource_type: 'VM' },
      body: ComputeSize,
      ok: { 200: Type.Union([ActionAccepted, VirtualMachine]) },
      example: {
        body: { virtual_machine_id: id, cpu_cores: 4, memory_mb: 8192 },
        answer: {
          job_id,
          correlation_id: job_id,
          status: 'IN_PROGRESS',
          resource_id: id,
          message: 'Scaling virtual machine web-41.',
        },
      },
    },
  },
})
