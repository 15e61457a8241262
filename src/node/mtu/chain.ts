// Which devices an MTU change of a bridge touches, in which order, and how far it may go. Pure: links in, plan out.
import type { MtuLink } from './links.ts'

export interface ChainDevice {
  name: string
  ifindex: number
  kind: string
  old_mtu: number
  new_mtu: number
}

export interface ChainPlan {
  /** Every device of the chain from the bottom (card) to the top (bridge). */
  chain: ChainDevice[]
  /** What has to be set, in the order the kernel accepts: raises from the bottom up, then lowerings from the top down. */
  steps: ChainDevice[]
  limit_mtu: number
  least_mtu: number
}

/** Kernel's own maximum for bridges, veths and tunnels. */
const KERNEL_MAX = 65_535
const KERNEL_MIN = 68

/** Bridge and what carries it: its uplink ports, the devices under their vlans, the slaves of their bonds. Bottom first. */
export function chainOf(links: readonly MtuLink[], bridge: string, uplinks: readonly string[]): MtuLink[] {
  const top = links.find((link) => link.name === bridge)
  if (top === undefined) return []
  const found: MtuLink[] = []
  const visit = (link: MtuLink): void => {
    if (found.includes(link)) return
    for (const below of lowersOf(links, link)) visit(below)
    found.push(link)
  }
  for (const port of links) if (port.master === bridge && isUplink(port, uplinks)) visit(port)
  found.push(top)
  return found
}

export function planChain(
  links: readonly MtuLink[],
  request: { bridge: string; mtu: number; uplinks: readonly string[]; underlay_limit: number | null },
): ChainPlan {
  const chain = chainOf(links, request.bridge, request.uplinks)
  const devices = chain.map((link) => ({
    name: link.name,
    ifindex: link.ifindex,
    kind: kindOf(link),
    old_mtu: link.mtu,
    new_mtu: neededMtu(links, link, request.mtu),
  }))
  const raises = devices.filter(({ old_mtu, new_mtu }) => new_mtu > old_mtu)
  const lowerings = devices.filter(({ old_mtu, new_mtu }) => new_mtu < old_mtu).reverse()
  // A bond and a vlan state 65535 whatever stands below them, so only the leaves count (linux-node.md 4.1).
  const leaves = chain.filter((link) => link.name !== request.bridge && lowersOf(links, link).length === 0)
  const limits = leaves.map(({ max_mtu }) => (max_mtu === 0 ? KERNEL_MAX : max_mtu))
  const least = leaves.map(({ min_mtu }) => min_mtu)
  return {
    chain: devices,
    steps: [...raises, ...lowerings],
    limit_mtu: Math.min(KERNEL_MAX, request.underlay_limit ?? KERNEL_MAX, ...limits),
    least_mtu: Math.max(KERNEL_MIN, ...least),
  }
}

export function kindOf(link: MtuLink): string {
  return link.info_kind ?? (link.link_type === 'ether' ? 'physical' : link.link_type)
}

/** Guests' taps and veths hang on the same bridge; only cards, bonds, vlans and the named uplinks lead outside. */
function isUplink(link: MtuLink, uplinks: readonly string[]): boolean {
  if (uplinks.includes(link.name)) return true
  return (
    (link.info_kind === null && link.link_type === 'ether') || ['bond', 'team', 'vlan'].includes(link.info_kind ?? '')
  )
}

function lowersOf(links: readonly MtuLink[], link: MtuLink): MtuLink[] {
  if (link.info_kind === 'vlan') return links.filter(({ name }) => name === link.lower)
  if (link.info_kind === 'bond' || link.info_kind === 'team') return links.filter(({ master }) => master === link.name)
  return []
}

/**
 * What lies below a vlan is shared: it is raised when needed and never lowered, because being larger harms nobody and
 * the kernel would drag the other vlans down with it. The same holds for a port that carries vlans beside the bridge.
 */
function neededMtu(links: readonly MtuLink[], link: MtuLink, mtu: number): number {
  const shared = carriesVlan(links, link) || links.some((bond) => bond.name === link.master && carriesVlan(links, bond))
  return shared ? Math.max(mtu, link.mtu) : mtu
}

function carriesVlan(links: readonly MtuLink[], link: MtuLink): boolean {
  return links.some((upper) => upper.info_kind === 'vlan' && upper.lower === link.name)
}
