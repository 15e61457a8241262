// One operation as a call: idempotency key, one retry after a lost connection, errors as one kind, pages walked.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ClientError, requestOf } from '#src/contract/client.ts'
import type { Problem } from '#src/contract/problem.ts'
import { firstStatus, type RouteSpec, routeEffect } from '#src/contract/route.ts'
import { type Connection, connectionError } from './connection.ts'
import { ConnectionError } from './failures.ts'
import type { RouteInput } from './input.ts'
import { isRecord, listOf, parseJson } from './records.ts'

export interface CallOptions {
  idempotency_key?: string | undefined
  dry_run?: boolean
  timeout_ms?: number | undefined
}

export interface Answer {
  status: number
  text: string
  value: unknown
}

export type PartialInput = Partial<RouteInput>

/** The server gives up after the route's own time; the client only ends what the server lost. */
const SERVER_DEFAULT_MS = 120_000
const GRACE_MS = 15_000
/** Largest page a route allows that does not say so itself (api-conventions, Names and forms). */
const PAGE_SIZE = 500

export async function call(
  connection: Connection,
  route: RouteSpec,
  input: PartialInput,
  options: CallOptions = {},
): Promise<Answer> {
  const request = requestOf(route, input, {
    headers: headersOf(input),
    ...(options.dry_run === undefined ? {} : { dry_run: options.dry_run }),
    ...(takesKey(route) ? { idempotency_key: options.idempotency_key ?? randomUUID() } : {}),
  })
  const timeout_ms = options.timeout_ms ?? (route.timeout_ms ?? SERVER_DEFAULT_MS) + GRACE_MS
  const attempt = async (): Promise<Answer> => {
    const response = await connection.send(request, { timeout_ms })
    const text = await bodyText(response, connection.target.url)
    if (!(response.status in route.ok)) throw answerError(response.status, text, route)
    return { status: response.status, text, value: answerValue(text, response.status) }
  }
  try {
    return await attempt()
  } catch (error) {
    if (!mayRepeat(route, error)) throw error
    await delay(300)
    return attempt()
  }
}

/** Every page of a list as one answer. */
export async function callAllPages(
  connection: Connection,
  route: RouteSpec,
  input: PartialInput,
  options: CallOptions = {},
): Promise<Answer> {
  const place = pagePlace(route)
  if (place === undefined) return call(connection, route, input, options)
  const given = isRecord(input[place]) ? input[place] : {}
  const size = typeof given.page_size === 'number' ? given.page_size : largestPage(route, place)
  const rows: unknown[] = []
  let first: Answer | undefined
  let cursor: Record<string, unknown> = { page: 1 }
  for (;;) {
    const fields = { ...given, ...cursor, page_size: size }
    const answer = await call(connection, route, { ...input, [place]: fields }, options)
    first ??= answer
    const list = listOf(answer.value)
    if (list === undefined) return answer
    rows.push(...list.rows)
    const next = nextPage(list.frame, cursor, list.rows.length, rows.length, size)
    if (next === undefined) break
    cursor = next
  }
  const value = withRows(first.value, rows)
  return { status: first.status, text: JSON.stringify(value), value }
}

export function pagePlace(route: RouteSpec): 'query' | 'body' | undefined {
  if (route.query?.properties.page_size !== undefined) return 'query'
  const properties = isRecord(route.body) ? route.body.properties : undefined
  return isRecord(properties) && properties.page_size !== undefined ? 'body' : undefined
}

function largestPage(route: RouteSpec, place: 'query' | 'body'): number {
  const schema = place === 'query' ? route.query : route.body
  const properties: unknown = isRecord(schema) ? schema.properties : undefined
  const field: unknown = isRecord(properties) ? properties.page_size : undefined
  return isRecord(field) && typeof field.maximum === 'number' ? field.maximum : PAGE_SIZE
}

export function takesKey(route: RouteSpec): boolean {
  return routeEffect(route) === 'change' && (route.method === 'POST' || route.method === 'PUT')
}

export function headersOf(input: PartialInput): Record<string, string> {
  return Object.fromEntries(Object.entries(input.headers ?? {}).map(([name, value]) => [name, String(value)]))
}

export async function bodyText(response: Response, url: URL): Promise<string> {
  try {
    return await response.text()
  } catch (error) {
    throw connectionError(error, url)
  }
}

/** The error of an answer that is not a success; tolerates answers of something between us and the service. */
export function answerError(status: number, text: string, route: RouteSpec): ClientError {
  try {
    const problem: unknown = JSON.parse(text)
    if (isRecord(problem)) return new ClientError(status, problemOf(problem))
  } catch {
    // not JSON: something between us and the service answered
  }
  const start = text.slice(0, 200)
  return new ClientError(status, {
    detail: `the answer has status ${status} instead of ${firstStatus(route)} and is not JSON${start === '' ? '' : `: ${start}`}`,
  })
}

function problemOf(value: Record<string, unknown>): Partial<Problem> & { message?: string } {
  const text = (name: string): Record<string, string> =>
    typeof value[name] === 'string' ? { [name]: value[name] } : {}
  const errors = (Array.isArray(value.errors) ? value.errors : [])
    .filter(isRecord)
    .map(({ path, message }) => ({ path: String(path), message: String(message) }))
  return { ...text('detail'), ...text('message'), ...text('code'), ...text('request_id'), ...text('title'), errors }
}

function answerValue(text: string, status: number): unknown {
  try {
    return parseJson(text)
  } catch {
    throw new ClientError(status, { detail: `the answer is not JSON: ${text.slice(0, 200)}` })
  }
}

/** With the same key a change runs once however often it is sent; a DELETE has no key, so only an unsent one repeats. */
function mayRepeat(route: RouteSpec, error: unknown): boolean {
  if (!(error instanceof ConnectionError) || error.reason === 'timeout') return false
  return error.reason === 'refused' || routeEffect(route) === 'read' || takesKey(route)
}

function nextPage(
  frame: Record<string, unknown>,
  cursor: Record<string, unknown>,
  here: number,
  so_far: number,
  size: number,
): Record<string, unknown> | undefined {
  if (here === 0) return undefined
  if (typeof frame.has_more === 'boolean') {
    return frame.has_more && frame.next_id !== cursor.after_id ? { after_id: frame.next_id } : undefined
  }
  // An estimated count decides nothing: a short page ends the walk then.
  const counted = typeof frame.count === 'number' && frame.count_exact !== false
  if (counted ? so_far >= Number(frame.count) : here < size) return undefined
  return { page: Number(cursor.page) + 1 }
}

function withRows(value: unknown, rows: unknown[]): unknown {
  const list = listOf(value)
  if (list?.member === undefined || !isRecord(value)) return rows
  const { page: _page, page_size: _size, has_more: _more, next_id: _next, ...rest } = value
  if (!isRecord(value[list.member])) return { ...rest, [list.member]: rows }
  return { ...rest, [list.member]: withRows(value[list.member], rows) }
}
