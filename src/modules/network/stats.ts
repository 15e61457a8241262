// Network statistics (cloudstack.md F.1): all lists at once, and counts where the rows themselves are not needed.
import type { NetworkStats, networkStats } from '#src/contract/network/stats.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { integerOf, numberOf, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { countOf, type ListOptions, WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { publicIpState } from '#src/drivers/cloudstack/public-ip-state.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'

const SOURCE = 'compute-platform'
const PUBLIC_IPS = 4
const DEFAULT_INTERVAL_MS = 60_000
const BITS_A_KIB = 8 * 1024

export function networkStatsHandlers({
  cloudstack,
}: {
  cloudstack: CloudStack
}): Handlers<typeof networkStats.routes, RequestContext> {
  return {
    networkStatsGet: async (_input: unknown, ctx: RequestContext): Promise<NetworkStats> => {
      const options = { signal: ctx.signal, traceparent: ctx.traceparent }
      const [networks, addresses, capacity, kib, interval_ms] = await Promise.all([
        countNetworks(cloudstack, options),
        countAddresses(cloudstack, options),
        addressCapacity(cloudstack, options),
        sampledKib(cloudstack, options),
        cloudstack.lookups.setting('vm.stats.interval'),
      ])
      const used_mbps = mbpsOf(kib, interval_ms)
      const inState = (state: string) => gauge(networks.by_state.get(state) ?? 0, networks.total)
      return {
        dashboard: {
          allocation: inState('Allocated'),
          implemented: inState('Implemented'),
          setup: inState('Setup'),
          ip_usage: gauge(capacity.used, capacity.total),
          bandwidth: bandwidthOf(networks, used_mbps),
        },
        guest_networks_by_type: chart('Guest networks by type', networks.by_type),
        public_ips_by_state: chart('Public IPs by state', addresses),
        unavailable: unavailableOf(networks, used_mbps),
      }
    },
  }
}

interface NetworkCounts {
  total: number
  by_state: Map<string, number>
  by_type: Map<string, number>
  received_bytes: number | null
  sent_bytes: number | null
}

async function countNetworks(cloudstack: CloudStack, options: ListOptions): Promise<NetworkCounts> {
  const counts: NetworkCounts = {
    total: 0,
    by_state: new Map(),
    by_type: new Map(),
    received_bytes: null,
    sent_bytes: null,
  }
  for await (const rows of cloudstack.listPages(
    'listNetworks',
    { traffictype: 'Guest', ...WHOLE_SCOPE },
    'network',
    options,
  )) {
    for (const row of rows) {
      counts.total += 1
      addOne(counts.by_state, textOf(row, 'state') ?? 'Unknown')
      addOne(counts.by_type, textOf(row, 'type') ?? 'Unknown')
      counts.received_bytes = sum(counts.received_bytes, numberOf(row, 'receivedbytes'))
      counts.sent_bytes = sum(counts.sent_bytes, numberOf(row, 'sentbytes'))
    }
  }
  return counts
}

/** Free addresses are thousands, and each costs the platform some milliseconds: they are counted, not read. */
async function countAddresses(cloudstack: CloudStack, options: ListOptions): Promise<Map<string, number>> {
  const scope = { forvirtualnetwork: true, ...WHOLE_SCOPE }
  const owned = async () => {
    const states: string[] = []
    const args = { ...scope, allocatedonly: true }
    for await (const rows of cloudstack.listPages('listPublicIpAddresses', args, 'publicipaddress', options))
      states.push(...rows.map(publicIpState))
    return states
  }
  const [total, states] = await Promise.all([
    countOf(cloudstack.call, 'listPublicIpAddresses', { ...scope, allocatedonly: false }, options),
    owned(),
  ])
  const counts = new Map([
    ['Allocated', 0],
    ['Associated', 0],
    ['Released', Math.max(0, total - states.length)],
  ])
  for (const state of states) addOne(counts, state)
  return counts
}

/** Rows that carry a tag are parts of the row without. */
async function addressCapacity(
  cloudstack: CloudStack,
  options: ListOptions,
): Promise<{ used: number | null; total: number | null }> {
  const rows = rowsOf(await cloudstack.call('listCapacity', { type: PUBLIC_IPS }, options), 'capacity')
  let used: number | null = null
  let total: number | null = null
  for (const row of rows) {
    if (integerOf(row, 'type') !== PUBLIC_IPS || textOf(row, 'tag') !== null) continue
    used = sum(used, numberOf(row, 'capacityused'))
    total = sum(total, numberOf(row, 'capacitytotal'))
  }
  return { used, total }
}

/** What all running machines received and sent in the last sample; null when none has a sample. */
async function sampledKib(cloudstack: CloudStack, options: ListOptions): Promise<number | null> {
  let kib: number | null = null
  const args = { details: 'min,stats', state: 'Running', accumulate: false, ...WHOLE_SCOPE }
  for await (const rows of cloudstack.listPages('listVirtualMachinesMetrics', args, 'virtualmachine', options)) {
    for (const row of rows) {
      kib = sum(kib, numberOf(row, 'networkkbsread'))
      kib = sum(kib, numberOf(row, 'networkkbswrite'))
    }
  }
  return kib
}

function mbpsOf(kib: number | null, interval_ms: number | null): number | null {
  if (kib === null) return null
  return (kib * BITS_A_KIB) / (interval_ms !== null && interval_ms > 0 ? interval_ms : DEFAULT_INTERVAL_MS) / 1000
}

function bandwidthOf(
  { received_bytes, sent_bytes }: NetworkCounts,
  used_mbps: number | null,
): NetworkStats['dashboard']['bandwidth'] {
  return {
    estimated_usage: true,
    percentage: null,
    received_bytes,
    sent_bytes,
    total_bytes: sum(received_bytes, sent_bytes),
    total_mbps: null,
    used_mbps: used_mbps === null ? null : Math.round(used_mbps),
    total_gbps: null,
    used_gbps: used_mbps === null ? null : rounded(used_mbps / 1000),
    source: SOURCE,
  }
}

function unavailableOf(networks: NetworkCounts, used_mbps: number | null) {
  const uplinks = 'The compute platform does not know what the uplinks of the nodes can carry.'
  const lacking = ['percentage', 'total_mbps', 'total_gbps'].map((name) => ({
    field: `dashboard.bandwidth.${name}`,
    reason: uplinks,
  }))
  if (networks.received_bytes === null) {
    lacking.push({ field: 'dashboard.bandwidth.received_bytes', reason: 'No guest network counts its traffic.' })
  }
  if (used_mbps === null)
    lacking.push({ field: 'dashboard.bandwidth.used_mbps', reason: 'No running virtual machine has a sample.' })
  return lacking
}

function gauge(used: number | null, total: number | null) {
  const percentage = used === null || total === null || total === 0 ? null : rounded((used / total) * 100)
  return { percentage, total, used }
}

function chart(title: string, counts: ReadonlyMap<string, number>) {
  const segments = [...counts].map(([label, value]) => ({ label, value }))
  return { title, total: segments.reduce((total, { value }) => total + value, 0), segments }
}

function addOne(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function sum(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : a + b
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
