// The bridges that matter to people: those with a role, and those that an uplink belongs to.
import type { MainBridge } from '#src/contract/network/node-net.ts'
import { knownOffloads } from './ethtool.ts'
import { linkErrors } from './link-errors.ts'
import { addressTexts, isAdminUp, type Link, standingOn } from './links.ts'
import type { NetworkSnapshot } from './snapshot.ts'
import { lost } from './reading.ts'
import type { UnavailableFields } from '../unavailable.ts'

export function mainBridges(snapshot: NetworkSnapshot, unavailable: UnavailableFields): MainBridge[] {
  const { links, config, physical } = snapshot
  return links
    .filter((link) => link.kind === 'bridge')
    .filter((bridge) => config.roles[bridge.ifname] !== undefined || hasUplink(bridge, links, physical))
    .map((bridge) => {
      const name = bridge.ifname
      const members = links.filter((link) => link.master === name).map((link) => link.ifname)
      const offloads = knownOffloads(snapshot.offloads.get(name) ?? lost('the features were not read'))
      return {
        name,
        state: bridge.operstate === 'UP' ? 'up' : 'down',
        mtu: bridge.mtu,
        member_count: members.length,
        members,
        ips: addressTexts(bridge),
        active_vxlans: links.filter((link) => belongs(link, bridge)).length,
        offloads: unavailable.take(`main_bridges[${name}].offloads`, offloads),
        errors: linkErrors(bridge),
        role: unavailable.orNull(
          `main_bridges[${name}].role`,
          config.roles[name],
          'no role is configured for the bridge',
        ),
      } satisfies MainBridge
    })
}

function hasUplink(bridge: Link, links: readonly Link[], physical: ReadonlySet<string>): boolean {
  return [...standingOn(links, bridge.ifname)].some((name) => physical.has(name))
}

/** Enslaved to the bridge, or tunnelled over it. */
function belongs(link: Link, bridge: Link): boolean {
  if (link.kind !== 'vxlan' || !isAdminUp(link)) return false
  if (link.master === bridge.ifname || link.lower === bridge.ifname) return true
  return bridge.addresses.some((address) => address.local === link.info.local)
}
