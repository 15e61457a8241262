// The network devices of the machine as `ip -j -d -s -s addr show` prints them, parsed once for all collectors.
import { at, booleanOf, isRecord, listOf, numberOf, textOf, textsOf } from '../untrusted-json.ts'

export interface LinkAddress {
  family: 'inet' | 'inet6'
  local: string
  prefixlen: number
  scope: string
}

export interface Link {
  ifname: string
  ifindex: number
  mtu: number
  /** Upper case as printed: UP, DOWN, UNKNOWN, LOWERLAYERDOWN, … */
  operstate: string
  flags: readonly string[]
  link_type: string
  address: string | null
  /** Printed only when it differs from `address`: a bond gives its slaves its own. */
  permaddr: string | null
  master: string | null
  /** Device below (vlan, macvlan, vxlan); for a veth its peer. */
  lower: string | null
  /** Kind of a device made by software: bridge, bond, vlan, vxlan, veth, …; null for hardware. */
  kind: string | null
  /** Kind of the master: bond or bridge. */
  slave_kind: string | null
  /** Of a bond slave: ACTIVE or BACKUP, and its link monitor's verdict. */
  slave_state: string | null
  mii_status: string | null
  info: LinkInfo
  txqlen: number | null
  promiscuity: number
  allmulti: number
  parentbus: string | null
  parentdev: string | null
  addresses: readonly LinkAddress[]
  counters: LinkCounters
}

export interface LinkInfo {
  /** VLAN id or VNI. */
  id: number | null
  /** VTEP address of a VXLAN. */
  local: string | null
  mode: string | null
  vlan_filtering: boolean
  /** A VXLAN device without a VNI of its own. */
  external: boolean
}

export interface LinkCounters {
  rx_bytes: number
  tx_bytes: number
  rx_errors: number
  tx_errors: number
  rx_dropped: number
  tx_dropped: number
  rx_missed: number
  collisions: number
  carrier_changes: number
  /** Every error counter by its name with direction: rx_crc, tx_carrier, … */
  errors: Readonly<Record<string, number>>
}

const RX_ERRORS = ['over', 'length', 'crc', 'frame', 'fifo', 'missed'] as const
const TX_ERRORS = ['carrier', 'aborted', 'fifo', 'window', 'heartbeat'] as const

/** All devices but the loopback. Rows that are not a device are left out. */
export function parseLinks(value: unknown): Link[] {
  return listOf(value).flatMap((row) => {
    const ifname = textOf(at(row, 'ifname'))
    const ifindex = numberOf(at(row, 'ifindex'))
    if (ifname === null || ifindex === null || at(row, 'link_type') === 'loopback') return []
    return [parseLink(row, ifname, ifindex)]
  })
}

function parseLink(row: unknown, ifname: string, ifindex: number): Link {
  const slave = at(row, 'linkinfo', 'info_slave_data')
  return {
    ifname,
    ifindex,
    mtu: numberOf(at(row, 'mtu')) ?? 0,
    operstate: (textOf(at(row, 'operstate')) ?? 'UNKNOWN').toUpperCase(),
    flags: textsOf(at(row, 'flags')),
    link_type: textOf(at(row, 'link_type')) ?? '',
    address: textOf(at(row, 'address')),
    permaddr: textOf(at(row, 'permaddr')),
    master: textOf(at(row, 'master')),
    lower: textOf(at(row, 'link')),
    kind: textOf(at(row, 'linkinfo', 'info_kind')),
    slave_kind: textOf(at(row, 'linkinfo', 'info_slave_kind')),
    slave_state: textOf(at(slave, 'state')),
    mii_status: textOf(at(slave, 'mii_status')),
    info: parseInfo(at(row, 'linkinfo', 'info_data')),
    txqlen: numberOf(at(row, 'txqlen')),
    promiscuity: numberOf(at(row, 'promiscuity')) ?? 0,
    allmulti: numberOf(at(row, 'allmulti')) ?? 0,
    parentbus: textOf(at(row, 'parentbus')),
    parentdev: textOf(at(row, 'parentdev')),
    addresses: listOf(at(row, 'addr_info')).flatMap(parseAddress),
    counters: parseCounters(at(row, 'stats64')),
  }
}

