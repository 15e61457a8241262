// One record added, changed or deleted under the server's lock: what the single routes and the bulk route do alike.
import { randomUUIDv7 } from 'node:crypto'
import type { BulkOperation, RecordInput, RecordUpdate } from '#src/contract/ddi/dns-records.ts'
import type { DnsServer, RecordChange, RecordData } from '#src/drivers/ddi/dns-server.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import { forgetRecord, moveRecordNote, recordNotes } from '#src/store/dns-orders.ts'
import type { DnsDeps } from './deps.ts'
import { fullName, nameOf, relativeName } from './names.ts'
import { checkWritable, keyOf, requireRecord } from './reading.ts'
import { checkNeighbours, contentOf, recordOf } from './record-rules.ts'
import { dropPtr, hasReverse, makePtr } from './reverse-records.ts'

export interface ChangedRecord {
  id: string
  record: RecordData
  ptr_created: boolean
  /** Why a PTR that was asked for was not made. */
  no_ptr: string | undefined
}

export async function addRecord(deps: DnsDeps, zone: string, input: RecordInput, at = 'body'): Promise<ChangedRecord> {
  const { server, database } = deps
  if (nameOf(input.zone) !== zone) throw invalidField(`${at}.zone`, `${input.zone} is not ${zone}`)
  const record = recordOf(input, zone, server.limits, at)
  if (input.create_ptr === true && !hasReverse(record))
    throw invalidField(`${at}.create_ptr`, `a ${record.type} record has no reverse record; A and AAAA have`)
  const overwrite = input.overwrite === true
  let there: readonly RecordData[] = []
  await write(deps, zone, [{ action: overwrite ? 'replace' : 'add', record }], (now) => {
    checkWritable(zone, now)
    there = now.records
    checkNeighbours(record, overwrite ? there.filter((row) => row.type !== record.type) : there)
  })
  const [note] = await recordNotes(database.db, [keyOf(zone, record)], randomUUIDv7)
  const id = note?.id ?? ''
  // Beside others of its set: the comment of the server is theirs.
  if ((note?.comment ?? '') !== record.comment || there.length > 0)
    await moveRecordNote(database.db, id, keyOf(zone, record), record.comment)
  if (input.create_ptr !== true) return { id, record, ptr_created: false, no_ptr: undefined }
  const no_ptr = await makePtr(deps, record, input.create_reverse_zone === true).catch(async (error: unknown) => {
    // Both or neither: what stood before comes back.
    const old = there.filter((row) => row.type === record.type)
    const back: RecordChange[] = overwrite ? old.map((row) => ({ action: 'add', record: row })) : []
    await write(deps, zone, [...back, { action: 'delete', old: record }])
    throw error
  })
  return { id, record, ptr_created: no_ptr === undefined, no_ptr }
}

type Change = Omit<RecordUpdate, 'record_id' | 'zone'>

export async function updateRecord(
  deps: DnsDeps,
  zone: string,
  id: string,
  body: Change,
  at = 'body',
): Promise<ChangedRecord> {
  const { server, database } = deps
  const { record: old, siblings } = await requireRecord(deps, zone, id)
  refuseApex(old, zone)
  const type = body.type?.toUpperCase() ?? old.type
  const same_type = type === old.type
  const fields = {
    name: body.name ?? relativeName(old.fqdn, zone),
    type,
    value: body.value ?? old.value,
    ttl: body.ttl ?? old.ttl,
    comment: body.comment ?? old.comment,
    ...given('priority', body.priority ?? (same_type ? old.priority : null)),
    ...given('weight', body.weight ?? (same_type ? old.weight : null)),
    ...given('port', body.port ?? (same_type ? old.port : null)),
  }
  const record = recordOf(fields, zone, server.limits, at)
  const others =
    record.fqdn === old.fqdn
      ? siblings
      : (await server.records(zone, { fqdn: record.fqdn })).filter((row) => row.fqdn === record.fqdn)
  checkNeighbours(record, others)
  if (body.update_ptr === true && !hasReverse(record) && !hasReverse(old))
    throw invalidField(`${at}.update_ptr`, `a ${record.type} record has no reverse record`)
  await write(deps, zone, [{ action: 'update', old, record }])
  await moveRecordNote(database.db, id, keyOf(zone, record), body.comment)
  if (body.update_ptr !== true) return { id, record, ptr_created: false, no_ptr: undefined }
  const had = hasReverse(old) && (await dropPtr(deps, old.value, old.fqdn))
  if (!hasReverse(record)) return { id, record, ptr_created: false, no_ptr: undefined }
  const no_ptr = await makePtr(deps, record, false)
  return { id, record, ptr_created: no_ptr === undefined, no_ptr: had || no_ptr !== undefined ? no_ptr : undefined }
}

