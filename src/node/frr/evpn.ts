// EVPN tables of the kernel-side daemon: VNIs, MAC and ARP entries, router MACs. Key names differ between commands and
// versions, and some counts are text or lists: all spellings are accepted.
import type { VniRecord } from '#src/contract/network/frr.ts'
import { anyOf, at, integerOf, isRecord, listOf, recordOf, textOf } from '../untrusted-json.ts'

export const EVPN = 'show evpn json'
export const EVPN_VNIS = 'show evpn vni json'
export const EVPN_VNI_DETAIL = 'show evpn vni detail json'
export const EVPN_MACS = 'show evpn mac vni all detail json'
export const EVPN_ARP = 'show evpn arp-cache vni all detail json'
export const EVPN_RMACS = 'show evpn rmac vni all json'

export interface EvpnVni {
  vni: number
  type: 'L2' | 'L3'
  vxlan_if: string | null
  tenant_vrf: string | null
  num_macs: number | null
  num_arp_entries: number | null
  remote_vteps: string[]
}

export function parseEvpnVnis(value: unknown): EvpnVni[] {
  const rows = Array.isArray(value) ? listOf(value) : Object.values(recordOf(value))
  return rows
    .flatMap((row) => {
      const vni = integerOf(at(row, 'vni'))
      if (vni === null) return []
      const type = textOf(at(row, 'type')) === 'L3' ? ('L3' as const) : ('L2' as const)
      return [
        {
          vni,
          type,
          vxlan_if: textOf(anyOf(row, 'vxlanIf', 'vxlanIntf', 'vxlanInterface')),
          tenant_vrf: textOf(anyOf(row, 'tenantVrf', 'vrf')),
          num_macs: integerOf(at(row, 'numMacs')),
          num_arp_entries: integerOf(at(row, 'numArpNd')),
          remote_vteps: addresses(anyOf(row, 'remoteVteps', 'numRemoteVteps')),
        },
      ]
    })
    .sort((a, b) => a.vni - b.vni)
}

export interface EvpnVniDetail {
  vrf: string | null
  svi_if: string | null
  local_vtep: string | null
  router_mac: string | null
  state: 'Up' | 'Down' | null
  l2_vnis: number[]
}

export function parseVniDetails(value: unknown): Map<number, EvpnVniDetail> {
  const details = new Map<number, EvpnVniDetail>()
  for (const row of listOf(value)) {
    const vni = integerOf(at(row, 'vni'))
    if (vni === null) continue
    const state = textOf(at(row, 'state'))
    details.set(vni, {
      vrf: textOf(anyOf(row, 'vrf', 'tenantVrf')),
      svi_if: textOf(anyOf(row, 'sviInterface', 'sviIntf')),
      local_vtep: textOf(anyOf(row, 'vtepIp', 'localVtepIp')),
      router_mac: textOf(at(row, 'routerMac')),
      state: state === 'Up' || state === 'Down' ? state : null,
      l2_vnis: listOf(at(row, 'l2Vnis')).flatMap((one) => integerOf(one) ?? []),
    })
  }
  return details
}

type MacEntry = NonNullable<VniRecord['mac_table']>[number]
type ArpEntry = NonNullable<VniRecord['arp_table']>[number]

/** VNIs without an entry are absent. */
export function parseMacs(value: unknown): Map<number, MacEntry[]> {
  return byVni(value, (table) =>
    Object.entries(recordOf(at(table, 'macs'))).map(([mac, row]) => ({
      mac,
      type: localOrRemote(row),
      source_port: textOf(anyOf(row, 'intf', 'interface')),
      remote_vtep: textOf(at(row, 'remoteVtep')),
      age_mins: ageMinutes(textOf(at(row, 'uptime'))),
    })),
  )
}

/** Addresses stand among summary members: rows are the ones that are records. */
export function parseArp(value: unknown): Map<number, ArpEntry[]> {
  return byVni(value, (table) =>
    Object.entries(recordOf(table)).flatMap(([key, row]) =>
      isRecord(row)
        ? [
            {
              ip: textOf(at(row, 'ip')) ?? key,
              mac: textOf(at(row, 'mac')),
              type: localOrRemote(row),
              state: textOf(at(row, 'state')) ?? 'inactive',
              remote_vtep: textOf(at(row, 'remoteVtep')),
              age_mins: ageMinutes(textOf(at(row, 'uptime'))),
            },
          ]
        : [],
    ),
  )
}

/** VTEPs of the router MACs of each L3 VNI. */
export function parseRouterMacVteps(value: unknown): Map<number, string[]> {
  return byVni(value, (table) => [
    ...new Set(Object.values(recordOf(table)).flatMap((row) => textOf(at(row, 'vtepIp')) ?? [])),
  ])
}

/** Whole minutes of "00:01:03", "1d02h03m", "01w2d03h"; null for anything else. */
export function ageMinutes(text: string | null): number | null {
  if (text === null) return null
  const clock = /^(\d+):(\d\d):\d\d$/.exec(text)
  if (clock !== null) return Number(clock[1]) * 60 + Number(clock[2])
  if (!/^(\d+[ywdhms])+$/.test(text)) return null
  const minutes: Record<string, number> = { y: 525_600, w: 10_080, d: 1_440, h: 60, m: 1, s: 0 }
  return [...text.matchAll(/(\d+)([ywdhms])/g)].reduce(
    (total, [, count, unit]) => total + Number(count) * (minutes[unit ?? ''] ?? 0),
    0,
  )
}

function byVni<T>(value: unknown, read: (table: unknown) => T[]): Map<number, T[]> {
  const tables = new Map<number, T[]>()
  for (const [key, table] of Object.entries(recordOf(value))) {
    if (/^\d+$/.test(key)) tables.set(Number(key), read(table))
  }
  return tables
}

function localOrRemote(row: unknown): 'local' | 'remote' {
  return textOf(at(row, 'type')) === 'remote' ? 'remote' : 'local'
}

/** Addresses, or records that hold one under `ip`; a count or "n/a" gives none. */
function addresses(value: unknown): string[] {
  return listOf(value)
    .flatMap((item) => textOf(item) ?? textOf(at(item, 'ip')) ?? [])
    .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
}
