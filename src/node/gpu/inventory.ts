// The GPUs of this machine as /sys shows them: driver, virtual functions, and the vGPU types that the driver offers.
import type { GpuInstance, GpuVgpuType, NodeGpu } from '#src/contract/nodes/agent-gpu.ts'
import type { Host } from '#src/kernel/host.ts'

export const PCI_DEVICES = '/sys/bus/pci/devices'

/** PCI class 03: display controllers; 0302 are those without a screen of their own. */
const DISPLAY_CLASS = '0x03'
/** Makers of cards that can be given to machines; the small screen chips of BMCs are display controllers too. */
const GPU_VENDORS = new Set(['10de', '1002', '8086'])
const VIRTUAL_FUNCTION = /^virtfn(\d+)$/

export const devicePath = (bus_address: string): string => `${PCI_DEVICES}/${bus_address}`

export async function readGpus(host: Host): Promise<NodeGpu[]> {
  const names = (await host.list(PCI_DEVICES)) ?? []
  const gpus: NodeGpu[] = []
  for (const bus_address of names.toSorted()) {
    const gpu = await readGpu(host, bus_address)
    if (gpu !== null) gpus.push(gpu)
  }
  return gpus
}

/** Null for anything that is no whole GPU: a virtual function is part of one. */
export async function readGpu(host: Host, bus_address: string): Promise<NodeGpu | null> {
  const path = devicePath(bus_address)
  const vendor_id = await hexOf(host, `${path}/vendor`)
  const device_class = await textOf(host, `${path}/class`)
  if (vendor_id === null || !GPU_VENDORS.has(vendor_id) || device_class?.startsWith(DISPLAY_CLASS) !== true) return null
  if ((await host.link(`${path}/physfn`)) !== null) return null
  const virtual_functions = await virtualFunctions(host, bus_address)
  const vgpu = await readVgpus(host, virtual_functions.length > 0 ? virtual_functions : [bus_address])
  const max_virtual_functions = await numberIn(host, `${path}/sriov_totalvfs`)
  const driver = await driverOf(host, bus_address)
  const numa_node = await numberIn(host, `${path}/numa_node`)
  return {
    bus_address,
    vendor_id,
    device_id: (await hexOf(host, `${path}/device`)) ?? '',
    driver,
    mode: modeOf(driver, max_virtual_functions, virtual_functions, vgpu.vgpu_kind),
    console: (await textOf(host, `${path}/boot_vga`)) === '1',
    // -1 is how the kernel says that it does not know.
    numa_node: numa_node === null || numa_node < 0 ? null : numa_node,
    iommu_group: lastPart(await host.link(`${path}/iommu_group`)),
    virtual_functions,
    max_virtual_functions: max_virtual_functions === 0 ? null : max_virtual_functions,
    ...vgpu,
  }
}

function modeOf(
  driver: string | null,
  max: number | null,
  functions: readonly string[],
  kind: string | null,
): NodeGpu['mode'] {
  if (driver === null) return 'none'
  if (driver === 'vfio-pci') return 'passthrough'
  const is_cut = max !== null && max > 0 ? functions.length > 0 : kind !== null
  return is_cut ? 'vgpu' : 'host'
}

export async function driverOf(host: Host, bus_address: string): Promise<string | null> {
  return lastPart(await host.link(`${devicePath(bus_address)}/driver`))
}

async function virtualFunctions(host: Host, bus_address: string): Promise<string[]> {
  const path = devicePath(bus_address)
  const numbered: { number: number; name: string }[] = []
  for (const name of (await host.list(path)) ?? []) {
    const match = VIRTUAL_FUNCTION.exec(name)
    const target = match === null ? null : lastPart(await host.link(`${path}/${name}`))
    if (match !== null && target !== null) numbered.push({ number: Number(match[1]), name: target })
  }
  return numbered.toSorted((a, b) => a.number - b.number).map(({ name }) => name)
}

type Vgpus = Pick<NodeGpu, 'vgpu_kind' | 'vgpu_types' | 'vgpus'>

