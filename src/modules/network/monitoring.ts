// The cluster calls of network monitoring: pages of nodes, with sums and alerts over all of them.
import type { FrrNode } from '#src/contract/network/frr.ts'
import type { MonitoredNode, monitoring, NetworkAlert } from '#src/contract/network/monitoring.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Database } from '#src/store/database.ts'
import { declaredMtuByDevice } from '#src/store/mtu-declarations.ts'
import { allNodes, fqdnOf, nodeIpOf, type NodeRow, statusOf } from '#src/store/nodes.ts'
import { dashboardSummary, type FabricByNode, fleetAlerts, mtuDrifts } from './fleet.ts'
import { frrSummary } from './frr-summary.ts'
import { isConfigured, pageOfNodes } from './node-page.ts'
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
  return {
    async networkDashboardRead({ body }) {
      const fleet = await lookAtFleet(deps)
      const { page, ...paging } = pageOfNodes(fleet.entries, body)
      const summary = dashboardSummary(fleet.nodes, fleet.drifts, fleet.fabric)
      return { count: fleet.entries.length, ...paging, nodes: page.map(({ node }) => node), summary }
    },
    async networkAlertsList({ body }) {
      const fleet = await lookAtFleet(deps)
      const alerts = await alertsOf(deps, fleet)
      const { page, ...paging } = pageOfNodes(fleet.entries, body)
      const count = (severity: NetworkAlert['severity']): number =>
        alerts.filter((one) => one.severity === severity).length
      const shown = new Set(page.map(({ node }) => nameOf(node)))
      return {
        alerts: alerts.filter(({ node }) => shown.has(node)),
        count: alerts.length,
        ...paging,
        summary: { critical: count('critical'), warning: count('warning'), info: count('info') },
      }
    },
    async frrDashboardRead({ body }) {
      const rows = (await allNodes(deps.database.db)).filter(isConfigured)
      const routers = (await deps.ask.routers(rows)).map((outcome) => ({
        row: outcome.node,
        router: 'value' in outcome ? outcome.value : silentRouter(outcome.node, outcome.error),
      }))
      const { page, ...paging } = pageOfNodes(routers, body)
      const summary = frrSummary(routers.map(({ router }) => router))
      return { count: routers.length, ...paging, nodes: page.map(({ router }) => router), summary }
    },
  }
}

interface FleetLook {
  entries: { row: NodeRow; node: MonitoredNode }[]
  nodes: MonitoredNode[]
  drifts: ReturnType<typeof mtuDrifts>
  fabric: FabricByNode
}

async function lookAtFleet({ database, ask, offline_after_ms }: MonitoringDeps): Promise<FleetLook> {
  const rows = await allNodes(database.db)
  const asked = await ask.pictures(rows.filter(isConfigured))
  const outcomes = new Map(asked.map((outcome) => [outcome.node.node_id, outcome]))
  const entries = rows.map((row) => {
    const outcome = outcomes.get(row.node_id)
    const data = outcome !== undefined && 'value' in outcome ? outcome.value : null
    const error = outcome !== undefined && 'error' in outcome ? outcome.error : null
    return { row, node: monitoredNode(row, statusOf(row, offline_after_ms), data, error) }
  })
  const nodes = entries.map(({ node }) => node)
  // Nodes without a tunnel have no session to judge.
  const tunnelled = entries.filter(({ node }) => (node.data?.vxlan_count ?? 0) > 0).map(({ row }) => row)
  const fabric = new Map<string, FrrNode>()
  for (const outcome of await ask.routers(tunnelled)) {
    if ('value' in outcome) fabric.set(nodeIpOf(outcome.node) ?? '', outcome.value)
  }
  return { entries, nodes, drifts: mtuDrifts(nodes, await declaredMtuByDevice(database.db)), fabric }
}

function monitoredNode(
  row: NodeRow,
  status: MonitoredNode['status'],
  data: MonitoredNode['data'],
  error: string | null,
): MonitoredNode {
  const unconfigured = status.startsWith('unconfigured')
  return {
    fqdn: fqdnOf(row),
    node_ip: nodeIpOf(row),
    node_role: row.role === 'management' ? 'management' : 'kvm_host',
    status: unconfigured ? status : data === null ? 'offline' : 'online',
    error: unconfigured ? 'The node record lacks an address or a full name, so the node is not watched.' : error,
    data,
  }
}

/** Alerts that a node raises about itself, then those that only the fleet can tell. */
async function alertsOf({ ask }: MonitoringDeps, fleet: FleetLook): Promise<NetworkAlert[]> {
  const answering = fleet.entries.filter(({ node }) => node.data !== null)
  const own = await ask.alerts(answering.map(({ row }) => row))
  const named = own.flatMap((outcome) => {
    const node = fleet.entries.find(({ row }) => row.node_id === outcome.node.node_id)?.node
    if (node === undefined) return []
    // The registry's name counts: the page is cut by it.
    if ('value' in outcome) return outcome.value.alerts.map((alert) => ({ ...alert, node: nameOf(node) }))
    const message = `The node did not tell its alerts: ${outcome.error}`
    return [
      { category: 'node_offline' as const, severity: 'warning' as const, node: nameOf(node), device: '', message },
    ]
  })
  return [...named, ...fleetAlerts(fleet.nodes, fleet.drifts, fleet.fabric)]
}

/** As fleet.ts names nodes in alerts. */
function nameOf(node: MonitoredNode): string {
  return node.fqdn ?? node.node_ip ?? 'a node without name and address'
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
    fqdn: fqdnOf(row),
    ip_address: nodeIpOf(row),
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
