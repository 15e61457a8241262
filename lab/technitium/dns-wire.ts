/** DNS messages as bytes: reads a question, writes an answer. Names are not compressed. */
import { hexOf } from './record-calls.ts'
import type { DnsRecord } from './state.ts'

export const TYPES = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, MX: 15, TXT: 16, AAAA: 28, SRV: 33, DNAME: 39, ANY: 255, CAA: 257 } as const // biome-ignore format: one table
export const CODES = { ok: 0, format: 1, nxdomain: 3, unsupported: 4, refused: 5 } as const

export interface Question {
  id: number
  /** Lower case, without a dot at its end. */
  name: string
  type: number
  recursion_desired: boolean
  opcode: number
  /** As it came, to be sent back. */
  bytes: Buffer
  /** What the client takes over UDP. */
  max_bytes: number
}

export interface Answer {
  code: number
  authoritative: boolean
  answers: readonly DnsRecord[]
  authority: readonly DnsRecord[]
}

const HEADER = 12
const OPT = 41
const PLAIN_UDP_BYTES = 512

/** Null for what is no query: it gets no answer. */
export function readQuestion(message: Buffer): Question | null {
  if (message.length < HEADER || (message.readUInt16BE(2) & 0x8000) !== 0 || message.readUInt16BE(4) !== 1) return null
  const labels: string[] = []
  let at = HEADER
  for (;;) {
    const length = message[at]
    if (length === undefined || length > 63 || at + 1 + length > message.length) return null
    at += 1
    if (length === 0) break
    labels.push(message.toString('latin1', at, at + length))
    at += length
  }
  if (at + 4 > message.length) return null
  const flags = message.readUInt16BE(2)
  return {
    id: message.readUInt16BE(0),
    name: labels.join('.').toLowerCase(),
    type: message.readUInt16BE(at),
    recursion_desired: (flags & 0x0100) !== 0,
    opcode: (flags >> 11) & 0xf,
    bytes: message.subarray(HEADER, at + 4),
    max_bytes: udpSize(message, at + 4),
  }
}

/** The first additional record, when it is the one that says how much the client takes. */
function udpSize(message: Buffer, at: number): number {
  const additional = message.readUInt16BE(10)
  if (additional === 0 || at + 5 > message.length || message[at] !== 0 || message.readUInt16BE(at + 1) !== OPT)
    return PLAIN_UDP_BYTES
  return Math.max(PLAIN_UDP_BYTES, message.readUInt16BE(at + 3))
}

export function writeAnswer(question: Question, answer: Answer, limit: number): Buffer {
  const answers = answer.answers.map(recordBytes)
  const authority = answer.authority.map(recordBytes)
  const whole = Buffer.concat([header(question, answer, answers.length, authority.length, false), question.bytes, ...answers, ...authority]) // biome-ignore format: one message
  if (whole.length <= limit) return whole
  // Cut short: the client asks again over TCP.
  return Buffer.concat([header(question, answer, 0, 0, true), question.bytes])
}

function header(
  question: Question,
  { code, authoritative }: Answer,
  answers: number,
  authority: number,
  cut: boolean,
): Buffer {
  const bytes = Buffer.alloc(HEADER)
  bytes.writeUInt16BE(question.id, 0)
  const flags =
    0x8000 | (question.opcode << 11) | (authoritative ? 0x0400 : 0) | (cut ? 0x0200 : 0) | (question.recursion_desired ? 0x0100 : 0) // biome-ignore format: bits in their order
  bytes.writeUInt16BE(flags | code, 2)
  bytes.writeUInt16BE(1, 4)
  bytes.writeUInt16BE(answers, 6)
  bytes.writeUInt16BE(authority, 8)
  return bytes
}

function recordBytes(record: DnsRecord): Buffer {
  const data = dataBytes(record)
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(TYPES[record.type as keyof typeof TYPES], 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt32BE(record.ttl, 4)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([nameBytes(record.name), fixed, data])
}

function dataBytes({ type, data }: DnsRecord): Buffer {
  const text = (field: string): string => String(data[field] ?? '')
  const name = (field: string): Buffer => nameBytes(text(field))
  const numbers = (...fields: string[]): Buffer[] => fields.map((field) => uint16(Number(data[field])))
  switch (type) {
    case 'A':
      return Buffer.from(text('ipAddress').split('.').map(Number))
    case 'AAAA':
      return Buffer.from(hexOf(text('ipAddress')), 'hex')
    case 'CNAME':
      return name('cname')
    case 'DNAME':
      return name('dname')
    case 'PTR':
      return name('ptrName')
    case 'NS':
      return name('nameServer')
    case 'MX':
      return Buffer.concat([...numbers('preference'), name('exchange')])
    case 'SRV':
      return Buffer.concat([...numbers('priority', 'weight', 'port'), name('target')])
    case 'TXT':
      return textBytes(text('text'))
    case 'CAA':
      return Buffer.concat([
        Buffer.from([Number(data.flags), text('tag').length]),
        Buffer.from(text('tag') + text('value')),
      ])
    case 'SOA':
      return Buffer.concat([
        name('primaryNameServer'),
        nameBytes(text('responsiblePerson').replace('@', '.')),
        ...['serial', 'refresh', 'retry', 'expire', 'minimum'].map((field) => uint32(Number(data[field]))),
      ])
    default:
      return Buffer.alloc(0)
  }
}

function nameBytes(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '')
  return Buffer.concat([...labels.map((label) => Buffer.from([label.length, ...Buffer.from(label, 'latin1')])), Buffer.from([0])]) // biome-ignore format: one name
}

/** In strings of 255 bytes. */
function textBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8')
  const parts: Buffer[] = []
  for (let at = 0; at === 0 || at < bytes.length; at += 255) {
    const part = bytes.subarray(at, at + 255)
    parts.push(Buffer.from([part.length]), part)
  }
  return Buffer.concat(parts)
}

function uint16(value: number): Buffer {
  return Buffer.from([(value >> 8) & 0xff, value & 0xff])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
