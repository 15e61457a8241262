// Neighbours of the fabric below BGP: BFD sessions and OSPF adjacencies.
import type { BfdPeer, FrrNode, OspfNeighbor } from '#src/contract/network/frr.ts'
import { at, booleanOf, integerOf, isRecord, listOf, recordOf, textOf } from '../untrusted-json.ts'

export const BFD_PEERS = 'show bfd peers json'
export const OSPF = 'show ip ospf json'
export const OSPF_NEIGHBORS = 'show ip ospf neighbor json'

/** `addressOf` gives the own address on an interface: single-hop sessions do not print it. */
export function parseBfdPeers(
  value: unknown,
  addressOf: (interface_name: string, peer: string) => string | null,
): BfdPeer[] {
  return listOf(value).flatMap((row) => {
    const peer = textOf(at(row, 'peer'))
    if (peer === null) return []
    const status = textOf(at(row, 'status')) ?? 'down'
    const device = textOf(at(row, 'interface'))
    return [
      {
        peer,
        local: textOf(at(row, 'local')) ?? (device === null ? null : addressOf(device, peer)),
        status,
        multihop: booleanOf(at(row, 'multihop')),
        diagnostic: textOf(at(row, 'diagnostic')),
        // Only the one that applies is printed.
        uptime: status === 'up' ? integerOf(at(row, 'uptime')) : 0,
        downtime: status === 'up' ? 0 : integerOf(at(row, 'downtime')),
      },
    ]
  })
}

/** A lost neighbour disappears from the table; it does not become "Down". */
export function parseOspfNeighbors(value: unknown): OspfNeighbor[] {
  return Object.entries(recordOf(at(value, 'neighbors'))).flatMap(([neighbor_id, rows]) =>
    listOf(rows).map((row) => {
      const full_state = textOf(at(row, 'nbrState')) ?? textOf(at(row, 'state')) ?? 'Down'
      return {
        neighbor_id,
        state: full_state.split('/')[0] ?? full_state,
        full_state,
        address: textOf(at(row, 'ifaceAddress')) ?? textOf(at(row, 'address')),
        interface_name: textOf(at(row, 'ifaceName'))?.split(':')[0] ?? null,
      }
    }),
  )
}

export function parseOspf(value: unknown): NonNullable<FrrNode['ospf']> {
  const areas = Object.entries(recordOf(at(value, 'areas'))).map(([area, row]) => ({
    area,
    full_adjacencies: integerOf(at(row, 'nbrFullAdjacentCounter')),
  }))
  return { configured: isRecord(at(value, 'areas')), router_id: textOf(at(value, 'routerId')), areas }
}
