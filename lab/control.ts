/** The control API every simulator has: make it fail, slow, silent or wrong, take a step, reset, and look at what it was asked. */
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

export type Garbage = 'html200' | 'cut' | 'json'

export type Fault =
  | { kind: 'fail'; command: string | null; times: number; code: number; text: string; at: 'submit' | 'job' }
  | { kind: 'slow'; command: string | null; times: number; delay_ms: number }
  | { kind: 'silent'; command: string | null; times: number }
  | { kind: 'garbage'; command: string | null; times: number; garbage: Garbage }
  | { kind: 'lose-answer'; command: string | null; times: number }
  | { kind: 'pretend'; command: string | null; times: number }

type FaultKind = Fault['kind']

interface RecordedCall {
  at: string
  command: string
  params: Record<string, string>
  /** W3C trace context of the request; null when it carried none. */
  traceparent: string | null
}

/** What a simulator gives its control API; `routes` are the simulator's own, keyed "METHOD /path". */
export interface ControlSubject {
  faults: Faults
  calls: CallLog
  step(count: number): unknown
  reset(): void
  state(kind: string): unknown
  mutate(kind: string, id: string, set: Record<string, unknown>): unknown
  routes: Record<string, (body: Record<string, unknown>) => unknown>
}

export interface ControlApi {
  url: string
  close(): Promise<void>
}

/** A request that the control API refuses; everything else that goes wrong inside is a 500. */
export class ControlError extends Error {
  override readonly name = 'ControlError'
}

export async function openControlApi(
  subject: ControlSubject,
  listen: { host: string; port: number },
): Promise<ControlApi> {
  const server = createServer((request, response) => {
    void serve(subject, request, response)
  })
  return { url: await listenOn(server, listen), close: async () => closeServer(server) }
}

/** Starts a server and answers its address as `http://host:port`. */
export async function listenOn(server: Server, listen: { host: string; port: number }): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(listen.port, listen.host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no TCP address')
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${host}:${address.port}`
}

export async function closeServer(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => {
      resolve()
    })
    server.closeAllConnections()
  })
}

/** What a proxy in between, a broken connection or another program would say instead of an answer. */
export function sendGarbage(response: ServerResponse, kind: Garbage, page = 'Please sign in'): void {
  if (kind === 'html200') {
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<html><body><h1>${page}</h1></body></html>`)
    return
  }
  const payload = JSON.stringify({ unexpected: { shape: ['of', 'an', 'answer'] } })
  if (kind === 'json') {
    response.writeHead(200, { 'content-type': 'application/json' }).end(payload)
    return
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': payload.length })
  response.write(payload.slice(0, payload.length / 2), () => response.destroy())
}

export interface Faults {
  add(fault: Fault): void
  /** The oldest fault of this kind that fits the command, used up once. */
  take<K extends FaultKind>(
    kind: K,
    command: string,
    fits?: (fault: Extract<Fault, { kind: K }>) => boolean,
  ): Extract<Fault, { kind: K }> | null
  list(): Fault[]
  clear(): void
}

export function createFaults(): Faults {
  let queue: Fault[] = []
  return {
    add: (fault) => {
      if (fault.times > 0) queue.push({ ...fault })
    },
    take: (kind, command, fits = () => true) => {
      for (const fault of queue) {
        if (!isKind(fault, kind)) continue
        if (fault.command !== null && fault.command.toLowerCase() !== command.toLowerCase()) continue
        if (!fits(fault)) continue
        fault.times -= 1
        queue = queue.filter((one) => one.times > 0)
        return fault
      }
      return null
    },
    list: () => queue.map((fault) => ({ ...fault })),
    clear: () => {
      queue = []
    },
  }
}

export interface CallLog {
  record(command: string, params: Iterable<readonly [string, string]>, traceparent: string | null): void
  list(): RecordedCall[]
  clear(): void
}

const SECRET = /^(apikey|signature|sessionkey|token|secret|authorization)$|password|secretkey|passphrase/i
const MOST_CALLS = 5000

/** Secrets are dropped before anything is kept; user data is shown by its length, because cloud-init carries passwords. */
export function createCallLog(): CallLog {
  let calls: RecordedCall[] = []
  return {
    record: (command, params, traceparent) => {
      const shown: Record<string, string> = {}
      for (const [name, value] of params) {
        if (SECRET.test(name)) continue
        shown[name] = /^(userdata|user_data)$/i.test(name) ? `[${value.length} characters]` : value
      }
      calls.push({ at: new Date().toISOString(), command, params: shown, traceparent })
      if (calls.length > 2 * MOST_CALLS) calls = calls.slice(-MOST_CALLS)
    },
    list: () => calls.slice(-MOST_CALLS),
    clear: () => {
      calls = []
    },
  }
}

