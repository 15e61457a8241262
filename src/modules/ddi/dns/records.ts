// Records: lists and searches, and the changes one by one and in bulk.
import type { dns } from '#src/contract/ddi/dns.ts'
import type { BulkResult, DnsRecord, RECORD_COLUMNS } from '#src/contract/ddi/dns-records.ts'
import type { Input } from '#src/contract/route.ts'
import type { RecordData } from '#src/drivers/ddi/dns-server.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type ListOrder, sorted } from '#src/kernel/sorted.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import { recordChange } from '#src/store/app-events.ts'
import type { DnsDeps } from './deps.ts'
import { nameOf, relativeName } from './names.ts'
import { recordViews, requireHead, requirePrimary, requireRecord } from './reading.ts'
import { addRecord, applyOperation, type ChangedRecord, deleteRecord, updateRecord } from './record-changes.ts'

type In<Op extends keyof typeof dns.routes> = Input<(typeof dns.routes)[Op]>

export function dnsRecordList(deps: DnsDeps) {
  return async ({ query }: In<'dnsRecordList'>, ctx: RequestContext) => {
    const { server, contents } = deps
    const { page = 1, page_size = 50, record_type, search } = query
    const zones =
      query.zone_name === undefined
        ? await server.zoneHeads(ctx.signal)
        : [await requireHead(deps, query.zone_name, ctx.signal)]
    const type = record_type?.toUpperCase()
    const wanted: Found[] = []
    for (const zone of zones) {
      const found = await (search === undefined ? contents.of(zone) : contents.search(zone, search))
      wanted.push({ zone: zone.name, found: type === undefined ? found : found.filter((one) => one.type === type) })
    }
    const rows = pageOf(inOrder(wanted, query), (page - 1) * page_size, page_size)
    const records: DnsRecord[] = []
    for (const { zone, found } of runsOf(rows)) records.push(...(await recordViews(deps, zone, found)))
    const count = wanted.reduce((sum, { found }) => sum + found.length, 0)
    return {
      success: true,
      message: `${count} ${count === 1 ? 'record' : 'records'}.`,
      data: {
        zone: query.zone_name === undefined ? null : nameOf(query.zone_name),
        total_count: count,
        records,
        page,
        page_size,
      },
    }
  }
}

interface Found {
  zone: string
  found: readonly RecordData[]
}

/** Where a column is named, each record is a part of its own, because those of several zones mix. */
function inOrder(zones: readonly Found[], order: ListOrder<(typeof RECORD_COLUMNS)[number]>): readonly Found[] {
  if (order.sort_by === undefined) return zones
  const single = zones.flatMap(({ zone, found }) => found.map((record) => ({ zone, found: [record] as const })))
  return sorted(single, order, {
    fqdn: ({ found: [record] }) => record.fqdn,
    type: ({ found: [record] }) => record.type,
    value: ({ found: [record] }) => record.value,
    ttl: ({ found: [record] }) => record.ttl,
  })
}

/** What stands in a row in one zone is read as one. */
function runsOf(parts: readonly Found[]): Found[] {
  const runs: { zone: string; found: RecordData[] }[] = []
  for (const { zone, found } of parts) {
    const last = runs.at(-1)
    if (last?.zone === zone) last.found.push(...found)
    else runs.push({ zone, found: [...found] })
  }
  return runs
}

function pageOf(zones: readonly Found[], from: number, size: number): Found[] {
  let before = 0
  return zones.flatMap(({ zone, found }) => {
    const begin = from - before
    before += found.length
    const own = found.slice(Math.max(0, begin), Math.max(0, begin + size))
    return own.length === 0 ? [] : [{ zone, found: own }]
  })
}

export function dnsRecordGet(deps: DnsDeps) {
  return async ({ params }: In<'dnsRecordGet'>, ctx: RequestContext) => {
    const zone = await requireHead(deps, params.zone_name, ctx.signal)
    const { record } = await requireRecord(deps, zone.name, params.record_id, ctx.signal)
    const [data] = await recordViews(deps, zone.name, [record])
    if (data === undefined) throw new Error(`record ${params.record_id} has no view`)
    return { success: true, message: `${record.type} record of ${record.fqdn}.`, data }
  }
}

