/** One HTTP request of the simulated NetBox from its token to its answer, with the faults that were ordered. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type CallLog, type Faults, readText, sendGarbage } from '../control.ts'
import { listFree, listFreePrefixes, takeAddresses, takePrefixes } from './allocation.ts'
import { KINDS, type KindName } from './kinds.ts'
import { listOf } from './lists.ts'
import { Problem } from './problem.ts'
import { chosen, render } from './render.ts'
import { byId, type NetBoxState, type Row } from './state.ts'
import { create, remove } from './writes.ts'

export interface Token {
  /** `nbt_<key>.<secret>`, or forty characters. */
  value: string
  /** What is said instead of an answer: expired, disabled and so on. */
  refused?: string
  /** May change nothing. */
  read_only?: boolean
  /** May see nothing but the status. */
  without_rights?: boolean
}

export interface RequestDeps {
  state(): NetBoxState
  tokens: readonly Token[]
  faults: Faults
  calls: CallLog
  log(line: string): void
}

interface Answer {
  status: number
  body?: unknown
  headers?: Record<string, string>
}

export const API_VERSION = '4.6'
const PAGE = '<!DOCTYPE html> <html lang="en" data-netbox-version="4.6.8"> <head></head> </html>'
const FORBIDDEN = 'You do not have permission to perform this action.'

export function createRequestHandler(deps: RequestDeps) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      await serve(deps, request, response)
    } catch (error) {
      // A caller that goes away in the middle of its body gets no answer.
      deps.log(error instanceof Error ? error.message : 'a request broke off')
      response.destroy()
    }
  }
}

async function serve(deps: RequestDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://netbox')
  const command = `${request.method ?? 'GET'} ${url.pathname.replace(/^\/api\//, '').replaceAll(/\d+/g, 'ID')}`
  const text = await readText(request)
  deps.calls.record(command, [...url.searchParams, ['body', text]], null)
  if (deps.faults.take('silent', command) !== null) return
  const slow = deps.faults.take('slow', command)
  if (slow !== null) await pause(slow.delay_ms, undefined, { ref: false })
  if (deps.faults.take('garbage', command) !== null) {
    sendGarbage(response, 'html200')
    return
  }
  const failure = deps.faults.take('fail', command)
  const answer =
    failure === null ? answerOf(deps, request, url, text) : { status: failure.code, body: { detail: failure.text } }
  if (deps.faults.take('lose-answer', command) !== null) response.destroy()
  else send(response, answer)
}

function send(response: ServerResponse, { status, body, headers = {} }: Answer): void {
  const html = typeof body === 'string'
  const payload = body === undefined ? '' : html ? body : JSON.stringify(body)
  response.writeHead(status, {
    ...(status === 204 ? {} : { 'content-type': html ? 'text/html; charset=utf-8' : 'application/json' }),
    ...(status === 301 ? {} : { 'api-version': API_VERSION }),
    ...headers,
  })
  response.end(payload)
}

function answerOf(deps: RequestDeps, request: IncomingMessage, url: URL, text: string): Answer {
  const method = request.method ?? 'GET'
  if (!url.pathname.endsWith('/'))
    return method === 'GET'
      ? { status: 301, body: '', headers: { location: `${url.pathname}/${url.search}` } }
      : { status: 404, body: PAGE }
  const route = routeOf(url.pathname)
  if (route === undefined) return { status: 404, body: PAGE }
  try {
    return handle(deps, request, { url, method, text, route })
  } catch (error) {
    if (error instanceof Problem) return { status: error.status, body: error.body }
    deps.log(error instanceof Error ? (error.stack ?? error.message) : String(error))
    return { status: 500, body: { error: String(error), exception: 'Exception', netbox_version: '4.6.8' } }
  }
}

type Route = { status: true } | { kind: KindName; id?: string; sub?: string }

function routeOf(path: string): Route | undefined {
  if (path === '/api/status/') return { status: true }
  for (const [name, { path: at }] of Object.entries(KINDS)) {
    const found = new RegExp(`^/api/${at}/(?:([^/]+)/(?:(available-ips|available-prefixes)/)?)?$`).exec(path)
    if (found === null) continue
    const [, id, sub] = found
    return { kind: name as KindName, ...(id === undefined ? {} : { id }), ...(sub === undefined ? {} : { sub }) }
  }
  return undefined
}

interface Asked {
  url: URL
  method: string
  text: string
  route: Route
}

