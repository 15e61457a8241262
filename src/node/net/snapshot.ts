// Reads everything that the network collectors need, in one go; what is made of it is pure (summary, alerts, NICs).
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { type Cache, cacheKey } from '../cache.ts'
import { at, listOf, numberOf, textOf, textsOf } from '../untrusted-json.ts'
import type { NodeNetConfig } from './config.ts'
import type { Ethtool, Rings } from './ethtool.ts'
import { type KernelText, readKernelText } from './kernel-counters.ts'
import { type Link, parseLinks } from './links.ts'
import { found, mapReading, type Reading, readJson } from './reading.ts'
import { type DefaultRoute, readDefaultRoute, readSourceAddress } from './routes.ts'
import { readTimeState, type TimeState } from './time-sync.ts'

const SHARED_MS = 1_000

/** What sysfs knows of a device and netlink does not carry. */
export interface DeviceFacts {
  /** Hardware stands behind it. */
  hardware: boolean
  driver: string | null
  /** Mbit/s; -1 when the device does not say. */
  speed: number
}

export interface NetworkSnapshot {
  config: NodeNetConfig
  collected_at: number
  hostname: string | null
  hosts_file: string | null
  links: readonly Link[]
  devices: ReadonlyMap<string, DeviceFacts>
  /** Names of devices that count as physical: hardware behind them, or configured as uplink. */
  physical: ReadonlySet<string>
  /** VLAN ids of VLAN-aware bridges, without the default one. */
  bridge_vlans: Reading<number[]>
  /** VNIs of devices that have none of their own. */
  device_vnis: Reading<number[]>
  default_route: Reading<DefaultRoute>
  source_address: string | null
  qdiscs: Reading<unknown>
  time: TimeState
  kernel: KernelText
  offloads: ReadonlyMap<string, Reading<Record<string, boolean>>>
  rings: ReadonlyMap<string, Reading<Rings>>
}

/** Without the device list there is no snapshot at all: that is the one reading that fails the call. */
export async function readLinks(host: Host): Promise<Link[]> {
  const reading = await readJson(host, 'ip', ['-j', '-d', '-s', '-s', 'addr', 'show'])
  if (reading.ok) return parseLinks(reading.value)
  throw new ApiError('AGENT_ERROR', `The network devices of the node cannot be read: ${reading.reason}.`)
}

/** Callers within a second share one snapshot. */
export function createNetworkSnapshots(parts: {
  host: Host
  config: NodeNetConfig
  cache: Cache
  ethtool: Ethtool
}): () => Promise<NetworkSnapshot> {
  const key = cacheKey<NetworkSnapshot>('net-snapshot')
  return () => parts.cache.get(key, SHARED_MS, () => readNetworkSnapshot(parts.host, parts.config, parts.ethtool))
}

export async function readNetworkSnapshot(
  host: Host,
  config: NodeNetConfig,
  ethtool: Ethtool,
): Promise<NetworkSnapshot> {
  // Each reading waits for what it needs and for nothing else.
  const [devices, routes, qdiscs, time, kernel, hostname, hosts_file] = await Promise.all([
    readLinks(host).then((links) => readOfLinks(host, links, config, ethtool)),
    readRoutes(host),
    readJson(host, 'tc', ['-j', 'qdisc', 'show']),
    readTimeState(host, config.time_daemon_address),
    readKernelText(host),
    host.read('/proc/sys/kernel/hostname'),
    host.read('/etc/hosts'),
  ])
  return {
    config,
    collected_at: host.now(),
    hostname: hostname?.trim() || null,
    hosts_file,
    ...devices,
    ...routes,
    qdiscs,
    time,
    kernel,
  }
}

type OfLinks = Pick<
  NetworkSnapshot,
  'links' | 'devices' | 'physical' | 'bridge_vlans' | 'device_vnis' | 'offloads' | 'rings'
>

async function readOfLinks(
  host: Host,
  links: readonly Link[],
  { uplinks }: NodeNetConfig,
  ethtool: Ethtool,
): Promise<OfLinks> {
  const [{ devices, physical, offloads, rings }, bridge_vlans, device_vnis] = await Promise.all([
    readOfDrivers(host, links, uplinks, ethtool),
    readBridgeVlans(host, links),
    readDeviceVnis(host, links),
  ])
  return { links, devices, physical, bridge_vlans, device_vnis, offloads, rings }
}