export function dnsRecordCreate(deps: DnsDeps) {
  return ({ body }: In<'dnsRecordCreate'>, ctx: RequestContext) =>
    changing(deps, ctx, nameOf(body.zone), `Creating ${body.type} record ${body.name}.`, async (zone) => {
      const { id, record, ptr_created, no_ptr } = await addRecord(deps, zone, body)
      const { type, value } = record
      const ptr = no_ptr === undefined ? '' : ` No PTR record was made: ${no_ptr}.`
      const made = {
        fqdn: record.fqdn,
        name: relativeName(record.fqdn, zone),
        type,
        value,
        zone,
        ptr_created,
        record_id: id,
      }
      return { ...made, success: true, message: `${record.fqdn} has the ${type} record ${value}.${ptr}` }
    })
}

export function dnsRecordUpdate(deps: DnsDeps) {
  return ({ params, body }: In<'dnsRecordUpdate'>, ctx: RequestContext) => {
    if (body.record_id !== params.record_id) throw invalidField('body.record_id', 'differs from the path')
    if (nameOf(body.zone) !== nameOf(params.zone_name)) throw invalidField('body.zone', 'differs from the path')
    return changing(deps, ctx, nameOf(body.zone), `Changing record ${params.record_id}.`, async (zone) => {
      await requirePrimary(deps, zone)
      const { record, no_ptr } = await updateRecord(deps, zone, params.record_id, body)
      const { type, value } = record
      const ptr = no_ptr === undefined ? '' : ` No PTR record was made: ${no_ptr}.`
      const made = { name: relativeName(record.fqdn, zone), record_id: params.record_id, type, value, zone }
      return { ...made, success: true, message: `${record.fqdn} has the ${type} record ${value}.${ptr}` }
    })
  }
}

export function dnsRecordDelete(deps: DnsDeps) {
  return ({ params, query }: In<'dnsRecordDelete'>, ctx: RequestContext) =>
    changing(deps, ctx, nameOf(params.zone_name), `Deleting record ${params.record_id}.`, async (zone) => {
      await requirePrimary(deps, zone)
      const record = await deleteRecord(deps, zone, params.record_id, query.delete_ptr === true)
      return { success: true, message: `${record.type} record of ${record.fqdn} is deleted.` }
    })
}

export function dnsRecordBulk(deps: DnsDeps) {
  return ({ body }: In<'dnsRecordBulk'>, ctx: RequestContext) =>
    changing(deps, ctx, nameOf(body.zone), `Changing records of ${body.zone}.`, async (zone) => {
      await requirePrimary(deps, zone)
      const results: BulkResult[] = []
      for (const [index, operation] of (body.operations ?? []).entries()) {
        const named = operation.record ?? operation.old_record
        const about = { action: operation.action, index, name: named?.name ?? '', type: named?.type ?? '' }
        results.push(
          await applyOperation(deps, zone, operation, index).then(
            (done) => succeeded(about, zone, done),
            (error: unknown) => failed(about, error),
          ),
        )
      }
      const failures = results.filter((result) => result.status === 'failed').length
      const total = results.length
      const message = `${total - failures} of ${total} changes made.`
      return { failed: failures, succeeded: total - failures, total, results, success: failures === 0, message }
    })
}

type About = Pick<BulkResult, 'action' | 'index' | 'name' | 'type'>

function succeeded(about: About, zone: string, { id, record }: ChangedRecord): BulkResult {
  const { type } = record
  return {
    ...about,
    name: relativeName(record.fqdn, zone),
    type,
    error: '',
    status: 'succeeded',
    record_id: id,
    code: null,
  }
}

function failed(about: About, thrown: unknown): BulkResult {
  const { message, code } = asApiError(thrown, null)
  return { ...about, error: message, status: 'failed', record_id: null, code }
}

/** The work itself sees to it that there is such a zone and that it may be written. */
function changing<T extends { message: string }>(
  deps: DnsDeps,
  ctx: RequestContext,
  zone_name: string,
  description: string,
  work: (zone: string) => Promise<T>,
): Promise<T> {
  const about = { resource_type: 'DNS_RECORD', resource_uuid: zone_name, tenant_id: null, description }
  return recordChange(deps, ctx, about, async (note) => {
    const answer = await deps.lock(() => work(zone_name))
    note.description = answer.message
    return answer
  })
}
