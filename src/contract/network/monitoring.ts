// Network monitoring (Part 3, 4.7): the snapshot of one node, and alerts and dashboards over all nodes.
import { type Static, Type } from 'typebox'
import { Closed, KeysetFields, Nullable, OneOf } from '../common.ts'
import { defineArea } from '../route.ts'
import { FrrNode, FrrSummary } from './frr.ts'
import { exampleDashboard, exampleFrrDashboard, exampleNodeNet } from './monitoring-example.ts'
import { NodeNet } from './node-net.ts'

/** Body of the cluster calls: one page of nodes. */
export const NodePageRequest = Closed(KeysetFields, { title: 'NodePageRequest' })

/** What every page of nodes says about itself. */
export const NodePageFields = {
  has_more: Type.Boolean({ description: 'Another page follows.' }),
  next_id: Type.Integer({ minimum: 0, description: 'Pass as after_id for the next page; 0 when there is none.' }),
  page_size: Type.Integer({ minimum: 1 }),
}

export const ALERT_CATEGORIES = [
  'errors',
  'mtu',
  'mtu_drift',
  'link_down',
  'node_offline',
  'ntp',
  'vxlan_fabric',
] as const

export const NetworkAlert = Type.Object(
  {
    category: OneOf([...ALERT_CATEGORIES]),
    severity: OneOf(['critical', 'warning', 'info']),
    node: Type.String({ description: 'Full name or address of the node.' }),
    device: Type.String({ description: 'Device, peer or VNI it is about; empty when it is about the whole node.' }),
    message: Type.String({ description: 'One sentence for people.' }),
  },
  { title: 'NetworkAlert' },
)
export type NetworkAlert = Static<typeof NetworkAlert>

export const MonitoredNode = Type.Object(
  {
    fqdn: Nullable(Type.String({ description: 'Full name of the node.' })),
    node_ip: Nullable(Type.String({ description: 'Management address of the node.' })),
    node_role: OneOf(['management', 'kvm_host']),
    status: OneOf(['online', 'offline', 'unconfigured-noIP', 'unconfigured-noFQDN']),
    error: Nullable(Type.String({ description: 'Why the node gave no snapshot.' })),
    data: Nullable(NodeNet),
  },
  { title: 'MonitoredNode' },
)
export type MonitoredNode = Static<typeof MonitoredNode>

export const MtuDrift = Type.Object(
  {
    device_name: Type.String(),
    device_type: OneOf(['bridge', 'interface']),
    expected_mtu: Type.Integer({ minimum: 0, description: 'Declared MTU in bytes; 0 when the nodes merely differ.' }),
    min_mtu: Type.Integer({ minimum: 0, description: 'Smallest MTU in bytes.' }),
    max_mtu: Type.Integer({ minimum: 0, description: 'Largest MTU in bytes.' }),
    per_node: Type.Array(
      Type.Object({ fqdn: Type.String(), mtu: Type.Integer({ minimum: 0, description: 'MTU in bytes on the node.' }) }),
    ),
  },
  { title: 'MtuDrift' },
)
export type MtuDrift = Static<typeof MtuDrift>

const sum = (description: string) => Type.Integer({ minimum: 0, description })

export const NetworkSummary = Type.Object(
  {
    total_nodes: sum('Nodes of the fleet.'),
    online_nodes: sum('Nodes that answered.'),
    offline_nodes: sum('Nodes that did not answer.'),
    unconfigured_nodes: sum('Nodes without address or full name.'),
    management_nodes: sum('Nodes of the management role.'),
    kvm_nodes: sum('Hypervisor nodes.'),
    nodes_with_mtu_issues: sum('Online nodes with at least one MTU mismatch that is not merely informative.'),
    total_bridges: sum('Bridges of the online nodes.'),
    total_errors: sum('Errors of physical NICs and bridges of the online nodes.'),
    total_links_up: sum('Physical NICs that are up.'),
    total_links_down: sum('Physical NICs that are switched on without carrier.'),
    total_mtu_mismatches: sum('MTU mismatches of the online nodes.'),
    total_physical_nics: sum('Physical NICs of the online nodes.'),
    total_traffic_bytes: sum('Bytes that the physical NICs of the online nodes carried.'),
    total_vlans: sum('VLANs in use, summed over nodes.'),
    total_vxlans: sum('VXLANs in use, summed over nodes.'),
    vxlan_fabric_healthy: sum('Nodes whose VXLANs are up and whose overlay sessions are all established.'),
    network_health_pct: Nullable(
      Type.Integer({
        minimum: 0,
        maximum: 100,
        description:
          '100 less offline nodes (40), links down (20), MTU mismatches (20), unhealthy fabric (10) and unsynchronised clocks (10), each by its share.',
      }),
    ),
    mtu_drifts: Type.Array(MtuDrift),
  },
  { title: 'NetworkSummary' },
)
export type NetworkSummary = Static<typeof NetworkSummary>

