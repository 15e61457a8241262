// The record of one router of the overlay fabric and the sum over routers (Part 3, 4.7, frr/dashboard).
import { type Static, Type } from 'typebox'
import { KnownText, Nullable, NullableInteger, NullableText, OneOf, Unavailable } from '../common.ts'

const Text = (description: string) => Type.String({ description })

export const BfdPeer = Type.Object(
  {
    peer: Text('Address of the peer. Source: show bfd peers json → peer.'),
    local: NullableText(
      'Own address; of a single-hop session the address of its interface. Null when it has none. Source: show bfd peers json → local, or the address of the interface.',
    ),
    status: KnownText(
      ['up', 'down', 'init', 'shutdown'],
      'State of the session. Source: show bfd peers json → status.',
    ),
    multihop: Nullable(
      Type.Boolean({
        description: 'Whether the session spans more than one hop. Source: show bfd peers json → multihop.',
      }),
    ),
    diagnostic: NullableText(
      'Why the session last went down; `ok` when it never did. Source: show bfd peers json → diagnostic.',
    ),
    uptime: NullableInteger(
      'Seconds since it came up; 0 while it is not up. Source: show bfd peers json → uptime while up.',
    ),
    downtime: NullableInteger(
      'Seconds since it went down; 0 while it is up. Source: show bfd peers json → downtime otherwise.',
    ),
  },
  { title: 'BfdPeer' },
)
export type BfdPeer = Static<typeof BfdPeer>

export const OspfNeighbor = Type.Object(
  {
    neighbor_id: Text(
      'Router id of the neighbour; parallel links give one row each. Source: show ip ospf neighbor json → neighbors, key.',
    ),
    state: KnownText(
      ['Full', '2-Way', 'ExStart', 'Exchange', 'Loading', 'Init', 'Down'],
      'State of the adjacency. Source: show ip ospf neighbor json → nbrState before the slash.',
    ),
    full_state: Type.String({
      description:
        'State and role as the daemon prints them: `Full/-`, `Full/DR`. Source: show ip ospf neighbor json → nbrState.',
      'x-extension': true,
    }),
    address: Nullable(
      Type.String({
        description: 'Address of the neighbour on the link. Source: show ip ospf neighbor json → ifaceAddress.',
        'x-extension': true,
      }),
    ),
    interface_name: Nullable(
      Type.String({
        description: 'Own interface of the adjacency. Source: show ip ospf neighbor json → ifaceName before the colon.',
        'x-extension': true,
      }),
    ),
  },
  { title: 'OspfNeighbor' },
)
export type OspfNeighbor = Static<typeof OspfNeighbor>

export const BgpSession = Type.Object(
  {
    peer: Text(
      'Address (or interface) of the peer. A session of several address families is one row. Source: show bgp summary json → peers, joined over address families → key.',
    ),
    state: KnownText(
      ['Established', 'Active', 'Connect', 'Idle', 'OpenSent', 'OpenConfirm'],
      'State of the session. Source: show bgp summary json → peers, joined over address families → state.',
    ),
    remote_as: NullableInteger(
      'AS number of the peer. Source: show bgp summary json → peers, joined over address families → remoteAs.',
    ),
    hostname: NullableText(
      'Name that the peer tells; null before the first session. Source: show bgp summary json → peers, joined over address families → hostname.',
    ),
    description: NullableText(
      'Description from the configuration. Source: show bgp summary json → peers, joined over address families → desc.',
    ),
    uptime_seconds: NullableInteger(
      'Seconds since it was established; null while it is not. Source: show bgp summary json → peers, joined over address families → peerUptimeMsec while Established.',
    ),
    down_seconds: NullableInteger(
      'Seconds since it was lost; null while it is established. Source: show bgp summary json → peers, joined over address families → peerUptimeMsec otherwise.',
    ),
    messages_received: NullableInteger(
      'Messages received, all address families together. Source: show bgp summary json → peers, joined over address families → msgRcvd of one family.',
    ),
    messages_sent: NullableInteger(
      'Messages sent, all address families together. Source: show bgp summary json → peers, joined over address families → msgSent of one family.',
    ),
    prefixes_received: NullableInteger(
      'Prefixes received, over the address families. Source: show bgp summary json → peers, joined over address families → pfxRcd, sum of the families.',
    ),
    prefixes_sent: NullableInteger(
      'Prefixes sent, over the address families. Source: show bgp summary json → peers, joined over address families → pfxSnt, sum of the families.',
    ),
    connections_established: NullableInteger(
      'How often the session came up since the daemon started. Source: show bgp summary json → peers, joined over address families → connectionsEstablished.',
    ),
    connections_dropped: NullableInteger(
      'How often it was lost since the daemon started. Source: show bgp summary json → peers, joined over address families → connectionsDropped.',
    ),
    address_families: Type.Array(Type.String(), {
      description:
        'Address families of the session. Source: show bgp summary json → peers, joined over address families → keys of the families.',
    }),
  },
  { title: 'BgpSession' },
)
export type BgpSession = Static<typeof BgpSession>

