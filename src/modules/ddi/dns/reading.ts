// What several DNS handlers read: zones by name, records with their ids, views.
import { randomUUIDv7 } from 'node:crypto'
import type { DnsRecord, DnsZone } from '#src/contract/ddi/dns-records.ts'
import type { RecordData, ZoneHead, ZoneState } from '#src/drivers/ddi/dns-server.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { recordNote, recordNotes, type RecordNote, type ZoneNote } from '#src/store/dns-orders.ts'
import type { DnsDeps } from './deps.ts'
import { nameOf, relativeName } from './names.ts'
import { contentOf } from './record-rules.ts'

export async function requireZone(
  { server }: Pick<DnsDeps, 'server'>,
  name: string,
  signal?: AbortSignal,
): Promise<ZoneState> {
  return found(name, await server.zone(nameOf(name), signal))
}

/** For who needs its records alone. */
export async function requireHead(
  { server }: Pick<DnsDeps, 'server'>,
  name: string,
  signal?: AbortSignal,
): Promise<ZoneHead> {
  return found(name, await server.zoneHead(nameOf(name), signal))
}

function found<T>(name: string, zone: T | undefined): T {
  if (zone === undefined) throw notFound(nameOf(name))
  return zone
}

function notFound(name: string): ApiError {
  return new ApiError('DNS_ZONE_NOT_FOUND', `DNS zone ${name} not found.`)
}

export async function requirePrimary(deps: Pick<DnsDeps, 'server'>, name: string): Promise<ZoneHead> {
  const zone = await requireHead(deps, name)
  checkWritable(zone.name, zone)
  return zone
}

/** Records of a copy come from its masters; of stubs and forwarders there are none to write. */
export function checkWritable<T extends Pick<ZoneState, 'type'>>(name: string, zone: T | undefined): asserts zone is T {
  if (zone === undefined) throw notFound(name)
  if (zone.type === 'Primary') return
  const why = `${name} is a ${zone.type} zone; its records are changed at its masters.`
  throw new ApiError('DNS_ZONE_READ_ONLY', why)
}

export function zoneView(zone: ZoneState, note: ZoneNote | undefined, record_count: number | null): DnsZone {
  const inactive = note?.status === 'disabled' ? 'disabled' : 'paused'
  return {
    comment: note?.comment ?? '',
    name: zone.name,
    updated_at: (zone.modified_at ?? note?.updated_at)?.toISOString() ?? null,
    masters: [...zone.masters],
    notify_enabled: zone.notify,
    transfer_enabled: zone.transfer,
    record_count,
    status: zone.enabled ? 'active' : inactive,
    type: zone.type,
    network_id: note?.network_id ?? null,
  }
}

/** Gives each an id: one that it had before, or a new one. */
export async function recordViews(
  { database }: Pick<DnsDeps, 'database'>,
  zone: string,
  records: readonly RecordData[],
): Promise<DnsRecord[]> {
  const keys = records.map((record) => keyOf(zone, record))
  const notes = await recordNotes(database.db, keys, randomUUIDv7)
  return records.map((record, index) => recordView(zone, record, notes[index]))
}

export function keyOf(zone: string, record: RecordData) {
  return { zone, fqdn: record.fqdn, type: record.type, content: contentOf(record) }
}

function recordView(zone: string, record: RecordData, note: RecordNote | undefined): DnsRecord {
  return {
    comment: note?.comment ?? record.comment,
    created_at: note?.created_at.toISOString() ?? null,
    fqdn: record.fqdn,
    id: note?.id ?? '',
    name: relativeName(record.fqdn, zone),
    type: record.type,
    updated_at: note?.updated_at.toISOString() ?? null,
    value: record.value,
    zone,
    port: record.port,
    priority: record.priority,
    ttl: record.ttl,
    weight: record.weight,
  }
}

/** The record of the id as it is on the server now. */
export async function requireRecord(
  { server, database }: Pick<DnsDeps, 'server' | 'database'>,
  zone: string,
  id: string,
  signal?: AbortSignal,
): Promise<{ note: RecordNote; record: RecordData; siblings: RecordData[] }> {
  const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)
  const note = isId ? await recordNote(database.db, zone, id) : undefined
  const rows = note === undefined ? [] : await server.records(zone, { fqdn: note.fqdn }, signal)
  const record = rows.find(
    (row) => row.fqdn === note?.fqdn && row.type === note.type && contentOf(row) === note.content,
  )
  if (note === undefined || record === undefined)
    throw new ApiError('DNS_RECORD_NOT_FOUND', `Zone ${zone} has no record with the id ${id}.`)
  return { note, record, siblings: rows.filter((row) => row.fqdn === record.fqdn && row !== record) }
}