const AlertPage = Type.Object(
  {
    alerts: Type.Array(NetworkAlert),
    count: Type.Integer({ minimum: 0, description: 'Alerts raised, before the page was cut.' }),
    ...NodePageFields,
    summary: Type.Object({
      critical: Type.Integer({ minimum: 0, description: 'Critical alerts among all raised.' }),
      warning: Type.Integer({ minimum: 0, description: 'Warnings among all raised.' }),
      info: Type.Integer({ minimum: 0, description: 'Notes among all raised.' }),
    }),
  },
  { title: 'NetworkAlertPage' },
)

const DashboardPage = Type.Object(
  {
    count: Type.Integer({ minimum: 0, description: 'Nodes in all.' }),
    ...NodePageFields,
    nodes: Type.Array(MonitoredNode),
    summary: NetworkSummary,
  },
  { title: 'NetworkDashboard' },
)

const FrrPage = Type.Object(
  {
    count: Type.Integer({ minimum: 0, description: 'Routers in all.' }),
    ...NodePageFields,
    nodes: Type.Array(FrrNode),
    summary: FrrSummary,
  },
  { title: 'FrrDashboard' },
)

export const monitoring = defineArea({
  name: 'network-monitoring',
  description: 'Network state of every node as its kernel and daemons report it, with alerts and drift over the fleet.',
  routes: {
    nodeSummary: {
      method: 'GET',
      path: '/network/monitoring/node-summary',
      summary: 'Read network snapshot of this node',
      description:
        'Read from the machine at the time of the call; counters are since boot. A field whose source is missing is null and `unavailable` says why.',
      access: 'viewer',
      runs_on: 'node',
      ok: { 200: NodeNet },
      errors: [500],
      example: { answer: exampleNodeNet },
    },
    networkAlertsList: {
      method: 'POST',
      path: '/network/monitoring/alerts',
      summary: 'List network alerts of all nodes',
      description: 'A page holds whole nodes: the alerts of one node are never cut apart.',
      access: 'viewer',
      effect: 'read',
      body: NodePageRequest,
      body_optional: true,
      ok: { 200: AlertPage },
      errors: [500],
      example: {
        body: { after_id: 0, page_size: 50 },
        answer: {
          alerts: [
            {
              category: 'link_down',
              severity: 'critical',
              node: 'kvm-02.example.internal',
              device: 'eth3',
              message: 'eth3 is switched on but has no carrier; it carries the storage network.',
            },
          ],
          count: 1,
          has_more: false,
          next_id: 0,
          page_size: 50,
          summary: { critical: 1, warning: 0, info: 0 },
        },
      },
    },
    networkDashboardRead: {
      method: 'POST',
      path: '/network/monitoring/dashboard',
      summary: 'Read network dashboard of all nodes',
      description:
        'All nodes are asked side by side; one that does not answer in time is offline and carries the reason in `error`. Who asks again within 15 seconds waits for no node: the answer shows what is known (`collected_at` says of when), the nodes are asked again meanwhile, and the next call shows what changed.',
      access: 'viewer',
      effect: 'read',
      body: NodePageRequest,
      body_optional: true,
      ok: { 200: DashboardPage },
      errors: [500],
      example: { body: { after_id: 0, page_size: 50 }, answer: exampleDashboard },
    },
    frrDashboardRead: {
      method: 'POST',
      path: '/network/monitoring/frr/dashboard',
      summary: 'Read routing dashboard of all nodes',
      description: 'Sessions, neighbours, VNIs and tunnels of the routing daemons of each node.',
      access: 'viewer',
      effect: 'read',
      body: NodePageRequest,
      body_optional: true,
      ok: { 200: FrrPage },
      errors: [500],
      example: { body: { after_id: 0, page_size: 50 }, answer: exampleFrrDashboard },
    },
  },
})
