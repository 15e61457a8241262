// GPUs: what the compute platform knows of them, and changes of what a node makes of them (Part 3, 4.3).
import { type Static, Type } from 'typebox'
import {
  ActionAccepted,
  Closed,
  Id,
  KnownText,
  ListOf,
  MAX_INT32,
  Nullable,
  NullableNumber,
  NullableText,
  NullableTime,
  OneOf,
  OptionalId,
  PageFields,
  Time,
  Unavailable,
  Words,
} from './common.ts'
import { NodeGpu, PciAddress } from './nodes/agent-gpu.ts'
import { defineArea } from './route.ts'

const Amount = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_INT32, description }))

/** A machine has the device, or a part of it, in these states. */
export const GPU_STATES_IN_USE = ['Allocated', 'PartiallyAllocated'] as const

export const GpuCard = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    device_id: NullableText(),
    device_name: NullableText(),
    vendor_id: NullableText(),
    vendor_name: NullableText(),
  },
  { title: 'GpuCard' },
)
export type GpuCard = Static<typeof GpuCard>

export const GpuDevice = Type.Object(
  {
    id: Type.String(),
    bus_address: Type.String({ description: 'PCI address, or the UUID of a mediated device.' }),
    type: KnownText(['PCI', 'MDEV', 'VGPUOnly'], 'VGPUOnly: a card that is cut, and not given away whole.'),
    host_id: NullableText(),
    host_name: NullableText(),
    card_id: NullableText(),
    card_name: NullableText(),
    profile_id: NullableText(),
    profile_name: NullableText(),
    virtual_machine_id: NullableText(),
    virtual_machine_name: NullableText(),
    virtual_machine_state: NullableText(),
    state: KnownText(['Allocated', 'Free', 'Error', 'PartiallyAllocated'], 'Whether a machine has it.'),
    managed_state: KnownText(['Managed', 'Unmanaged'], 'Whether machines may get it.'),
    parent_device_id: NullableText('Card that it is a part of.'),
    numa_node: NullableText(),
  },
  { title: 'GpuDevice' },
)
export type GpuDevice = Static<typeof GpuDevice>

export const VgpuProfile = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    description: NullableText(),
    card_id: NullableText(),
    card_name: NullableText(),
    max_vgpu_per_pgpu: NullableNumber('How many fit on one card.'),
    video_ram_mb: NullableNumber('Memory of one.'),
    max_heads: NullableNumber('Screens of one.'),
    max_resolution_x: NullableNumber('Width of one.'),
    max_resolution_y: NullableNumber('Height of one.'),
  },
  { title: 'VgpuProfile' },
)
export type VgpuProfile = Static<typeof VgpuProfile>

export const GpuChange = Type.Object(
  {
    job_id: Type.String(),
    kind: OneOf(['convert', 'repin']),
    host_id: NullableText(),
    host_name: NullableText(),
    bus_addresses: Type.Array(Type.String()),
    target: NullableText('Mode or vGPU profile that was asked for.'),
    status: OneOf(['IN_PROGRESS', 'SUCCESS', 'FAILED']),
    progress: Type.Integer({ minimum: 0, maximum: 100 }),
    message: Type.String(),
    failure_code: NullableText(),
    started_at: Time,
    finished_at: NullableTime,
  },
  { title: 'GpuChange' },
)
export type GpuChange = Static<typeof GpuChange>

const GpuStatus = Type.Object(
  {
    host_id: Type.String(),
    host_name: Type.String(),
    change: Nullable(GpuChange),
    gpus: Nullable(Type.Array(NodeGpu, { description: 'As the node sees them now.' })),
    unavailable: Type.Optional(Type.Array(Unavailable)),
  },
  { title: 'GpuHostStatus' },
)
export type GpuStatus = Static<typeof GpuStatus>

const ids = Closed({ ids: Type.Array(Id, { minItems: 1, maxItems: 100, uniqueItems: true }) })
const Devices = Type.Object(
  { gpu_devices: Type.Array(GpuDevice), count: Type.Integer({ minimum: 0 }) },
  { title: 'GpuDevices' },
)

