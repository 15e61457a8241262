// The contract turned round: a typed client for any set of areas. The CLI, the node-to-node calls and programs use it.
import type { Problem } from './problem.ts'
import { type CallInput, type Result, type RouteSpec, type Routes, firstStatus } from './route.ts'

/** Sends one request. The caller supplies it, so that the client works over fetch, undici or a test's connection. */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>

export interface TransportRequest {
  method: string
  /** Path and query, from the slash. */
  path: string
  headers: Record<string, string>
  body: string | undefined
  signal?: AbortSignal
}

export interface TransportResponse {
  status: number
  headers: { get(name: string): string | null }
  text(): Promise<string>
}

export interface CallOptions {
  signal?: AbortSignal
  headers?: Record<string, string>
  /** Sends `Prefer: wait=N`. */
  wait_seconds?: number
  idempotency_key?: string
  dry_run?: boolean
}

/** Thrown for every answer that is not one of the route's successes. */
export class ClientError extends Error {
  readonly status: number
  readonly code: string
  readonly problem: Partial<Problem>
  constructor(status: number, problem: Partial<Problem> & { message?: string }) {
    super(problem.detail ?? problem.message ?? `status ${status}`)
    this.name = 'ClientError'
    this.status = status
    this.code = problem.code ?? 'UNKNOWN'
    this.problem = problem
  }
}

/** Routes whose answer is no JSON are opened with `requestOf`, so that their answer need not fit into memory. */
type Opened = 'sse' | 'ws' | 'bytes' | 'proxy'

export type Client<A extends Routes> = {
  [Op in keyof A as A[Op]['kind'] extends Opened ? never : Op]: (
    input?: CallInput<A[Op]>,
    options?: CallOptions,
  ) => Promise<Result<A[Op]>>
}

export function clientFor<A extends Routes>(routes: A, transport: Transport): Client<A> {
  const entries = Object.entries(routes).map(([operation, route]) => [
    operation,
    (input: CallInput<RouteSpec> = {}, options: CallOptions = {}) => call(route, input, options, transport),
  ])
  return Object.fromEntries(entries) as Client<A>
}

async function call(
  route: RouteSpec,
  input: { params?: unknown; query?: unknown; body?: unknown },
  options: CallOptions,
  transport: Transport,
): Promise<unknown> {
  const response = await transport(requestOf(route, input, options))
  const text = await response.text()
  if (response.status in route.ok) return text === '' ? null : JSON.parse(text)
  throw new ClientError(response.status, parseProblem(text, firstStatus(route)))
}

/** The request a route's input becomes; also used for streams, which the caller opens itself. */
export function requestOf(
  route: RouteSpec,
  input: { params?: unknown; query?: unknown; body?: unknown },
  options: CallOptions = {},
): TransportRequest {
  const headers: Record<string, string> = { accept: 'application/json', ...options.headers }
  if (input.body !== undefined) headers['content-type'] = 'application/json'
  if (options.wait_seconds !== undefined) headers.prefer = `wait=${options.wait_seconds}`
  if (options.idempotency_key !== undefined) headers['idempotency-key'] = options.idempotency_key
  const query = { ...(input.query as Record<string, unknown> | undefined) }
  if (options.dry_run) query.dry_run = true
  return {
    method: route.method,
    path: fillPath(route.path, (input.params ?? {}) as Record<string, unknown>) + queryString(query),
    headers,
    body: input.body === undefined ? undefined : JSON.stringify(input.body),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  }
}

function fillPath(path: string, params: Record<string, unknown>): string {
  return path.replace(/\{(\w+)(\*?)\}/g, (_match, name: string, wildcard: string) => {
    const value = params[name]
    if (value === undefined) throw new Error(`path parameter ${name} is missing`)
    const text = String(value)
    return wildcard ? text.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(text)
  })
}

function queryString(query: Record<string, unknown>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) search.append(name, String(value))
  }
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}

function parseProblem(text: string, expected: number): Partial<Problem> & { message?: string } {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null) return parsed
  } catch {
    // not JSON: something between us and the service answered
  }
  return { detail: `the answer is not JSON (expected status ${expected}): ${text.slice(0, 200)}` }
}
