// Records as PowerDNS has them, one line of zone-file text each inside a set of one name and type, and back.
import { type Static, Type } from 'typebox'
import type { RecordChange, RecordData } from '../ddi/dns-server.ts'

export const RecordSet = Type.Object({
  name: Type.String(),
  type: Type.String(),
  ttl: Type.Integer(),
  records: Type.Array(Type.Object({ content: Type.String(), disabled: Type.Optional(Type.Boolean()) })),
  comments: Type.Optional(Type.Array(Type.Object({ content: Type.String() }))),
})
export type RecordSet = Static<typeof RecordSet>

/** Content that is one full name. */
const NAMES: ReadonlySet<string> = new Set(['CNAME', 'NS', 'PTR', 'DNAME'])

export function recordsOf(set: RecordSet): RecordData[] {
  return set.records
    .filter((line) => line.disabled !== true || set.type === 'SOA')
    .map(({ content }) => ({
      fqdn: bare(set.name),
      type: set.type,
      ttl: set.ttl,
      comment: set.comments?.[0]?.content ?? '',
      ...valueOf(set.type, content),
    }))
}

type Value = Pick<RecordData, 'value' | 'priority' | 'weight' | 'port'>

export function valueOf(type: string, content: string): Value {
  const none = { priority: null, weight: null, port: null }
  if (NAMES.has(type)) return { ...none, value: bare(content) }
  if (type === 'TXT' || type === 'SPF') return { ...none, value: unquoted(content) }
  const parts = content.split(/\s+/)
  if (type === 'MX') return { ...none, priority: Number(parts[0]), value: bare(parts[1] ?? '') }
  if (type === 'SRV') {
    return { priority: Number(parts[0]), weight: Number(parts[1]), port: Number(parts[2]), value: bare(parts[3] ?? '') }
  }
  return { ...none, value: content }
}

export function contentOf({ type, value, priority, weight, port }: Pick<RecordData, 'type'> & Value): string {
  if (NAMES.has(type)) return dotted(value)
  if (type === 'TXT' || type === 'SPF') return quoted(value)
  if (type === 'MX') return `${priority ?? 0} ${dotted(value)}`
  if (type === 'SRV') return `${priority ?? 0} ${weight ?? 0} ${port ?? 0} ${dotted(value)}`
  return value
}

/** The sets after the changes, only those that changed. Lines that are off stay, because nobody but their owner sees them. */
export function changedSets(sets: readonly RecordSet[], changes: readonly RecordChange[]): RecordSet[] {
  const next = new Map(sets.map((set) => [keyOf(set), structuredClone(set)]))
  const touched = new Set<string>()
  const setOf = ({ fqdn, type, ttl }: RecordData): RecordSet => {
    const name = dotted(fqdn)
    const key = keyOf({ name, type })
    touched.add(key)
    const set = next.get(key) ?? { name, type, ttl, records: [], comments: [] }
    next.set(key, set)
    return set
  }
  /** By what a line says: others write names in capitals, and texts in parts or with bytes escaped. */
  const drop = (set: RecordSet, record: RecordData): void => {
    const content = contentOf(record)
    set.records = set.records.filter(
      (line) => contentOf({ type: set.type, ...valueOf(set.type, line.content) }) !== content,
    )
  }
  const add = (record: RecordData, before = ''): void => {
    const set = setOf(record)
    set.ttl = record.ttl
    // One that is off and says the same is switched on by this.
    drop(set, record)
    set.records.push({ content: contentOf(record), disabled: false })
    if (record.comment !== before) set.comments = record.comment === '' ? [] : [{ content: record.comment }]
  }
  for (const change of changes) {
    if (change.action === 'replace') {
      const set = setOf(change.record)
      Object.assign(set, { records: set.records.filter((line) => line.disabled === true), comments: [] })
    }
    if (change.action === 'update' || change.action === 'delete') drop(setOf(change.old), change.old)
    if (change.action !== 'delete')
      add(change.record, change.action === 'update' && isBeside(change) ? change.old.comment : '')
  }
  return [...touched].flatMap((key) => next.get(key) ?? [])
}

/** Removals come first: PowerDNS checks a batch in its order, and a CNAME may take the place of what is removed. */
export function writeSets(changed: readonly RecordSet[]): unknown[] {
  const removals = changed.filter((set) => set.records.length === 0)
  const rest = changed.filter((set) => set.records.length > 0)
  return [
    ...removals.map(({ name, type }) => ({ name, type, changetype: 'DELETE' })),
    ...rest.map((set) => ({ ...set, changetype: 'REPLACE', comments: commentsOf(set) })),
  ]
}

/** It stays in its set. */
function isBeside({ old, record }: { old: RecordData; record: RecordData }): boolean {
  return old.fqdn === record.fqdn && old.type === record.type
}

function commentsOf(set: RecordSet): unknown[] {
  return (set.comments ?? []).map(({ content }) => ({ content, account: '' }))
}

export function keyOf({ name, type }: Pick<RecordSet, 'name' | 'type'>): string {
  return `${name} ${type}`
}

export function dotted(name: string): string {
  return name.endsWith('.') ? name : `${name}.`
}

export function bare(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** Several quoted parts are one text; `\123` is a byte. */
function unquoted(content: string): string {
  const parts = [...content.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((match) => match[1] ?? '')
  const text = parts.length === 0 ? content : parts.join('')
  const bytes: number[] = []
  const plain = Buffer.from(text, 'utf8')
  for (let at = 0; at < plain.length; at += 1) {
    const code = plain[at] ?? 0
    const digits = plain.subarray(at + 1, at + 4).toString('latin1')
    if (code !== 0x5c) bytes.push(code)
    else if (/^\d{3}$/.test(digits)) {
      bytes.push(Number(digits))
      at += 3
    } else {
      at += 1
      bytes.push(plain[at] ?? 0)
    }
  }
  return Buffer.from(bytes).toString('utf8')
}
