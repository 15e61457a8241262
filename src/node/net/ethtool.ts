// What a driver says about its NIC through ethtool: features, rings, driver, link modes. These change rarely and cost
// 2 ms each, so they are kept for a minute, or until the device changes.
import { type NicOffloads, OFFLOADS } from '#src/contract/network/node-net.ts'
import type { Host } from '#src/kernel/host.ts'
import { type Cache, cacheKey } from '../cache.ts'
import { at, booleanOf, listOf, parseJson, recordOf } from '../untrusted-json.ts'
import type { Link } from './links.ts'
import { found, lost, mapReading, type Reading, runFailure } from './reading.ts'

const CACHE_TTL_MS = 60_000

/** Reasons that the collectors tell apart. */
export const NOT_INSTALLED = 'ethtool is not installed'
export const NOT_SUPPORTED = 'the driver does not tell'

export interface Rings {
  rx_current: number | null
  rx_max: number | null
  tx_current: number | null
  tx_max: number | null
}

export interface DriverInfo {
  driver: string | null
  version: string | null
  firmware: string | null
  bus_info: string | null
}

export interface Ethtool {
  /** Every feature of the driver to whether it is active. */
  features(link: Link): Promise<Reading<Record<string, boolean>>>
  rings(link: Link): Promise<Reading<Rings>>
  info(link: Link): Promise<Reading<DriverInfo>>
  /** Fastest supported link mode in Mbit/s. */
  maxSpeed(link: Link): Promise<Reading<number>>
}

export function createEthtool(host: Host, cache: Cache): Ethtool {
  const ask = <T>(link: Link, args: readonly string[], parse: (text: string) => Reading<T>): Promise<Reading<T>> => {
    const { ifname, ifindex, address, operstate } = link
    const key = cacheKey<Reading<T>>('ethtool', ...args, ifname, ifindex, address ?? '', operstate)
    return cache.get(key, CACHE_TTL_MS, async () => {
      const result = await host.run('ethtool', [...args, ifname], { timeout_ms: 5_000 })
      const failure = runFailure('ethtool', result)
      if (failure === null) return parse(result.stdout)
      return lost(/not supported/i.test(result.stderr) ? NOT_SUPPORTED : failure)
    })
  }
  return {
    features: (link) => ask(link, ['--json', '-k'], parseFeatures),
    rings: (link) => ask(link, ['-g'], parseRings),
    info: (link) => ask(link, ['-i'], parseDriverInfo),
    maxSpeed: (link) => ask(link, [], parseMaxSpeed),
  }
}

export function parseFeatures(text: string): Reading<Record<string, boolean>> {
  const row = recordOf(listOf(parseJson(text))[0])
  const features: Record<string, boolean> = {}
  for (const [name, value] of Object.entries(row)) {
    const active = booleanOf(at(value, 'active'))
    if (active !== null) features[name] = active
  }
  return Object.keys(features).length === 0 ? lost('ethtool printed no features') : found(features)
}

/** `n/a` means that the driver has no such ring: null. */
export function parseRings(text: string): Reading<Rings> {
  const [, maximums = '', current = ''] = text.split(/Pre-set maximums:|Current hardware settings:/)
  const ring = (part: string, name: 'RX' | 'TX'): number | null => {
    const value = new RegExp(`^${name}:\\s+(\\d+)$`, 'm').exec(part)?.[1]
    return value === undefined ? null : Number(value)
  }
  if (maximums === '') return lost('ethtool printed no rings')
  return found({
    rx_current: ring(current, 'RX'),
    rx_max: ring(maximums, 'RX'),
    tx_current: ring(current, 'TX'),
    tx_max: ring(maximums, 'TX'),
  })
}

export function parseDriverInfo(text: string): Reading<DriverInfo> {
  const value = (name: string): string | null => {
    const word = new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(text)?.[1]?.trim() ?? ''
    return word === '' || word === 'N/A' ? null : word
  }
  return found({
    driver: value('driver'),
    version: value('version'),
    firmware: value('firmware-version'),
    bus_info: value('bus-info'),
  })
}

/** The modes are listed over several lines until the next "Name: value" line. */
export function parseMaxSpeed(text: string): Reading<number> {
  const modes = /Supported link modes:([\s\S]*?)(?:\n\s*[A-Z][^\n:]*:|$)/.exec(text)?.[1] ?? ''
  const speeds = [...modes.matchAll(/(\d+)base/g)].map((match) => Number(match[1]))
  return speeds.length === 0 ? lost('the driver does not list its link modes') : found(Math.max(...speeds))
}

const FEATURE_NAMES: Readonly<Record<(typeof OFFLOADS)[number], string>> = {
  tso: 'tcp-segmentation-offload',
  gso: 'generic-segmentation-offload',
  gro: 'generic-receive-offload',
  lro: 'large-receive-offload',
  rx_checksumming: 'rx-checksumming',
  tx_checksumming: 'tx-checksumming',
  rx_vlan: 'rx-vlan-offload',
  tx_vlan: 'tx-vlan-offload',
  scatter_gather: 'scatter-gather',
}

/** The nine offloads that people look at, of the fifty features of a driver. */
export function knownOffloads(features: Reading<Record<string, boolean>>): Reading<NicOffloads> {
  return mapReading(features, (all) => {
    const named: NicOffloads = {}
    for (const name of OFFLOADS) {
      const active = all[FEATURE_NAMES[name]]
      if (active !== undefined) named[name] = active
    }
    return named
  })
}
