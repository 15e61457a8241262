// What only the whole fleet can tell: MTUs that drift between nodes, nodes that are silent, tunnels that miss an end,
// and the sums of the dashboard. Pure: plain records in, plain records out.
import type { MonitoredNode, MtuDrift, NetworkAlert, NetworkSummary } from '#src/contract/network/monitoring.ts'
import type { NodeNet } from '#src/contract/network/node-net.ts'
import type { RouterDigest } from './frr-summary.ts'

/** What is kept of each node's snapshot: a thousand whole ones would be too many. */
export interface SnapshotDigest
  extends Pick<
    NodeNet,
    | 'bridge_count'
    | 'links_up'
    | 'links_down'
    | 'physical_nic_count'
    | 'total_traffic_bytes'
    | 'active_vlan_count'
    | 'active_vxlan_count'
    | 'vxlan_count'
    | 'ntp_synced'
  > {
  errors: number
  mtu_mismatches: number
  has_mtu_issue: boolean
  /** Bridges, and the NICs and bonds under them. */
  devices: { name: string; mtu: number; type: MtuDrift['device_type'] }[]
}

export interface FleetNode extends Omit<MonitoredNode, 'data'> {
  data: SnapshotDigest | null
  bmc_ip: string
}

export type AlertCounts = Record<NetworkAlert['severity'], number>

/** MTUs that the operator declared, by device name. */
type DeclaredMtus = Readonly<Record<string, number>>

/** Routing records by the address of their node; a node without one is not judged. */
type FabricByNode = ReadonlyMap<string, RouterDigest>

export function snapshotDigest(net: NodeNet): SnapshotDigest {
  const { bridge_count, links_up, links_down, physical_nic_count, total_traffic_bytes } = net
  const { active_vlan_count, active_vxlan_count, vxlan_count, ntp_synced } = net
  return {
    bridge_count,
    links_up,
    links_down,
    physical_nic_count,
    total_traffic_bytes,
    active_vlan_count,
    active_vxlan_count,
    vxlan_count,
    ntp_synced,
    errors: net.total_nic_errors + net.total_bridge_errors,
    mtu_mismatches: net.mtu_mismatches.length,
    // A note (a member larger than its bridge) is harmless and is no issue.
    has_mtu_issue: net.mtu_mismatches.some((row) => row.severity !== 'info'),
    devices: comparedDevices(net),
  }
}

export function alertCounts(alerts: readonly NetworkAlert[]): AlertCounts {
  const counts = { critical: 0, warning: 0, info: 0 }
  for (const { severity } of alerts) counts[severity] += 1
  return counts
}

/** Same-named bridges, and the NICs and bonds under them, whose MTU differs between nodes or from what is declared. */
export function mtuDrifts(nodes: readonly FleetNode[], declared: DeclaredMtus = {}): MtuDrift[] {
  const seen = new Map<string, Omit<MtuDrift, 'per_node'>>()
  for (const device of nodes.flatMap((node) => node.data?.devices ?? [])) {
    const { name: device_name, mtu, type: device_type } = device
    const range = seen.get(device_name)
    if (range === undefined) {
      const expected_mtu = declared[device_name] ?? 0
      seen.set(device_name, { device_name, device_type, expected_mtu, min_mtu: mtu, max_mtu: mtu })
    } else {
      range.min_mtu = Math.min(range.min_mtu, mtu)
      range.max_mtu = Math.max(range.max_mtu, mtu)
    }
  }
  const drifting = [...seen.values()].filter(({ expected_mtu: expected, min_mtu, max_mtu }) =>
    expected > 0 ? min_mtu !== expected || max_mtu !== expected : min_mtu !== max_mtu,
  )
  const per_node = new Map(drifting.map(({ device_name }) => [device_name, [] as MtuDrift['per_node']]))
  if (drifting.length > 0) {
    for (const node of nodes) {
      for (const { name, mtu } of node.data?.devices ?? []) per_node.get(name)?.push({ fqdn: alertName(node), mtu })
    }
  }
  return drifting
    .map((drift) => ({ ...drift, per_node: per_node.get(drift.device_name) ?? [] }))
    .sort((a, b) => a.device_name.localeCompare(b.device_name))
}