export async function deleteRecord(deps: DnsDeps, zone: string, id: string, delete_ptr: boolean): Promise<RecordData> {
  const { record, siblings } = await requireRecord(deps, zone, id)
  refuseApex(record, zone, siblings)
  await write(deps, zone, [{ action: 'delete', old: record }])
  await forgetRecord(deps.database.db, id)
  if (delete_ptr && hasReverse(record)) await dropPtr(deps, record.value, record.fqdn)
  return record
}

/** The operation's own record; errors name the place of the operation. */
export async function applyOperation(
  deps: DnsDeps,
  zone: string,
  operation: BulkOperation,
  index: number,
): Promise<ChangedRecord> {
  const at = `body.operations/${index}`
  const { action, record, old_record } = operation
  if (action === 'ADD') {
    if (record === undefined) throw invalidField(`${at}/record`, 'is needed for ADD')
    return addRecord(deps, zone, record, `${at}/record`)
  }
  const id = await idOf(deps, zone, old_record, `${at}/old_record`)
  if (action === 'DELETE') {
    const gone = await deleteRecord(deps, zone, id, false)
    return { id, record: gone, ptr_created: false, no_ptr: undefined }
  }
  if (record === undefined) throw invalidField(`${at}/record`, 'is needed for UPDATE')
  const { zone: named, create_ptr, create_reverse_zone: _zone, overwrite: _overwrite, ...change } = record
  if (nameOf(named) !== zone) throw invalidField(`${at}/record/zone`, `${named} is not ${zone}`)
  return updateRecord(
    deps,
    zone,
    id,
    { ...change, ...(create_ptr === undefined ? {} : { update_ptr: create_ptr }) },
    `${at}/record`,
  )
}

async function idOf(deps: DnsDeps, zone: string, old: BulkOperation['old_record'], at: string): Promise<string> {
  if (old?.id !== undefined) return old.id
  if (old?.name === undefined || old.type === undefined) throw invalidField(at, 'needs the id, or name and type')
  const fqdn = fullName(old.name, zone, `${at}/name`)
  const type = old.type.toUpperCase()
  const rows = await deps.server.records(zone, { fqdn })
  const fits = rows.filter(
    (row) =>
      row.fqdn === fqdn &&
      row.type === type &&
      (old.value === undefined || row.value.toLowerCase() === old.value.toLowerCase().replace(/\.$/, '')) &&
      (['priority', 'weight', 'port'] as const).every((field) => old[field] === undefined || old[field] === row[field]),
  )
  const [found] = fits
  if (found === undefined) throw new ApiError('DNS_RECORD_NOT_FOUND', `${fqdn} has no such ${type} record.`)
  if (fits.length > 1) throw invalidField(at, `${fqdn} has ${fits.length} such records; name the value`)
  const [note] = await recordNotes(deps.database.db, [keyOf(zone, found)], randomUUIDv7)
  return note?.id ?? ''
}

async function write(
  deps: DnsDeps,
  zone: string,
  changes: readonly RecordChange[],
  check?: Parameters<DnsServer['changeRecords']>[2],
): Promise<void> {
  try {
    await deps.server.changeRecords(zone, changes, check)
    deps.contents.changed(zone, changes.flatMap(namesOf))
  } catch (error) {
    // What we refuse ourselves changed nothing.
    if (!(error instanceof ApiError)) deps.contents.forget(zone)
    throw error
  }
}

function namesOf(change: RecordChange): string[] {
  if (change.action === 'delete') return [change.old.fqdn]
  return change.action === 'update' ? [change.old.fqdn, change.record.fqdn] : [change.record.fqdn]
}

/** Without a start of authority and a name server a zone is answered by nobody. */
function refuseApex(record: RecordData, zone: string, siblings?: readonly RecordData[]): void {
  if (record.type === 'SOA')
    throw new ApiError('DNS_RECORD_CONFLICT', `The SOA record of zone ${zone} belongs to the name server.`)
  const last = siblings !== undefined && !siblings.some((row) => row.type === 'NS')
  if (record.type === 'NS' && record.fqdn === zone && last)
    throw new ApiError('DNS_RECORD_CONFLICT', `${contentOf(record)} is the last name server of zone ${zone}.`)
}

function given<K extends string>(field: K, value: number | null): { [key in K]?: number } {
  return (value === null ? {} : { [field]: value }) as { [key in K]?: number }
}
