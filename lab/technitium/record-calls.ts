/** The calls on records of the simulated address server. They work on the nearest zone that encloses the one they name. */
import { isIPv4, isIPv6 } from 'node:net'
import { type Call, flag, type Handler, Rejection, required, whole } from './call.ts'
import { row, zone as newZone } from './seed.ts'
import type { DnsRecord, ZoneRecord } from './state.ts'
import { nameOf, nearestZone, soaOf, touch, zoneRow } from './zone-calls.ts'

type Kind = 'address4' | 'address6' | 'name' | 'number' | 'text'

/** What tells records of one type apart, in the order of a zone file. */
const FIELDS: Readonly<Record<string, readonly (readonly [string, Kind])[]>> = {
  A: [['ipAddress', 'address4']],
  AAAA: [['ipAddress', 'address6']],
  CNAME: [['cname', 'name']],
  DNAME: [['dname', 'name']],
  PTR: [['ptrName', 'name']],
  NS: [['nameServer', 'name']],
  MX: [['preference', 'number'], ['exchange', 'name']],
  TXT: [['text', 'text']],
  SRV: [['priority', 'number'], ['weight', 'number'], ['port', 'number'], ['target', 'name']],
  CAA: [['flags', 'number'], ['tag', 'text'], ['value', 'text']],
} // biome-ignore format: one table
const SINGLE: ReadonlySet<string> = new Set(['CNAME', 'DNAME'])
const SOA_FIELDS = [
  'primaryNameServer',
  'responsiblePerson',
  'serial',
  'refresh',
  'retry',
  'expire',
  'minimum',
] as const
const DEFAULT_TTL_S = 3600
const MAX_COMMENT = 255

export const RECORD_CALLS: Readonly<Record<string, Handler>> = {
  'zones/records/get': (call) => {
    const domain = nameOf(required(call, 'domain'))
    const zone = zoneOf(call, domain)
    const rows = flag(call, 'listZone') ? zone.records : zone.records.filter((record) => record.name === domain)
    return { zone: zoneRow(zone), records: rows.map(recordRow) }
  },
  'zones/records/add': addRecord,
  'zones/records/update': updateRecord,
  'zones/records/delete': deleteRecord,
}

function addRecord(call: Call): unknown {
  const domain = nameOf(required(call, 'domain'))
  const zone = writable(call, domain)
  const type = required(call, 'type').toUpperCase()
  const record = {
    ...row(domain, type, dataOf(call, type), call.now_ms),
    ttl: ttlOf(call, zone),
    comments: commentsOf(call),
    expiry_ttl: whole(call.params.get('expiryTtl') ?? '0', 'expiryTtl'),
  }
  // The reverse record is written first, also when the record itself is refused after that.
  if (flag(call, 'ptr')) writePtr(call, record)
  const overwrite = flag(call, 'overwrite')
  const others = zone.records.filter((one) => one.name === domain && !(overwrite && one.type === type))
  if (type === 'CNAME' && domain === zone.name)
    throw new Rejection('Cannot set CNAME record: the zone apex cannot have one.')
  if (type === 'CNAME' && others.some((one) => one.type !== 'CNAME'))
    throw new Rejection(`Cannot add CNAME record: other records exist for ${domain}.`)
  if (type !== 'CNAME' && others.some((one) => one.type === 'CNAME'))
    throw new Rejection(`Cannot add record: a CNAME record exists for ${domain}.`)
  if (others.some((one) => one.type === type && sameData(one, record)))
    throw new Rejection('Cannot add record: record already exists.')
  zone.records = zone.records.filter(
    (one) => one.name !== domain || one.type !== type || !(overwrite || SINGLE.has(type)),
  )
  zone.records.push(record)
  touch(zone, call.now_ms)
  return { zone: zoneRow(zone), addedRecord: recordRow(record) }
}