const host_id = 'b5c3a0a1-4f2e-4d7c-9a11-3e6d7c8b9a01'
const device: GpuDevice = {
  id: '0f1e2d3c-4b5a-4697-8877-665544332211', bus_address: '3b:00.0', type: 'PCI', host_id, host_name: 'kvm-01',
  card_id: '1a2b3c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d', card_name: 'NVIDIA A2', profile_id: '2b3c4d5e-6f7a-4b8c-9d0e-1f2a3b4c5d6e',
  profile_name: 'A2 passthrough', virtual_machine_id: null, virtual_machine_name: null, virtual_machine_state: null, state: 'Free',
  managed_state: 'Managed', parent_device_id: null, numa_node: '0',
} // biome-ignore format: one record
const card: GpuCard = {
  id: '1a2b3c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d', name: 'NVIDIA A2', device_id: '25b6', device_name: 'GA107GL [A2 / A16]', vendor_id: '10de',
  vendor_name: 'NVIDIA Corporation',
} // biome-ignore format: one record
const profile: VgpuProfile = {
  id: '3c4d5e6f-7a8b-4c9d-8e1f-2a3b4c5d6e7f', name: 'NVIDIA A16-4Q', description: 'vGPU with 4 GiB', card_id: card.id, card_name: card.name,
  max_vgpu_per_pgpu: 4, video_ram_mb: 4096, max_heads: 4, max_resolution_x: 7680, max_resolution_y: 4320,
} // biome-ignore format: one record
const accepted = {
  job_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', correlation_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', status: 'IN_PROGRESS',
  resource_id: host_id, message: 'Converting 1 GPU of kvm-01 to vgpu.',
} // biome-ignore format: one record
const change_example: GpuChange = {
  job_id: accepted.job_id, kind: 'convert', host_id, host_name: 'kvm-01', bus_addresses: ['0000:3b:00.0'], target: 'vgpu', status: 'IN_PROGRESS',
  progress: 40, message: 'Convert GPUs on the node', failure_code: null, started_at: '2026-11-20T03:12:45.120Z', finished_at: null,
} // biome-ignore format: one record

const base = '/infrastructure/gpu'
const read = { method: 'POST', access: 'viewer', effect: 'read', errors: [400, 500] } as const
const act = { method: 'POST', access: 'operator', event: { resource_type: 'GPU' } } as const
/** The documents show no statuses for these; they take machines' hardware away, so they ask for the highest role. */
const node_act = { ...act, access: 'admin', errors: [400, 404, 409, 500], ok: { 200: ActionAccepted } } as const

