// What a record must be, by its type, and beside what others it may stand: checked before anything changes.
import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { RecordInput } from '#src/contract/ddi/dns-records.ts'
import type { DnsLimits, RecordData } from '#src/drivers/ddi/dns-server.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import { fullName, nameOf } from './names.ts'

export const DEFAULT_TTL_S = 3600

type Fields = Pick<RecordInput, 'name' | 'type' | 'value' | 'ttl' | 'priority' | 'weight' | 'port' | 'comment'>

/** `at`: where the fields stand in the request, for messages. */
export function recordOf(fields: Fields, zone: string, limits: DnsLimits, at: string): RecordData {
  const type = fields.type.toUpperCase()
  if (type === 'SOA') throw invalidField(`${at}.type`, 'the SOA record belongs to the name server')
  if (type === 'LUA') throw invalidField(`${at}.type`, 'a LUA record is code that the name server would run')
  if (limits.record_types !== 'any' && !limits.record_types.includes(type))
    throw invalidField(`${at}.type`, `the DNS server in use takes ${limits.record_types.join(', ')}`)
  const fqdn = fullName(fields.name, zone, `${at}.name`)
  if (type === 'CNAME' && fqdn === zone) throw invalidField(`${at}.name`, 'the zone itself cannot be a CNAME')
  const comment = fields.comment ?? ''
  const bytes = Buffer.byteLength(comment)
  if (bytes > limits.max_comment_bytes)
    throw invalidField(
      `${at}.comment`,
      `has ${bytes} bytes; the DNS server in use takes ${limits.max_comment_bytes} at most`,
    )
  return {
    fqdn,
    type,
    ttl: fields.ttl ?? DEFAULT_TTL_S,
    value: valueOf(type, fields.value, `${at}.value`),
    comment,
    ...numbersOf(type, fields, at),
  }
}

/** Types whose value is one full name. */
const NAMES: ReadonlySet<string> = new Set(['CNAME', 'PTR', 'NS', 'MX', 'SRV', 'DNAME'])
const TARGET = /^(\.|([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?)$/
const CAA = /^(\d{1,3}) +([a-z0-9]{1,15}) +"([^"\\]*)"$/i
/** Also half of a surrogate pair, which is no character at all. */
const UNPRINTABLE = /\p{Cc}|\p{Cs}/u

function valueOf(type: string, value: string, path: string): string {
  if (UNPRINTABLE.test(value)) throw invalidField(path, 'control characters and halves of surrogate pairs are refused')
  if (type === 'A') {
    if (isIPv4(value)) return value
    throw invalidField(path, `${value} is no IPv4 address`)
  }
  if (type === 'AAAA') {
    if (isIPv6(value) && !value.includes('%')) return ipaddr.IPv6.parse(value).toString()
    throw invalidField(path, `${value} is no IPv6 address`)
  }
  if (NAMES.has(type)) {
    const target = value === '.' ? '.' : nameOf(value)
    if (TARGET.test(target) && target.length <= 253 && !isIPv4(target)) return target
    throw invalidField(path, `${value} is no host name; a ${type} record leads to a full name`)
  }
  if (type === 'CAA' && !CAA.test(value)) throw invalidField(path, 'a CAA record reads: 0 issue "authority.example"')
  return value
}

const NO_NUMBERS = { priority: null, weight: null, port: null }

function numbersOf(type: string, { priority, weight, port }: Fields, at: string): typeof NO_NUMBERS | Numbers {
  if (type === 'MX') {
    if (priority === undefined) throw invalidField(`${at}.priority`, 'is needed for an MX record')
    return { ...NO_NUMBERS, priority }
  }
  if (type === 'SRV') {
    for (const [field, value] of Object.entries({ priority, weight, port }))
      if (value === undefined) throw invalidField(`${at}.${field}`, 'is needed for an SRV record')
    return { priority: priority ?? 0, weight: weight ?? 0, port: port ?? 0 }
  }
  for (const [field, value] of Object.entries({ priority, weight, port }))
    if (value !== undefined) throw invalidField(`${at}.${field}`, `a ${type} record has none`)
  return NO_NUMBERS
}

interface Numbers {
  priority: number | null
  weight: number | null
  port: number | null
}

/** `others`: every record of the name but the one that is replaced. */
export function checkNeighbours(record: RecordData, others: readonly RecordData[]): void {
  const alias = others.find((other) => other.type === 'CNAME')
  if (record.type === 'CNAME' && others.length > 0)
    throw new ApiError(
      'DNS_RECORD_CONFLICT',
      `${record.fqdn} has ${typesOf(others)} records; a CNAME stands alone at its name.`,
    )
  if (alias !== undefined)
    throw new ApiError(
      'DNS_RECORD_CONFLICT',
      `${record.fqdn} is a CNAME of ${alias.value}; nothing may stand beside it.`,
    )
  if (others.some((other) => other.type === record.type && contentOf(other) === contentOf(record)))
    throw new ApiError('DNS_RECORD_EXISTS', `${record.fqdn} has this ${record.type} record already.`)
}

function typesOf(records: readonly RecordData[]): string {
  return [...new Set(records.map((record) => record.type))].join(', ')
}

/** What tells records of one name and type apart. */
export function contentOf({ priority, weight, port, value }: RecordData): string {
  return [priority, weight, port, value].filter((part) => part !== null).join(' ')
}
