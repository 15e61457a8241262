// Sums over the routers of the fabric (Part 3, 4.7). Routers that could not tell a number are left out of its sum; when
// none could, the sum is null.
import type { FrrNode, FrrSummary } from '#src/contract/network/frr.ts'

export function frrSummary(nodes: readonly FrrNode[]): FrrSummary {
  const sum = (pick: (node: FrrNode) => number | null | undefined): number | null => sumKnown(nodes, pick)
  const sessions =
    (count: (session: Session) => number | null): ((node: FrrNode) => number | null) =>
    (node) =>
      node.bgp === null ? null : addKnown(node.bgp.sessions.map(count))
  const online = nodes.filter((node) => node.status === 'online').length
  return {
    total_nodes: nodes.length,
    online_nodes: online,
    offline_nodes: nodes.length - online,
    total_peers: sum((node) => node.bgp?.sessions.length),
    established_peers: sum(sessions((session) => (session.state === 'Established' ? 1 : 0))),
    total_session_flaps: sum(sessions((session) => session.connections_dropped)),
    total_msg_rcvd: sum(sessions((session) => session.messages_received)),
    total_msg_sent: sum(sessions((session) => session.messages_sent)),
    total_bfd_peers: sum((node) => node.bfd_peers?.length),
    bfd_peers_up: sum((node) => node.bfd_peers?.filter((peer) => peer.status === 'up').length),
    bfd_peers_down: sum((node) => node.bfd_peers?.filter((peer) => peer.status !== 'up').length),
    total_ospf_neighbors: sum((node) => node.ospf_neighbors?.length),
    full_ospf_adjacencies: sum((node) => node.ospf_neighbors?.filter((one) => one.state.startsWith('Full')).length),
    total_routes: sum((node) => node.evpn_routes.total_routes),
    total_vnis: sum((node) => node.vnis?.length),
    l2_vnis: sum((node) => node.vnis?.filter((vni) => vni.type === 'L2').length),
    l3_vnis: sum((node) => node.vnis?.filter((vni) => vni.type === 'L3').length),
    total_macs: sum((node) => bridged(node, (vni) => vni.num_macs)),
    total_arp_entries: sum((node) => bridged(node, (vni) => vni.num_arp_entries)),
  }
}

type Session = NonNullable<FrrNode['bgp']>['sessions'][number]
type Vni = NonNullable<FrrNode['vnis']>[number]

/** Router MACs and next hops of L3 VNIs are no hosts: only bridged VNIs count. */
function bridged(node: FrrNode, pick: (vni: Vni) => number | null): number | null {
  if (node.vnis === null) return null
  return addKnown(node.vnis.filter((vni) => vni.type === 'L2').map(pick))
}

function sumKnown(nodes: readonly FrrNode[], pick: (node: FrrNode) => number | null | undefined): number | null {
  return addKnown(nodes.map((node) => pick(node) ?? null))
}

/** 0 of nothing; null when there is something and none of it is known. */
function addKnown(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((one) => one !== null)
  return numbers.length > 0 && known.length === 0 ? null : known.reduce((total, one) => total + one, 0)
}
