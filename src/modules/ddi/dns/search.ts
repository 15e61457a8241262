// What GET /search finds on the name server: zones, and records by name and value.
import { dns } from '#src/contract/ddi/dns.ts'
import type { RecordData } from '#src/drivers/ddi/dns-server.ts'
import { type SearchSource, searchSource } from '../../search-source.ts'
import type { DnsDeps } from './deps.ts'
import { recordViews } from './reading.ts'

export function dnsSearch(deps: DnsDeps): SearchSource[] {
  const { server, contents } = deps
  return [
    searchSource('dns_zone', dns, 'dnsZoneGet', async ({ text, limit, signal }) => {
      const names = (await server.zoneHeads(signal)).map(({ name }) => name)
      const found = bestOf(names, limit, (name) => rankOf(name, text))
      return found.map((name) => ({ id: name, name, tenant_id: null, words: [name], show: { params: { zone_name: name } } })) // biome-ignore format: one row
    }),
    searchSource('dns_record', dns, 'dnsRecordGet', async ({ text, limit, signal }) => {
      const inZones = (await server.zoneHeads(signal)).map(async (zone) =>
        (await contents.search(zone, text)).map((record) => ({ zone: zone.name, record })),
      )
      const all = (await Promise.all(inZones)).flat()
      const found = bestOf(all, limit, ({ record }) => rankOfRecord(record, text))
      return Promise.all(
        found.map(async ({ zone, record }) => {
          const [view] = await recordViews(deps, zone, [record])
          const id = view?.id ?? ''
          const { fqdn: name, value } = record
          return { id, name, tenant_id: null, words: [name, value, id], show: { params: { zone_name: zone, record_id: id } } } // biome-ignore format: one row
        }),
      )
    }),
  ]
}

function rankOfRecord({ fqdn, value }: RecordData, text: string): number {
  return Math.min(rankOf(fqdn, text), rankOf(value.toLowerCase(), text))
}

const NOT_FOUND = 3

/** 0: the text itself, 1: begins with it, 2: has it inside. */
function rankOf(word: string, text: string): number {
  const at = word.indexOf(text)
  if (at < 0) return NOT_FOUND
  return at > 0 ? 2 : word.length === text.length ? 0 : 1
}

function bestOf<T>(all: readonly T[], limit: number, rank: (one: T) => number): T[] {
  const ranks = Array.from({ length: NOT_FOUND }, (): T[] => [])
  for (const one of all) {
    const same = ranks[rank(one)]
    if (same !== undefined && same.length < limit) same.push(one)
  }
  return ranks.flat().slice(0, limit)
}