export const gpu = defineArea({
  name: 'gpu',
  description: 'GPUs: what the compute platform knows of them, and what nodes make of them.',
  routes: {
    gpuCardList: {
      ...read,
      path: `${base}/cards/list`,
      summary: 'List GPU cards',
      description: 'Kinds of cards. `active_only` leaves out those of which there is no device.',
      body: Closed(
        {
          id: OptionalId, vendor_name: Words('Exact name.'), vendor_id: Words('PCI number.'), device_id: Words('PCI number.'),
          device_name: Words('Exact name.'), active_only: Type.Optional(Type.Boolean()), keyword: Words('Part of a name.'), ...PageFields,
        }, // biome-ignore format: one record
        { title: 'GpuCardFilter' },
      ),
      body_optional: true,
      ok: { 200: ListOf('gpu_cards', GpuCard, 'GpuCardPage') },
      example: { body: { active_only: true }, answer: { gpu_cards: [card], count: 1, page: 1, page_size: 50 } },
    },
    gpuDeviceDiscover: {
      ...act,
      path: `${base}/devices/discover`,
      summary: 'Discover GPU devices of host',
      description:
        'The platform asks the host, which must be Up, and keeps what it finds; this may take tens of seconds.',
      body: Closed({ host_id: Id }),
      ok: { 200: Devices },
      errors: [400, 500],
      example: { body: { host_id }, answer: { gpu_devices: [device], count: 1 } },
    },
    gpuDeviceList: {
      ...read,
      path: `${base}/devices/list`,
      summary: 'List GPU devices',
      description: 'Every filter narrows. Read the state again before you act on it: it changes with the machines.',
      body: Closed(
        {
          id: OptionalId,
          host_id: OptionalId,
          card_id: OptionalId,
          profile_id: OptionalId,
          virtual_machine_id: OptionalId,
          keyword: Words('Part of an address or name.'),
          ...PageFields,
        },
        { title: 'GpuDeviceFilter' },
      ),
      body_optional: true,
      ok: { 200: ListOf('gpu_devices', GpuDevice, 'GpuDevicePage') },
      example: { body: { host_id }, answer: { gpu_devices: [device], count: 1, page: 1, page_size: 50 } },
    },
    gpuDeviceManage: {
      ...act,
      path: `${base}/devices/manage`,
      summary: 'Add GPU devices to allocation pool',
      body: ids,
      ok: { 200: Devices },
      errors: [400, 500],
      example: { body: { ids: [device.id] }, answer: { gpu_devices: [device], count: 1 } },
    },
    gpuDeviceUnmanage: {
      ...act,
      path: `${base}/devices/unmanage`,
      summary: 'Take GPU devices out of allocation pool',
      description: 'Refused for all when a machine has one of them.',
      body: ids,
      ok: { 200: Devices },
      errors: [400, 500],
      example: {
        body: { ids: [device.id] },
        answer: { gpu_devices: [{ ...device, managed_state: 'Unmanaged' }], count: 1 },
      },
    },
    gpuDeviceConvert: {
      ...node_act,
      path: `${base}/devices/convert`,
      summary: 'Convert GPUs of host',
      description:
        'To `passthrough` (given to machines whole) or `vgpu` (cut into parts). No machine may have any device of the host. The devices leave the pool, the node changes drivers and virtual functions, the platform discovers again, and the devices come back; when a step fails, everything is put back. See the guide on GPU conversion.',
      body: Closed(
        {
          host_id: Id,
          mode: OneOf(['passthrough', 'vgpu']),
          bus_addresses: Type.Optional(
            Type.Array(PciAddress, {
              minItems: 1,
              maxItems: 64,
              uniqueItems: true,
              description: 'Left out: every GPU of the host but the one of its console.',
            }),
          ),
        },
        { title: 'GpuConvert' },
      ),
      example: { body: { host_id, mode: 'vgpu', bus_addresses: ['0000:3b:00.0'] }, answer: accepted },
    },
    gpuDeviceRepin: {
      ...node_act,
      path: `${base}/devices/repin`,
      summary: 'Repin virtual functions of GPU to vGPU profile',
      description:
        'Every part of this GPU becomes of one profile. The GPU must be in mode vgpu, and no machine may have any device of the host. As for a conversion, a failed step puts everything back.',
      body: Closed(
        {
          host_id: Id,
          bus_address: PciAddress,
          vgpu_profile_id: Id,
          vgpu_type: Type.Optional(
            Type.String({
              pattern: '^[A-Za-z0-9_-]{1,64}$',
              description: 'What the driver calls the profile; needed while it does not list it.',
            }),
          ),
          count: Amount('How many parts; as many as fit when left out, which needs a driver that says how many.'),
        },
        { title: 'GpuRepin' },
      ),
      example: {
        body: { host_id, bus_address: '0000:3b:00.0', vgpu_profile_id: profile.id },
        answer: { ...accepted, message: 'Repinning 0000:3b:00.0 of kvm-01 to NVIDIA A16-4Q.' },
      },
    },
    gpuDeviceRepinInflight: {
      ...read,
      errors: [400, 404, 409, 500],
      path: `${base}/devices/repin/inflight`,
      summary: 'List repins under way',
      body: Closed({ host_id: OptionalId, ...PageFields }),
      body_optional: true,
      ok: { 200: ListOf('gpu_repins', GpuChange, 'GpuRepinPage') },
      example: {
        answer: {
          gpu_repins: [{ ...change_example, kind: 'repin', target: 'NVIDIA A16-4Q' }],
          count: 1,
          page: 1,
          page_size: 50,
        },
      },
    },
    gpuDeviceRepinStatus: {
      ...read,
      errors: [400, 404, 409, 500],
      path: `${base}/devices/repin/status`,
      summary: 'Get status of repin or conversion of host',
      description:
        'The newest repin or conversion, and what the node sees now; null with the reason when the node does not answer.',
      body: Closed({ host_id: Id }),
      ok: { 200: GpuStatus },
      example: { body: { host_id }, answer: { host_id, host_name: 'kvm-01', change: change_example, gpus: [] } },
    },
    vgpuProfileCreate: {
      ...act,
      path: `${base}/profiles/create`,
      summary: 'Create vGPU profile of card',
      description: 'Names are unique over all cards.',
      body: Closed(
        {
          name: Type.String({ minLength: 1, maxLength: 255 }), card_id: Id, description: Words('One line for people.'),
          max_vgpu_per_pgpu: Amount('How many fit on one card.'), video_ram_mb: Amount('Memory of one.'), max_heads: Amount('Screens of one.'),
          max_resolution_x: Amount('Width of one.'), max_resolution_y: Amount('Height of one.'),
        }, // biome-ignore format: one record
        { title: 'VgpuProfileCreate' },
      ),
      ok: { 201: VgpuProfile },
      errors: [400, 500],
      example: { body: { name: 'NVIDIA A16-4Q', card_id: card.id, video_ram_mb: 4096 }, answer: profile },
    },
    vgpuProfileList: {
      ...read,
      path: `${base}/profiles/list`,
      summary: 'List vGPU profiles',
      body: Closed(
        {
          id: OptionalId,
          name: Words('Exact name.'),
          card_id: OptionalId,
          active_only: Type.Optional(Type.Boolean()),
          keyword: Words('Part of a name.'),
          ...PageFields,
        },
        { title: 'VgpuProfileFilter' },
      ),
      body_optional: true,
      ok: { 200: ListOf('vgpu_profiles', VgpuProfile, 'VgpuProfilePage') },
      example: { answer: { vgpu_profiles: [profile], count: 1, page: 1, page_size: 50 } },
    },
    vgpuProfileSync: {
      ...node_act,
      path: `${base}/profiles/sync`,
      summary: 'Sync vGPU profiles with catalogue of host',
      description:
        'Creates the profiles that the drivers of the host offer and the platform does not have. None is changed or removed.',
      body: Closed({ host_id: Id }),
      example: { body: { host_id }, answer: { ...accepted, message: 'Syncing the vGPU profiles of kvm-01.' } },
    },
  },
})
