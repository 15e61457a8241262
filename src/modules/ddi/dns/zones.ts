// Zones: reading them and changing them on the server, with what only our own tables keep.
import type { dns } from '#src/contract/ddi/dns.ts'
import type { ZoneStatistics } from '#src/contract/ddi/dns-records.ts'
import type { Input } from '#src/contract/route.ts'
import type { RecordData, ZoneState } from '#src/drivers/ddi/dns-server.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { sorted } from '#src/kernel/sorted.ts'
import { zoneNotes } from '#src/store/dns-orders.ts'
import type { DnsDeps } from './deps.ts'
import { recordViews, requireZone, zoneView } from './reading.ts'

type In<Op extends keyof typeof dns.routes> = Input<(typeof dns.routes)[Op]>

/** Of one answer; the list of records gives the rest. */
const DETAIL_ROWS = 500

export function dnsZoneList(deps: DnsDeps) {
  return async ({ query }: In<'dnsZoneList'>, ctx: RequestContext) => {
    const { server, database, contents } = deps
    const { page = 1, page_size = 50, include_records = false } = query
    const [zones, notes] = await Promise.all([server.zones(ctx.signal), zoneNotes(database.db)])
    const note = new Map(notes.map((row) => [row.name, row]))
    const wanted = zones
      .filter((zone) => query.type === undefined || zone.type === query.type)
      .filter((zone) => query.network_id === undefined || note.get(zone.name)?.network_id === query.network_id)
      .filter((zone) => query.status === undefined || zoneView(zone, note.get(zone.name), null).status === query.status)
      .toSorted((a, b) => a.name.localeCompare(b.name))
    const shown_as = (zone: ZoneState) => zoneView(zone, note.get(zone.name), null)
    const in_order = sorted(wanted, query, {
      name: (zone) => zone.name,
      type: (zone) => zone.type,
      status: (zone) => shown_as(zone).status,
      updated_at: (zone) => shown_as(zone).updated_at,
    })
    const views = []
    for (const zone of in_order.slice((page - 1) * page_size, page * page_size)) {
      const records = await contents.of(zone)
      const view = zoneView(zone, note.get(zone.name), records.length)
      const shown = include_records
        ? { records: await recordViews(deps, zone.name, records.slice(0, DETAIL_ROWS)) }
        : {}
      views.push({ ...view, ...shown })
    }
    const total_count = wanted.length
    return {
      success: true,
      message: `${total_count} ${total_count === 1 ? 'zone' : 'zones'}.`,
      data: { total_count, zones: views, page, page_size },
    }
  }
}

export function dnsZoneGet(deps: DnsDeps) {
  return async ({ params }: In<'dnsZoneGet'>, ctx: RequestContext) => {
    const zone = await requireZone(deps, params.zone_name, ctx.signal)
    const [records, notes, query_count] = await Promise.all([
      deps.contents.of(zone),
      zoneNotes(deps.database.db),
      deps.server.queryCount(zone.name, ctx.signal),
    ])
    const note = notes.find((row) => row.name === zone.name)
    const updated_at = zone.modified_at ?? note?.updated_at ?? null
    return {
      success: true,
      message: `Zone ${zone.name}.`,
      data: {
        zone: zoneView(zone, note, records.length),
        records: await recordViews(deps, zone.name, records.slice(0, DETAIL_ROWS)),
        statistics: statisticsOf(zone, records, { query_count, updated_at, transfers: note?.transfers ?? 0 }),
      },
    }
  }
}

interface Known {
  query_count: number | null
  updated_at: Date | null
  transfers: number
}

function statisticsOf(zone: ZoneState, records: readonly RecordData[], known: Known): ZoneStatistics {
  const records_by_type: Record<string, number> = {}
  for (const { type } of records) records_by_type[type] = (records_by_type[type] ?? 0) + 1
  const { query_count, updated_at, transfers } = known
  return {
    last_modified: updated_at?.toISOString() ?? null,
    soa_serial: zone.serial === null ? null : String(zone.serial),
    zone_name: zone.name,
    query_count,
    total_records: records.length,
    transfer_count: transfers,
    records_by_type,
    unavailable: [
      ...(query_count === null
        ? [{ field: 'query_count', reason: 'The DNS server does not count queries by zone.' }]
        : []),
      ...(updated_at === null
        ? [{ field: 'last_modified', reason: 'The zone was not changed through this service.' }]
        : []),
    ],
  }
}
