// Reads hosts, devices, cards and profiles from the platform.
import { GPU_STATES_IN_USE, type GpuCard, type GpuDevice, type VgpuProfile } from '#src/contract/gpu.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { numberOf, type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import type { ListOptions } from '#src/drivers/cloudstack/lists.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { GpuHost } from './gpu-nodes.ts'

export const CARD_ITEM = { key: 'gpucard', read: cardOf }
export const DEVICE_ITEM = { key: 'gpudevice', read: deviceOf }
export const PROFILE_ITEM = { key: 'vgpuprofile', read: profileOf }

/** Throws HOST_NOT_FOUND, or HOST_STATE unless the host answers the platform. */
export async function requireUpHost(cloudstack: CloudStack, id: string, options: ListOptions): Promise<GpuHost> {
  const { state, ...host } = await readHost(cloudstack, id, options)
  if (state === 'Up') return host
  throw new ApiError('HOST_STATE', `Host ${host.name} is ${state}; this needs Up.`)
}

export async function readHost(
  cloudstack: CloudStack,
  id: string,
  options: ListOptions,
): Promise<GpuHost & { state: string }> {
  const row = await findOne(cloudstack, 'listHosts', 'host', { id, type: 'Routing', details: 'min' }, options)
  if (row === undefined) throw new ApiError('HOST_NOT_FOUND', `Host ${id} not found.`)
  return {
    id,
    name: textOf(row, 'name') ?? '',
    ip_address: textOf(row, 'ipaddress'),
    state: textOf(row, 'state') ?? 'Unknown',
  }
}

export async function devicesOfHost(
  cloudstack: CloudStack,
  host_id: string,
  options: ListOptions,
): Promise<GpuDevice[]> {
  const devices: GpuDevice[] = []
  for await (const device of cloudstack.listAll('listGpuDevices', { hostid: host_id }, DEVICE_ITEM, options))
    devices.push(device)
  return devices
}

/** Throws GPU_DEVICE_NOT_FOUND naming the first id that is none. */
export async function devicesById(
  cloudstack: CloudStack,
  ids: readonly string[],
  options: ListOptions,
): Promise<GpuDevice[]> {
  const devices: GpuDevice[] = []
  for (const id of ids) {
    const row = await findOne(cloudstack, 'listGpuDevices', 'gpudevice', { id }, options)
    if (row === undefined) throw new ApiError('GPU_DEVICE_NOT_FOUND', `GPU device ${id} not found.`)
    devices.push(deviceOf(row))
  }
  return devices
}

/** Throws GPU_DEVICE_IN_USE naming the device and the machine. */
export function requireUnused(devices: readonly GpuDevice[]): void {
  const states: readonly string[] = GPU_STATES_IN_USE
  const used = devices.find((device) => states.includes(device.state) || device.virtual_machine_id !== null)
  if (used === undefined) return
  const by = used.virtual_machine_name === null ? '' : ` to ${used.virtual_machine_name}`
  throw new ApiError(
    'GPU_DEVICE_IN_USE',
    `GPU device ${used.bus_address} (${used.id}) is ${used.state}${by}; this needs Free.`,
  )
}

export async function requireCard(cloudstack: CloudStack, id: string, options: ListOptions): Promise<GpuCard> {
  const row = await findOne(cloudstack, 'listGpuCards', 'gpucard', { id }, options)
  if (row === undefined) throw new ApiError('GPU_CARD_NOT_FOUND', `GPU card ${id} not found.`)
  return cardOf(row)
}

export async function requireProfile(cloudstack: CloudStack, id: string, options: ListOptions): Promise<VgpuProfile> {
  const row = await findOne(cloudstack, 'listVgpuProfiles', 'vgpuprofile', { id }, options)
  if (row === undefined) throw new ApiError('VGPU_PROFILE_NOT_FOUND', `vGPU profile ${id} not found.`)
  return profileOf(row)
}

/** The platform may leave the domain out of an address; UUIDs of mediated devices stay as they are. */
export function wholeAddress(bus_address: string): string {
  const text = bus_address.toLowerCase()
  return /^[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/.test(text) ? `0000:${text}` : text
}

/** Drivers and platform put different brands in front of one profile's name: GRID A16-4Q, NVIDIA A16-4Q. */
export function bareName(name: string): string {
  return name.replace(/^(GRID|NVIDIA) /, '')
}

export function deviceOf(row: Raw): GpuDevice {
  return {
    id: textOf(row, 'id') ?? '',
    bus_address: textOf(row, 'busaddress') ?? '',
    type: textOf(row, 'gpudevicetype') ?? '',
    host_id: textOf(row, 'hostid'),
    host_name: textOf(row, 'hostname'),
    card_id: textOf(row, 'gpucardid'),
    card_name: textOf(row, 'gpucardname'),
    profile_id: textOf(row, 'vgpuprofileid'),
    profile_name: textOf(row, 'vgpuprofilename'),
    virtual_machine_id: textOf(row, 'virtualmachineid'),
    virtual_machine_name: textOf(row, 'virtualmachinename'),
    virtual_machine_state: textOf(row, 'vmstate'),
    state: textOf(row, 'state') ?? 'Unknown',
    managed_state: textOf(row, 'managedstate') ?? 'Unknown',
    parent_device_id: textOf(row, 'parentgpudeviceid'),
    numa_node: textOf(row, 'numanode'),
  }
}

function cardOf(row: Raw): GpuCard {
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    device_id: textOf(row, 'deviceid'),
    device_name: textOf(row, 'devicename'),
    vendor_id: textOf(row, 'vendorid'),
    vendor_name: textOf(row, 'vendorname'),
  }
}

export function profileOf(row: Raw): VgpuProfile {
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    description: textOf(row, 'description'),
    card_id: textOf(row, 'gpucardid'),
    card_name: textOf(row, 'gpucardname'),
    max_vgpu_per_pgpu: numberOf(row, 'maxvgpuperphysicalgpu'),
    video_ram_mb: numberOf(row, 'videoram'),
    max_heads: numberOf(row, 'maxheads'),
    max_resolution_x: numberOf(row, 'maxresolutionx'),
    max_resolution_y: numberOf(row, 'maxresolutiony'),
  }
}