/** Everything that is not sent goes back to its default. */
function updateRecord(call: Call): unknown {
  const domain = nameOf(required(call, 'domain'))
  const zone = writable(call, domain)
  const type = required(call, 'type').toUpperCase()
  if (type === 'SOA') return updateSoa(call, zone)
  const old = find(call, zone, domain, type)
  const name = nameOf(call.params.get('newDomain') ?? domain)
  const data = dataOf(call, type, SINGLE.has(type) ? '' : 'new')
  const changed: DnsRecord = {
    ...old,
    name,
    data,
    ttl: ttlOf(call, zone),
    comments: commentsOf(call),
    disabled: flag(call, 'disable'),
    expiry_ttl: whole(call.params.get('expiryTtl') ?? '0', 'expiryTtl'),
    modified_ms: call.now_ms,
  }
  // With the old name, also when it gets a new one; and every other reverse record of the old address goes.
  if (flag(call, 'ptr')) {
    dropPtrs(call, old)
    writePtr(call, { ...changed, name: domain })
  }
  if (zone.records.some((one) => one !== old && one.name === name && one.type === type && sameData(one, changed)))
    throw new Rejection('Cannot update record: record already exists.')
  zone.records = zone.records.map((one) => (one === old ? changed : one))
  touch(zone, call.now_ms)
  return { zone: zoneRow(zone), updatedRecord: recordRow(changed) }
}

function updateSoa(call: Call, zone: ZoneRecord): unknown {
  const soa = soaOf(zone)
  if (soa === undefined) throw new Rejection(`No SOA record was found for ${zone.name}.`)
  for (const field of SOA_FIELDS) {
    const text = required(call, field)
    soa.data[field] = typeof soa.data[field] === 'number' ? whole(text, field) : text
  }
  Object.assign(soa, { ttl: ttlOf(call, zone), comments: commentsOf(call), modified_ms: call.now_ms })
  zone.modified_ms = call.now_ms
  return { zone: zoneRow(zone), updatedRecord: recordRow(soa) }
}

function deleteRecord(call: Call): unknown {
  const domain = nameOf(required(call, 'domain'))
  const zone = writable(call, domain)
  const old = find(call, zone, domain, required(call, 'type').toUpperCase())
  zone.records = zone.records.filter((one) => one !== old)
  touch(zone, call.now_ms)
  dropPtrs(call, old, domain)
  return {}
}

function find(call: Call, zone: ZoneRecord, domain: string, type: string): DnsRecord {
  const rows = zone.records.filter((one) => one.name === domain && one.type === type)
  // The old target of an alias is not looked at.
  const found = SINGLE.has(type) ? rows[0] : rows.find((one) => sameData(one, { data: dataOf(call, type) }, type))
  if (found === undefined) throw new Rejection(`Cannot find the ${type} record of ${domain}.`)
  return found
}

/** Nobody asks whether the reverse record shall go with its address. */
function dropPtrs(call: Call, { type, data }: DnsRecord, only_of?: string): void {
  if (type !== 'A' && type !== 'AAAA') return
  const name = reverseName(String(data.ipAddress))
  const zone = nearestZone(call.state.now, name)
  if (zone === undefined) return
  const before = zone.records.length
  zone.records = zone.records.filter(
    (one) => one.name !== name || one.type !== 'PTR' || (only_of !== undefined && one.data.ptrName !== only_of),
  )
  if (zone.records.length < before) touch(zone, call.now_ms)
}

function writePtr(call: Call, { name: target, type, data, ttl }: DnsRecord): void {
  if (type !== 'A' && type !== 'AAAA') return
  const name = reverseName(String(data.ipAddress))
  let zone = nearestZone(call.state.now, name)
  if (zone === undefined) {
    if (!flag(call, 'createPtrZone')) throw new Rejection(`No reverse zone available to add PTR record.`)
    zone = newZone(name.split('.').slice(type === 'A' ? 1 : 16).join('.'), 'Primary', call.now_ms, {}) // biome-ignore format: one thought
    call.state.now.zones.push(zone)
  }
  zone.records = zone.records.filter((one) => one.name !== name || one.type !== 'PTR')
  zone.records.push({ ...row(name, 'PTR', { ptrName: target }, call.now_ms), ttl })
  touch(zone, call.now_ms)
}