async function serve(subject: ControlSubject, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const url = new URL(request.url ?? '/', 'http://control')
    const body = request.method === 'POST' ? parseBody(await readText(request)) : Object.fromEntries(url.searchParams)
    const answer = await route(subject, `${request.method ?? 'GET'} ${url.pathname}`, body)
    reply(response, 200, answer ?? { ok: true })
  } catch (error) {
    if (error instanceof ControlError) reply(response, 400, { error: error.message })
    else reply(response, 500, { error: error instanceof Error ? error.message : 'unknown' })
  }
}

async function route(subject: ControlSubject, key: string, body: Record<string, unknown>): Promise<unknown> {
  const own = subject.routes[key]
  if (own !== undefined) return await own(body)
  switch (key) {
    case 'POST /fail':
      return addFault(subject, {
        kind: 'fail',
        ...scope(body),
        code: number(body, 'code', 530),
        text: text(body, 'text', 'Internal error executing command, please contact your system administrator'),
        at: body['at'] === 'job' ? 'job' : 'submit',
      })
    case 'POST /slow':
      return addFault(subject, { kind: 'slow', ...scope(body), delay_ms: number(body, 'delay_ms', 1000) })
    case 'POST /silent':
      return addFault(subject, { kind: 'silent', ...scope(body) })
    case 'POST /garbage':
      return addFault(subject, { kind: 'garbage', ...scope(body), garbage: garbage(body) })
    case 'POST /lose-answer':
      return addFault(subject, { kind: 'lose-answer', ...scope(body) })
    case 'POST /pretend':
      return addFault(subject, { kind: 'pretend', ...scope(body) })
    case 'POST /step':
      return subject.step(number(body, 'count', 1))
    case 'POST /reset':
      subject.reset()
      return { ok: true }
    case 'GET /calls':
      return { calls: subject.calls.list() }
    case 'GET /faults':
      return { faults: subject.faults.list() }
    case 'GET /state':
      return subject.state(text(body, 'kind', ''))
    case 'POST /mutate':
      return subject.mutate(text(body, 'kind', ''), text(body, 'id', ''), object(body, 'set'))
    default:
      throw new ControlError(`no such control: ${key}`)
  }
}

function addFault(subject: ControlSubject, fault: Fault): { ok: true } {
  subject.faults.add(fault)
  return { ok: true }
}

function scope(body: Record<string, unknown>): { command: string | null; times: number } {
  const command = body['command']
  return { command: typeof command === 'string' && command !== '' ? command : null, times: number(body, 'times', 1) }
}

function garbage(body: Record<string, unknown>): Garbage {
  const kind = body['kind'] ?? 'html200'
  if (kind === 'html200' || kind === 'cut' || kind === 'json') return kind
  throw new ControlError('kind is html200, cut or json')
}

function number(body: Record<string, unknown>, name: string, fallback: number): number {
  const value = body[name]
  if (value === undefined) return fallback
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  throw new ControlError(`${name} is a number`)
}

function text(body: Record<string, unknown>, name: string, fallback: string): string {
  const value = body[name]
  if (value === undefined) return fallback
  if (typeof value === 'string') return value
  throw new ControlError(`${name} is a text`)
}

function object(body: Record<string, unknown>, name: string): Record<string, unknown> {
  const value = body[name]
  if (isObject(value)) return value
  throw new ControlError(`${name} is an object`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isKind<K extends FaultKind>(fault: Fault, kind: K): fault is Extract<Fault, { kind: K }> {
  return fault.kind === kind
}

function parseBody(source: string): Record<string, unknown> {
  if (source.trim() === '') return {}
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch {
    throw new ControlError('the body is not JSON')
  }
  if (!isObject(value)) throw new ControlError('the body is not an object')
  return value
}

/** The whole body of a request as text; the limit keeps a runaway client from filling memory. */
export async function readText(request: IncomingMessage, limit_bytes = 4 * 1024 * 1024): Promise<string> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of request) {
    const bytes = Buffer.isBuffer(part) ? part : Buffer.from(String(part))
    length += bytes.length
    if (length > limit_bytes) throw new ControlError('the body is too large')
    parts.push(bytes)
  }
  return Buffer.concat(parts).toString('utf8')
}

function reply(response: ServerResponse, status: number, value: unknown): void {
  const payload = JSON.stringify(value)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) })
  response.end(payload)
}
