// The record of one router of the overlay fabric and the sum over routers (Part 3, 4.7, frr/dashboard).
import { type Static, Type } from 'typebox'
import { KnownText, Nullable, NullableInteger, NullableText, OneOf, Unavailable } from '../common.ts'

const Text = (description: string) => Type.String({ description })

export const BfdPeer = Type.Object(
  {
    peer: Text('Address of the peer.'),
    local: NullableText('Own address; of a single-hop session the address of its interface. Null when it has none.'),
    status: KnownText(['up', 'down', 'init', 'shutdown'], 'State of the session.'),
    multihop: Nullable(Type.Boolean({ description: 'Whether the session spans more than one hop.' })),
    diagnostic: NullableText('Why the session last went down; `ok` when it never did.'),
    uptime: NullableInteger('Seconds since it came up; 0 while it is not up.'),
    downtime: NullableInteger('Seconds since it went down; 0 while it is up.'),
  },
  { title: 'BfdPeer' },
)
export type BfdPeer = Static<typeof BfdPeer>

export const OspfNeighbor = Type.Object(
  {
    neighbor_id: Text('Router id of the neighbour; parallel links give one row each.'),
    state: KnownText(['Full', '2-Way', 'ExStart', 'Exchange', 'Loading', 'Init', 'Down'], 'State of the adjacency.'),
    full_state: Type.String({
      description: 'State and role as the daemon prints them: `Full/-`, `Full/DR`.',
      'x-extension': true,
    }),
    address: Nullable(Type.String({ description: 'Address of the neighbour on the link.', 'x-extension': true })),
    interface_name: Nullable(Type.String({ description: 'Own interface of the adjacency.', 'x-extension': true })),
  },
  { title: 'OspfNeighbor' },
)
export type OspfNeighbor = Static<typeof OspfNeighbor>

export const BgpSession = Type.Object(
  {
    peer: Text('Address (or interface) of the peer. A session of several address families is one row.'),
    state: KnownText(['Established', 'Active', 'Connect', 'Idle', 'OpenSent', 'OpenConfirm'], 'State of the session.'),
    remote_as: NullableInteger('AS number of the peer.'),
    hostname: NullableText('Name that the peer tells; null before the first session.'),
    description: NullableText('Description from the configuration.'),
    uptime_seconds: NullableInteger('Seconds since it was established; null while it is not.'),
    down_seconds: NullableInteger('Seconds since it was lost; null while it is established.'),
    messages_received: NullableInteger('Messages received, all address families together.'),
    messages_sent: NullableInteger('Messages sent, all address families together.'),
    prefixes_received: NullableInteger('Prefixes received, over the address families.'),
    prefixes_sent: NullableInteger('Prefixes sent, over the address families.'),
    connections_established: NullableInteger('How often the session came up since the daemon started.'),
    connections_dropped: NullableInteger('How often it was lost since the daemon started.'),
    address_families: Type.Array(Type.String(), { description: 'Address families of the session.' }),
  },
  { title: 'BgpSession' },
)
export type BgpSession = Static<typeof BgpSession>

const Bgp = Type.Object(
  {
    configured: Type.Boolean({ description: 'Whether BGP is configured at all.' }),
    router_id: NullableText('BGP router id; null when BGP is not configured.'),
    sessions: Type.Array(BgpSession),
  },
  { title: 'BgpState' },
)

const Frr = Type.Object(
  {
    version: NullableText('Version of the routing suite.'),
    daemons: Type.Array(Type.String(), { description: 'Daemons that answer.' }),
    silent_daemons: Type.Array(Type.String(), { description: 'Daemons that run and do not answer in time.' }),
    vni_count: NullableInteger('VNIs that the kernel side knows; 0 without EVPN.'),
    routes_total: NullableInteger('IPv4 routes in the routing table of the default VRF.'),
    routes_installed: NullableInteger('Of those, the ones in the kernel.'),
  },
  { title: 'RoutingSuite' },
)

