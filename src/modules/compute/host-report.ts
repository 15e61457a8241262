// Why no host takes a virtual machine: what each has free, and everything that rules it out. For those who run the platform
// alone: hosts belong to no tenant.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, integerOf, numberOf, type Raw, rowsOf, textOf, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import { described, lackingRoom } from './cluster-room.ts'

const MIB = 1024 * 1024
/** The nearest to fitting; a site may have hundreds. */
const NAMED_HOSTS = 8

/** What a host must have, and where it must be. */
export interface Placement {
  cpu_cores: number | null
  cpu_speed_mhz: number | null
  memory_mb: number | null
  /** Says tags and GPUs. */
  offering: Raw | undefined
  uefi: boolean
  zone_id: string | null
  host_id?: string | undefined
  cluster_id?: string | undefined
  pod_id?: string | undefined
  affinity_group_ids: readonly string[]
  /** One that exists: what it holds itself counts as free. */
  vm_id?: string
}

/** `known_full`: the clusters that would pass a threshold, where they are known. `Hosts: kvm-01 (1200 MHz and 512 MiB free): too little memory, no tag gpu; kvm-02 (…): in Maintenance.` */
export async function hostReport(
  cloudstack: CloudStack,
  wanted: Placement,
  known_full?: ReadonlyMap<string, string>,
): Promise<string> {
  const profile_id = wanted.offering === undefined ? null : textOf(wanted.offering, 'vgpuprofileid')
  const [hosts, full, gpus, taken] = await Promise.all([
    hostsOf(cloudstack, wanted),
    known_full ?? fullClusters(cloudstack, wanted),
    profile_id === null ? undefined : freeGpus(cloudstack, profile_id, wanted.vm_id),
    takenHosts(cloudstack, wanted),
  ])
  const lines = hosts
    .map((host) => lineOf(host, wanted, { full, gpus, taken }))
    .toSorted((one, other) => one.reasons.length - other.reasons.length || other.memory_mb - one.memory_mb)
  if (lines.length === 0) return 'There is no host where this may go.'
  const shown = lines.slice(0, NAMED_HOSTS).map(({ text, reasons }) => `${text}: ${reasons.join(', ') || FITS}`)
  const more = lines.length - shown.length
  return `Hosts: ${shown.join('; ')}${more === 0 ? '' : `; and ${more} more`}.`
}

const FITS = 'has room, so storage, network or the rights of the owner rule it out'

async function hostsOf(cloudstack: CloudStack, { zone_id, host_id, cluster_id, pod_id }: Placement): Promise<Raw[]> {
  const args = { type: 'Routing', details: 'min,capacity', zoneid: zone_id ?? undefined, id: host_id }
  const hosts: Raw[] = []
  for await (const host of cloudstack.listAll('listHosts', args, { key: 'host', read: (row) => row })) {
    if (cluster_id !== undefined && textOf(host, 'clusterid') !== cluster_id) continue
    if (pod_id === undefined || textOf(host, 'podid') === pod_id) hosts.push(host)
  }
  return hosts
}

/** Clusters that the planner leaves out, whatever their hosts have free. */
async function fullClusters(cloudstack: CloudStack, wanted: Placement): Promise<Map<string, string>> {
  const need = { cpu_mhz: mhzOf(wanted), memory_mb: wanted.memory_mb }
  const found = new Map<string, string>()
  await Promise.all(
    (await cloudstack.lookups.clusters()).map(async (cluster) => {
      const id = textOf(cluster, 'id') ?? ''
      const name = textOf(cluster, 'name')
      const allocation = textOf(cluster, 'allocationstate')
      if (allocation === 'Disabled') found.set(id, `cluster ${name} is Disabled`)
      else if ((await lackingRoom(cloudstack, cluster, need)) !== undefined) found.set(id, fullSentence(cluster))
    }),
  )
  return found
}

export function fullSentence(cluster: Raw): string {
  return `cluster ${textOf(cluster, 'name')} would pass its threshold`
}