function parseInfo(data: unknown): LinkInfo {
  return {
    id: numberOf(at(data, 'id')),
    local: textOf(at(data, 'local')) ?? textOf(at(data, 'local6')),
    mode: textOf(at(data, 'mode')),
    vlan_filtering: booleanOf(at(data, 'vlan_filtering')) === true,
    external: booleanOf(at(data, 'external')) === true,
  }
}

function parseAddress(row: unknown): LinkAddress[] {
  const local = textOf(at(row, 'local'))
  const family = at(row, 'family')
  if (!isRecord(row) || local === null || (family !== 'inet' && family !== 'inet6')) return []
  return [{ family, local, prefixlen: numberOf(row['prefixlen']) ?? 0, scope: textOf(row['scope']) ?? '' }]
}

export function parseCounters(stats: unknown): LinkCounters {
  const rx = (name: string): number => numberOf(at(stats, 'rx', name)) ?? 0
  const tx = (name: string): number => numberOf(at(stats, 'tx', name)) ?? 0
  const errors: Record<string, number> = {}
  for (const name of RX_ERRORS) errors[`rx_${name}`] = rx(`${name}_errors`)
  for (const name of TX_ERRORS) errors[`tx_${name}`] = tx(`${name}_errors`)
  errors['collisions'] = tx('collisions')
  errors['rx_dropped'] = rx('dropped')
  errors['tx_dropped'] = tx('dropped')
  return {
    rx_bytes: rx('bytes'),
    tx_bytes: tx('bytes'),
    rx_errors: rx('errors'),
    tx_errors: tx('errors'),
    rx_dropped: rx('dropped'),
    tx_dropped: tx('dropped'),
    rx_missed: rx('missed_errors'),
    collisions: tx('collisions'),
    carrier_changes: tx('carrier_changes'),
    errors,
  }
}

export function isAdminUp(link: Link): boolean {
  return link.flags.includes('UP')
}

export function hasCarrier(link: Link): boolean {
  return link.flags.includes('LOWER_UP')
}

/** Addresses with prefix length as people write them, without link-local IPv6. */
export function addressTexts(link: Link): string[] {
  return link.addresses
    .filter((address) => !(address.family === 'inet6' && address.scope === 'link'))
    .map((address) => `${address.local}/${address.prefixlen}`)
}

export function linkOwning(links: readonly Link[], address: string): Link | undefined {
  return links.find((link) => link.addresses.some((one) => one.local === address))
}

/**
 * The device itself and everything it stands on: slaves of a bond, members of a bridge, the parent of a vlan. A tunnel
 * ends the walk: what carries it serves the overlay, not the bridge that the tunnel is a member of.
 */
export function standingOn(links: readonly Link[], name: string): Set<string> {
  const reached = new Set<string>()
  const walk = (at: string): void => {
    if (reached.has(at)) return
    reached.add(at)
    const self = links.find((link) => link.ifname === at)
    if (self !== undefined && self.lower !== null && !['veth', 'vxlan'].includes(self.kind ?? '')) walk(self.lower)
    for (const link of links) if (link.master === at) walk(link.ifname)
  }
  walk(name)
  return reached
}

/**
 * The devices that carry a tunnel: the one it is bound to, else the owner of its VTEP address, else (the address lies on
 * the loopback and is reached by routing) every uplink with an address of its own.
 */
export function underlayOf(tunnel: Link, links: readonly Link[], uplinks: ReadonlySet<string>): Link[] {
  const { local } = tunnel.info
  const bound = links.filter((link) => link.ifname === tunnel.lower)
  if (bound.length > 0 || local === null) return bound
  const owner = linkOwning(links, local)
  if (owner !== undefined) return [owner]
  return links.filter(
    (link) => uplinks.has(link.ifname) && link.master === null && isAdminUp(link) && addressTexts(link).length > 0,
  )
}
