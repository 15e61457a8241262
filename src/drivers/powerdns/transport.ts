// One call of the PowerDNS API. Its errors are JSON only for 400 and 422; 401, 404, 409 and 500 are plain text.
import { Agent, type Dispatcher, request } from 'undici'
import { UpstreamError } from '#src/kernel/errors.ts'
import { RejectionError } from '../ddi/rejection.ts'
import { connectionReason } from '../transport-text.ts'

export interface PowerDnsConfig {
  /** http://host:8081, without the path of the API. */
  url?: string | undefined
  api_key?: string | undefined
  timeout_ms: number
}

export interface PowerDnsCall {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/api/v1/servers/localhost`, encoded. */
  path: string
  query?: Record<string, string>
  body?: unknown
  /** When it may take longer than others. */
  timeout_ms?: number
  signal?: AbortSignal | undefined
}

export interface PowerDnsTransport {
  /** The parsed answer; undefined for one without content, and for a thing to read or delete that is not there. */
  send(call: PowerDnsCall): Promise<unknown>
  close(): Promise<void>
}

const MAX_ANSWER_BYTES = 256 * 1024 * 1024
const CALLS_AT_ONCE = 16

export function createPowerDnsTransport(config: PowerDnsConfig): PowerDnsTransport {
  const dispatcher = new Agent({ connections: CALLS_AT_ONCE, maxResponseSize: MAX_ANSWER_BYTES })
  return { send: (call) => send(config, dispatcher, call), close: () => dispatcher.destroy() }
}

async function send(config: PowerDnsConfig, dispatcher: Dispatcher, call: PowerDnsCall): Promise<unknown> {
  const operation = `${call.method} ${call.path}`
  if (config.url === undefined || config.api_key === undefined) {
    const detail = 'set dns.powerdns.url and dns.powerdns.api_key'
    throw new UpstreamError({ upstream: 'DNS', operation, failure: 'not_configured', detail })
  }
  const deadline = AbortSignal.timeout(Math.max(config.timeout_ms, call.timeout_ms ?? 0))
  try {
    const url = new URL(`${config.url.replace(/\/+$/, '')}/api/v1/servers/localhost${call.path}`)
    for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value)
    const answer = await request(url, {
      method: call.method,
      dispatcher,
      signal: call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline]),
      headersTimeout: 0,
      bodyTimeout: 0,
      headers: { 'x-api-key': config.api_key, accept: 'application/json', 'content-type': 'application/json' },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    })
    const text = await answer.body.text()
    if (answer.statusCode === 404 && (call.method === 'GET' || call.method === 'DELETE')) return undefined
    if (answer.statusCode >= 400) throw refused(call, operation, answer.statusCode, text)
    return text === '' ? undefined : (JSON.parse(text) as unknown)
  } catch (error) {
    if (call.signal?.aborted === true) throw call.signal.reason
    if (error instanceof UpstreamError) throw error
    const garbage = error instanceof SyntaxError
    throw new UpstreamError({
      upstream: 'DNS',
      operation,
      failure: garbage ? 'error' : deadline.aborted ? 'timeout' : 'unavailable',
      detail: garbage ? 'the answer is not JSON' : connectionReason(error),
      retryable: call.method === 'GET',
      cause: error,
    })
  }
}

/** Statuses that speak of what was sent; any other is trouble of the server or of its settings. */
const REJECTIONS = [400, 409, 422]

function refused({ method, path, body }: PowerDnsCall, operation: string, status: number, text: string): UpstreamError {
  if (method !== 'GET' && REJECTIONS.includes(status))
    return new RejectionError({ upstream: 'DNS', operation, status, detail: saidBy(text), sent: [path, body] })
  // A locked database refuses a write as a whole, so the same write may be sent again.
  const retryable = status === 500
  return new UpstreamError({ upstream: 'DNS', operation, failure: 'error', status, detail: saidBy(text), retryable })
}

function saidBy(text: string): string {
  try {
    const body = JSON.parse(text) as unknown
    if (typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string')
      return body.error
  } catch {
    // Plain text says it itself.
  }
  return text.slice(0, 500)
}