export function reverseName(address: string): string {
  if (isIPv4(address)) return `${address.split('.').toReversed().join('.')}.in-addr.arpa`
  return `${hexOf(address).split('').toReversed().join('.')}.ip6.arpa`
}

/** 32 digits. */
export function hexOf(address: string): string {
  const parts = (text: string): string =>
    text.split(':').filter((part) => part !== '').map((part) => part.padStart(4, '0')).join('') // biome-ignore format: one thought
  const [head = '', tail = ''] = address.toLowerCase().split('::').map(parts)
  return address.includes('::') ? head + tail.padStart(32 - head.length, '0') : head
}

function zoneOf(call: Call, domain: string): ZoneRecord {
  const asked = nameOf(call.params.get('zone') ?? domain)
  const zone = nearestZone(call.state.now, asked)
  if (zone === undefined) throw new Rejection(`No such zone was found: ${asked}`)
  return zone
}

function writable(call: Call, domain: string): ZoneRecord {
  const zone = zoneOf(call, domain)
  if (zone.internal) throw new Rejection('Access was denied to manage internal DNS Server zone.')
  if (zone.kind !== 'Primary' && zone.kind !== 'Forwarder')
    throw new Rejection(`Cannot change records in ${zone.kind} zone.`)
  if (domain !== zone.name && !domain.endsWith(`.${zone.name}`))
    throw new Rejection(`The domain name ${domain} does not belong to the zone ${zone.name}.`)
  return zone
}

function dataOf(call: Call, type: string, prefix = ''): DnsRecord['data'] {
  const fields = FIELDS[type]
  if (fields === undefined) throw new Rejection(`Type not supported: ${type}`)
  const entries = fields.map(([name, kind]): [string, string | number] => {
    const wire = prefix === '' ? name : `${prefix}${name[0]?.toUpperCase() ?? ''}${name.slice(1)}`
    return [name, parsed(required(call, wire), kind, wire)]
  })
  return Object.fromEntries(entries)
}

function parsed(text: string, kind: Kind, name: string): string | number {
  if (kind === 'number') return whole(text, name)
  if (kind === 'name') return text === '.' ? '' : nameOf(text)
  if (kind === 'text') return text
  const fits = kind === 'address4' ? isIPv4(text) : isIPv6(text)
  if (!fits) throw new Rejection(`An invalid IP address was specified: ${text}`)
  return text
}

function sameData(a: Pick<DnsRecord, 'type' | 'data'>, b: Pick<DnsRecord, 'data'>, type = a.type): boolean {
  return (FIELDS[type] ?? []).every(([name]) => String(a.data[name]) === String(b.data[name]))
}

function ttlOf(call: Call, zone: ZoneRecord): number {
  const text = call.params.get('ttl')
  const ttl = text === undefined || text === '' ? DEFAULT_TTL_S : whole(text, 'ttl')
  const expire = Number(soaOf(zone)?.data.expire ?? Number.POSITIVE_INFINITY)
  if (ttl > expire) throw new Rejection(`Record TTL cannot be greater than the SOA EXPIRE value: ${expire}`)
  return ttl
}

function commentsOf({ params }: Call): string {
  const comments = params.get('comments') ?? ''
  if (comments.length > MAX_COMMENT) throw new Rejection(`Comments cannot exceed ${MAX_COMMENT} characters.`)
  return comments
}

function recordRow(record: DnsRecord): unknown {
  const { type, data } = record
  const text = type === 'TXT' ? { splitText: false, characterStrings: [data.text] } : {}
  return {
    name: record.name,
    type,
    ttl: record.ttl,
    ttlString: `${record.ttl}s`,
    rData: { ...data, ...text },
    disabled: record.disabled,
    comments: record.comments,
    expiryTtl: record.expiry_ttl,
    dnssecStatus: 'Unknown',
    lastUsedOn: '0001-01-01T00:00:00',
    lastModified: new Date(record.modified_ms).toISOString(),
  }
}
