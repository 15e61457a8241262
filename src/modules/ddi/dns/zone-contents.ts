// The records of a zone, read once for each serial: name servers have no pages, and lists and searches are walked page by page.
import { LRUCache } from 'lru-cache'
import type { DnsServer, RecordData, ZoneHead } from '#src/drivers/ddi/dns-server.ts'

export interface ZoneContents {
  /** Sorted by name, type and value. */
  of(zone: ZoneHead): Promise<readonly RecordData[]>
  /** After a change of ours, which raised the serial by one: these names are read again, and not the whole zone. */
  changed(zone: string, fqdns: readonly string[]): void
  /** After one of which that is not known. */
  forget(zone: string): void
}

interface Cached {
  serial: number
  records: readonly RecordData[]
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
  const current = async ({ name, serial }: ZoneHead): Promise<readonly RecordData[]> => {
    const cached = cache.get(name)
    const is_known =
      cached !== undefined && cached.serial + cached.changes === serial && cached.names.size <= MOST_NAMES
    if (is_known && cached.changes === 0) return cached.records
    const records = is_known ? await refreshed(server, name, cached) : sorted(await server.records(name))
    if (serial !== null) cache.set(name, { serial, records, changes: 0, names: new Set() })
    return records
  }
  /** A large zone takes seconds to read: whoever wants it meanwhile waits for the same answer, also when the first has gone. */
  const reading = new Map<string, Promise<readonly RecordData[]>>()
  return {
    of(zone) {
      // Without a serial nobody knows whether an answer that is under way is that of now.
      if (zone.serial === null) return current(zone)
      const key = `${zone.name} ${zone.serial ?? ''}`
      const under_way = reading.get(key) ?? current(zone).finally(() => reading.delete(key))
      reading.set(key, under_way)
      return under_way
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
async function refreshed(server: DnsServer, zone: string, { records, names }: Cached): Promise<RecordData[]> {
  const touched = new Set([...names, zone])
  const now = await Promise.all([...touched].map((fqdn) => server.records(zone, { fqdn })))
  const next = records.filter((record) => !touched.has(record.fqdn))
  for (const record of now.flat().filter(({ fqdn }) => touched.has(fqdn))) next.splice(placeOf(record, next), 0, record)
  return next
}

function placeOf(record: RecordData, among: readonly RecordData[]): number {
  const key = order(record)
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

function sorted(records: RecordData[]): RecordData[] {
  return records
    .map((record): [string, RecordData] => [order(record), record])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, record]) => record)
}
