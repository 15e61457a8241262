// Sets which vGPUs a GPU is cut into: first what is not wanted goes, then what is missing is made.
import type { AgentGpuAssign, GpuInstance, NodeGpu } from '#src/contract/nodes/agent-gpu.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { requireGpu } from './convert.ts'
import { devicePath, textOf } from './inventory.ts'
import { writeVerified } from './verified-write.ts'

/** Nothing is pinned to a virtual function. */
const NO_TYPE = '0'

export async function assignVgpus(host: Host, { bus_address, vgpus }: AgentGpuAssign): Promise<void> {
  const gpu = await requireGpu(host, bus_address)
  requirePossible(gpu, vgpus)
  for (const present of gpu.vgpus) if (!vgpus.some((wanted) => isSame(wanted, present))) await remove(host, present)
  for (const wanted of vgpus) if (!gpu.vgpus.some((present) => isSame(wanted, present))) await make(host, wanted)
}

export function isSame(a: GpuInstance, b: GpuInstance): boolean {
  return a.bus_address === b.bus_address && a.uuid === b.uuid && a.type === b.type
}

function requirePossible(gpu: NodeGpu, vgpus: readonly GpuInstance[]): void {
  const { bus_address, vgpu_kind, mode } = gpu
  if (vgpu_kind === null)
    throw new ApiError(
      'GPU_MODE_UNSUPPORTED',
      `${bus_address} is in mode ${mode} and offers no vGPUs; convert it to vgpu first.`,
    )
  const holders = gpu.virtual_functions.length > 0 ? gpu.virtual_functions : [bus_address]
  for (const vgpu of vgpus) {
    if (!holders.includes(vgpu.bus_address))
      throw new ApiError('GPU_DEVICE_NOT_FOUND', `${vgpu.bus_address} is no part of ${bus_address}.`)
    if ((vgpu.uuid === null) !== (vgpu_kind === 'vendor')) {
      throw new ApiError(
        'GPU_MODE_UNSUPPORTED',
        `vGPUs of ${bus_address} are ${vgpu_kind === 'mdev' ? 'mediated devices, which need a UUID' : 'its virtual functions, which have no UUID'}.`,
      )
    }
    // The maker's driver lists only what can be made now, so its numbers are not held against its list.
    if (vgpu_kind === 'mdev' && !gpu.vgpu_types.some(({ type }) => type === vgpu.type)) {
      throw new ApiError('GPU_MODE_UNSUPPORTED', `The driver of ${bus_address} offers no vGPU type ${vgpu.type}.`)
    }
  }
}

async function remove(host: Host, { bus_address, uuid, type }: GpuInstance): Promise<void> {
  if (uuid === null) return pin(host, bus_address, NO_TYPE)
  const path = `${devicePath(bus_address)}/${uuid}`
  const gone = async () => (await host.list(path)) === null
  await writeVerified(host, { path: `${path}/remove`, text: '1', what: `remove vGPU ${uuid} (${type})`, holds: gone })
}

async function make(host: Host, { bus_address, uuid, type }: GpuInstance): Promise<void> {
  if (uuid === null) return pin(host, bus_address, type)
  const device = devicePath(bus_address)
  const there = async () => (await host.link(`${device}/${uuid}/mdev_type`))?.split('/').at(-1) === type
  const path = `${device}/mdev_supported_types/${type}/create`
  await writeVerified(host, { path, text: uuid, what: `make a vGPU of type ${type} on ${bus_address}`, holds: there })
}

async function pin(host: Host, bus_address: string, type: string): Promise<void> {
  const path = `${devicePath(bus_address)}/nvidia/current_vgpu_type`
  const is = async () => (await textOf(host, path)) === type
  await writeVerified(host, { path, text: type, what: `pin ${bus_address} to vGPU type ${type}`, holds: is })
}
