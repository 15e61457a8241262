// From what the sources say about a node to one verdict an area. Pure: plain records in, plain records out.
import { HEALTH_AREAS, type HealthArea } from '#src/contract/nodes/health.ts'
import type { NetworkAlert } from '#src/contract/network/monitoring.ts'
import type { NodeGpus } from '#src/contract/nodes/agent-gpu.ts'
import type { StorageHealth } from '#src/contract/storage/host.ts'
import type { Health } from '#src/store/node-health.ts'

/** A source is null where the node has none of it, and an error where it did not answer. */
export interface NodeFindings {
  alerts: readonly NetworkAlert[]
  /** Undefined: the node is not asked, because its record lacks an address or a name. */
  storage: { value: StorageHealth } | { error: string } | undefined
  /** State of the host on the compute platform; null when the platform has no such host or none is configured. */
  platform: { state: string; resource_state: string; gpus: readonly PlatformGpu[] } | null
  /** What the node shows of its GPUs. Undefined: it is not asked, because the platform knows of none. */
  gpus: { value: NodeGpus } | { error: string } | undefined
}

/** A GPU, or a part of one, that the platform may give to machines. */
export interface PlatformGpu {
  bus_address: string
  card: string
  state: string
  /** A whole card, which the node must show; a part of one has no address of its own. */
  whole: boolean
}

type AreaName = HealthArea['area']
type Judgement = Pick<HealthArea, 'area' | 'health' | 'reasons'>

const AREA_OF: Readonly<Record<NetworkAlert['category'], AreaName>> = {
  errors: 'network', link_down: 'network', mtu: 'mtu', mtu_drift: 'mtu', node_offline: 'agent', ntp: 'time', vxlan_fabric: 'routing',
} // biome-ignore format: a table
/** Reported by the agent: unknown while it is silent. */
const FROM_AGENT: readonly AreaName[] = ['time', 'network', 'mtu', 'routing']

export function judge(findings: NodeFindings): Judgement[] {
  const network = ['agent' as const, ...FROM_AGENT].map((area) => fromAlerts(area, findings.alerts))
  const silent = network[0]?.health !== 'healthy'
  const areas = network.map((one) =>
    silent && one.area !== 'agent' ? unknown(one.area, 'The agent does not answer.') : one,
  )
  const all = [...areas, ...storageAreas(findings), ...gpuArea(findings), ...platformArea(findings)]
  return HEALTH_AREAS.flatMap((name) => all.filter(({ area }) => area === name))
}

function fromAlerts(area: AreaName, alerts: readonly NetworkAlert[]): Judgement {
  const own = alerts.filter(({ category }) => AREA_OF[category] === area)
  const serious = own.filter(({ severity }) => severity !== 'info')
  // A node without an address or a name is not watched, which is said as a note.
  if (area === 'agent' && serious.length === 0 && own.length > 0)
    return unknown(area, ...own.map(({ message }) => message))
  const health = serious.some(({ severity }) => severity === 'critical')
    ? 'critical'
    : serious.length > 0
      ? 'degraded'
      : 'healthy'
  return { area, health, reasons: serious.map(({ message }) => message) }
}

function unknown(area: AreaName, ...reasons: string[]): Judgement {
  return { area, health: 'unknown', reasons }
}

const OF_STORAGE: Readonly<Record<string, Health>> = {
  HEALTHY: 'healthy', NEEDS_ATTENTION: 'degraded', DEGRADED: 'degraded', CRITICAL: 'critical',
} // biome-ignore format: a table

function storageAreas({ storage }: NodeFindings): Judgement[] {
  if (storage === undefined) return []
  if ('error' in storage) return [unknown('storage', storage.error), unknown('disks', storage.error)]
  const { overall_status, overall_status_reasons, failed_disks } = storage.value
  const health = overall_status === null ? 'unknown' : (OF_STORAGE[overall_status] ?? 'unknown')
  const reasons = health === 'healthy' ? [] : overall_status_reasons
  const failed = failed_disks ?? []
  const disks: Judgement =
    failed_disks === null
      ? unknown('disks', 'The disks cannot be read on this node.')
      : {
          area: 'disks',
          health: failed.length > 0 ? 'critical' : 'healthy',
          reasons: failed.map((name) => `Disk ${name} fails.`),
        }
  return [
    { area: 'storage', health, reasons: health === 'unknown' ? ['The storage cannot be read on this node.'] : reasons },
    disks,
  ]
}

function gpuArea({ platform, gpus }: NodeFindings): Judgement[] {
  const known = platform?.gpus ?? []
  if (known.length === 0) return []
  const broken = known
    .filter(({ state }) => state === 'Error')
    .map((gpu) => `${nameOf(gpu)} is in the state Error on the compute platform.`)
  const whole = known.filter((gpu) => gpu.whole)
  const shown = gpus !== undefined && 'value' in gpus ? gpus.value.gpus : undefined
  const at = (gpu: PlatformGpu) => shown?.find((one) => one.bus_address.endsWith(gpu.bus_address.toLowerCase()))
  const gone =
    shown === undefined
      ? []
      : whole.filter((gpu) => at(gpu) === undefined).map((gpu) => `${nameOf(gpu)} is not on the PCI bus of the node.`)
  const idle = whole
    .filter((gpu) => at(gpu)?.mode === 'none')
    .map((gpu) => `${nameOf(gpu)} has no driver, so no machine can use it.`)
  const reasons = [...broken, ...gone, ...idle]
  if (reasons.length === 0 && gpus !== undefined && 'error' in gpus) return [unknown('gpus', gpus.error)]
  const health = broken.length + gone.length > 0 ? 'critical' : idle.length > 0 ? 'degraded' : 'healthy'
  return [{ area: 'gpus', health, reasons }]
}

function nameOf({ card, bus_address }: PlatformGpu): string {
  return `GPU ${bus_address} (${card})`
}

const SERVING = 'Enabled'

function platformArea({ platform }: NodeFindings): Judgement[] {
  if (platform === null) return []
  const { state, resource_state } = platform
  const down = state === 'Up' ? [] : [`The compute platform says that the host is ${state}.`]
  const held =
    resource_state === SERVING ? [] : [`The compute platform gives it no machines: the host is in ${resource_state}.`]
  const health = down.length > 0 ? 'critical' : held.length > 0 ? 'degraded' : 'healthy'
  return [{ area: 'platform', health, reasons: [...down, ...held] }]
}