export function fleetAlerts(
  nodes: readonly FleetNode[],
  drifts: readonly MtuDrift[],
  fabric: FabricByNode = new Map(),
): NetworkAlert[] {
  return [...silentNodes(nodes), ...driftAlerts(drifts), ...missingVteps(nodes, fabric)]
}

export function dashboardSummary(
  nodes: readonly FleetNode[],
  drifts: readonly MtuDrift[],
  fabric: FabricByNode = new Map(),
): NetworkSummary {
  const snapshots = nodes.flatMap((node) => node.data ?? [])
  const sum = (value: (net: SnapshotDigest) => number): number =>
    snapshots.reduce((total, net) => total + value(net), 0)
  const count = (test: (node: FleetNode) => boolean): number => nodes.filter(test).length
  return {
    total_nodes: nodes.length,
    online_nodes: count((node) => node.status === 'online'),
    offline_nodes: count((node) => node.status === 'offline'),
    unconfigured_nodes: count((node) => node.status.startsWith('unconfigured')),
    management_nodes: count((node) => node.node_role === 'management'),
    kvm_nodes: count((node) => node.node_role === 'kvm_host'),
    nodes_with_mtu_issues: snapshots.filter((net) => net.has_mtu_issue).length,
    total_bridges: sum((net) => net.bridge_count),
    total_errors: sum((net) => net.errors),
    total_links_up: sum((net) => net.links_up),
    total_links_down: sum((net) => net.links_down),
    total_mtu_mismatches: sum((net) => net.mtu_mismatches),
    total_physical_nics: sum((net) => net.physical_nic_count),
    total_traffic_bytes: sum((net) => net.total_traffic_bytes),
    total_vlans: sum((net) => net.active_vlan_count ?? 0),
    total_vxlans: sum((net) => net.active_vxlan_count ?? 0),
    vxlan_fabric_healthy: count((node) => fabricState(node, fabric) === 'healthy'),
    network_health_pct: healthPercent(nodes, fabric),
    mtu_drifts: [...drifts],
  }
}

function comparedDevices(net: NodeNet): SnapshotDigest['devices'] {
  const members = new Set(
    net.main_bridges.flatMap((bridge) => bridge.members).flatMap((name) => [name, parentOf(name)]),
  )
  return [
    ...net.main_bridges.map(({ name, mtu }) => ({ name, mtu, type: 'bridge' as const })),
    ...net.nics
      .filter((nic) => members.has(nic.name))
      .map(({ name, mtu }) => ({ name, mtu, type: 'interface' as const })),
  ]
}

/** `bond0.100` stands on `bond0`: the usual name of a VLAN device. */
function parentOf(name: string): string {
  return name.split('.')[0] ?? name
}

function silentNodes(nodes: readonly FleetNode[]): NetworkAlert[] {
  return nodes.flatMap((node): NetworkAlert[] => {
    if (node.status === 'online') return []
    const offline = node.status === 'offline'
    const lacks = node.status === 'unconfigured-noIP' ? 'address' : 'full name'
    const message = offline
      ? `The node gave no snapshot of its network: ${node.error ?? 'it did not answer'}`
      : `The node record has no ${lacks}, so the node is not watched.`
    return [
      { category: 'node_offline', severity: offline ? 'critical' : 'info', node: alertName(node), device: '', message },
    ]
  })
}

