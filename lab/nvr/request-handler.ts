/** One HTTP request as nginx in front of the NVR handles it: faults, login, cache, and the call that answers. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type CallLog, type Faults, sendGarbage } from '../control.ts'
import { requireCamera } from './camera-access.ts'
import { type Answer, type Caller, Rejection, type Route, uncaught } from './http-call.ts'
import { authenticate } from './sessions.ts'
import type { NvrState } from './state.ts'

const CACHE_MS = 5000
const MAX_BODY_BYTES = 20 * 1024 * 1024
const NO_LOGIN = ['/api/login', '/api/auth/first_time_login']

export interface RequestDeps {
  nvr: NvrState
  routes: readonly Route[]
  faults: Faults
  calls: CallLog
  /** While the program starts, nginx answers alone. */
  starting(): boolean
  /** Streams that are being sent. */
  open: { streams: number }
  log(line: string): void
}

interface Cached {
  until_ms: number
  answer: Answer
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

export function createRequestHandler(deps: RequestDeps): RequestHandler {
  const cache = new Map<string, Cached>()
  return async (request, response) => {
    try {
      await serve(deps, cache, request, response)
    } catch (error) {
      // A client that goes away in the middle gets no answer.
      deps.log(error instanceof Error ? (error.stack ?? error.message) : 'a request broke off')
      response.destroy()
    }
  }
}

async function serve(
  deps: RequestDeps,
  cache: Map<string, Cached>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://nvr')
  const path = url.pathname
  const { traceparent } = request.headers
  const asked: [string, string][] = [['method', request.method ?? ''], ...url.searchParams]
  deps.calls.record(path, asked, typeof traceparent === 'string' ? traceparent : null)
  if (deps.faults.take('silent', path) !== null) return
  const slow = deps.faults.take('slow', path)
  if (slow !== null) await pause(slow.delay_ms, undefined, { ref: false })
  const garbage = deps.faults.take('garbage', path)
  if (garbage !== null) {
    sendGarbage(response, garbage.garbage)
    return
  }
  const answer = await guarded(deps, cache, request, url)
  if (deps.faults.take('lose-answer', path) !== null) {
    response.destroy()
    return
  }
  await send(deps, response, answer)
}

async function guarded(
  deps: RequestDeps,
  cache: Map<string, Cached>,
  request: IncomingMessage,
  url: URL,
): Promise<Answer> {
  const path = url.pathname
  if (deps.starting()) return html(path === '/api/login' ? 502 : path.startsWith('/vod/') ? 404 : 500)
  const failure = deps.faults.take('fail', path)
  if (failure !== null) return { status: failure.code, json: { success: false, message: failure.text } }
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return html(413)
  const known = authenticate(deps.nvr, request.headers)
  if (known === null && !NO_LOGIN.includes(path)) return html(401)
  const { method = 'GET', headers } = request
  const changes = method !== 'GET' && method !== 'HEAD'
  if (changes && headers.origin !== undefined && headers['x-csrf-token'] === undefined) {
    return { status: 401, json: { success: false, message: 'Missing CSRF header' } }
  }
  const caller = known?.caller ?? { name: 'anonymous', role: 'viewer' }
  const key = `${caller.name} ${caller.role} ${url.pathname}${url.search}`
  const stored = cache.get(key)
  if (
    method === 'GET' &&
    headers['x-cache-bypass'] === undefined &&
    stored !== undefined &&
    stored.until_ms > Date.now()
  ) {
    return stored.answer
  }
  const answer = await answerOf(deps, request, url, caller)
  const cookie = known?.set_cookie ?? null
  if (method === 'GET' && path.startsWith('/api/') && answer.status === 200 && answer.json !== undefined) {
    cache.set(key, { until_ms: Date.now() + CACHE_MS, answer })
  }
  return cookie === null ? answer : { ...answer, headers: { 'set-cookie': cookie, ...answer.headers } }
}

async function answerOf(deps: RequestDeps, request: IncomingMessage, url: URL, caller: Caller): Promise<Answer> {
  const { nvr, routes } = deps
  const path = decoded(url.pathname)
  const method = request.method ?? 'GET'
  const fitting = routes.filter(({ pattern }) => pattern.test(path))
  // Files and HLS are served by nginx, which knows HEAD; the program behind /api does not.
  const wanted = method === 'HEAD' && !path.startsWith('/api/') ? 'GET' : method
  const found = fitting.find((route) => route.method === wanted)
  if (found === undefined) return notRouted(fitting.length > 0, path, method)
  const params = found.pattern.exec(path)?.groups ?? {}
  let body: Promise<Buffer> | null = null
  try {
    checkAccess(nvr, found, caller, params['camera'])
    return await found.handle({
      nvr,
      params,
      query: url.searchParams,
      headers: request.headers,
      caller,
      body: () => (body ??= readBody(request)),
    })
  } catch (error) {
    if (error instanceof Rejection) return error.answer
    deps.log(`${method} ${path}: ${error instanceof Error ? (error.stack ?? '') : String(error)}`)
    return uncaught().answer
  }
}

/** A path of one segment is taken for a camera's name. */
function notRouted(other_method: boolean, path: string, method: string): Answer {
  if (!path.startsWith('/api/')) return html(404)
  const one_segment = /^\/api\/[^/]+$/.test(path) && method === 'GET'
  if (one_segment) return { status: 404, json: { success: false, message: 'Camera not found' } }
  return other_method
    ? { status: 405, json: { detail: 'Method Not Allowed' } }
    : { status: 404, json: { detail: 'Not Found' } }
}

function checkAccess(nvr: NvrState, { access }: Route, caller: Caller, camera: string | undefined): void {
  const { role } = caller
  if (role === 'admin' || access === 'everybody' || access === 'anyone') return
  const newer = nvr.release === '0.17'
  const denied = newer
    ? 'Access denied. A user with the admin role is required.'
    : `Role ${role} not authorized. Required: admin`
  if (access === 'admin' || (access === 'admin-since-0.17' && newer)) throw new Rejection(403, { detail: denied })
  if (!newer || camera === undefined) return
  requireCamera(nvr, caller, camera)
  if (nvr.camera(camera) === undefined) throw new Rejection(403, { detail: denied })
}

/** Encoded slashes become slashes before a call is chosen. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length
    if (length > MAX_BODY_BYTES) throw new Rejection(413, 'Request Entity Too Large')
    parts.push(part)
  }
  return Buffer.concat(parts)
}

export function html(status: number): Answer {
  const page = `<html><head><title>${status}</title></head><body><center><h1>${status}</h1></center><hr><center>nginx</center></body></html>`
  return { status, headers: { 'content-type': 'text/html' }, bytes: Buffer.from(page) }
}

async function send(deps: RequestDeps, response: ServerResponse, answer: Answer): Promise<void> {
  const { status, headers = {} } = answer
  if (answer.stream !== undefined) {
    response.writeHead(status, headers)
    await sendStream(deps, response, answer.stream)
    return
  }
  const payload = answer.bytes ?? (answer.json === undefined ? Buffer.alloc(0) : jsonBytes(answer.json))
  const type = answer.json === undefined ? {} : { 'content-type': 'application/json' }
  response.writeHead(status, { ...type, 'content-length': payload.length, ...headers })
  response.end(payload)
}

/** At the pace of the reader; a reader that leaves ends the source. */
async function sendStream(deps: RequestDeps, response: ServerResponse, stream: AsyncIterable<Buffer>): Promise<void> {
  deps.open.streams++
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  try {
    for await (const part of stream) {
      if (gone.signal.aborted) return
      if (!response.write(part)) await once(response, 'drain', { signal: gone.signal }).catch(() => {})
    }
    response.end()
  } finally {
    deps.open.streams--
  }
}

/** The program's texts for exceptions are no JSON. */
function jsonBytes(value: unknown): Buffer {
  return Buffer.from(value === 'Internal Server Error' ? value : JSON.stringify(value))
}