/** Holders are the virtual functions, or the GPU itself where it is cut without them. */
async function readVgpus(host: Host, holders: readonly string[]): Promise<Vgpus> {
  const types = new Map<string, GpuVgpuType>()
  const vgpus: GpuInstance[] = []
  let vgpu_kind: Vgpus['vgpu_kind'] = null
  for (const holder of holders) {
    const path = devicePath(holder)
    const current = await textOf(host, `${path}/nvidia/current_vgpu_type`)
    if (current !== null) {
      vgpu_kind = 'vendor'
      for (const type of parseCreatable(await host.read(`${path}/nvidia/creatable_vgpu_types`)))
        types.set(type.type, type)
      if (current !== '0') vgpus.push({ bus_address: holder, uuid: null, type: current })
      continue
    }
    const offered = await host.list(`${path}/mdev_supported_types`)
    if (offered === null) continue
    vgpu_kind = 'mdev'
    for (const type of offered) {
      const found = await mdevType(host, path, type)
      const before = types.get(type)
      types.set(type, before === undefined ? found : { ...found, available: added(before.available, found.available) })
    }
    vgpus.push(...(await mdevInstances(host, holder)))
  }
  return { vgpu_kind, vgpu_types: [...types.values()].toSorted((a, b) => a.type.localeCompare(b.type)), vgpus }
}

/** Lines of `<number> : <name>` below a heading. Only what can be made at this moment is listed. */
export function parseCreatable(text: string | null): GpuVgpuType[] {
  const types: GpuVgpuType[] = []
  for (const line of text?.split('\n') ?? []) {
    const match = /^\s*(\d+)\s*:\s*(\S.*?)\s*$/.exec(line)
    if (match?.[1] === undefined || match[2] === undefined) continue
    types.push({ ...UNKNOWN_SIZE, type: match[1], name: match[2] })
  }
  return types
}

const UNKNOWN_SIZE = {
  available: null, max_instances: null, video_ram_mb: null, max_heads: null, max_resolution_x: null, max_resolution_y: null,
} as const // biome-ignore format: one record

async function mdevType(host: Host, device: string, type: string): Promise<GpuVgpuType> {
  const path = `${device}/mdev_supported_types/${type}`
  return {
    type,
    name: await textOf(host, `${path}/name`),
    available: await numberIn(host, `${path}/available_instances`),
    ...parseDescription((await host.read(`${path}/description`)) ?? ''),
  }
}

/** `num_heads=4, frl_config=60, framebuffer=4096M, max_resolution=7680x4320, max_instance=4` */
export function parseDescription(text: string): Omit<GpuVgpuType, 'type' | 'name' | 'available'> {
  const whole = (pattern: RegExp): number | null => {
    const digits = pattern.exec(text)?.[1]
    return digits === undefined ? null : Number(digits)
  }
  return {
    max_instances: whole(/max_instance=(\d+)/),
    video_ram_mb: whole(/framebuffer=(\d+)M/),
    max_heads: whole(/num_heads=(\d+)/),
    max_resolution_x: whole(/max_resolution=(\d+)x\d+/),
    max_resolution_y: whole(/max_resolution=\d+x(\d+)/),
  }
}

const MDEV = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

async function mdevInstances(host: Host, holder: string): Promise<GpuInstance[]> {
  const path = devicePath(holder)
  const instances: GpuInstance[] = []
  for (const uuid of (await host.list(path)) ?? []) {
    const type = MDEV.test(uuid) ? lastPart(await host.link(`${path}/${uuid}/mdev_type`)) : null
    if (type !== null) instances.push({ bus_address: holder, uuid, type })
  }
  return instances
}

function added(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : a + b
}

function lastPart(target: string | null): string | null {
  return target?.split('/').at(-1) ?? null
}

export async function textOf(host: Host, path: string): Promise<string | null> {
  return (await host.read(path))?.trim() ?? null
}

async function numberIn(host: Host, path: string): Promise<number | null> {
  const text = await textOf(host, path)
  return text !== null && /^-?\d+$/.test(text) ? Number(text) : null
}

async function hexOf(host: Host, path: string): Promise<string | null> {
  return (await textOf(host, path))?.replace(/^0x/, '') ?? null
}
