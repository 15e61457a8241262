// How much a cluster takes before it reaches the thresholds above which the platform's planner leaves it out (cloudstack.md 5).
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { type Capacity, clusterCapacity } from '#src/drivers/cloudstack/lookups.ts'

const DEFAULT_THRESHOLD = 0.85
const MIB = 1024 * 1024
const MEMORY = 0
const CPU = 1
const CPU_THRESHOLD = 'cluster.cpu.allocated.capacity.disablethreshold'
const MEMORY_THRESHOLD = 'cluster.memory.allocated.capacity.disablethreshold'

export interface Need {
  cpu_mhz: number | null
  memory_mb: number | null
}

/** `2000 MHz of CPU and 4096 MiB of memory`, as far as it is known. */
export function described({ cpu_mhz, memory_mb }: Need): string {
  const parts = [
    ...(cpu_mhz === null ? [] : [`${cpu_mhz} MHz of CPU`]),
    ...(memory_mb === null ? [] : [`${memory_mb} MiB of memory`]),
  ]
  return parts.join(' and ')
}

/** How much is left when it is too little; undefined when the machine fits. */
export async function lackingRoom(cloudstack: CloudStack, cluster: Raw, need: Need): Promise<string | undefined> {
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
  const left_mb = roomBelow(capacity.get(MEMORY), memory ?? DEFAULT_THRESHOLD) / MIB
  if ((need.cpu_mhz ?? 0) <= left_mhz && (need.memory_mb ?? 0) <= left_mb) return undefined
  return `${textOf(cluster, 'name')} has ${described({ cpu_mhz: whole(left_mhz), memory_mb: whole(left_mb) })}`
}

/** Used, which holds what is reserved, plus requested may come to the threshold; what is not known has room for all. */
function roomBelow(capacity: Capacity | undefined, threshold: number): number {
  if (capacity === undefined || capacity.total <= 0) return Number.POSITIVE_INFINITY
  return Math.max(0, capacity.total * threshold - capacity.used)
}

function whole(amount: number): number | null {
  return Number.isFinite(amount) ? Math.floor(amount) : null
}