const Bgp = Type.Object(
  {
    configured: Type.Boolean({
      description: 'Whether BGP is configured at all. Source: show bgp summary json has an address family.',
    }),
    router_id: NullableText(
      'BGP router id; null when BGP is not configured. Source: show bgp summary json → routerId.',
    ),
    sessions: Type.Array(BgpSession),
  },
  { title: 'BgpState' },
)

const Frr = Type.Object(
  {
    version: NullableText('Version of the routing suite. Source: show version, second word.'),
    daemons: Type.Array(Type.String(), {
      description: 'Daemons that answer. Source: command sockets that answer, or show daemons.',
    }),
    silent_daemons: Type.Array(Type.String(), {
      description:
        'Daemons that run and do not answer in time. Source: command sockets that accept and do not answer in time.',
    }),
    vni_count: NullableInteger('VNIs that the kernel side knows; 0 without EVPN. Source: show evpn json → numVnis.'),
    routes_total: NullableInteger(
      'IPv4 routes in the routing table of the default VRF. Source: show ip route summary json → routesTotal.',
    ),
    routes_installed: NullableInteger(
      'Of those, the ones in the kernel. Source: show ip route summary json → routesTotalFib.',
    ),
  },
  { title: 'RoutingSuite' },
)

const Ospf = Type.Object(
  {
    configured: Type.Boolean({
      description: 'Whether OSPF is configured at all. Source: show ip ospf json → areas is there.',
    }),
    router_id: NullableText('OSPF router id; null when OSPF is not configured. Source: show ip ospf json → routerId.'),
    areas: Type.Array(
      Type.Object({
        area: Text('Area id. Source: show ip ospf json → areas, key.'),
        full_adjacencies: NullableInteger(
          'Neighbours in state Full. Source: show ip ospf json → areas, nbrFullAdjacentCounter.',
        ),
      }),
    ),
  },
  { title: 'OspfState' },
)

const EntryType = OneOf(['local', 'remote'], {
  description: 'Learned here, or told by another router. Source: show evpn mac vni all detail json → type.',
})

const ArpEntry = Type.Object(
  {
    ip: Text(
      'IPv4 or IPv6 address; link-local addresses are included. Source: show evpn arp-cache vni all detail json → ip.',
    ),
    mac: NullableText('Hardware address. Source: show evpn mac vni all detail json → key.'),
    type: EntryType,
    state: KnownText(
      ['active', 'inactive'],
      'Whether the entry is in use. Source: show evpn arp-cache vni all detail json → state.',
    ),
    remote_vtep: NullableText(
      'VTEP that told it; null for a local entry. Source: show evpn mac vni all detail json → remoteVtep.',
    ),
    age_mins: NullableInteger(
      'Whole minutes since it was learned or last changed. Source: show evpn mac vni all detail json → uptime.',
    ),
  },
  { title: 'VniArpEntry' },
)

const MacEntry = Type.Object(
  {
    mac: Text('Hardware address. Source: show evpn arp-cache vni all detail json → mac.'),
    type: EntryType,
    source_port: NullableText(
      'Interface it was learned on; null for a remote entry. Source: show evpn mac vni all detail json → intf.',
    ),
    remote_vtep: NullableText(
      'VTEP that told it; null for a local entry. Source: show evpn arp-cache vni all detail json → remoteVtep.',
    ),
    age_mins: NullableInteger(
      'Whole minutes since it was learned or last changed. Source: show evpn arp-cache vni all detail json → uptime.',
    ),
  },
  { title: 'VniMacEntry' },
)

const RemoteVtep = Type.Object(
  {
    vtep_ip: Text('Address of the remote VTEP. Source: remote_vteps.'),
    state: Nullable(
      OneOf(['up', 'down'], {
        description:
          'Up: it can be reached, and floods when the VNI is a bridge. Source: selected route of show ip route VTEP/32 json, and for L2 the flood entry of bridge -j fdb show.',
      }),
    ),
    connection_source: NullableText('Own VTEP address. Source: local_vtep.'),
    neighbors: Type.Array(Type.String(), {
      description:
        'Next hops of the route to it. Source: next hops of the selected route of show ip route VTEP/32 json.',
    }),
  },
  { title: 'RemoteVtep' },
)

const VxlanTunnel = Type.Object(
  {
    interface_name: Text('VXLAN device. Source: ip -j -d -s -s addr show, the VXLAN device → ifname.'),
    admin_state: OneOf(['up', 'down'], {
      description: 'Whether it is switched on. Source: ip -j -d -s -s addr show, the VXLAN device → flag UP.',
    }),
    status: OneOf(['up', 'down'], {
      description:
        'Whether it carries (its operational state is never known). Source: ip -j -d -s -s addr show, the VXLAN device → flag LOWER_UP.',
    }),
    mac_address: NullableText('Its hardware address. Source: ip -j -d -s -s addr show, the VXLAN device → address.'),
    mtu: Type.Integer({ description: 'Its MTU in bytes. Source: ip -j -d -s -s addr show, the VXLAN device → mtu.' }),
  },
  { title: 'VxlanTunnel' },
)

