/** One request to the NVR and its answer, between the server (http-server.ts) and the calls. */
import type { IncomingHttpHeaders } from 'node:http'
import { type Json, parseJson } from './json.ts'
import type { NvrState } from './state.ts'

export interface Caller {
  name: string
  /** `admin`, `viewer`, or a role of the file with some cameras. */
  role: string
}

export interface Call {
  nvr: NvrState
  /** What the pattern of the route found in the path, decoded. */
  params: Readonly<Record<string, string>>
  query: URLSearchParams
  headers: IncomingHttpHeaders
  caller: Caller
  body(): Promise<Buffer>
}

export interface Answer {
  status: number
  headers?: Readonly<Record<string, string>>
  /** JSON unless it is bytes, a stream of them, or nothing. */
  json?: Json
  bytes?: Buffer
  stream?: AsyncIterable<Buffer>
}

export type Handler = (call: Call) => Answer | Promise<Answer>

/** Who may call: anybody logged in, admins (some since 0.17 only), or those whose role has the camera that the path names. */
export type Access = 'everybody' | 'anyone' | 'admin' | 'admin-since-0.17' | 'camera'

export interface Route {
  method: string
  pattern: RegExp
  access: Access
  handle: Handler
}

/** `:name` stands for one segment of the path; what follows it in the segment is taken as it is. */
export function route(method: string, path: string, access: Access, handle: Handler): Route {
  const pattern = path.replaceAll('.', '\\.').replaceAll(/:(\w+)/g, '(?<$1>[^/]+?)')
  return { method, pattern: new RegExp(`^${pattern}$`), access, handle }
}

/** An answer other than success, from wherever a call finds out. */
export class Rejection extends Error {
  override readonly name = 'Rejection'
  readonly answer: Answer

  constructor(status: number, json: Json) {
    super(`answer ${status}`)
    this.answer = { status, json }
  }
}

export function json(value: Json, status = 200): Answer {
  return { status, json: value }
}

export function failure(status: number, message: string): Rejection {
  return new Rejection(status, { success: false, message })
}

/** What the program answers when an exception was not caught. */
export function uncaught(): Rejection {
  return new Rejection(500, 'Internal Server Error')
}

/** A value of path, query or body that cannot be read as what it should be. */
export function unprocessable(type: string, loc: Json[], msg: string, input: Json): Rejection {
  return new Rejection(422, { detail: [{ type, loc, msg, input }] })
}

export function missingField(loc: Json[], input: Json): Rejection {
  return unprocessable('missing', loc, 'Field required', input)
}

/** Numbers as Python reads them. */
export function floatIn(where: 'path' | 'query', name: string, text: string): number {
  const value = pythonFloat(text)
  if (value !== null) return value
  const message = 'Input should be a valid number, unable to parse string as a number'
  throw unprocessable('float_parsing', [where, name], message, text)
}

function pythonFloat(text: string): number | null {
  const word = /^([+-]?)(inf|infinity|nan)$/i.exec(text.trim())
  if (word !== null) return /nan/i.test(text) ? Number.NaN : word[1] === '-' ? -Infinity : Infinity
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : null
}

export function queryFloat<F>(call: Call, name: string, fallback: F): number | F {
  const text = call.query.get(name)
  return text === null ? fallback : floatIn('query', name, text)
}

export function queryInteger<F>(call: Call, name: string, fallback: F): number | F {
  const text = call.query.get(name)
  if (text === null) return fallback
  if (/^[+-]?\d+$/.test(text.trim())) return Number(text)
  const message = 'Input should be a valid integer, unable to parse string as an integer'
  throw unprocessable('int_parsing', ['query', name], message, text)
}

/** The body as JSON; anything else is refused as the program refuses it. */
export async function jsonBody(call: Call): Promise<Json> {
  const text = (await call.body()).toString('utf8')
  if (text === '') throw missingField(['body'], null)
  if (!/json/.test(call.headers['content-type'] ?? '')) return text
  const parsed = parseJson(text)
  if (parsed !== null) return parsed.value
  throw new Rejection(422, {
    detail: [
      {
        type: 'json_invalid',
        loc: ['body', 0],
        msg: 'JSON decode error',
        input: {},
        ctx: { error: 'Expecting value' },
      },
    ],
  })
}

/** A text field of a JSON body. */
export function textField(body: Json, name: string): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw unprocessable(
      'model_attributes_type',
      ['body'],
      'Input should be a valid dictionary or object to extract fields from',
      body,
    )
  }
  const value = body[name]
  if (value === undefined) throw missingField(['body', name], body)
  if (typeof value === 'string') return value
  throw unprocessable('string_type', ['body', name], 'Input should be a valid string', value)
}