/** Free devices of a profile by host; those of the machine itself count. */
export async function freeGpus(
  cloudstack: CloudStack,
  profile_id: string,
  vm_id: string | undefined,
): Promise<Map<string, number>> {
  const free = new Map<string, number>()
  const item = { key: 'gpudevice', read: (row: Raw) => row }
  for await (const device of cloudstack.listAll('listGpuDevices', { vgpuprofileid: profile_id }, item)) {
    const own = vm_id !== undefined && textOf(device, 'virtualmachineid') === vm_id
    if (textOf(device, 'managedstate') !== 'Managed' || (textOf(device, 'state') !== 'Free' && !own)) continue
    const host_id = textOf(device, 'hostid') ?? ''
    free.set(host_id, (free.get(host_id) ?? 0) + 1)
  }
  return free
}

/** Hosts where another member of one of the machine's anti-affinity groups runs, with its name. */
async function takenHosts(cloudstack: CloudStack, wanted: Placement): Promise<Map<string, string>> {
  const taken = new Map<string, string>()
  for (const id of wanted.affinity_group_ids) {
    const group = await findOne(cloudstack, 'listAffinityGroups', 'affinitygroup', { id, ...WHOLE_SCOPE })
    if (group === undefined || textOf(group, 'type') !== 'host anti-affinity') continue
    const args = { affinitygroupid: id, details: 'min', ...WHOLE_SCOPE }
    const item = { key: 'virtualmachine', read: (row: Raw) => row }
    for await (const vm of cloudstack.listAll('listVirtualMachines', args, item)) {
      const host_id = textOf(vm, 'hostid')
      if (host_id !== null && textOf(vm, 'id') !== wanted.vm_id)
        taken.set(host_id, `${textOf(vm, 'name')} of affinity group ${textOf(group, 'name')} runs there`)
    }
  }
  return taken
}

interface Known {
  full: ReadonlyMap<string, string>
  gpus: ReadonlyMap<string, number> | undefined
  taken: ReadonlyMap<string, string>
}

function lineOf(host: Raw, wanted: Placement, { full, gpus, taken }: Known) {
  const id = textOf(host, 'id') ?? ''
  const free_mhz = left(numberOf(host, 'cpuwithoverprovisioning'), numberOf(host, 'cpuallocatedvalue'))
  const free_mb = left(
    numberOf(host, 'memorywithoverprovisioning') ?? numberOf(host, 'memorytotal'),
    numberOf(host, 'memoryallocatedbytes') ?? numberOf(host, 'memoryallocated'),
    MIB,
  )
  const free_gpus = gpus === undefined ? null : (gpus.get(id) ?? 0)
  const reasons = [
    ...unusable(host),
    ...[full.get(textOf(host, 'clusterid') ?? '')].filter((text) => text !== undefined),
    ...tooLittle(host, wanted, { free_mhz, free_mb, free_gpus }),
    ...missingTags(host, wanted.offering),
    ...(wanted.uefi && flagOf(host, 'ueficapability') === false ? ['cannot start machines with UEFI'] : []),
    ...[taken.get(id)].filter((text) => text !== undefined),
  ]
  const free = [
    `${free_mhz ?? 'unknown'} MHz`,
    `${free_mb ?? 'unknown'} MiB`,
    ...(free_gpus === null ? [] : [`${free_gpus} GPUs`]),
  ]
  return { text: `${textOf(host, 'name')} (${free.join(', ')} free)`, reasons, memory_mb: free_mb ?? 0 }
}

function left(total: number | null, used: number | null, unit = 1): number | null {
  return total === null || used === null ? null : Math.max(0, Math.floor((total - used) / unit))
}

function unusable(host: Raw): string[] {
  const [state, resource_state] = [textOf(host, 'state'), textOf(host, 'resourcestate')]
  return [
    ...(state === 'Up' ? [] : [`is ${state ?? 'in an unknown state'}`]),
    ...(resource_state === 'Enabled'
      ? []
      : [
          `is ${resource_state === 'Maintenance' ? 'in Maintenance' : (resource_state ?? 'in an unknown resource state')}`,
        ]),
  ]
}

interface Free {
  free_mhz: number | null
  free_mb: number | null
  free_gpus: number | null
}

