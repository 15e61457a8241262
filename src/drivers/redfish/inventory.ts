// Everything a BMC tells of its machine, branch by branch: one that cannot be read loses nothing of the others.
import type { BmcInventory } from '#src/contract/bmc/machine.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { type Bmc, membersOf, optional } from './bmc.ts'
import { type Document, documentAt, flagAt, linkAt, linksAt, listAt, numberAt, textAt, textsAt } from './document.ts'
import { readFirmware } from './firmware.ts'
import { readMediaSlots } from './media.ts'
import { readResetTypes } from './power.ts'
import { RedfishError } from './redfish-error.ts'
import { jobSource } from './remote-jobs.ts'

/** What was read, before it is stored and compared with the one before. */
export type MachineInventory = Omit<BmcInventory, 'changes'>

/** The whole walk; what was not read by then is unavailable. */
const BUDGET_MS = 100_000

interface Walk {
  bmc: Bmc
  signal: AbortSignal
  branches: MachineInventory['branches']
}

/** Throws only when the BMC cannot be spoken to at all. */
export async function readInventory(bmc: Bmc, signal?: AbortSignal): Promise<MachineInventory> {
  const budget = AbortSignal.timeout(BUDGET_MS)
  const walk: Walk = { bmc, branches: [], signal: signal === undefined ? budget : AbortSignal.any([signal, budget]) }
  const graph = await bmc.graph({ signal: walk.signal })
  const system = await bmc.client.get(graph.system_path, { signal: walk.signal })
  const under = (name: string): Promise<Member[]> => members(walk, linkAt(system, name))
  const processors = await branch(walk, 'cpu', [], () => under('Processors'))
  const dimms = await branch(walk, 'memory', [], () => under('Memory'))
  const storage = await branch(walk, 'drives', [], () => storageOf(walk, system))
  const volumes = await branch(walk, 'volumes', [], () => volumesOf(walk, storage))
  const chassis = await branch(walk, 'psu', [], () => powerSupplies(walk, system))
  const nics = await branch(walk, 'nics', [], () => under('EthernetInterfaces'))
  const firmware = await branch(walk, 'firmware', [], () => readFirmware(bmc, { signal: walk.signal }))
  const manager = await branch(walk, 'manager', {}, () =>
    optional(bmc.client, graph.manager_path, { signal: walk.signal }),
  )
  const manager_mac = await managerMac(walk, manager)
  const capabilities = await capabilitiesOf(walk, graph.root, graph.dialect)
  return {
    bmc_ip: bmc.bmc_ip,
    collected_at: new Date().toISOString(),
    complete: walk.branches.every(({ status }) => status !== 'unavailable'),
    branches: walk.branches,
    system: systemOf(system),
    cpu: processors.filter(({ document }) => isCpu(document)).map(cpuOf),
    gpu: processors.filter(({ document }) => textAt(document, 'ProcessorType') === 'GPU').map(gpuOf),
    memory: {
      total_gib: numberAt(system, 'MemorySummary', 'TotalSystemMemoryGiB'),
      dimms: dimms.filter(isFilled).map(dimmOf),
    },
    drives: storage.map(driveOf),
    volumes,
    nics: nics.map(nicOf),
    psu: chassis.map(psuOf),
    firmware: firmware.map(({ id, name, version, updateable }) => ({ id, name, version, updateable })),
    manager: {
      model: textAt(manager, 'Model'),
      firmware: textAt(manager, 'FirmwareVersion'),
      mac: manager_mac,
      time: textAt(manager, 'DateTime'),
      drift_seconds: driftOf(textAt(manager, 'DateTime')),
    },
    capabilities,
  }
}

