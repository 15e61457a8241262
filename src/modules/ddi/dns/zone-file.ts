// Zone files (RFC 1035): written for export, read for import, line by line with every problem named by its line.
import type { RecordInput } from '#src/contract/ddi/dns-records.ts'
import type { RecordData } from '#src/drivers/ddi/dns-server.ts'
import { relativeName } from './names.ts'

/** Types whose last part is a full name. */
const NAMED: ReadonlySet<string> = new Set(['CNAME', 'PTR', 'NS', 'MX', 'SRV', 'DNAME'])

export function writeZoneFile(zone: string, records: readonly RecordData[]): string {
  const lines = records.map((record) => {
    const { type, priority, weight, port, ttl, value } = record
    const last =
      type === 'TXT' || type === 'SPF' ? quotedParts(value) : NAMED.has(type) && value !== '.' ? `${value}.` : value
    const data = [priority, weight, port, last].filter((part) => part !== null).join(' ')
    return `${relativeName(record.fqdn, zone)} ${ttl} IN ${type} ${data}`
  })
  return [`$ORIGIN ${zone}.`, ...lines, ''].join('\n')
}

/** A text of a record is at most 255 bytes; longer ones are several. */
function quotedParts(text: string): string {
  const bytes = Buffer.from(text, 'utf8')
  const parts: string[] = []
  for (let at = 0; at === 0 || at < bytes.length; at += 255) parts.push(quoted(bytes.subarray(at, at + 255)))
  return parts.join(' ')
}

function quoted(bytes: Buffer): string {
  const text = [...bytes].map((byte) => {
    if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`
    return byte < 0x20 || byte > 0x7e ? `\\${String(byte).padStart(3, '0')}` : String.fromCharCode(byte)
  })
  return `"${text.join('')}"`
}

export interface FileRecord {
  line: number
  input: RecordInput
}

export interface FileProblem {
  line: number
  message: string
}

interface Token {
  text: string
  quoted: boolean
}

interface Place {
  zone: string
  origin: string
  ttl: number | undefined
  owner: string
}

/** SOA is left out: it belongs to the server. */
export function readZoneFile(
  zone: string,
  text: string,
): { records: FileRecord[]; problems: FileProblem[]; skipped: number } {
  const place: Place = { zone, origin: zone, ttl: undefined, owner: zone }
  const [records, problems]: [FileRecord[], FileProblem[]] = [[], []]
  let skipped = 0
  for (const { line, tokens, indented } of entriesOf(text)) {
    const problem = (message: string): void => void problems.push({ line, message })
    const [first] = tokens
    if (first === undefined) continue
    if (first.text.startsWith('$')) {
      const trouble = directive(place, tokens)
      if (trouble !== undefined) problem(trouble)
      continue
    }
    const rest = [...tokens]
    if (!indented) place.owner = absolute(rest.shift()?.text ?? '@', place.origin)
    const record = recordIn(place, rest)
    if (typeof record === 'string') problem(record)
    else if (record.type === 'SOA') skipped += 1
    else records.push({ line, input: record })
  }
  return { records, problems, skipped }
}

function directive(place: Place, [name, value]: readonly Token[]): string | undefined {
  if (name?.text === '$ORIGIN' && value !== undefined) {
    place.origin = absolute(value.text, place.origin)
    return undefined
  }
  if (name?.text === '$TTL' && value !== undefined) {
    place.ttl = ttlOf(value.text)
    return place.ttl === undefined ? `${value.text} is no time to live` : undefined
  }
  return `${name?.text ?? ''} is not supported`
}

const TTL_UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

function ttlOf(text: string): number | undefined {
  if (/^\d{1,10}$/.test(text)) return Number(text)
  if (!/^(\d{1,6}[smhdw])+$/i.test(text)) return undefined
  return [...text.toLowerCase().matchAll(/(\d+)([smhdw])/g)].reduce((sum, [, count, unit]) => sum + Number(count) * (TTL_UNITS[unit ?? 's'] ?? 1), 0) // biome-ignore format: one thought
}

function recordIn(place: Place, tokens: Token[]): RecordInput | string {
  let { ttl } = place
  // Time to live and class stand in either order, and both may be left out.
  for (let next = tokens[0]; next !== undefined; next = tokens[0]) {
    const time = ttlOf(next.text)
    if (next.text.toUpperCase() !== 'IN' && time === undefined) break
    if (time !== undefined) ttl = time
    tokens.shift()
  }
  const type = tokens.shift()?.text.toUpperCase()
  if (type === undefined || tokens.length === 0) return 'a record needs a type and a value'
  const named = { zone: place.zone, name: place.owner === place.zone ? '@' : `${place.owner}.`, type }
  const common = ttl === undefined ? named : { ...named, ttl }
  const texts = tokens.map((token) => token.text)
  const target = (at: number): string => absolute(texts[at] ?? '', place.origin)
  if (type === 'MX') return { ...common, priority: Number(texts[0]), value: target(1) }
  if (type === 'SRV') {
    return { ...common, priority: Number(texts[0]), weight: Number(texts[1]), port: Number(texts[2]), value: target(3) }
  }
  if (NAMED.has(type)) return { ...common, value: target(0) }
  if (type === 'TXT' || type === 'SPF') return { ...common, value: texts.join('') }
  return {
    ...common,
    value: tokens.map((token) => (token.quoted ? quoted(Buffer.from(token.text, 'utf8')) : token.text)).join(' '),
  }
}

function absolute(name: string, origin: string): string {
  if (name === '@') return origin
  const lower = name.toLowerCase()
  if (lower === '.') return '.'
  return lower.endsWith('.') ? lower.slice(0, -1) : `${lower}.${origin}`
}

/** One entry may span lines in parentheses; a semicolon begins a comment. */
function* entriesOf(text: string): Generator<{ line: number; tokens: Token[]; indented: boolean }> {
  let tokens: Token[] = []
  let [depth, started, indented] = [0, 1, false]
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (depth === 0) {
      tokens = []
      started = index + 1
      indented = /^\s/.test(line)
    }
    for (const [, quoted_text, mark, plain] of line.matchAll(/"((?:[^"\\]|\\.)*)"|([()])|;.*$|([^\s"();]+)/g)) {
      if (mark !== undefined) depth += mark === '(' ? 1 : -1
      else if (quoted_text !== undefined) tokens.push({ text: unescaped(quoted_text), quoted: true })
      else if (plain !== undefined) tokens.push({ text: plain, quoted: false })
    }
    if (depth <= 0 && tokens.length > 0) yield { line: started, tokens, indented }
    depth = Math.max(0, depth)
  }
}

function unescaped(text: string): string {
  const bytes: number[] = []
  for (const [, digits, other, plain] of text.matchAll(/\\(\d{3})|\\(.)|([^\\]+)/gs)) {
    if (digits !== undefined) bytes.push(Number(digits) & 255)
    else bytes.push(...Buffer.from(other ?? plain ?? '', 'utf8'))
  }
  return Buffer.from(bytes).toString('utf8')
}
