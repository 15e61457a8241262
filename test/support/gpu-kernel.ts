// A kernel for GPUs: a folder that looks like /sys, and what the kernel does when its files are written. Each write is kept.
import {
  existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync,
} from 'node:fs' // biome-ignore format: one import
import { join } from 'node:path'
import { type Host, linuxHost } from '#src/kernel/host.ts'
import { tempFolder } from './temp-folder.ts'

export interface GpuKernel {
  host: Host
  /** `path text`, oldest first. */
  writes: string[]
  /** The next write to a path that ends like this is refused, as the kernel does. */
  refuse(ending: string): void
  remove(): void
}

export interface PlantedGpu {
  bus_address: string
  /** Driver that holds it at the start, and the one that the kernel chooses by itself. */
  driver: string | null
  own_driver: string
  max_virtual_functions?: number
  /** mdev: types on the card itself. vendor: a type file in each virtual function. */
  kind: 'mdev' | 'vendor'
  console?: boolean
  group?: string
  /** For what is no GPU. */
  class?: string
}

export function gpuKernel(gpus: readonly PlantedGpu[], options: { vfio?: boolean } = {}): GpuKernel {
  const root = tempFolder('gp-sys-')
  const tree = sysTree(root, gpus)
  tree.plantAll(options.vfio !== false)
  const writes: string[] = []
  const refused: string[] = []
  const host: Host = {
    ...linuxHost({ sys_root: root }),
    async write(path, text) {
      writes.push(`${path.replace('/sys/bus/pci/', '')} ${text.trim()}`)
      const index = refused.findIndex((ending) => path.endsWith(ending))
      if (index >= 0) {
        refused.splice(index, 1)
        throw systemError('EBUSY')
      }
      written(tree, path, text)
      return Promise.resolve()
    },
  }
  return {
    host,
    writes,
    refuse: (ending) => refused.push(ending),
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}

const TYPES = [
  { type: 'nvidia-558', name: 'GRID A16-4Q', max: 4, framebuffer_mb: 4096 },
  { type: 'nvidia-559', name: 'GRID A16-8Q', max: 2, framebuffer_mb: 8192 },
]
const CREATABLE = 'ID    : vGPU Name\n558   : NVIDIA A16-4Q\n559   : NVIDIA A16-8Q\n'
const NOTHING_CREATABLE = 'ID    : vGPU Name\n'
const NO_OVERRIDE = '(null)\n'

type Tree = ReturnType<typeof sysTree>

/** The folder, and the few things that the kernel does to it. */
function sysTree(root: string, gpus: readonly PlantedGpu[]) {
  const device = (name: string): string => join(root, 'bus/pci/devices', name)
  const gpuAt = (name: string): PlantedGpu | undefined => gpus.find((one) => one.bus_address === name)
  const bind = (name: string, driver: string | null): void => {
    link(join(device(name), 'driver'), driver === null ? null : `../../../bus/pci/drivers/${driver}`)
    const gpu = gpuAt(name)
    const types = join(device(name), 'mdev_supported_types')
    rmSync(types, { recursive: true, force: true })
    if (gpu?.kind === 'mdev' && driver === gpu.own_driver && gpu.class === undefined) offerTypes(types)
  }
  const plant = (name: string, files: Record<string, string>, group: string): void => {
    mkdirSync(device(name), { recursive: true })
    for (const [file, text] of Object.entries({ ...files, driver_override: NO_OVERRIDE })) {
      writeFileSync(join(device(name), file), text)
    }
    link(join(device(name), 'iommu_group'), `../../../../kernel/iommu_groups/${group}`)
    mkdirSync(join(root, 'kernel/iommu_groups', group, 'devices', name), { recursive: true })
  }
  const plantAll = (with_vfio: boolean): void => {
    const drivers = new Set(
      gpus.flatMap(({ driver, own_driver }) => (driver === null ? [own_driver] : [driver, own_driver])),
    )
    if (with_vfio) drivers.add('vfio-pci')
    for (const name of drivers) mkdirSync(join(root, 'bus/pci/drivers', name), { recursive: true })
    for (const gpu of gpus) {
      const { bus_address, max_virtual_functions } = gpu
      const boot_vga = gpu.console === true ? '1\n' : '0\n'
      const functions =
        max_virtual_functions === undefined ? {} : { sriov_totalvfs: `${max_virtual_functions}\n`, sriov_numvfs: '0\n' }
      plant(
        bus_address,
        { ...files(gpu.class), numa_node: '-1\n', boot_vga, ...functions },
        gpu.group ?? bus_address.slice(5, 7),
      )
      bind(bus_address, gpu.driver)
    }
  }
  return { device, gpuAt, bind, plant, plantAll }
}

function files(device_class = '0x030200'): Record<string, string> {
  return { vendor: '0x10de\n', device: '0x25b6\n', class: `${device_class}\n` }
}

function offerTypes(folder: string): void {
  for (const { type, name, max, framebuffer_mb } of TYPES) {
    mkdirSync(join(folder, type), { recursive: true })
    const description = `num_heads=4, frl_config=60, framebuffer=${framebuffer_mb}M, max_resolution=7680x4320, max_instance=${max}\n`
    const all = { name: `${name}\n`, description, available_instances: `${max}\n`, create: '' }
    for (const [file, text] of Object.entries(all)) writeFileSync(join(folder, type, file), text)
  }
}

/** What follows when a file is written. */
function written(tree: Tree, path: string, text: string): void {
  const { device } = tree
  const [last = '', parent = '', above = '', top = ''] = path.split('/').toReversed()
  switch (last) {
    case 'unbind':
      return tree.bind(text, null)
    case 'drivers_probe':
      return probe(tree, text)
    case 'sriov_numvfs':
      return setFunctions(tree, parent, Number(text))
    case 'driver_override':
      return writeFileSync(join(device(parent), last), text.trim() === '' ? NO_OVERRIDE : text)
    case 'current_vgpu_type':
      writeFileSync(join(device(above), 'nvidia', last), `${text}\n`)
      return writeFileSync(
        join(device(above), 'nvidia/creatable_vgpu_types'),
        text === '0' ? CREATABLE : NOTHING_CREATABLE,
      )
    case 'create':
      return createMdev(tree, top, parent, text)
    case 'remove':
      return rmSync(join(device(above), parent), { recursive: true })
    default:
      throw new Error(`the kernel has no file ${path}`)
  }
}

function probe(tree: Tree, name: string): void {
  const override = readFileSync(join(tree.device(name), 'driver_override'), 'utf8')
  tree.bind(name, override === NO_OVERRIDE ? (tree.gpuAt(name)?.own_driver ?? null) : override.trim())
}

function setFunctions(tree: Tree, name: string, count: number): void {
  const { device } = tree
  const now = Number(readFileSync(join(device(name), 'sriov_numvfs'), 'utf8'))
  if (now !== 0 && count !== 0) throw systemError('EBUSY')
  for (let index = 0; index < now; index += 1) {
    rmSync(device(functionName(name, index)), { recursive: true })
    unlinkSync(join(device(name), `virtfn${index}`))
  }
  for (let index = 0; index < count; index += 1) {
    const vf = functionName(name, index)
    tree.plant(vf, { ...files(), numa_node: '0\n' }, `${name.slice(5, 7)}v${index}`)
    link(join(device(vf), 'physfn'), `../${name}`)
    link(join(device(name), `virtfn${index}`), `../${vf}`)
    tree.bind(vf, 'nvidia')
    mkdirSync(join(device(vf), 'nvidia'))
    writeFileSync(join(device(vf), 'nvidia/current_vgpu_type'), '0\n')
    writeFileSync(join(device(vf), 'nvidia/creatable_vgpu_types'), CREATABLE)
  }
  writeFileSync(join(device(name), 'sriov_numvfs'), `${count}\n`)
}

function createMdev({ device }: Tree, holder: string, type: string, uuid: string): void {
  const present = readdirSync(device(holder)).filter((one) => /^[0-9a-f-]{36}$/.test(one))
  if (present.length >= (TYPES.find((one) => one.type === type)?.max ?? 0)) throw systemError('EINVAL')
  mkdirSync(join(device(holder), uuid))
  writeFileSync(join(device(holder), uuid, 'remove'), '')
  link(join(device(holder), uuid, 'mdev_type'), `../mdev_supported_types/${type}`)
}

/** As many functions as a card has stand in the slots after it. */
function functionName(name: string, index: number): string {
  const slot = 4 + Math.floor(index / 8)
  return `${name.slice(0, 8)}${slot.toString(16).padStart(2, '0')}.${index % 8}`
}

function link(path: string, target: string | null): void {
  if (existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined) unlinkSync(path)
  if (target !== null) symlinkSync(target, path)
}

function systemError(code: string): Error {
  return Object.assign(new Error('refused'), { code })
}