function tooLittle(host: Raw, wanted: Placement, { free_mhz, free_mb, free_gpus }: Free): string[] {
  const { cpu_cores, memory_mb, offering } = wanted
  const cores = integerOf(host, 'cpunumber')
  const need_mhz = mhzOf(wanted) ?? 0
  const need_gpus = offering === undefined ? 0 : (integerOf(offering, 'gpucount') ?? 1)
  return [
    ...(cores !== null && (cpu_cores ?? 0) > cores ? [`has ${cores} of ${cpu_cores} cores`] : []),
    ...(free_mhz !== null && need_mhz > free_mhz ? [`too little CPU (needs ${need_mhz} MHz)`] : []),
    ...(free_mb !== null && (memory_mb ?? 0) > free_mb ? [`too little memory (needs ${memory_mb} MiB)`] : []),
    ...(free_gpus !== null && need_gpus > free_gpus ? [`too few GPUs (needs ${need_gpus})`] : []),
  ]
}

function missingTags(host: Raw, offering: Raw | undefined): string[] {
  const has = new Set(offering === undefined ? [] : textsOf(host, 'hosttags'))
  return (offering === undefined ? [] : textsOf(offering, 'hosttags'))
    .filter((tag) => !has.has(tag))
    .map((tag) => `has no tag ${tag}`)
}

type Wish = Pick<Placement, 'host_id' | 'cluster_id' | 'pod_id'>

/** The same error with what the machine needs, and with the report beside what the platform said, when its planner found no place. */
export async function withHostReport(
  cloudstack: CloudStack,
  error: unknown,
  vm_id: string | undefined,
  { args, signal }: { args: Readonly<Record<string, string>>; signal: AbortSignal },
): Promise<unknown> {
  if (vm_id === undefined || !(error instanceof ApiError || error instanceof UpstreamError)) return error
  const { code, message, upstream_message = '' } = asApiError(error, null)
  if (code !== 'CAPACITY_EXCEEDED') return error
  try {
    const asked = { id: vm_id, ...WHOLE_SCOPE }
    const vm = await findOne(cloudstack, 'listVirtualMachines', 'virtualmachine', asked, { signal })
    if (vm === undefined) return error
    const wish: Wish = { host_id: args['hostid'], cluster_id: args['clusterid'], pod_id: args['podid'] }
    const wanted = { ...(await placementOf(cloudstack, vm)), ...wish }
    const report = await hostReport(cloudstack, wanted)
    const need = described({ cpu_mhz: mhzOf(wanted), memory_mb: wanted.memory_mb })
    return new ApiError(code, `${message} The virtual machine needs ${need}.`, {
      cause: error,
      upstream_message: `${upstream_message.replace(/[^.]$/, '$&.')} ${report}`.trim(),
    })
  } catch (failure) {
    // The report is an addition: without it the error stands as it is.
    if (failure instanceof UpstreamError) return error
    throw failure
  }
}

function mhzOf({ cpu_cores, cpu_speed_mhz }: Pick<Placement, 'cpu_cores' | 'cpu_speed_mhz'>): number | null {
  return cpu_cores === null || cpu_speed_mhz === null ? null : cpu_cores * cpu_speed_mhz
}

async function placementOf(cloudstack: CloudStack, vm: Raw): Promise<Placement> {
  const asked = { id: textOf(vm, 'serviceofferingid') ?? '', listall: true }
  return {
    cpu_cores: integerOf(vm, 'cpunumber'),
    cpu_speed_mhz: integerOf(vm, 'cpuspeed'),
    memory_mb: integerOf(vm, 'memory'),
    offering: await findOne(cloudstack, 'listServiceOfferings', 'serviceoffering', asked),
    uefi: textOf(vm, 'boottype')?.toUpperCase() === 'UEFI',
    zone_id: textOf(vm, 'zoneid'),
    affinity_group_ids: rowsOf(vm, 'affinitygroup').map((group) => textOf(group, 'id') ?? ''),
    vm_id: textOf(vm, 'id') ?? '',
  }
}
