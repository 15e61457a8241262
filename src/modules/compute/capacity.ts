// The check before a virtual machine is made: does any cluster of the zone stay below the threshold above which the
// platform's own planner refuses it (cloudstack.md 5)? A race remains; the platform's later rejection says the same.
import type { VmProvision } from '#src/contract/compute/vm-provision.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { integerOf, numberOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { type Capacity, clusterCapacity } from '#src/drivers/cloudstack/lookups.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Caller } from '#src/kernel/http/context.ts'

const DEFAULT_THRESHOLD = 0.85
const MIB = 1024 * 1024
const GIB = 1024 * MIB
const ALLOCATED_STORAGE = 3
const MEMORY = 0
const CPU = 1

interface Need {
  cpu_mhz: number | null
  memory_bytes: number | null
  storage_bytes: number
}

/** Throws CAPACITY_EXCEEDED before anything was made. What cannot be known does not refuse. */
export async function requireCapacity(cloudstack: CloudStack, body: VmProvision, caller: Caller): Promise<void> {
  const offering = (await cloudstack.lookups.serviceOfferings()).find(
    (row) => textOf(row, 'id') === body.service_offering_id,
  )
  const need = needOf(body, offering)
  // A machine that is not started takes disk space only.
  const starts = body.start !== false
  await Promise.all([
    starts ? requireCluster(cloudstack, body, need, caller) : undefined,
    starts && offering !== undefined ? requireGpus(cloudstack, offering, caller) : undefined,
    requireStorage(cloudstack, body.zone_id, need.storage_bytes, caller),
  ])
}

function needOf(body: VmProvision, offering: Raw | undefined): Need {
  const cores = body.cpu_cores ?? (offering === undefined ? null : integerOf(offering, 'cpunumber'))
  const speed_mhz = body.cpu_speed_mhz ?? (offering === undefined ? null : integerOf(offering, 'cpuspeed'))
  const memory_mb = body.memory_mb ?? (offering === undefined ? null : integerOf(offering, 'memory'))
  const data_gb = (body.data_disks ?? []).reduce((sum, disk) => sum + (disk.size_gb ?? 0), 0)
  return {
    cpu_mhz: cores === null || speed_mhz === null ? null : cores * speed_mhz,
    memory_bytes: memory_mb === null ? null : memory_mb * MIB,
    storage_bytes: ((body.root_disk_size_gb ?? 0) + (body.disk_size_gb ?? 0) + data_gb) * GIB,
  }
}

async function requireCluster(cloudstack: CloudStack, body: VmProvision, need: Need, caller: Caller): Promise<void> {
  const clusters = (await cloudstack.lookups.clusters()).filter(
    (row) =>
      textOf(row, 'zoneid') === body.zone_id &&
      textOf(row, 'allocationstate') !== 'Disabled' &&
      (body.cluster_id === undefined || textOf(row, 'id') === body.cluster_id) &&
      (body.pod_id === undefined || textOf(row, 'podid') === body.pod_id) &&
      (body.hypervisor === undefined || textOf(row, 'hypervisortype')?.toLowerCase() === body.hypervisor.toLowerCase()),
  )
  const answers = await Promise.allSettled(clusters.map((cluster) => roomIn(cloudstack, cluster, need)))
  const lacking: string[] = []
  for (const answer of answers) {
    if (answer.status === 'rejected') continue
    if (answer.value === undefined) return
    lacking.push(answer.value)
  }
  for (const answer of answers) if (answer.status === 'rejected') throw answer.reason
  // No cluster at all: the zone or cluster is wrong, which the platform says better than "full".
  if (clusters.length === 0) return
  const wanted = `The virtual machine needs ${described(need)}, and no cluster of the zone has that below its thresholds`
  const rooms = isTenant(caller) ? '' : `: ${lacking.join('; ')}`
  throw new ApiError('CAPACITY_EXCEEDED', `${wanted}${rooms}. Choose a smaller size or add capacity.`)
}

/** Clusters, hosts and storage belong to no tenant: who is limited to one learns nothing of them. */
function isTenant(caller: Caller): boolean {
  return caller.tenant_id !== null
}

function described({ cpu_mhz, memory_bytes }: Need): string {
  const parts = [
    ...(cpu_mhz === null ? [] : [`${cpu_mhz} MHz of CPU`]),
    ...(memory_bytes === null ? [] : [`${Math.round(memory_bytes / MIB)} MiB of memory`]),
  ]
  return parts.join(' and ')
}

