// MTUs on one machine that do not fit each other. Only the smaller member is the black hole: the kernel drops what is
// too large for a port and counts nothing.
import type { MtuMismatch } from '#src/contract/network/node-net.ts'
import { type Link, underlayOf } from './links.ts'

/** Outer IP + UDP + VXLAN + inner Ethernet header. */
const VXLAN_OVERHEAD_BYTES = { inet: 50, inet6: 70 } as const

/** Guests bring these and set their own MTU; only a smaller one harms the bridge. */
const GUEST_KINDS = new Set(['tun', 'veth', 'macvtap'])

/** `uplinks`: devices that carry the underlay when the VTEP address lies on the loopback. */
export function mtuMismatches(links: readonly Link[], uplinks: ReadonlySet<string>): MtuMismatch[] {
  const byName = new Map(links.map((link) => [link.ifname, link]))
  return links.flatMap((link) => [
    ...memberMismatch(link, byName),
    ...vlanMismatch(link, byName),
    ...vxlanMismatch(link, links, uplinks),
  ])
}

function memberMismatch(link: Link, byName: ReadonlyMap<string, Link>): MtuMismatch[] {
  const master = link.master === null ? undefined : byName.get(link.master)
  if (master === undefined || link.mtu === master.mtu) return []
  if (master.kind === 'bond') {
    return [row('bond_slave', link, master, link.mtu < master.mtu ? 'critical' : 'warning')]
  }
  if (master.kind !== 'bridge') return []
  if (link.mtu > master.mtu) {
    return GUEST_KINDS.has(link.kind ?? '') ? [] : [row('bridge_member', link, master, 'info')]
  }
  return [row('bridge_member', link, master, 'critical')]
}

function vlanMismatch(link: Link, byName: ReadonlyMap<string, Link>): MtuMismatch[] {
  const parent = link.kind === 'vlan' && link.lower !== null ? byName.get(link.lower) : undefined
  if (parent === undefined || link.mtu <= parent.mtu) return []
  return [row('vlan_parent', link, parent, 'critical')]
}

function vxlanMismatch(link: Link, links: readonly Link[], uplinks: ReadonlySet<string>): MtuMismatch[] {
  if (link.kind !== 'vxlan') return []
  const underlay = underlayOf(link, links, uplinks).toSorted((a, b) => a.mtu - b.mtu)[0]
  if (underlay === undefined) return []
  const family = link.info.local?.includes(':') === true ? 'inet6' : 'inet'
  const most = underlay.mtu - VXLAN_OVERHEAD_BYTES[family]
  if (link.mtu <= most) return []
  const description = `${link.ifname} may send frames of ${link.mtu} bytes, but ${underlay.ifname} with MTU ${underlay.mtu} leaves ${most} after the tunnel headers.`
  return [
    {
      interface: link.ifname,
      peer_device: underlay.ifname,
      type: 'vxlan_underlay',
      actual: link.mtu,
      expected: most,
      description,
      severity: 'warning',
    },
  ]
}

function row(
  type: 'bridge_member' | 'bond_slave' | 'vlan_parent',
  link: Link,
  other: Link,
  severity: MtuMismatch['severity'],
): MtuMismatch {
  const relation = { bridge_member: 'bridge', bond_slave: 'bond', vlan_parent: 'parent' }[type]
  const effect = severity === 'critical' ? 'larger frames vanish without a trace' : 'the excess is never used'
  return {
    interface: link.ifname,
    peer_device: other.ifname,
    type,
    actual: link.mtu,
    expected: other.mtu,
    description: `${link.ifname} has MTU ${link.mtu}, its ${relation} ${other.ifname} has ${other.mtu}: ${effect}.`,
    severity,
  }
}
