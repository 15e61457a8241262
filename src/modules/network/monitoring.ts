// The cluster calls of network monitoring: pages of nodes, with sums and alerts over all of them.
import type { FrrNode } from '#src/contract/network/frr.ts'
import type { MonitoredNode, monitoring, NetworkAlert } from '#src/contract/network/monitoring.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Database } from '#src/store/database.ts'
import { declaredMtuByDevice } from '#src/store/mtu-declarations.ts'
import { allNodes, type NodeRow, statusOf } from '#src/store/nodes.ts'
import {
  type AlertCounts, alertCounts, alertName, dashboardSummary, fleetAlerts, type FleetNode, mtuDrifts, type SnapshotDigest,
} from './fleet.ts' // biome-ignore format: one list
import { frrSummary, type RouterDigest, routerDigest } from './frr-summary.ts'
import { isConfigured, pageOfNodes } from './node-page.ts'
import type { PollOptions, Seen } from './node-poll.ts'
import type { FleetQuestions } from './node-questions.ts'

export interface MonitoringDeps {
  database: Pick<Database, 'db'>
  ask: FleetQuestions
  offline_after_ms: number
}

type ClusterCalls = Pick<
  Handlers<typeof monitoring.routes, RequestContext>,
  'networkAlertsList' | 'networkDashboardRead' | 'frrDashboardRead'
>

export function monitoringHandlers(deps: MonitoringDeps): ClusterCalls {
  const { ask } = deps
  return {
    async networkDashboardRead({ body }) {
      const fleet = await pollFleet(deps, await allNodes(deps.database.db), pollOptionsOf(body))
      const { page, ...paging } = pageOfNodes(fleet.entries, body)
      const summary = dashboardSummary(fleet.nodes, fleet.drifts, fleet.fabric)
      return { count: fleet.entries.length, ...paging, nodes: await shownNodes(deps, page), summary }
    },
    async networkAlertsList({ body }) {
      const rows = await allNodes(deps.database.db)
      const [fleet, own] = await Promise.all([
        pollFleet(deps, rows, pollOptionsOf(body)),
        ask.alerts.poll(rows.filter(isConfigured), pollOptionsOf(body)),
      ])
      const common = fleetAlerts(fleet.nodes, fleet.drifts, fleet.fabric)
      const by_node = new Map(own.map((seen) => [seen.node.node_id, seen]))
      const summary = countAll(fleet.entries, by_node, common)
      const { page, ...paging } = pageOfNodes(fleet.entries, body)
      const shown = new Set(page.map(({ node }) => alertName(node)))
      const alerts = [...(await ownAlerts(deps, page, by_node)), ...common.filter(({ node }) => shown.has(node))]
      return { alerts, count: summary.critical + summary.warning + summary.info, ...paging, summary }
    },
    async frrDashboardRead({ body }) {
      const rows = (await allNodes(deps.database.db)).filter(isConfigured)
      const routers = (await ask.routers.poll(rows, pollOptionsOf(body))).map((seen) => ({ row: seen.node, seen }))
      const { page, ...paging } = pageOfNodes(routers, body)
      const summary = frrSummary(
        routers.map(({ row, seen }) => ('value' in seen ? seen.value : routerDigest(silentRouter(row, seen.error)))),
      )
      const nodes = (await ask.routers.whole(page.map(({ seen }) => seen))).map((outcome) =>
        'value' in outcome ? outcome.value : silentRouter(outcome.node, outcome.error),
      )
      return { count: routers.length, ...paging, nodes, summary }
    },
  }
}

/** What some nodes answered, for the alerts about them. */
export interface AskedNodes extends FleetPart {
  /** Those that the nodes raise themselves. */
  own: NetworkAlert[]
}

