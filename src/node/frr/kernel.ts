// What the kernel knows of the fabric and the daemons do not tell: links, addresses, flood entries, port VLANs.
import { isIP } from 'node:net'
import type { Host } from '#src/kernel/host.ts'
import { at, integerOf, listOf, parseJson, textOf, textsOf } from '../untrusted-json.ts'

export interface KernelLink {
  name: string
  up: boolean
  carries: boolean
  operational_up: boolean
  master: string | null
  mac_address: string | null
  mtu: number
  vlan_filtering: boolean | null
  addresses: string[]
}

export interface KernelView {
  /** Null when the kernel could not be asked. */
  links: Map<string, KernelLink> | null
  /** VTEPs that each VXLAN device floods to; null when the kernel could not be asked. */
  floods: Map<string, Set<string>> | null
  /** PVID of each bridge port. */
  port_vlans: Map<string, number> | null
}

export async function readKernel(host: Host): Promise<KernelView> {
  const json = async (tool: string, args: string[]): Promise<unknown> => {
    const ran = await host.run(tool, args, { timeout_ms: 5_000 })
    return ran.outcome === 'exited' && ran.exit_code === 0 ? (parseJson(ran.stdout) ?? []) : undefined
  }
  const [links, fdb, vlans] = await Promise.all([
    json('ip', ['-j', '-d', '-s', '-s', 'addr', 'show']),
    json('bridge', ['-j', 'fdb', 'show']),
    json('bridge', ['-j', 'vlan', 'show']),
  ])
  return {
    links: links === undefined ? null : parseLinks(links),
    floods: fdb === undefined ? null : parseFloods(fdb),
    port_vlans: vlans === undefined ? null : parsePortVlans(vlans),
  }
}

export function parseLinks(value: unknown): Map<string, KernelLink> {
  const links = new Map<string, KernelLink>()
  for (const row of listOf(value)) {
    const name = textOf(at(row, 'ifname'))
    if (name === null) continue
    const flags = textsOf(at(row, 'flags'))
    const filtering = integerOf(at(row, 'linkinfo', 'info_data', 'vlan_filtering'))
    links.set(name, {
      name,
      up: flags.includes('UP'),
      carries: flags.includes('LOWER_UP'),
      operational_up: textOf(at(row, 'operstate')) === 'UP',
      master: textOf(at(row, 'master')),
      mac_address: textOf(at(row, 'address')),
      mtu: integerOf(at(row, 'mtu')) ?? 0,
      vlan_filtering: filtering === null ? null : filtering === 1,
      addresses: listOf(at(row, 'addr_info')).flatMap((one) => textOf(at(one, 'local')) ?? []),
    })
  }
  return links
}

/** Head-end replication: an all-zero MAC on the device itself, one entry for each VTEP. */
export function parseFloods(value: unknown): Map<string, Set<string>> {
  const floods = new Map<string, Set<string>>()
  for (const row of listOf(value)) {
    const device = textOf(at(row, 'ifname'))
    const vtep = textOf(at(row, 'dst'))
    if (device === null || vtep === null || textOf(at(row, 'mac')) !== '00:00:00:00:00:00') continue
    floods.set(device, (floods.get(device) ?? new Set()).add(vtep))
  }
  return floods
}

export function parsePortVlans(value: unknown): Map<string, number> {
  const vlans = new Map<string, number>()
  for (const row of listOf(value)) {
    const device = textOf(at(row, 'ifname'))
    const own = listOf(at(row, 'vlans')).find((vlan) => textsOf(at(vlan, 'flags')).includes('PVID'))
    const vlan = integerOf(at(own, 'vlan'))
    if (device !== null && vlan !== null) vlans.set(device, vlan)
  }
  return vlans
}

/** The own address on an interface that talks to a peer of this address family. */
export function addressOn(view: KernelView, interface_name: string, peer: string): string | null {
  const family = isIP(peer.split('%')[0] ?? peer)
  const addresses = view.links?.get(interface_name)?.addresses ?? []
  return addresses.find((address) => isIP(address) === family) ?? null
}
