// Sums over the routers of the fabric (Part 3, 4.7). Routers that could not tell a number are left out of its sum; when
// none could, the sum is null.
import type { FrrNode, FrrSummary } from '#src/contract/network/frr.ts'

/** What is kept of each router's record: those with long tables are too large to keep whole. */
export interface RouterDigest {
  status: FrrNode['status']
  /** Its share of each sum; null where it could not tell. */
  sums: Record<RouterSum, number | null>
  /** Every session that carries the overlay, and at least one, is established. */
  overlay_established: boolean
  /** Its bridged VNIs. */
  bridged: Pick<Vni, 'vni' | 'vxlan_if' | 'num_remote_vteps'>[]
}

type RouterSum = Exclude<keyof FrrSummary, 'total_nodes' | 'online_nodes' | 'offline_nodes'>
type Session = NonNullable<FrrNode['bgp']>['sessions'][number]
type Vni = NonNullable<FrrNode['vnis']>[number]

export function frrSummary(routers: readonly RouterDigest[]): FrrSummary {
  const online = routers.filter((router) => router.status === 'online').length
  const sum = (name: RouterSum): number | null => addKnown(routers.map(({ sums }) => sums[name]))
  return {
    total_nodes: routers.length,
    online_nodes: online,
    offline_nodes: routers.length - online,
    total_peers: sum('total_peers'),
    established_peers: sum('established_peers'),
    total_session_flaps: sum('total_session_flaps'),
    total_msg_rcvd: sum('total_msg_rcvd'),
    total_msg_sent: sum('total_msg_sent'),
    total_bfd_peers: sum('total_bfd_peers'),
    bfd_peers_up: sum('bfd_peers_up'),
    bfd_peers_down: sum('bfd_peers_down'),
    total_ospf_neighbors: sum('total_ospf_neighbors'),
    full_ospf_adjacencies: sum('full_ospf_adjacencies'),
    total_routes: sum('total_routes'),
    total_vnis: sum('total_vnis'),
    l2_vnis: sum('l2_vnis'),
    l3_vnis: sum('l3_vnis'),
    total_macs: sum('total_macs'),
    total_arp_entries: sum('total_arp_entries'),
  }
}

export function routerDigest(node: FrrNode): RouterDigest {
  const sessions = node.bgp?.sessions ?? []
  const overlay = sessions.filter((one) => one.address_families.some((name) => /evpn/i.test(name)))
  const bridged = node.vnis?.filter((vni) => vni.type === 'L2')
  return {
    status: node.status,
    sums: sumsOf(node, bridged),
    overlay_established: overlay.length > 0 && overlay.every((one) => one.state === 'Established'),
    bridged: (bridged ?? []).map(({ vni, vxlan_if, num_remote_vteps }) => ({ vni, vxlan_if, num_remote_vteps })),
  }
}

function sumsOf(node: FrrNode, bridged: readonly Vni[] | undefined): RouterDigest['sums'] {
  const { bgp, bfd_peers, ospf_neighbors, vnis } = node
  const sessions = (count: (session: Session) => number | null): number | null =>
    bgp === null ? null : addKnown(bgp.sessions.map(count))
  // Router MACs and next hops of L3 VNIs are no hosts: only bridged VNIs count.
  const hosts = (count: (vni: Vni) => number | null): number | null =>
    bridged === undefined ? null : addKnown(bridged.map(count))
  return {
    total_peers: bgp?.sessions.length ?? null,
    established_peers: sessions((session) => (session.state === 'Established' ? 1 : 0)),
    total_session_flaps: sessions((session) => session.connections_dropped),
    total_msg_rcvd: sessions((session) => session.messages_received),
    total_msg_sent: sessions((session) => session.messages_sent),
    total_bfd_peers: bfd_peers?.length ?? null,
    bfd_peers_up: bfd_peers?.filter((peer) => peer.status === 'up').length ?? null,
    bfd_peers_down: bfd_peers?.filter((peer) => peer.status !== 'up').length ?? null,
    total_ospf_neighbors: ospf_neighbors?.length ?? null,
    full_ospf_adjacencies: ospf_neighbors?.filter((one) => one.state.startsWith('Full')).length ?? null,
    total_routes: node.evpn_routes.total_routes,
    total_vnis: vnis?.length ?? null,
    l2_vnis: bridged?.length ?? null,
    l3_vnis: vnis?.filter((vni) => vni.type === 'L3').length ?? null,
    total_macs: hosts((vni) => vni.num_macs),
    total_arp_entries: hosts((vni) => vni.num_arp_entries),
  }
}

/** 0 of nothing; null when there is something and none of it is known. */
function addKnown(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((one) => one !== null)
  return numbers.length > 0 && known.length === 0 ? null : known.reduce((total, one) => total + one, 0)
}