function driftAlerts(drifts: readonly MtuDrift[]): NetworkAlert[] {
  return drifts.flatMap((drift) => {
    const usual = drift.expected_mtu > 0 ? drift.expected_mtu : mostCommon(drift.per_node.map((one) => one.mtu))
    return drift.per_node
      .filter((one) => one.mtu !== usual)
      .map((one): NetworkAlert => {
        const against = drift.expected_mtu > 0 ? `${usual} is declared` : `other nodes have ${usual}`
        const message = `${drift.device_name} has MTU ${one.mtu}; ${against}.`
        return { category: 'mtu_drift', severity: 'warning', node: one.fqdn, device: drift.device_name, message }
      })
  })
}

/** Among equally frequent values the largest: the smaller MTU is the one that drops frames. */
function mostCommon(values: readonly number[]): number {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].sort(([a, timesA], [b, timesB]) => timesB - timesA || b - a)[0]?.[0] ?? 0
}

/** Every node that has a VNI should know the tunnels of all the others that have it. */
function missingVteps(nodes: readonly FleetNode[], fabric: FabricByNode): NetworkAlert[] {
  const sharing = new Map<number, number>()
  for (const frr of fabric.values()) {
    for (const { vni } of frr.bridged) sharing.set(vni, (sharing.get(vni) ?? 0) + 1)
  }
  return nodes.flatMap((node) =>
    (fabric.get(node.node_ip ?? '')?.bridged ?? []).flatMap((record): NetworkAlert[] => {
      const expected = (sharing.get(record.vni) ?? 1) - 1
      if (record.num_remote_vteps === null || record.num_remote_vteps >= expected) return []
      const message = `VNI ${record.vni} reaches ${record.num_remote_vteps} of ${expected} other nodes that share it.`
      const device = record.vxlan_if ?? `VNI ${record.vni}`
      return [{ category: 'vxlan_fabric', severity: 'warning', node: alertName(node), device, message }]
    }),
  )
}

/** `none`: the node has no tunnel. `unknown`: it has, and nobody reported its sessions. */
function fabricState(node: FleetNode, fabric: FabricByNode): 'none' | 'unknown' | 'healthy' | 'unhealthy' {
  if (node.data === null || node.data.vxlan_count === 0) return 'none'
  const frr = fabric.get(node.node_ip ?? '')
  const active = node.data.active_vxlan_count
  if (frr === undefined || active === null) return 'unknown'
  const up = active >= node.data.vxlan_count
  return frr.status === 'online' && frr.overlay_established && up ? 'healthy' : 'unhealthy'
}

/** 100 less each weight times its share of bad ones; null without nodes, 0 when none answers. */
function healthPercent(nodes: readonly FleetNode[], fabric: FabricByNode): number | null {
  const watched = nodes.filter((node) => node.status === 'online' || node.status === 'offline')
  const snapshots = watched.flatMap((node) => node.data ?? [])
  if (watched.length === 0) return null
  if (snapshots.length === 0) return 0
  const share = (bad: number, all: number): number => (all === 0 ? 0 : bad / all)
  const links = snapshots.reduce((sum, net) => sum + net.links_up + net.links_down, 0)
  const down = snapshots.reduce((sum, net) => sum + net.links_down, 0)
  const states = watched.map((node) => fabricState(node, fabric))
  const judged = states.filter((state) => state === 'healthy' || state === 'unhealthy')
  const lost =
    40 * share(watched.filter((node) => node.status === 'offline').length, watched.length) +
    20 * share(down, links) +
    20 * share(snapshots.filter((net) => net.has_mtu_issue).length, snapshots.length) +
    10 * share(judged.filter((state) => state === 'unhealthy').length, judged.length) +
    10 * share(snapshots.filter((net) => net.ntp_synced !== true).length, snapshots.length)
  return Math.max(0, Math.min(100, Math.round(100 - lost)))
}

/** What alerts call the node; no two nodes have the same. */
export function alertName(node: Pick<FleetNode, 'fqdn' | 'node_ip' | 'bmc_ip'>): string {
  return node.fqdn ?? node.node_ip ?? `the node of BMC ${node.bmc_ip}`
}