const Ospf = Type.Object(
  {
    configured: Type.Boolean({ description: 'Whether OSPF is configured at all.' }),
    router_id: NullableText('OSPF router id; null when OSPF is not configured.'),
    areas: Type.Array(
      Type.Object({ area: Text('Area id.'), full_adjacencies: NullableInteger('Neighbours in state Full.') }),
    ),
  },
  { title: 'OspfState' },
)

const EntryType = OneOf(['local', 'remote'], { description: 'Learned here, or told by another router.' })

const ArpEntry = Type.Object(
  {
    ip: Text('IPv4 or IPv6 address; link-local addresses are included.'),
    mac: NullableText('Hardware address.'),
    type: EntryType,
    state: KnownText(['active', 'inactive'], 'Whether the entry is in use.'),
    remote_vtep: NullableText('VTEP that told it; null for a local entry.'),
    age_mins: NullableInteger('Whole minutes since it was learned or last changed.'),
  },
  { title: 'VniArpEntry' },
)

const MacEntry = Type.Object(
  {
    mac: Text('Hardware address.'),
    type: EntryType,
    source_port: NullableText('Interface it was learned on; null for a remote entry.'),
    remote_vtep: NullableText('VTEP that told it; null for a local entry.'),
    age_mins: NullableInteger('Whole minutes since it was learned or last changed.'),
  },
  { title: 'VniMacEntry' },
)

const RemoteVtep = Type.Object(
  {
    vtep_ip: Text('Address of the remote VTEP.'),
    state: Nullable(
      OneOf(['up', 'down'], { description: 'Up: it can be reached, and floods when the VNI is a bridge.' }),
    ),
    connection_source: NullableText('Own VTEP address.'),
    neighbors: Type.Array(Type.String(), { description: 'Next hops of the route to it.' }),
  },
  { title: 'RemoteVtep' },
)

const VxlanTunnel = Type.Object(
  {
    interface_name: Text('VXLAN device.'),
    admin_state: OneOf(['up', 'down'], { description: 'Whether it is switched on.' }),
    status: OneOf(['up', 'down'], { description: 'Whether it carries (its operational state is never known).' }),
    mac_address: NullableText('Its hardware address.'),
    mtu: Type.Integer({ description: 'Its MTU in bytes.' }),
  },
  { title: 'VxlanTunnel' },
)

export const VniRecord = Type.Object(
  {
    vni: Type.Integer({ description: 'VXLAN network identifier.' }),
    type: OneOf(['L2', 'L3'], { description: 'Bridged, or routed between VNIs of a VRF.' }),
    vlan: NullableInteger('VLAN of the VXLAN port in a VLAN-aware bridge; 0 on a plain bridge.'),
    vxlan_if: NullableText('VXLAN device.'),
    bridge: NullableText('Bridge that the VXLAN device is a port of.'),
    svi_if: NullableText('Interface that routes for the VNI.'),
    local_vtep: NullableText('Own VTEP address.'),
    vrf: NullableText('VRF of the VNI.'),
    tenant_vrf: NullableText('VRF that routes for the VNI.'),
    router_mac: NullableText('Router MAC of an L3 VNI; null for L2.'),
    state: Nullable(
      OneOf(['Up', 'Down'], { description: 'L3: as the daemon says; L2: device carries, bridge is up.' }),
    ),
    l2_vnis: Type.Array(Type.Integer(), { description: 'L2 VNIs of an L3 VNI; empty for L2.' }),
    rd: NullableText('Route distinguisher.'),
    import_rts: Type.Array(Type.String(), { description: 'Route targets that are imported.' }),
    export_rts: Type.Array(Type.String(), { description: 'Route targets that are exported.' }),
    num_macs: NullableInteger('MAC addresses; for L3 the router MACs.'),
    num_arp_entries: NullableInteger('ARP and neighbour entries; for L3 the next hops.'),
    num_remote_vteps: NullableInteger('Remote VTEPs; for L3 the distinct VTEPs of its router MACs.'),
    remote_vteps: Type.Array(Type.String(), { description: 'Their addresses.' }),
    mac_table: Nullable(Type.Array(MacEntry)),
    arp_table: Nullable(Type.Array(ArpEntry)),
    remote_vtep_info: Type.Array(RemoteVtep),
    vxlan_tunnel: Nullable(VxlanTunnel),
  },
  { title: 'VniRecord' },
)
export type VniRecord = Static<typeof VniRecord>