const CPU_THRESHOLD = 'cluster.cpu.allocated.capacity.disablethreshold'
const MEMORY_THRESHOLD = 'cluster.memory.allocated.capacity.disablethreshold'

/** How much is left when it is too little; undefined when the machine fits. */
async function roomIn(cloudstack: CloudStack, cluster: Raw, need: Need): Promise<string | undefined> {
  const cluster_id = textOf(cluster, 'id') ?? ''
  const { setting } = cloudstack.lookups
  const [enabled, capacity, cpu, memory] = await Promise.all([
    setting('cluster.threshold.enabled', cluster_id),
    clusterCapacity(cloudstack.call, cluster_id),
    setting(CPU_THRESHOLD, cluster_id),
    setting(MEMORY_THRESHOLD, cluster_id),
  ])
  if (enabled === 0) return undefined
  const left_mhz = roomBelow(capacity.get(CPU), cpu ?? DEFAULT_THRESHOLD)
  const left_bytes = roomBelow(capacity.get(MEMORY), memory ?? DEFAULT_THRESHOLD)
  if ((need.cpu_mhz ?? 0) <= left_mhz && (need.memory_bytes ?? 0) <= left_bytes) return undefined
  const left = described({ cpu_mhz: whole(left_mhz), memory_bytes: whole(left_bytes), storage_bytes: 0 })
  return `${textOf(cluster, 'name')} has ${left}`
}

/** Used, which holds what is reserved, plus requested may come to the threshold; what is not known has room for all. */
function roomBelow(capacity: Capacity | undefined, threshold: number): number {
  if (capacity === undefined || capacity.total <= 0) return Number.POSITIVE_INFINITY
  return Math.max(0, capacity.total * threshold - capacity.used)
}

function whole(amount: number): number | null {
  return Number.isFinite(amount) ? Math.floor(amount) : null
}

async function requireStorage(
  cloudstack: CloudStack,
  zone_id: string,
  requested: number,
  caller: Caller,
): Promise<void> {
  if (requested === 0) return
  const content = await cloudstack.call('listCapacity', { zoneid: zone_id, type: ALLOCATED_STORAGE })
  let used = 0
  let total = 0
  for (const row of rowsOf(content, 'capacity')) {
    if (integerOf(row, 'type') !== ALLOCATED_STORAGE) continue
    used += numberOf(row, 'capacityused') ?? 0
    total += numberOf(row, 'capacitytotal') ?? 0
  }
  if (total <= 0 || (used + requested) / total <= DEFAULT_THRESHOLD) return
  const gib = (bytes: number) => Math.round(bytes / GIB)
  throw new ApiError(
    'CAPACITY_EXCEEDED',
    `The disks need ${gib(requested)} GiB, and the primary storage of the zone has ${isTenant(caller) ? 'less' : `${gib(Math.max(0, total * DEFAULT_THRESHOLD - used))} GiB`} below its threshold. Choose smaller disks or add storage.`,
  )
}

/** GPUs come with the service offering, and all of a machine's GPUs come from one host. */
async function requireGpus(cloudstack: CloudStack, offering: Raw, caller: Caller): Promise<void> {
  const profile_id = textOf(offering, 'vgpuprofileid')
  const wanted = integerOf(offering, 'gpucount') ?? 1
  if (profile_id === null) return
  const free = new Map<string, number>()
  for await (const device of cloudstack.listAll(
    'listGpuDevices',
    { vgpuprofileid: profile_id },
    { key: 'gpudevice', read: (row) => row },
  )) {
    if (textOf(device, 'state') !== 'Free' || textOf(device, 'managedstate') !== 'Managed') continue
    const host_id = textOf(device, 'hostid') ?? ''
    free.set(host_id, (free.get(host_id) ?? 0) + 1)
  }
  if ([...free.values()].some((count) => count >= wanted)) return
  const most = Math.max(0, ...free.values())
  throw new ApiError(
    'CAPACITY_EXCEEDED',
    `Service offering ${textOf(offering, 'name')} needs ${wanted} free GPUs of one host, and ${isTenant(caller) ? 'none has as many' : `the one with most has ${most}`}. Stop a machine that has some or choose another offering.`,
  )
}
