// The NICs of a node that is being configured (Part 2, 4.4): what the setup dialog needs to assign them.
import type { NodeNic } from '#src/contract/nodes/nics.ts'
import type { Host } from '#src/kernel/host.ts'
import { hasCarrier, type Link, linkOwning, standingOn } from '../net/links.ts'
import { type DeviceFacts, readDevices, readLinks } from '../net/snapshot.ts'
import { unavailableFields } from '../unavailable.ts'

export interface BootstrapQuery {
  /** Address the agent was called on; its NIC is the management NIC. */
  called_on?: string
  status?: string
}

export async function bootstrapNics(host: Host, query: BootstrapQuery): Promise<NodeNic[]> {
  const links = await readLinks(host)
  const devices = await readDevices(host, links)
  const owner = query.called_on === undefined ? undefined : linkOwning(links, query.called_on)
  const management = owner === undefined ? new Set<string>() : standingOn(links, owner.ifname)
  return links
    .filter((link) => devices.get(link.ifname)?.hardware === true || link.kind === 'bond')
    .map((link) => nodeNic(link, devices.get(link.ifname), management))
    .filter((nic) => query.status === undefined || nic.linkStatus === query.status)
}

function nodeNic(link: Link, facts: DeviceFacts | undefined, management: ReadonlySet<string>): NodeNic {
  const unavailable = unavailableFields()
  const isBondSlave = link.slave_kind === 'bond'
  const address = link.addresses.find((one) => one.family === 'inet' && one.scope === 'global')?.local
  return {
    interfaceName: link.ifname,
    macAddress: unavailable.orNull('macAddress', link.permaddr ?? link.address, 'the device has no address'),
    ipAddress: unavailable.orNull('ipAddress', address, 'the device has no global IPv4 address'),
    linkStatus: hasCarrier(link) ? 'up' : 'down',
    driver: unavailable.orNull('driver', facts?.driver ?? link.kind, 'the device names no driver'),
    pciAddress: unavailable.orNull(
      'pciAddress',
      link.parentbus === 'pci' ? link.parentdev : null,
      'the device is not on a PCI bus',
    ),
    speed: facts !== undefined && facts.speed > 0 ? `${facts.speed} Mb/s` : 'unknown',
    isPhysical: facts?.hardware === true,
    isBondMaster: link.kind === 'bond',
    isBondSlave,
    bondMaster: unavailable.orNull(
      'bondMaster',
      isBondSlave ? link.master : null,
      'the device is not enslaved to a bond',
    ),
    isManagementNIC: management.has(link.ifname),
    unavailable: unavailable.list,
  }
}
