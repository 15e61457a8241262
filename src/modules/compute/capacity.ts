// The check before a virtual machine is made: does any cluster of the zone stay below the threshold above which the
// platform's own planner refuses it (cloudstack.md 5)? A race remains; the platform's later rejection says the same.
import type { VmProvision } from '#src/contract/compute/vm-provision.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { integerOf, numberOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import { described, lackingRoom } from './cluster-room.ts'
import { freeGpus, fullSentence, hostReport } from './host-report.ts'

const DEFAULT_THRESHOLD = 0.85
const GIB = 1024 ** 3
const ALLOCATED_STORAGE = 3

interface Size {
  cpu_cores: number | null
  cpu_speed_mhz: number | null
  memory_mb: number | null
  offering: Raw | undefined
}

/** Throws CAPACITY_EXCEEDED before anything was made. What cannot be known does not refuse. */
export async function requireCapacity(cloudstack: CloudStack, body: VmProvision, caller: Caller): Promise<void> {
  const offering = (await cloudstack.lookups.serviceOfferings()).find(
    (row) => textOf(row, 'id') === body.service_offering_id,
  )
  const size = sizeOf(body, offering)
  // A machine that is not started takes disk space only.
  const starts = body.start !== false
  await Promise.all([
    starts ? requireCluster(cloudstack, body, size, caller) : undefined,
    starts ? requireGpus(cloudstack, body, size, caller) : undefined,
    requireStorage(cloudstack, body, caller),
  ])
}

function sizeOf(body: VmProvision, offering: Raw | undefined): Size {
  const of_offering = (name: string) => (offering === undefined ? null : integerOf(offering, name))
  return {
    cpu_cores: body.cpu_cores ?? of_offering('cpunumber'),
    cpu_speed_mhz: body.cpu_speed_mhz ?? of_offering('cpuspeed'),
    memory_mb: body.memory_mb ?? of_offering('memory'),
    offering,
  }
}

async function requireCluster(cloudstack: CloudStack, body: VmProvision, size: Size, caller: Caller): Promise<void> {
  const { cpu_cores, cpu_speed_mhz, memory_mb } = size
  const need = { cpu_mhz: cpu_cores === null || cpu_speed_mhz === null ? null : cpu_cores * cpu_speed_mhz, memory_mb }
  const clusters = (await cloudstack.lookups.clusters()).filter(
    (row) =>
      textOf(row, 'zoneid') === body.zone_id &&
      textOf(row, 'allocationstate') !== 'Disabled' &&
      (body.cluster_id === undefined || textOf(row, 'id') === body.cluster_id) &&
      (body.pod_id === undefined || textOf(row, 'podid') === body.pod_id) &&
      (body.hypervisor === undefined || textOf(row, 'hypervisortype')?.toLowerCase() === body.hypervisor.toLowerCase()),
  )
  const answers = await Promise.allSettled(clusters.map((cluster) => lackingRoom(cloudstack, cluster, need)))
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
  // None has room, so each is known to be full: the clusters are not asked again.
  const full = new Map(clusters.map((cluster) => [textOf(cluster, 'id') ?? '', fullSentence(cluster)]))
  const hosts = await hostsFor(cloudstack, body, size, caller, full)
  throw new ApiError('CAPACITY_EXCEEDED', `${wanted}${rooms}. Choose a smaller size or add capacity.${hosts}`)
}

/** Clusters, hosts and storage belong to no tenant: who is limited to one learns nothing of them. */
function isTenant(caller: Caller): boolean {
  return caller.tenant_id !== null
}

async function requireStorage(cloudstack: CloudStack, body: VmProvision, caller: Caller): Promise<void> {
  const data_gb = (body.data_disks ?? []).reduce((sum, disk) => sum + (disk.size_gb ?? 0), 0)
  const requested = ((body.root_disk_size_gb ?? 0) + (body.disk_size_gb ?? 0) + data_gb) * GIB
  if (requested === 0) return
  const content = await cloudstack.call('listCapacity', { zoneid: body.zone_id, type: ALLOCATED_STORAGE })
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
async function requireGpus(cloudstack: CloudStack, body: VmProvision, size: Size, caller: Caller): Promise<void> {
  const { offering } = size
  const profile_id = offering === undefined ? null : textOf(offering, 'vgpuprofileid')
  if (offering === undefined || profile_id === null) return
  const wanted = integerOf(offering, 'gpucount') ?? 1
  const free = await freeGpus(cloudstack, profile_id, undefined)
  if ([...free.values()].some((count) => count >= wanted)) return
  throw new ApiError(
    'CAPACITY_EXCEEDED',
    `Service offering ${textOf(offering, 'name')} needs ${wanted} free GPUs of one host, and none has as many. Stop a machine that has some or choose another offering.${await hostsFor(cloudstack, body, size, caller)}`,
  )
}

/** What each host has free and why it is none, for those who run the platform. */
async function hostsFor(
  cloudstack: CloudStack,
  body: VmProvision,
  size: Size,
  caller: Caller,
  full?: ReadonlyMap<string, string>,
): Promise<string> {
  if (isTenant(caller)) return ''
  const { zone_id, host_id, cluster_id, pod_id } = body
  const report = await hostReport(
    cloudstack,
    {
      ...size,
      zone_id,
      host_id,
      cluster_id,
      pod_id,
      uefi: body.boot_type === 'UEFI',
      affinity_group_ids: body.affinity_group_ids ?? [],
    },
    full,
  )
  return ` ${report}`
}