/** Runs one branch and says how it went. */
async function branch<T>({ branches, signal }: Walk, name: string, otherwise: T, read: () => Promise<T>): Promise<T> {
  try {
    signal.throwIfAborted()
    const value = await read()
    const is_empty = Array.isArray(value)
      ? value.length === 0
      : typeof value === 'object' && Object.keys(value ?? {}).length === 0
    branches.push({ name, status: is_empty ? 'absent' : 'ok', reason: is_empty ? 'the BMC shows none' : null })
    return value
  } catch (error) {
    const absent = isAbsent(error)
    const known = error instanceof RedfishError || error instanceof ApiError || signal.aborted
    if (!known) throw error
    const reason = signal.aborted
      ? 'not read in time'
      : error instanceof RedfishError
        ? reasonOf(error)
        : 'not supported'
    branches.push({ name, status: absent ? 'absent' : 'unavailable', reason })
    return otherwise
  }
}

function isAbsent(error: unknown): boolean {
  return (
    (error instanceof RedfishError && error.problem === 'unsupported') ||
    (error instanceof ApiError && error.code === 'BMC_UNSUPPORTED')
  )
}

function reasonOf({ failure, status }: RedfishError): string {
  if (status !== undefined) return `the BMC answers ${status}`
  return failure === 'timeout' ? 'no answer in time' : 'no answer'
}

interface Member {
  /** By the path that was asked: services name other paths in their documents. */
  path: string
  document: Document
}

async function members({ bmc, signal }: Walk, path: string | null): Promise<Member[]> {
  const found: Member[] = []
  for (const one of await membersOf(bmc.client, path, { signal })) {
    // One that is listed and not there is no reason to lose the others.
    const document = await optional(bmc.client, one, { signal })
    if (Object.keys(document).length > 0) found.push({ path: one, document })
  }
  return found
}

const idOf = ({ path, document }: Member): string => textAt(document, 'Id') ?? path.split('/').at(-1) ?? ''
const healthOf = (document: Document): string | null =>
  textAt(document, 'Status', 'Health') ?? textAt(document, 'Status', 'HealthRollup')
const isFilled = ({ document }: Member): boolean => textAt(document, 'Status', 'State') !== 'Absent'

function systemOf(system: Document): MachineInventory['system'] {
  return {
    manufacturer: textAt(system, 'Manufacturer'),
    model: textAt(system, 'Model'),
    serial: textAt(system, 'SerialNumber'),
    sku: textAt(system, 'SKU'),
    uuid: textAt(system, 'UUID'),
    part_number: textAt(system, 'PartNumber'),
    asset_tag: textAt(system, 'AssetTag'),
    bios_version: textAt(system, 'BiosVersion'),
    host_name: textAt(system, 'HostName'),
    power_state: textAt(system, 'PowerState'),
    boot_mode: textAt(system, 'Boot', 'BootSourceOverrideMode'),
    health: healthOf(system),
    indicator: textAt(system, 'IndicatorLED'),
  }
}

function isCpu(document: Document): boolean {
  const type = textAt(document, 'ProcessorType')
  return (type === null || type === 'CPU') && textAt(document, 'Status', 'State') !== 'Absent'
}

function cpuOf(member: Member): MachineInventory['cpu'][number] {
  const { document } = member
  return {
    id: idOf(member),
    model: textAt(document, 'Model'),
    manufacturer: textAt(document, 'Manufacturer'),
    architecture: textAt(document, 'ProcessorArchitecture'),
    socket: textAt(document, 'Socket'),
    cores: numberAt(document, 'TotalCores'),
    threads: numberAt(document, 'TotalThreads'),
    max_mhz: numberAt(document, 'MaxSpeedMHz'),
    microcode: textAt(document, 'ProcessorId', 'MicrocodeInfo'),
    health: healthOf(document),
  }
}

function gpuOf(member: Member): MachineInventory['gpu'][number] {
  const { document } = member
  return {
    id: idOf(member),
    model: textAt(document, 'Model'),
    manufacturer: textAt(document, 'Manufacturer'),
    uuid: textAt(document, 'UUID'),
    firmware: textAt(document, 'FirmwareVersion'),
    health: healthOf(document),
  }
}