async function readOfDrivers(
  host: Host,
  links: readonly Link[],
  uplinks: readonly string[],
  ethtool: Ethtool,
): Promise<Pick<OfLinks, 'devices' | 'physical' | 'offloads' | 'rings'>> {
  const devices = await readDevices(host, links)
  const physical = physicalSet(links, devices, uplinks)
  const asked = links.filter((link) => physical.has(link.ifname) || link.kind === 'bond' || link.kind === 'bridge')
  const [offloads, rings] = await Promise.all([
    readEach(asked, (link) => ethtool.features(link)),
    readEach(
      asked.filter((link) => physical.has(link.ifname)),
      (link) => ethtool.rings(link),
    ),
  ])
  return { devices, physical, offloads, rings }
}

async function readRoutes(host: Host): Promise<Pick<NetworkSnapshot, 'default_route' | 'source_address'>> {
  const default_route = await readDefaultRoute(host)
  const gateway = default_route.ok ? default_route.value.gateway : null
  return { default_route, source_address: gateway === null ? null : await readSourceAddress(host, gateway) }
}

/** Hardware: an Ethernet device that no software made, with a device behind it on some bus. */
export function physicalSet(
  links: readonly Link[],
  devices: ReadonlyMap<string, DeviceFacts>,
  uplinks: readonly string[],
): Set<string> {
  const names = links.filter((link) => devices.get(link.ifname)?.hardware === true || uplinks.includes(link.ifname))
  return new Set(names.map((link) => link.ifname))
}

/** Only of devices that can have hardware, and of bonds, whose speed is the sum of their slaves. */
export async function readDevices(host: Host, links: readonly Link[]): Promise<Map<string, DeviceFacts>> {
  const asked = links.filter((link) => link.link_type === 'ether' && (link.kind === null || link.kind === 'bond'))
  return readEach(asked, async (link) => {
    const folder = `/sys/class/net/${link.ifname}`
    const [device, driver, speed] = await Promise.all([
      link.kind === null ? host.link(`${folder}/device`) : null,
      host.link(`${folder}/device/driver`),
      host.read(`${folder}/speed`),
    ])
    const mbps = Number(speed?.trim() || '-1')
    return {
      hardware: link.kind === null && (link.parentdev !== null || device !== null),
      driver: driver === null ? null : (driver.split('/').at(-1) ?? null),
      speed: Number.isInteger(mbps) && mbps > 0 ? mbps : -1,
    }
  })
}

async function readEach<T>(links: readonly Link[], read: (link: Link) => Promise<T>): Promise<Map<string, T>> {
  return new Map(await Promise.all(links.map(async (link) => [link.ifname, await read(link)] as const)))
}

/** Every port of a VLAN-aware bridge has the default VLAN: it says nothing about what is in use. */
async function readBridgeVlans(host: Host, links: readonly Link[]): Promise<Reading<number[]>> {
  const aware = new Set(links.filter((link) => link.info.vlan_filtering).map((link) => link.ifname))
  if (aware.size === 0) return found([])
  const ports = new Set(links.filter((link) => aware.has(link.master ?? '')).map((link) => link.ifname))
  const reading = await readJson(host, 'bridge', ['-j', 'vlan', 'show'])
  return mapReading(reading, (rows) =>
    listOf(rows)
      .filter((row) => ports.has(textOf(at(row, 'ifname')) ?? ''))
      .flatMap((row) => listOf(at(row, 'vlans')))
      .flatMap((vlan) => {
        const first = numberOf(at(vlan, 'vlan'))
        if (first === null || (first === 1 && textsOf(at(vlan, 'flags')).includes('PVID'))) return []
        return idRange(first, numberOf(at(vlan, 'vlanEnd')))
      }),
  )
}

async function readDeviceVnis(host: Host, links: readonly Link[]): Promise<Reading<number[]>> {
  const external = new Set(
    links.filter((link) => link.kind === 'vxlan' && link.info.external).map((link) => link.ifname),
  )
  if (external.size === 0) return found([])
  const reading = await readJson(host, 'bridge', ['-j', 'vni', 'show'])
  return mapReading(reading, (rows) =>
    listOf(rows)
      .filter((row) => external.has(textOf(at(row, 'ifname')) ?? ''))
      .flatMap((row) => listOf(at(row, 'vnis')))
      .flatMap((vni) => {
        const first = numberOf(at(vni, 'vni'))
        return first === null ? [] : idRange(first, numberOf(at(vni, 'vniEnd')))
      }),
  )
}

/** Ranges longer than all VLANs are not listed one by one. */
function idRange(first: number, last: number | null): number[] {
  const length = Math.min((last ?? first) - first + 1, 4_096)
  return Array.from({ length: Math.max(length, 1) }, (_, offset) => first + offset)
}
