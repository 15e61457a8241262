// Records as Technitium answers and takes them, by type, and back.
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { RecordData } from '../ddi/dns-server.ts'
import type { Form } from './transport.ts'

const Row = Type.Object({
  name: Type.String(),
  type: Type.String(),
  ttl: Type.Number(),
  disabled: Type.Optional(Type.Boolean()),
  comments: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  rData: Type.Record(Type.String(), Type.Unknown()),
})
export type RecordRow = Static<typeof Row>
const ZoneRecords = Type.Object({
  zone: Type.Object({ name: Type.String(), type: Type.String() }),
  records: Type.Array(Row),
})
export type ZoneRecords = Static<typeof ZoneRecords>
export const RecordsAnswer = Compile(ZoneRecords)

/** Types that this driver can write, with the fields of each. */
const FIELDS = {
  A: ['ipAddress'],
  AAAA: ['ipAddress'],
  CNAME: ['cname'],
  PTR: ['ptrName'],
  MX: ['preference', 'exchange'],
  TXT: ['text'],
  SRV: ['priority', 'weight', 'port', 'target'],
  NS: ['nameServer'],
  CAA: ['flags', 'tag', 'value'],
  DNAME: ['dname'],
} as const
type Writable = keyof typeof FIELDS

export const WRITABLE_TYPES = Object.keys(FIELDS) as Writable[]
/** Of signatures: made by the server and changed with each change. */
const SIGNING: ReadonlySet<string> = new Set(['RRSIG', 'NSEC', 'NSEC3', 'NSEC3PARAM', 'DNSKEY', 'CDS', 'CDNSKEY'])

export function recordsOf(rows: readonly RecordRow[]): RecordData[] {
  return rows
    .filter((row) => row.disabled !== true && !SIGNING.has(row.type))
    .map((row) => ({
      fqdn: bare(row.name),
      type: row.type,
      ttl: row.ttl,
      comment: row.comments ?? '',
      ...valueOf(row),
    }))
}

type Value = Pick<RecordData, 'value' | 'priority' | 'weight' | 'port'>

function valueOf({ type, rData }: RecordRow): Value {
  const none = { priority: null, weight: null, port: null }
  const name = (field: string): string => target(textOf(rData[field]))
  switch (type) {
    case 'A':
    case 'AAAA':
      return { ...none, value: textOf(rData.ipAddress) }
    case 'CNAME':
      return { ...none, value: name('cname') }
    case 'PTR':
      return { ...none, value: name('ptrName') }
    case 'NS':
      return { ...none, value: name('nameServer') }
    case 'DNAME':
      return { ...none, value: name('dname') }
    case 'TXT':
      return { ...none, value: textOf(rData.text) }
    case 'MX':
      return { ...none, priority: Number(rData.preference), value: name('exchange') }
    case 'SRV':
      return {
        priority: Number(rData.priority),
        weight: Number(rData.weight),
        port: Number(rData.port),
        value: name('target'),
      }
    case 'CAA':
      return { ...none, value: `${textOf(rData.flags)} ${textOf(rData.tag)} "${textOf(rData.value)}"` }
    case 'SOA':
      return { ...none, value: soaText(rData) }
    default:
      return { ...none, value: otherText(rData) }
  }
}

/** Of a name server that a zone file can hold: the dots at the end, the mailbox as a name. */
function soaText(rData: RecordRow['rData']): string {
  const mailbox = textOf(rData.responsiblePerson).replace('@', '.')
  const names = [textOf(rData.primaryNameServer), mailbox].map((name) => `${bare(name)}.`)
  const numbers = ['serial', 'refresh', 'retry', 'expire', 'minimum'].map((field) => textOf(rData[field]))
  return [...names, ...numbers].join(' ')
}

function otherText(rData: RecordRow['rData']): string {
  return Object.values(rData)
    .filter((value) => typeof value === 'string' || typeof value === 'number')
    .join(' ')
}

/** The fields of the value; prefixed with `new` for what an update sets. */
export function valueForm(record: RecordData): Form {
  const values = fieldValues(record)
  const names = FIELDS[record.type as Writable] ?? []
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}

export function newValueForm(record: RecordData): Form {
  // An alias has one value alone, so its update names only the new one.
  if (record.type === 'CNAME' || record.type === 'DNAME') return valueForm(record)
  return Object.fromEntries(
    Object.entries(valueForm(record)).map(([name, value]) => [
      `new${name[0]?.toUpperCase() ?? ''}${name.slice(1)}`,
      value,
    ]),
  )
}

function fieldValues({ type, value, priority, weight, port }: RecordData): (string | number)[] {
  if (type === 'MX') return [priority ?? 0, value]
  if (type === 'SRV') return [priority ?? 0, weight ?? 0, port ?? 0, value]
  if (type !== 'CAA') return [value]
  const [, flags = '0', tag = 'issue', authority = ''] = /^(\d+) +(\S+) +"?([^"]*)"?$/.exec(value) ?? []
  return [flags, tag, authority]
}

/** What tells records of one name apart. */
export function keyOf({ fqdn, type, priority, weight, port, value }: RecordData): string {
  return JSON.stringify([fqdn, type, priority, weight, port, value])
}

/** The name in the reverse tree. */
export function reverseNameOf({ type, value }: Pick<RecordData, 'type' | 'value'>): string | undefined {
  if (type === 'A') return `${value.split('.').toReversed().join('.')}.in-addr.arpa`
  if (type !== 'AAAA') return undefined
  const [head = '', tail = ''] = value.split('::').map((half) => half.split(':').filter((part) => part !== '').map((part) => part.padStart(4, '0')).join('')) // biome-ignore format: one thought
  const digits = value.includes('::') ? head + tail.padStart(32 - head.length, '0') : head
  return `${digits.toLowerCase().split('').toReversed().join('.')}.ip6.arpa`
}

export function bare(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** "No such target" is one dot for us and nothing for the server. */
function target(name: string): string {
  return name === '' ? '.' : bare(name) || '.'
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
