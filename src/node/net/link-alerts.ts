// Alerts about links without carrier, weighed by what the link is for: a spare NIC is a note, the last uplink is not.
import type { NetworkAlert } from '#src/contract/network/monitoring.ts'
import { hasCarrier, isAdminUp, type Link, standingOn } from './links.ts'
import type { NetworkSnapshot } from './snapshot.ts'

/** An alert before it is known under which name the node goes. */
export type LocalAlert = Omit<NetworkAlert, 'node'>

export function linkAlerts(snapshot: NetworkSnapshot): LocalAlert[] {
  const { links, physical } = snapshot
  return links
    .filter((link) => physical.has(link.ifname) && isAdminUp(link) && !hasCarrier(link))
    .map((link) => ({ category: 'link_down', device: link.ifname, ...weigh(link, snapshot) }))
}

function weigh(link: Link, snapshot: NetworkSnapshot): Pick<LocalAlert, 'severity' | 'message'> {
  const down = `${link.ifname} is switched on but has no carrier`
  const bond = link.slave_kind === 'bond' ? link.master : null
  if (bond !== null) {
    const other = snapshot.links.find((one) => one.master === bond && one !== link && carries(one))
    if (other !== undefined) return { severity: 'warning', message: `${down}; ${bond} goes on with ${other.ifname}.` }
    return { severity: 'critical', message: `${down}, nor has any other slave of ${bond}.` }
  }
  const use = useOf(link, snapshot)
  if (use !== null) return { severity: 'critical', message: `${down}; it ${use}.` }
  return { severity: 'info', message: `${down}; nothing uses it.` }
}

/** Bonds that run on fewer slaves than they have, although every slave has a carrier (LACP or the link monitor). */
export function bondAlerts(links: readonly Link[]): LocalAlert[] {
  const bonds = links.filter((link) => link.kind === 'bond')
  return bonds.flatMap((bond) =>
    links
      .filter((link) => link.master === bond.ifname && hasCarrier(link) && !takesPart(link, bond))
      .map((slave) => ({
        category: 'link_down' as const,
        severity: 'warning' as const,
        device: slave.ifname,
        message: `${bond.ifname} is degraded: ${slave.ifname} has a carrier but does not take part.`,
      })),
  )
}

/** In LACP every slave should be active; in the other modes a backup is as it should be. */
function takesPart(slave: Link, bond: Link): boolean {
  if (slave.mii_status !== null && slave.mii_status !== 'UP') return false
  return bond.info.mode !== '802.3ad' || slave.slave_state !== 'BACKUP'
}

function carries(link: Link): boolean {
  return hasCarrier(link) && (link.mii_status === null || link.mii_status === 'UP')
}

/** What the NIC is there for, by its role or that of a device that stands on it; null when nothing uses it. */
function useOf(link: Link, snapshot: NetworkSnapshot): string | null {
  const { roles, uplinks } = snapshot.config
  for (const [device, role] of Object.entries(roles)) {
    if (standingOn(snapshot.links, device).has(link.ifname)) return `carries the ${role} network`
  }
  if (uplinks.includes(link.ifname)) return 'is an uplink'
  return link.master === null ? null : `is a member of ${link.master}`
}