/** One question after the other, so that a node is asked over one connection. */
export async function askForAlerts(deps: MonitoringDeps, rows: readonly NodeRow[]): Promise<AskedNodes> {
  const part = await askNodes(deps, rows, {})
  const reported = await deps.ask.alerts.poll(rows.filter(isConfigured))
  return {
    ...part,
    own: await ownAlerts(deps, part.entries, new Map(reported.map((seen) => [seen.node.node_id, seen]))),
  }
}

/** All alerts about each node, by its number: those that it raises itself and those that only the fleet can tell. */
export async function alertsByNode(
  { database }: MonitoringDeps,
  asked: readonly AskedNodes[],
): Promise<Map<number, NetworkAlert[]>> {
  const fleet = wholeFleet(asked, await declaredMtuByDevice(database.db))
  const alerts = [...asked.flatMap(({ own }) => own), ...fleetAlerts(fleet.nodes, fleet.drifts, fleet.fabric)]
  const by_name = Map.groupBy(alerts, ({ node }) => node)
  return new Map(fleet.entries.map(({ row, node }) => [row.node_id, by_name.get(alertName(node)) ?? []]))
}

function pollOptionsOf(body: { after_id?: number } | undefined): PollOptions {
  return { continuation: (body?.after_id ?? 0) > 0 }
}

interface FleetEntry {
  row: NodeRow
  node: FleetNode
  /** Undefined for nodes that are not asked. */
  seen: Seen<SnapshotDigest> | undefined
}

interface FleetPart {
  entries: FleetEntry[]
  fabric: ReadonlyMap<string, RouterDigest>
}

interface FleetPoll extends FleetPart {
  nodes: FleetNode[]
  drifts: ReturnType<typeof mtuDrifts>
}

async function pollFleet(deps: MonitoringDeps, rows: readonly NodeRow[], options: PollOptions): Promise<FleetPoll> {
  const [asked, declared] = await Promise.all([askNodes(deps, rows, options), declaredMtuByDevice(deps.database.db)])
  return wholeFleet([asked], declared)
}

function wholeFleet(parts: readonly FleetPart[], declared: Readonly<Record<string, number>>): FleetPoll {
  const entries = parts.flatMap((part) => part.entries)
  const nodes = entries.map(({ node }) => node)
  const fabric = new Map(parts.flatMap((part) => [...part.fabric]))
  return { entries, nodes, drifts: mtuDrifts(nodes, declared), fabric }
}

async function askNodes(
  { ask, offline_after_ms }: MonitoringDeps,
  rows: readonly NodeRow[],
  options: PollOptions,
): Promise<FleetPart> {
  const configured = rows.filter(isConfigured)
  // Nodes without a tunnel have no session to judge. Those that had one are asked for it together with their snapshot.
  const had_tunnel = configured.filter((row) => (ask.snapshots.last(row)?.vxlan_count ?? 0) > 0)
  const [asked, sooner] = await Promise.all([
    ask.snapshots.poll(configured, options),
    ask.routers.poll(had_tunnel, options),
  ])
  const seen = new Map(asked.map((one) => [one.node.node_id, one]))
  const entries = rows.map((row) => {
    const snapshot = seen.get(row.node_id)
    return { row, node: fleetNode(row, statusOf(row, offline_after_ms), snapshot), seen: snapshot }
  })
  const tunnelled = entries.filter(({ node }) => (node.data?.vxlan_count ?? 0) > 0)
  const known = new Set(had_tunnel.map((row) => row.node_id))
  const others = tunnelled.filter(({ row }) => !known.has(row.node_id))
  const later = await ask.routers.poll(
    others.map(({ row }) => row),
    options,
  )
  return { entries, fabric: fabricOf([...sooner, ...later], tunnelled) }
}

function fabricOf(routers: readonly Seen<RouterDigest>[], tunnelled: readonly FleetEntry[]): Map<string, RouterDigest> {
  const wanted = new Set(tunnelled.map(({ row }) => row.node_id))
  const fabric = new Map<string, RouterDigest>()
  for (const router of routers) {
    if ('value' in router && wanted.has(router.node.node_id)) fabric.set(router.node.node_ip ?? '', router.value)
  }
  return fabric
}

