// The records of a zone, read once for each serial: name servers have no pages, and lists and searches are walked page by page.
import { LRUCache } from 'lru-cache'
import type { DnsServer, RecordData, ZoneHead } from '#src/drivers/ddi/dns-server.ts'
import { patched, searched, type SearchText, searchTextOf } from './search-text.ts'

export interface ZoneContents {
  /** Sorted by name, type and value. */
  of(zone: ZoneHead): Promise<readonly RecordData[]>
  /** Those with the text in their name or value, in any case, in the same order. */
  search(zone: ZoneHead, text: string): Promise<readonly RecordData[]>
  /** After a change of ours, which raised the serial by one: these names are read again, and not the whole zone. */
  changed(zone: string, fqdns: readonly string[]): void
  /** After one of which that is not known. */
  forget(zone: string): void
}

interface Contents {
  records: readonly RecordData[]
  text: SearchText
}

interface Cached extends Contents {
  serial: number
  /** Changes of ours since, and the names that they touched. */
  changes: number
  names: ReadonlySet<string>
}

const MOST_RECORDS = 400_000
/** More of them are as long to ask for as a large zone. */
const MOST_NAMES = 50

export function createZoneContents(server: DnsServer): ZoneContents {
  const cache = new LRUCache<string, Cached>({
    maxSize: MOST_RECORDS,
    sizeCalculation: ({ records }) => records.length + 1,
  })
  const current = async ({ name, serial }: ZoneHead): Promise<Contents> => {
    const cached = cache.get(name)
    const is_known =
      cached !== undefined && cached.serial + cached.changes === serial && cached.names.size <= MOST_NAMES
    if (is_known && cached.changes === 0) return cached
    const now = is_known ? await refreshed(server, name, cached) : contentsOf(await server.records(name))
    if (serial !== null) cache.set(name, { serial, ...now, changes: 0, names: new Set() })
    return now
  }
  /** A large zone takes seconds to read: whoever wants it meanwhile waits for the same answer, also when the first has gone. */
  const reading = new Map<string, Promise<Contents>>()
  const read = (zone: ZoneHead): Promise<Contents> => {
    // Without a serial nobody knows whether an answer that is under way is that of now.
    if (zone.serial === null) return current(zone)
    const key = `${zone.name} ${zone.serial}`
    const under_way = reading.get(key) ?? current(zone).finally(() => reading.delete(key))
    reading.set(key, under_way)
    return under_way
  }
  return {
    of: async (zone) => (await read(zone)).records,
    async search(zone, text) {
      const now = await read(zone)
      return searched(now.text, text).flatMap((index) => now.records[index] ?? [])
    },
    changed(zone, fqdns) {
      const cached = cache.get(zone)
      if (cached === undefined) return
      cache.set(zone, { ...cached, changes: cached.changes + 1, names: new Set([...cached.names, ...fqdns]) })
    },
    forget: (zone) => void cache.delete(zone),
  }
}

/** The touched names, and the zone's own with its start of authority, as they are now. */
async function refreshed(server: DnsServer, zone: string, { records, text, names }: Cached): Promise<Contents> {
  const touched = [...new Set([...names, zone])]
  const now = await Promise.all(touched.map((fqdn) => server.records(zone, { fqdn })))
  const next = { records: [...records], text }
  for (const [index, fqdn] of touched.entries()) {
    const of_name = sorted((now[index] ?? []).filter((record) => record.fqdn === fqdn))
    const from = placeOf(`${fqdn} `, next.records)
    let to = from
    while (next.records[to]?.fqdn === fqdn) to += 1
    next.text = patched(next.text, from, to, of_name)
    next.records.splice(from, to - from, ...of_name)
  }
  return next
}

/** Of the first that does not come before the key. */
function placeOf(key: string, among: readonly RecordData[]): number {
  let [low, high] = [0, among.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const at = among[middle]
    if (at !== undefined && order(at) < key) low = middle + 1
    else high = middle
  }
  return low
}

function order(record: RecordData): string {
  return `${record.fqdn} ${record.type} ${record.value}`
}

function contentsOf(unsorted: RecordData[]): Contents {
  const records = sorted(unsorted)
  return { records, text: searchTextOf(records) }
}

function sorted(records: RecordData[]): RecordData[] {
  return records
    .map((record): [string, RecordData] => [order(record), record])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, record]) => record)
}
