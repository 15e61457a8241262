// Whether a guest network may use a NIC, and if not, the first reason that says so. Pure.
import type { Nic, NicCode } from '#src/contract/network/eligible-nics.ts'
import { addressTexts, hasCarrier, isAdminUp, type Link, linkOwning, standingOn, underlayOf } from '../net/links.ts'
import type { NetworkSnapshot } from '../net/snapshot.ts'
import { nodeAddress } from '../net/summary.ts'
import type { NetSamples } from '../net/sampler.ts'

export interface Verdict {
  code: NicCode
  status: 'eligible' | 'in-use' | 'reserved' | 'down'
  reason: string
  ownership: Nic['ownership']
  traffic_role: Nic['traffic_role']
  used_by: string[]
}

/** NICs by role, found once for all NICs of a snapshot. */
export interface Holders {
  management: ReadonlySet<string>
  underlay: ReadonlySet<string>
  roles: ReadonlyMap<string, string>
}

/** A role belongs to its bridge and to everything the bridge stands on. */
export function holdersOf(snapshot: NetworkSnapshot): Holders {
  const { links, config, default_route } = snapshot
  const under = (name: string | null | undefined): Set<string> =>
    name === null || name === undefined ? new Set() : standingOn(links, name)
  const node_ip = nodeAddress(snapshot)
  const owner = node_ip === null ? undefined : linkOwning(links, node_ip)
  const routed = default_route.ok ? default_route.value.dev : null
  const underlay = new Set<string>()
  for (const link of links.filter((one) => one.kind === 'vxlan')) {
    for (const carrier of underlayOf(link, links, snapshot.physical)) {
      for (const name of under(carrier.ifname)) underlay.add(name)
    }
  }
  const roles = new Map<string, string>()
  for (const [device, role] of Object.entries(config.roles)) {
    for (const name of under(device)) if (!roles.has(name)) roles.set(name, role)
  }
  return { management: new Set([...under(owner?.ifname), ...under(routed)]), underlay, roles }
}

export function judge(link: Link, snapshot: NetworkSnapshot, holders: Holders, samples: NetSamples): Verdict {
  const used_by = snapshot.links
    .filter((one) => one.lower === link.ifname && one.kind !== null && ['vlan', 'macvlan', 'ipvlan'].includes(one.kind))
    .map((one) => one.ifname)
  const role = holders.roles.get(link.ifname) ?? null
  const finding = firstFinding(link, holders, used_by)
  return {
    ...finding,
    ownership: ownershipOf(link, snapshot, holders, finding.code, samples),
    traffic_role: role === 'public' || role === 'guest' || role === 'management' ? role : '',
    used_by,
  }
}

type Finding = Pick<Verdict, 'code' | 'status' | 'reason'>

/** In the order of NIC_CODES: the first that holds is the reason. */
function firstFinding(link: Link, holders: Holders, used_by: readonly string[]): Finding {
  const name = link.ifname
  const finding = (code: NicCode, status: Verdict['status'], reason: string): Finding => ({ code, status, reason })
  if (!isAdminUp(link)) return finding('ADMIN_DOWN', 'down', `${name} is switched off.`)
  if (!hasCarrier(link) || link.operstate === 'DOWN') {
    return finding('NO_CARRIER', 'down', `${name} is switched on but has no link.`)
  }
  if (link.slave_kind === 'bond') return finding('ENSLAVED_BOND', 'in-use', `${name} is a slave of ${link.master}.`)
  if (link.master !== null) return finding('ENSLAVED_BRIDGE', 'in-use', `${name} is a member of ${link.master}.`)
  if (holders.management.has(name)) {
    return finding('MANAGEMENT', 'reserved', `${name} carries the management address or the default route.`)
  }
  if (holders.underlay.has(name)) return finding('UNDERLAY', 'reserved', `${name} carries the tunnels of the overlay.`)
  const [address] = addressTexts(link)
  if (address !== undefined) return finding('HAS_ADDRESS', 'in-use', `${name} has the address ${address}.`)
  if (used_by.length > 0) return finding('HAS_VLANS', 'in-use', `${used_by.join(', ')} stand on ${name}.`)
  return finding('OK', 'eligible', `${name} is free.`)
}

/** A NIC that flaps or makes errors must not be given to anybody, unless the system already lives on it. */
function ownershipOf(
  link: Link,
  snapshot: NetworkSnapshot,
  holders: Holders,
  code: NicCode,
  samples: NetSamples,
): Nic['ownership'] {
  const role = holders.roles.get(link.ifname)
  const { ifname, ifindex } = link
  if (holders.management.has(ifname) || holders.underlay.has(ifname)) return 'system'
  if (role === 'management' || role === 'storage') return 'system'
  const { thresholds } = snapshot.config
  const flaps = samples.carrierChanges(ifname, ifindex, thresholds.flap_window_s) >= thresholds.flap_changes
  const errors = (samples.window(ifindex)?.errors_per_second ?? 0) > thresholds.error_rate_warning_per_s
  if (flaps || errors) return 'quarantine'
  if (role !== undefined || link.master !== null) return 'user'
  return ['OK', 'ADMIN_DOWN', 'NO_CARRIER'].includes(code) ? 'available' : 'system'
}
