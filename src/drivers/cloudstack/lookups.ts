// Lists of the platform that change slowly and are read often: cached for a minute, hosts for 15 seconds (cloudstack.md 9).
import { integerOf, numberOf, type Raw, rowsOf, textOf } from './fields.ts'
import { collected, listAll, type ListCall } from './lists.ts'
import { cached } from './cache.ts'

const SLOW_MS = 60_000
const HOSTS_MS = 15_000
const FEATURES_MS = 10 * 60_000

/** What this version of the platform can do for our account: command names and their parameters. */
type Features = ReadonlyMap<string, ReadonlySet<string>>

export interface Lookups {
  zones(): Promise<Raw[]>
  clusters(): Promise<Raw[]>
  serviceOfferings(): Promise<Raw[]>
  hosts(): Promise<Raw[]>
  /** Whether the platform has the command, and knows the parameter. */
  supports(command: string, parameter?: string): Promise<boolean>
  /** A setting of the platform as a number, as it applies to one cluster where one is named. */
  setting(name: string, cluster_id?: string): Promise<number | null>
}

export function createLookups(call: ListCall): Lookups {
  const all = (command: string, args: Record<string, string | boolean>, key: string) => () =>
    collected(listAll(call, command, args, { key, read: (row) => row }))
  const features = cached(FEATURES_MS, () => readFeatures(call))
  const settings = new Map<string, () => Promise<number | null>>()
  return {
    zones: cached(SLOW_MS, all('listZones', { available: true }, 'zone')),
    clusters: cached(SLOW_MS, all('listClusters', {}, 'cluster')),
    serviceOfferings: cached(SLOW_MS, all('listServiceOfferings', { listall: true }, 'serviceoffering')),
    hosts: cached(HOSTS_MS, all('listHosts', { type: 'Routing', details: 'min,capacity' }, 'host')),
    async supports(command, parameter) {
      const parameters = (await features()).get(command)
      return parameters !== undefined && (parameter === undefined || parameters.has(parameter))
    },
    setting(name, cluster_id) {
      const key = `${name} ${cluster_id ?? ''}`
      const cached_setting = settings.get(key) ?? cached(SLOW_MS, () => readSetting(call, name, cluster_id))
      settings.set(key, cached_setting)
      return cached_setting()
    },
  }
}

async function readFeatures(call: ListCall): Promise<Features> {
  const features = new Map<string, ReadonlySet<string>>()
  for (const api of rowsOf(await call('listApis', {}, {}), 'api')) {
    const names = rowsOf(api, 'params').map((parameter) => textOf(parameter, 'name') ?? '')
    features.set(textOf(api, 'name') ?? '', new Set(names))
  }
  return features
}

async function readSetting(call: ListCall, name: string, cluster_id: string | undefined): Promise<number | null> {
  const content = await call('listConfigurations', { name, clusterid: cluster_id, page: 1, pagesize: 50 }, {})
  const row = rowsOf(content, 'configuration').find((setting) => textOf(setting, 'name') === name)
  if (row === undefined) return null
  if (textOf(row, 'value') === 'true') return 1
  return textOf(row, 'value') === 'false' ? 0 : numberOf(row, 'value')
}

/** Used part of one kind of capacity of a cluster, in the platform's unit. */
export interface Capacity {
  used: number
  total: number
}

/** By the number of the kind: memory is 0 and CPU is 1. Recomputing (`fetchlatest`) is never asked for: it takes minutes. */
export async function clusterCapacity(call: ListCall, cluster_id: string): Promise<Map<number, Capacity>> {
  const kinds = new Map<number, Capacity>()
  for (const row of rowsOf(await call('listCapacity', { clusterid: cluster_id }, {}), 'capacity')) {
    const [type, used, total] = [integerOf(row, 'type'), numberOf(row, 'capacityused'), numberOf(row, 'capacitytotal')]
    // Rows that carry a tag are parts of the row without.
    if (type === null || used === null || total === null || textOf(row, 'tag') !== null) continue
    kinds.set(type, { used, total })
  }
  return kinds
}