function handle(deps: RequestDeps, request: IncomingMessage, { url, method, text, route }: Asked): Answer {
  const token = tokenOf(deps.tokens, request.headers.authorization)
  const accept = request.headers.accept ?? '*/*'
  if (/version=(?!4\.6)/.test(accept)) throw new Problem(406, { detail: 'Invalid version in "Accept" header.' })
  if (/application\/xml/.test(accept))
    throw new Problem(406, { detail: 'Could not satisfy the request Accept header.' })
  const allowed = 'status' in route ? ['GET'] : route.id === undefined ? ['GET', 'POST'] : route.sub === undefined ? ['GET', 'DELETE'] : ['GET', 'POST'] // biome-ignore format: one choice
  if (!allowed.includes(method)) throw new Problem(405, { detail: `Method "${method}" not allowed.` })
  if ('status' in route) return { status: 200, body: status() }
  if (token.without_rights === true || (token.read_only === true && method !== 'GET'))
    throw new Problem(403, { detail: FORBIDDEN })
  const state = deps.state()
  const host = hostOf(request)
  if (route.id === undefined) {
    if (method === 'GET') return { status: 200, body: listOf(state, route.kind, url, host) }
    return createOne(state, route.kind, bodyOf(request, text), host)
  }
  const row = rowOf(state, route.kind, route.id)
  if (route.sub !== undefined) return allocate(deps, request, { url, method, text, route }, row)
  if (method === 'GET')
    return { status: 200, body: chosen(state, route.kind, row, host, url.searchParams), headers: etag(row) }
  remove(state, route.kind, row)
  return { status: 204 }
}

function createOne(state: NetBoxState, kind: KindName, body: unknown, host: string): Answer {
  const row = create(state, kind, body)
  const location = `http://${host}/api/${KINDS[kind].path}/${row.id}/`
  return { status: 201, body: render(state, kind, row, host), headers: { location, ...etag(row) } }
}

function etag(row: Row): Record<string, string> {
  return { etag: `W/"${row.last_updated}"` }
}

function allocate(deps: RequestDeps, request: IncomingMessage, { url, method, text, route }: Asked, row: Row): Answer {
  const state = deps.state()
  if ('status' in route || (route.kind !== 'prefix' && route.kind !== 'ip_range')) return { status: 404, body: PAGE }
  const prefixes = route.sub === 'available-prefixes'
  if (method === 'GET') {
    const free = prefixes
      ? listFreePrefixes(state, row)
      : listFree(state, route.kind, row, url.searchParams.get('limit'))
    return { status: 200, body: free }
  }
  const body = text === '' ? undefined : bodyOf(request, text)
  const made = prefixes ? takePrefixes(state, row, body ?? {}) : takeAddresses(state, route.kind, row, body)
  const kind = prefixes ? 'prefix' : 'ip_address'
  const shown = (one: Row) => render(state, kind, one, hostOf(request))
  return { status: 201, body: Array.isArray(made) ? made.map(shown) : shown(made) }
}

function rowOf(state: NetBoxState, kind: KindName, id: string): Row {
  if (!/^-?\d+$/.test(id)) throw new Problem(404, { detail: 'Not found.' })
  const row = byId(state, kind, Number(id))
  if (row === undefined) throw new Problem(404, { detail: `No ${KINDS[kind].model} matches the given query.` })
  return row
}

function hostOf(request: IncomingMessage): string {
  const forwarded = request.headers['x-forwarded-host']
  return typeof forwarded === 'string' ? forwarded : (request.headers.host ?? 'netbox')
}

function bodyOf(request: IncomingMessage, text: string): unknown {
  const type = request.headers['content-type'] ?? ''
  if (!type.startsWith('application/json'))
    throw new Problem(415, { detail: `Unsupported media type "${type}" in request.` })
  if (text === '') return {}
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new Problem(400, { detail: 'JSON parse error - Expecting value: line 1 column 13 (char 12)' })
  }
}

/** Always 403, never 401. The value alone tells the two versions of tokens apart. */
function tokenOf(tokens: readonly Token[], header: string | undefined): Token {
  const refuse = (detail: string): never => {
    throw new Problem(403, { detail })
  }
  const [keyword = '', value, ...more] = (header ?? '').split(' ').filter(Boolean)
  if (!/^(bearer|token)$/i.test(keyword)) return refuse('Authentication credentials were not provided.')
  if (value === undefined || more.length > 0) {
    const form = 'Must be in the form "Bearer <key>.<token>" or "Token <token>"'
    return refuse(`Invalid authorization header: ${form}`)
  }
  const found = tokens.find((token) => token.value === value)
  if (found?.refused !== undefined) return refuse(found.refused)
  return found ?? refuse(value.startsWith('nbt_') ? 'Invalid v2 token' : 'Invalid v1 token')
}

function status(): unknown {
  return {
    'django-version': '6.0.8', 'hostname': 'netbox-host', 'installed_apps': {}, 'netbox-version': '4.6.8', 'netbox-full-version': '4.6.8',
    'plugins': {}, 'python-version': '3.12.1', 'rq-workers-running': 0,
  } // biome-ignore format: one answer
}