const EvpnRoutes = Type.Object(
  {
    imet: NullableInteger('Inclusive multicast routes (type 3).'),
    macip: NullableInteger('MAC and MAC/IP routes (type 2).'),
    prefix: NullableInteger('IP prefix routes (type 5).'),
    total_routes: NullableInteger('All EVPN routes.'),
  },
  { title: 'EvpnRouteCounts' },
)

export const FrrNode = Type.Object(
  {
    name: NullableText('Name that the router gives itself.'),
    fqdn: NullableText('Fully qualified name of the node.'),
    ip_address: NullableText('Management address of the node.'),
    status: OneOf(['online', 'offline'], { description: 'Online: the routing and the BGP daemon answer.' }),
    error: NullableText('Why it is offline; null when it is not.'),
    as: NullableInteger('Own AS number; null when BGP is not configured or not known.'),
    sdn_status: Nullable(
      KnownText(['in_sync', 'drifted', 'failed'], 'Running configuration against the intended one; apart from status.'),
    ),
    sdn_last_error: NullableText('What differs, or why it could not be compared.'),
    bgp: Nullable(Bgp),
    frr: Nullable(Frr),
    ospf: Nullable(Ospf),
    bfd_peers: Nullable(Type.Array(BfdPeer)),
    ospf_neighbors: Nullable(Type.Array(OspfNeighbor)),
    evpn_routes: EvpnRoutes,
    vnis: Nullable(Type.Array(VniRecord)),
    unavailable: Type.Array(Unavailable, { description: 'Why fields are null.', 'x-extension': true }),
  },
  {
    title: 'FrrNode',
    description: 'One router. Lists are null when their daemon did not answer, empty when it has none.',
  },
)
export type FrrNode = Static<typeof FrrNode>

/** Null when there are routers and none of them could tell. */
const Sum = (description: string) =>
  Nullable(Type.Integer({ minimum: 0, description: `${description} Null when no router could tell.` }))

export const FrrSummary = Type.Object(
  {
    total_nodes: Type.Integer({ minimum: 0, description: 'Routers.' }),
    online_nodes: Type.Integer({ minimum: 0, description: 'Routers whose routing daemons answer.' }),
    offline_nodes: Type.Integer({ minimum: 0, description: 'The others.' }),
    total_peers: Sum('BGP sessions.'),
    established_peers: Sum('BGP sessions that are established.'),
    total_session_flaps: Sum('BGP sessions lost since the daemons started.'),
    total_msg_rcvd: Sum('BGP messages received.'),
    total_msg_sent: Sum('BGP messages sent.'),
    total_bfd_peers: Sum('BFD sessions.'),
    bfd_peers_up: Sum('BFD sessions that are up.'),
    bfd_peers_down: Sum('BFD sessions that are not up.'),
    total_ospf_neighbors: Sum('OSPF neighbours.'),
    full_ospf_adjacencies: Sum('OSPF neighbours in state Full.'),
    total_routes: Sum('EVPN routes.'),
    total_vnis: Sum('VNIs.'),
    l2_vnis: Sum('Bridged VNIs.'),
    l3_vnis: Sum('Routed VNIs.'),
    total_macs: Sum('MAC addresses of the bridged VNIs.'),
    total_arp_entries: Sum('ARP and neighbour entries of the bridged VNIs.'),
  },
  { title: 'FrrSummary' },
)
export type FrrSummary = Static<typeof FrrSummary>
