// Tables of the BGP daemon: sessions over all address families, EVPN route counts, and what it knows of each VNI.
import type { BgpSession, FrrNode } from '#src/contract/network/frr.ts'
import { at, integerOf, isRecord, listOf, recordOf, textOf, textsOf } from '../untrusted-json.ts'

export const BGP_SUMMARY = 'show bgp summary json'
export const BGP_VNIS = 'show bgp l2vpn evpn vni json'
export const BGP_EVPN_STATISTICS = 'show bgp l2vpn evpn statistics json'
export const BGP_ROUTE_DUMPS = {
  imet: 'show bgp l2vpn evpn route type multicast json',
  macip: 'show bgp l2vpn evpn route type macip json',
  prefix: 'show bgp l2vpn evpn route type prefix json',
} as const

export interface BgpSummary {
  as: number | null
  bgp: NonNullable<FrrNode['bgp']>
}

/** `{}` and nothing at all both mean that BGP is not configured. */
export function parseBgpSummary(value: unknown): BgpSummary {
  const families = Object.entries(recordOf(value)).filter(([, family]) => isRecord(at(family, 'peers')))
  const first = families[0]?.[1]
  const byPeer = new Map<string, { family: string; row: unknown }[]>()
  for (const [family, table] of families) {
    for (const [peer, row] of Object.entries(recordOf(at(table, 'peers')))) {
      byPeer.set(peer, [...(byPeer.get(peer) ?? []), { family, row }])
    }
  }
  const sessions = [...byPeer].map(([peer, rows]) => session(peer, rows)).sort((a, b) => compare(a.peer, b.peer))
  return {
    as: integerOf(at(first, 'as')),
    bgp: { configured: families.length > 0, router_id: textOf(at(first, 'routerId')), sessions },
  }
}

/** One TCP session shows up in every address family: counters are taken once, only prefixes are added up. */
function session(peer: string, rows: readonly { family: string; row: unknown }[]): BgpSession {
  const row = rows[0]?.row
  const state = textOf(at(row, 'state')) ?? 'Idle'
  const seconds = wholeSeconds(at(row, 'peerUptimeMsec'))
  const established = state === 'Established'
  return {
    peer,
    state,
    remote_as: integerOf(at(row, 'remoteAs')),
    hostname: textOf(at(row, 'hostname')),
    description: textOf(at(row, 'desc')),
    uptime_seconds: established ? seconds : null,
    // The daemon's "uptime" of a session that is not established counts the time since it was lost.
    down_seconds: established ? null : seconds,
    messages_received: integerOf(at(row, 'msgRcvd')),
    messages_sent: integerOf(at(row, 'msgSent')),
    prefixes_received: sum(rows.map((one) => integerOf(at(one.row, 'pfxRcd')))),
    prefixes_sent: sum(rows.map((one) => integerOf(at(one.row, 'pfxSnt')))),
    connections_established: integerOf(at(row, 'connectionsEstablished')),
    connections_dropped: integerOf(at(row, 'connectionsDropped')),
    address_families: rows.map((one) => one.family).sort(compare),
  }
}

/** Number of prefixes of a route dump; nothing printed means no EVPN, so 0. */
export function countPrefixes(value: unknown): number | null {
  return value === undefined ? 0 : integerOf(at(value, 'numPrefix'))
}

export function parseEvpnTotal(value: unknown): number | null {
  const instances = listOf(at(value, 'l2VpnEvpn'))
  if (value === undefined || instances.length === 0) return 0
  return sum(instances.map((instance) => integerOf(at(instance, 'totalPrefixes'))))
}

export interface BgpVni {
  rd: string | null
  import_rts: string[]
  export_rts: string[]
}

/** The answer mixes VNIs with summary members: only numeric keys are VNIs. */
export function parseBgpVnis(value: unknown): Map<number, BgpVni> {
  const vnis = new Map<number, BgpVni>()
  for (const [key, row] of Object.entries(recordOf(value))) {
    if (!/^\d+$/.test(key)) continue
    vnis.set(Number(key), {
      rd: textOf(at(row, 'rd')),
      import_rts: textsOf(at(row, 'importRTs')),
      export_rts: textsOf(at(row, 'exportRTs')),
    })
  }
  return vnis
}

function wholeSeconds(milliseconds: unknown): number | null {
  const number = integerOf(milliseconds)
  return number === null ? null : Math.floor(number / 1000)
}

/** Null when one of them is not known: a sum with a hole is not a sum. */
function sum(numbers: readonly (number | null)[]): number | null {
  return numbers.reduce<number | null>((total, one) => (total === null || one === null ? null : total + one), 0)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