function dimmOf(member: Member): MachineInventory['memory']['dimms'][number] {
  const { document } = member
  return {
    id: idOf(member),
    slot: textAt(document, 'DeviceLocator') ?? textAt(document, 'Location', 'PartLocation', 'ServiceLabel'),
    size_mib: numberAt(document, 'CapacityMiB'),
    type: textAt(document, 'MemoryDeviceType'),
    speed_mhz: numberAt(document, 'OperatingSpeedMhz'),
    manufacturer: textAt(document, 'Manufacturer'),
    part_number: textAt(document, 'PartNumber'),
    serial: textAt(document, 'SerialNumber'),
    health: healthOf(document),
  }
}

interface Drive extends Member {
  controller: string | null
  controller_path: string | null
}

/** Drives of the storage controllers; else devices of the older resource, which have no paths of their own. */
async function storageOf(walk: Walk, system: Document): Promise<Drive[]> {
  const { bmc, signal } = walk
  const drives: Drive[] = []
  const storage = await members(walk, linkAt(system, 'Storage')).catch((error: unknown) => {
    if (isAbsent(error)) return []
    throw error
  })
  for (const { path, document } of storage) {
    const controller = textAt(document, 'Name')
    for (const drive of linksAt(document, 'Drives')) {
      drives.push({ path: drive, document: await bmc.client.get(drive, { signal }), controller, controller_path: path })
    }
  }
  if (drives.length > 0) return drives
  for (const { path, document } of await members(walk, linkAt(system, 'SimpleStorage'))) {
    const controller = textAt(document, 'Name')
    listAt(document, 'Devices').forEach((device, index) => {
      drives.push({ path: `${path}#${index}`, document: device, controller, controller_path: null })
    })
  }
  return drives
}

function driveOf(drive: Drive): MachineInventory['drives'][number] {
  const { document, controller } = drive
  const wwn = listAt(document, 'Identifiers')
    .map((one) => textAt(one, 'DurableName'))
    .find((name) => name !== null)
  return {
    id: idOf(drive),
    name: textAt(document, 'Name'),
    model: textAt(document, 'Model'),
    manufacturer: textAt(document, 'Manufacturer'),
    serial: textAt(document, 'SerialNumber'),
    wwn: wwn ?? null,
    size_bytes: numberAt(document, 'CapacityBytes'),
    media_type: textAt(document, 'MediaType'),
    protocol: textAt(document, 'Protocol'),
    speed_gbps: numberAt(document, 'CapableSpeedGbs'),
    failure_predicted: flagAt(document, 'FailurePredicted'),
    life_left_percent: numberAt(document, 'PredictedMediaLifeLeftPercent'),
    encryption: textAt(document, 'EncryptionAbility'),
    location: textAt(document, 'PhysicalLocation', 'PartLocation', 'ServiceLabel'),
    controller,
    health: healthOf(document),
  }
}

async function volumesOf(walk: Walk, drives: readonly Drive[]): Promise<MachineInventory['volumes']> {
  const controllers = new Set(drives.flatMap(({ controller_path }) => controller_path ?? []))
  const found: MachineInventory['volumes'] = []
  for (const path of controllers) {
    const controller = await walk.bmc.client.get(path, { signal: walk.signal })
    for (const volume of await members(walk, linkAt(controller, 'Volumes'))) {
      found.push({
        id: idOf(volume),
        name: textAt(volume.document, 'Name'),
        raid_type: textAt(volume.document, 'RAIDType') ?? textAt(volume.document, 'VolumeType'),
        size_bytes: numberAt(volume.document, 'CapacityBytes'),
        drives: linksAt(volume.document, 'Links', 'Drives').map((one) => one.split('/').at(-1) ?? ''),
      })
    }
  }
  return found
}

function nicOf(member: Member): MachineInventory['nics'][number] {
  const { document } = member
  const mac = macOf(textAt(document, 'MACAddress'))
  const is_vlan = flagAt(document, 'VLAN', 'VLANEnable') === true || documentAt(document, 'VLAN').VLANId !== undefined
  const to_host = /host.*interface|usb|to host|host to/i.test(
    `${textAt(document, 'Name') ?? ''} ${textAt(document, 'Description') ?? ''}`,
  )
  return {
    id: idOf(member),
    name: textAt(document, 'Name'),
    mac,
    permanent_mac: macOf(textAt(document, 'PermanentMACAddress')),
    speed_mbps: numberAt(document, 'SpeedMbps'),
    link: textAt(document, 'LinkStatus'),
    virtual: is_vlan || to_host || /^vlan/i.test(idOf(member)),
  }
}

