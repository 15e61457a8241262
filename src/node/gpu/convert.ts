// Changes what a GPU is for: given away whole (vfio-pci), cut into parts (the maker's driver with virtual functions), or
// left to its own driver. Everything is read first; what is so already is not written.
import type { AgentGpuConvert, NodeGpu } from '#src/contract/nodes/agent-gpu.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { devicePath, driverOf, readGpu, textOf } from './inventory.ts'
import { writeVerified } from './verified-write.ts'

const DRIVERS = '/sys/bus/pci/drivers'
const PROBE = '/sys/bus/pci/drivers_probe'
const VFIO = 'vfio-pci'
const BRIDGE_CLASS = '0x06'

type Mode = AgentGpuConvert['mode']

/** Checks every GPU before the first is touched. */
export async function convertGpus(host: Host, { bus_addresses, mode }: AgentGpuConvert): Promise<void> {
  const gpus: NodeGpu[] = []
  for (const bus_address of bus_addresses) {
    const gpu = await requireGpu(host, bus_address)
    await requirePossible(host, gpu, mode)
    gpus.push(gpu)
  }
  for (const gpu of gpus) if (gpu.mode !== mode) await convertOne(host, gpu, mode)
}

export async function requireGpu(host: Host, bus_address: string): Promise<NodeGpu> {
  const gpu = await readGpu(host, bus_address)
  if (gpu === null) throw new ApiError('GPU_DEVICE_NOT_FOUND', `The node has no GPU at ${bus_address}.`)
  return gpu
}

async function requirePossible(host: Host, gpu: NodeGpu, mode: Mode): Promise<void> {
  const { bus_address } = gpu
  if (gpu.mode === mode) return
  if (gpu.console) throw unsupported(`${bus_address} shows the console of the node.`)
  if (gpu.vgpus.length > 0)
    throw new ApiError('GPU_DEVICE_IN_USE', `${bus_address} is cut into ${gpu.vgpus.length} vGPUs; remove them first.`)
  if (mode !== 'passthrough') return
  if (gpu.iommu_group === null) throw unsupported('The IOMMU of the node is off; passthrough needs it.')
  if ((await host.list(`${DRIVERS}/${VFIO}`)) === null)
    throw unsupported('The driver vfio-pci is not loaded on the node.')
  const outsiders = (await groupMembers(host, gpu)).filter(
    (member) => slotOf(member) !== slotOf(bus_address) && !gpu.virtual_functions.includes(member),
  )
  if (outsiders.length > 0)
    throw unsupported(
      `${bus_address} shares its IOMMU group with ${outsiders.join(', ')}, which would have to go with it.`,
    )
}

async function convertOne(host: Host, gpu: NodeGpu, mode: Mode): Promise<void> {
  if (mode !== 'vgpu') await setVirtualFunctions(host, gpu, 0)
  if (mode === 'passthrough') {
    for (const member of await companions(host, gpu)) await bind(host, member, VFIO)
    return
  }
  for (const member of await companions(host, gpu)) await bind(host, member, null)
  if (mode === 'vgpu') await cut(host, gpu)
}

/** The maker's driver must make it cuttable: with virtual functions, or by offering types of vGPUs. */
async function cut(host: Host, before: NodeGpu): Promise<void> {
  const gpu = await requireGpu(host, before.bus_address)
  if (gpu.max_virtual_functions !== null) await setVirtualFunctions(host, gpu, gpu.max_virtual_functions)
  const after = await requireGpu(host, gpu.bus_address)
  if (after.mode !== 'vgpu') {
    throw new ApiError(
      'GPU_CHANGE_FAILED',
      `The driver ${after.driver ?? 'of none'} offers no vGPUs of ${gpu.bus_address}; is it the maker’s driver for vGPUs?`,
    )
  }
}

async function setVirtualFunctions(host: Host, gpu: NodeGpu, wanted: number): Promise<void> {
  const path = `${devicePath(gpu.bus_address)}/sriov_numvfs`
  const present = async () => Number((await textOf(host, path)) ?? '0')
  const now = await present()
  if (now === wanted) return
  const what = `give ${gpu.bus_address} ${wanted} virtual functions`
  // The kernel changes the number by way of none only.
  if (now !== 0 && wanted !== 0)
    await writeVerified(host, { path, text: '0', what, holds: async () => (await present()) === 0 })
  await writeVerified(host, { path, text: String(wanted), what, holds: async () => (await present()) === wanted })
}

/** Holds the function by this driver, or by the one that the kernel chooses. */
async function bind(host: Host, bus_address: string, driver: string | null): Promise<void> {
  const path = devicePath(bus_address)
  const override = async () => driverName(await textOf(host, `${path}/driver_override`))
  const held_by = () => driverOf(host, bus_address)
  const held = await held_by()
  if (driver === null ? held !== null && held !== VFIO : held === driver) return
  await writeVerified(host, {
    path: `${path}/driver_override`,
    text: `${driver ?? ''}\n`,
    what: `prefer ${driver ?? 'no driver'} for ${bus_address}`,
    holds: async () => (await override()) === driver,
  })
  if (held !== null) {
    await writeVerified(host, {
      path: `${DRIVERS}/${held}/unbind`,
      text: bus_address,
      what: `take ${bus_address} from ${held}`,
      holds: async () => (await held_by()) === null,
    })
  }
  await writeVerified(host, {
    path: PROBE,
    text: bus_address,
    what: `give ${bus_address} to ${driver ?? 'its own driver'}`,
    holds: async () => {
      const now = await held_by()
      return driver === null ? now !== null && now !== VFIO : now === driver
    },
  })
}

/** The kernel shows "(null)" where nothing is preferred. */
function driverName(text: string | null): string | null {
  return text === null || text === '' || text === '(null)' ? null : text
}

/** The GPU and what sits in the same slot and group, such as its sound: all must go together. The GPU comes last. */
async function companions(host: Host, gpu: NodeGpu): Promise<string[]> {
  const slot = slotOf(gpu.bus_address)
  const members = (await groupMembers(host, gpu)).filter(
    (member) => slotOf(member) === slot && !gpu.virtual_functions.includes(member),
  )
  const others = members.filter((member) => member !== gpu.bus_address)
  // For its own driver, sound chips may stay without one.
  const held: string[] = []
  for (const member of others) if ((await driverOf(host, member)) !== null) held.push(member)
  return [...held, gpu.bus_address]
}

async function groupMembers(host: Host, gpu: NodeGpu): Promise<string[]> {
  if (gpu.iommu_group === null) return [gpu.bus_address]
  const members = (await host.list(`/sys/kernel/iommu_groups/${gpu.iommu_group}/devices`)) ?? []
  const functions: string[] = []
  for (const member of members) {
    const device_class = await textOf(host, `${devicePath(member)}/class`)
    if (device_class?.startsWith(BRIDGE_CLASS) !== true) functions.push(member)
  }
  return functions
}

function slotOf(bus_address: string): string {
  return bus_address.slice(0, bus_address.lastIndexOf('.'))
}

function unsupported(sentence: string): ApiError {
  return new ApiError('GPU_MODE_UNSUPPORTED', sentence)
}