function fleetNode(row: NodeRow, status: MonitoredNode['status'], seen: Seen<SnapshotDigest> | undefined): FleetNode {
  const unconfigured = status.startsWith('unconfigured')
  const data = seen !== undefined && 'value' in seen ? seen.value : null
  const error = seen !== undefined && 'error' in seen ? seen.error : null
  return {
    bmc_ip: row.bmc_ip,
    fqdn: row.fqdn,
    node_ip: row.node_ip,
    node_role: row.role === 'management' ? 'management' : 'kvm_host',
    status: unconfigured ? status : data === null ? 'offline' : 'online',
    error: unconfigured ? 'The node record lacks an address or a full name, so the node is not watched.' : error,
    data,
  }
}

async function shownNodes({ ask }: MonitoringDeps, page: readonly FleetEntry[]): Promise<MonitoredNode[]> {
  const wholes = await ask.snapshots.whole(page.flatMap(({ seen }) => seen ?? []))
  const snapshots = new Map(wholes.map((outcome) => [outcome.node.node_id, outcome]))
  return page.map(({ row, node: { bmc_ip: _bmc_ip, ...node } }): MonitoredNode => {
    const snapshot = snapshots.get(row.node_id)
    if (node.data === null || snapshot === undefined) return { ...node, data: null }
    if ('value' in snapshot) return { ...node, data: snapshot.value }
    return { ...node, status: 'offline', error: snapshot.error, data: null }
  })
}

type OwnAlerts = ReadonlyMap<number, Seen<AlertCounts>>

/** Alerts that a node of the page raises about itself. */
async function ownAlerts(
  { ask }: MonitoringDeps,
  page: readonly FleetEntry[],
  by_node: OwnAlerts,
): Promise<NetworkAlert[]> {
  const answering = page.filter(({ node }) => node.data !== null)
  const outcomes = await ask.alerts.whole(answering.flatMap(({ row }) => by_node.get(row.node_id) ?? []))
  const names = new Map(page.map(({ row, node }) => [row.node_id, alertName(node)]))
  return outcomes.flatMap((outcome): NetworkAlert[] => {
    // The registry's name counts: the page is cut by it.
    const node = names.get(outcome.node.node_id) ?? ''
    return 'value' in outcome
      ? outcome.value.alerts.map((alert) => ({ ...alert, node }))
      : [unavailableAlert(node, outcome.error)]
  })
}

function unavailableAlert(node: string, error: string): NetworkAlert {
  const message = `The node did not tell its alerts: ${error}`
  return { category: 'node_offline', severity: 'warning', node, device: '', message }
}

function countAll(entries: readonly FleetEntry[], by_node: OwnAlerts, common: readonly NetworkAlert[]): AlertCounts {
  const total = alertCounts(common)
  for (const { row, node } of entries) {
    const seen = node.data === null ? undefined : by_node.get(row.node_id)
    if (seen === undefined) continue
    const own = 'value' in seen ? seen.value : alertCounts([unavailableAlert('', seen.error)])
    total.critical += own.critical
    total.warning += own.warning
    total.info += own.info
  }
  return total
}

function silentRouter(row: NodeRow, error: string): FrrNode {
  const fields = [
    'name',
    'as',
    'sdn_status',
    'bgp',
    'frr',
    'ospf',
    'bfd_peers',
    'ospf_neighbors',
    'evpn_routes',
    'vnis',
  ]
  return {
    name: null,
    fqdn: row.fqdn,
    ip_address: row.node_ip,
    status: 'offline',
    error,
    as: null,
    sdn_status: null,
    sdn_last_error: null,
    bgp: null,
    frr: null,
    ospf: null,
    bfd_peers: null,
    ospf_neighbors: null,
    evpn_routes: { imet: null, macip: null, prefix: null, total_routes: null },
    vnis: null,
    unavailable: fields.map((field) => ({ field, reason: error })),
  }
}