/** One spelling: twelve digits in lower case with colons. */
export function macOf(text: string | null): string | null {
  const digits = (text ?? '').replaceAll(/[^0-9a-f]/gi, '').toLowerCase()
  return digits.length === 12 ? (digits.match(/../g)?.join(':') ?? null) : null
}

/** In the newer subsystem, else in the older power resource. */
async function powerSupplies(walk: Walk, system: Document): Promise<Member[]> {
  const { bmc, signal } = walk
  const found: Member[] = []
  for (const path of linksAt(system, 'Links', 'Chassis')) {
    const chassis = await bmc.client.get(path, { signal, optional: true })
    const subsystem = await optional(bmc.client, linkAt(chassis, 'PowerSubsystem'), { signal })
    const newer = await members(walk, linkAt(subsystem, 'PowerSupplies')).catch((error: unknown) => {
      if (isAbsent(error)) return []
      throw error
    })
    if (newer.length > 0) {
      found.push(...newer)
      continue
    }
    const power = await optional(bmc.client, linkAt(chassis, 'Power'), { signal })
    listAt(power, 'PowerSupplies').forEach((document, index) =>
      found.push({ path: `${path}/Power/${index}`, document }),
    )
  }
  return found
}

function psuOf(member: Member): MachineInventory['psu'][number] {
  const { document } = member
  return {
    id: textAt(document, 'MemberId') ?? idOf(member),
    name: textAt(document, 'Name'),
    model: textAt(document, 'Model'),
    serial: textAt(document, 'SerialNumber'),
    watts: numberAt(document, 'PowerCapacityWatts'),
    input_state: textAt(document, 'LineInputStatus') ?? textAt(document, 'LineInputVoltageType'),
    health: healthOf(document),
  }
}

async function managerMac(walk: Walk, manager: Document): Promise<string | null> {
  const own: Walk = { ...walk, branches: [] }
  const [first] = await branch(own, 'manager', [], () => members(walk, linkAt(manager, 'EthernetInterfaces')))
  return first === undefined ? null : macOf(textAt(first.document, 'MACAddress'))
}

/** Services write times that cannot be read; then nothing is known. */
function driftOf(text: string | null): number | null {
  const at = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(at) ? null : Math.round((at - Date.now()) / 1000)
}

async function capabilitiesOf(
  walk: Walk,
  root: Document,
  dialect: MachineInventory['capabilities']['dialect'],
): Promise<MachineInventory['capabilities']> {
  const { bmc, signal } = walk
  const quiet: Walk = { ...walk, branches: [] }
  const resets = await branch(quiet, 'resets', null, () => readResetTypes(bmc, { signal }))
  const slots = await branch(quiet, 'media', [], () => readMediaSlots(bmc, { signal }))
  const jobs = await branch(quiet, 'jobs', null, () => jobSource(bmc, { signal }))
  const bios = linkAt((await bmc.graph({ signal })).system, 'Bios')
  const settings = await branch(quiet, 'bios', {}, () => optional(bmc.client, bios, { signal }))
  const events = await branch(quiet, 'events', {}, () => optional(bmc.client, linkAt(root, 'EventService'), { signal }))
  return {
    dialect,
    reset_types: resets?.listed === true ? resets.types : [],
    media_slots: slots.filter(({ insert }) => insert !== null).map(({ id }) => id),
    apply_times: textsAt(settings, '@Redfish.Settings', 'SupportedApplyTimes'),
    job_source: jobs?.source ?? 'none',
    sessions: bmc.client.login() === 'session',
    event_stream: textAt(events, 'ServerSentEventUri') !== null,
  }
}