export const VniRecord = Type.Object(
  {
    vni: Type.Integer({ description: 'VXLAN network identifier. Source: show evpn vni json → vni.' }),
    type: OneOf(['L2', 'L3'], {
      description: 'Bridged, or routed between VNIs of a VRF. Source: show evpn vni json → type.',
    }),
    vlan: NullableInteger(
      'VLAN of the VXLAN port in a VLAN-aware bridge; 0 on a plain bridge. Source: bridge -j vlan show → PVID of the VXLAN port; 0 on a bridge without VLAN filtering.',
    ),
    vxlan_if: NullableText('VXLAN device. Source: show evpn vni json → vxlanIf.'),
    bridge: NullableText(
      'Bridge that the VXLAN device is a port of. Source: ip -j -d -s -s addr show, the VXLAN device → master.',
    ),
    svi_if: NullableText(
      'Interface that routes for the VNI. Source: show evpn vni detail json → sviInterface, sviIntf.',
    ),
    local_vtep: NullableText('Own VTEP address. Source: show evpn vni detail json → vtepIp, localVtepIp.'),
    vrf: NullableText('VRF of the VNI. Source: show evpn vni detail json → vrf.'),
    tenant_vrf: NullableText('VRF that routes for the VNI. Source: show evpn vni json → tenantVrf.'),
    router_mac: NullableText(
      'Router MAC of an L3 VNI; null for L2. Source: show evpn vni detail json → routerMac (L3).',
    ),
    state: Nullable(
      OneOf(['Up', 'Down'], {
        description:
          'L3: as the daemon says; L2: device carries, bridge is up. Source: L3: show evpn vni detail json → state; L2: flags of the VXLAN device and of its bridge.',
      }),
    ),
    l2_vnis: Type.Array(Type.Integer(), {
      description: 'L2 VNIs of an L3 VNI; empty for L2. Source: show evpn vni detail json → l2Vnis (L3).',
    }),
    rd: NullableText('Route distinguisher. Source: show bgp l2vpn evpn vni json → rd.'),
    import_rts: Type.Array(Type.String(), {
      description: 'Route targets that are imported. Source: show bgp l2vpn evpn vni json → importRTs.',
    }),
    export_rts: Type.Array(Type.String(), {
      description: 'Route targets that are exported. Source: show bgp l2vpn evpn vni json → exportRTs.',
    }),
    num_macs: NullableInteger('MAC addresses; for L3 the router MACs. Source: show evpn vni json → numMacs.'),
    num_arp_entries: NullableInteger(
      'ARP and neighbour entries; for L3 the next hops. Source: show evpn vni json → numArpNd.',
    ),
    num_remote_vteps: NullableInteger(
      'Remote VTEPs; for L3 the distinct VTEPs of its router MACs. Source: length of remote_vteps.',
    ),
    remote_vteps: Type.Array(Type.String(), {
      description:
        'Their addresses. Source: L2: show evpn vni json → remoteVteps; L3: distinct vtepIp of show evpn rmac vni all json.',
    }),
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
    imet: NullableInteger(
      'Inclusive multicast routes (type 3). Source: show bgp l2vpn evpn → route type multicast json, numPrefix.',
    ),
    macip: NullableInteger(
      'MAC and MAC/IP routes (type 2). Source: show bgp l2vpn evpn → route type macip json, numPrefix.',
    ),
    prefix: NullableInteger(
      'IP prefix routes (type 5). Source: show bgp l2vpn evpn → route type prefix json, numPrefix.',
    ),
    total_routes: NullableInteger('All EVPN routes. Source: show bgp l2vpn evpn → statistics json, totalPrefixes.'),
  },
  { title: 'EvpnRouteCounts' },
)

export const FrrNode = Type.Object(
  {
    name: NullableText('Name that the router gives itself. Source: show version, first line, in brackets.'),
    fqdn: NullableText('Fully qualified name of the node. Source: configuration of the node.'),
    ip_address: NullableText('Management address of the node. Source: configuration of the node.'),
    status: OneOf(['online', 'offline'], {
      description: 'Online: the routing and the BGP daemon answer. Source: online when zebra and bgpd answer.',
    }),
    error: NullableText('Why it is offline; null when it is not. Source: why zebra or bgpd do not answer.'),
    as: NullableInteger(
      'Own AS number; null when BGP is not configured or not known. Source: show bgp summary json → as.',
    ),
    sdn_status: Nullable(
      KnownText(
        ['in_sync', 'drifted', 'failed'],
        'Running configuration against the intended one; apart from status. Source: show running-config compared with the intended configuration.',
      ),
    ),
    sdn_last_error: NullableText('What differs, or why it could not be compared. Source: the first difference.'),
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
