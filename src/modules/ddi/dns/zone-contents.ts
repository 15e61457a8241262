// The records of a zone, read once for each serial: name servers have no pages, and lists and searches are walked page by page.
import { LRUCache } from 'lru-cache'
import type { DnsServer, RecordData, ZoneState } from '#src/drivers/ddi/dns-server.ts'

export interface ZoneContents {
  /** Sorted by name, type and value. */
  of(zone: ZoneState, signal?: AbortSignal): Promise<readonly RecordData[]>
  /** After a change of ours, in case the server gives it the same serial. */
  forget(zone: string): void
}

const MOST_RECORDS = 400_000

export function createZoneContents(server: DnsServer): ZoneContents {
  const cache = new LRUCache<string, { serial: number; records: readonly RecordData[] }>({
    maxSize: MOST_RECORDS,
    sizeCalculation: ({ records }) => records.length + 1,
  })
  return {
    async of(zone, signal) {
      const cached = cache.get(zone.name)
      if (cached !== undefined && zone.serial !== null && cached.serial === zone.serial) return cached.records
      const records = sorted(await server.records(zone.name, {}, signal))
      if (zone.serial !== null) cache.set(zone.name, { serial: zone.serial, records })
      return records
    },
    forget: (zone) => void cache.delete(zone),
  }
}

function sorted(records: RecordData[]): RecordData[] {
  const order = (record: RecordData): string => `${record.fqdn} ${record.type} ${record.value}`
  return records
    .map((record): [string, RecordData] => [order(record), record])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, record]) => record)
}
