// One call of NetBox's REST API. It refuses credentials with 403 and never 401, redirects what has no slash at its end, and
// says what is wrong with a body in many forms.
import { Agent, type Dispatcher, request } from 'undici'
import { UpstreamError } from '#src/kernel/errors.ts'
import { RejectionError } from '../ddi/rejection.ts'
import { connectionReason, parsedJson } from '../transport-text.ts'

export interface NetBoxConfig {
  /** http(s)://host, without `/api`. */
  url?: string | undefined
  token?: string | undefined
  /** Certificate of the CA that signed its certificate, as PEM. */
  ca?: string | undefined
  timeout_ms: number
}

export type Query = Readonly<Record<string, string | number | undefined>>

export interface NetBoxCall {
  method: 'GET' | 'POST' | 'DELETE'
  /** Below `/api/`, with the slash at its end. */
  path: string
  query?: Query
  body?: unknown
  signal?: AbortSignal | undefined
  /** Statuses that are an answer and no error. */
  expect?: readonly number[]
}

export interface NetBoxAnswer {
  status: number
  body: unknown
  /** Major and minor version. */
  api_version: string | undefined
}

export interface NetBoxTransport {
  send(call: NetBoxCall): Promise<NetBoxAnswer>
  close(): Promise<void>
}

const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const CALLS_AT_ONCE = 16

export function createNetBoxTransport(config: NetBoxConfig): NetBoxTransport {
  const dispatcher = new Agent({
    connections: CALLS_AT_ONCE,
    maxResponseSize: MAX_ANSWER_BYTES,
    ...(config.ca === undefined ? {} : { connect: { ca: config.ca } }),
  })
  return {
    async send(call) {
      try {
        return await sendOnce(config, dispatcher, call)
      } catch (error) {
        // A read is asked once more where the connection alone failed; a change never is.
        if (call.method !== 'GET' || !(error instanceof UpstreamError) || error.failure !== 'unavailable') throw error
        return sendOnce(config, dispatcher, call)
      }
    },
    close: () => dispatcher.destroy(),
  }
}

async function sendOnce(config: NetBoxConfig, dispatcher: Dispatcher, call: NetBoxCall): Promise<NetBoxAnswer> {
  const { url, token } = config
  const operation = `${call.method} ${call.path}`
  if (url === undefined || token === undefined) {
    const detail = 'set ipam.netbox.url and ipam.netbox.token'
    throw new UpstreamError({ upstream: 'IPAM', operation, failure: 'not_configured', detail })
  }
  const deadline = AbortSignal.timeout(config.timeout_ms)
  try {
    const answer = await request(addressOf(url, call), {
      method: call.method,
      dispatcher,
      signal: call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline]),
      headersTimeout: 0,
      bodyTimeout: 0,
      headers: {
        // The value alone tells the two kinds of tokens apart.
        authorization: `${token.startsWith('nbt_') ? 'Bearer' : 'Token'} ${token}`,
        accept: 'application/json',
        'content-type': 'application/json',
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    })
    const api_version = answer.headers['api-version']
    const text = await answer.body.text()
    return answerOf(call, operation, { status: answer.statusCode, text, api_version: String(api_version ?? '') })
  } catch (error) {
    if (call.signal?.aborted === true) throw call.signal.reason
    if (error instanceof UpstreamError) throw error
    throw new UpstreamError({
      upstream: 'IPAM',
      operation,
      failure: deadline.aborted ? 'timeout' : 'unavailable',
      detail: connectionReason(error),
      retryable: call.method === 'GET',
      cause: error,
    })
  }
}

function addressOf(url: string, { path, query = {} }: NetBoxCall): URL {
  const address = new URL(`${url.replace(/\/+$/, '')}/api/${path}`)
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) address.searchParams.set(name, String(value))
  return address
}

interface Received {
  status: number
  text: string
  api_version: string
}

function answerOf(call: NetBoxCall, operation: string, { status, text, api_version }: Received): NetBoxAnswer {
  const body = parsedJson(text)
  const good = status === 200 || status === 201 || status === 204 || call.expect?.includes(status) === true
  // A page of a proxy or a sign-in has no version; what then became of a change is not known.
  if (good && (body !== undefined || status === 204))
    return { status, body, api_version: api_version === '' ? undefined : api_version }
  const failed = (detail: string, known?: number): UpstreamError =>
    new UpstreamError({ upstream: 'IPAM', operation, failure: 'error', detail, ...(known ? { status: known } : {}) })
  if (good) throw failed(`the answer is not JSON: ${text.slice(0, 80)}`)
  if (status >= 502 && status <= 504) {
    const failure = status === 504 ? 'timeout' : 'unavailable'
    throw new UpstreamError({ upstream: 'IPAM', operation, failure, detail: `HTTP ${status} of a proxy` })
  }
  if (status >= 300 && status < 400) throw failed('it redirects: set ipam.netbox.url to its https address', status)
  const said = sentenceOf(body)
  if (status === 400 && call.method !== 'GET')
    throw new RejectionError({ upstream: 'IPAM', operation, status, detail: said, sent: call.body })
  throw failed(said === '' ? text.slice(0, 300) : said, status)
}

/** `{field: [texts]}`, `{detail}`, `{__all__: [texts]}`, arrays of these, and texts. */
function sentenceOf(body: unknown): string {
  if (typeof body === 'string') return body
  if (Array.isArray(body)) return body.map(sentenceOf).filter(Boolean).join(' ')
  if (typeof body !== 'object' || body === null) return ''
  return Object.entries(body)
    .map(([name, value]) => (GENERAL.has(name) ? sentenceOf(value) : `${name}: ${sentenceOf(value)}`))
    .join(' ')
}

const GENERAL = new Set(['detail', '__all__', 'non_field_errors', 'error', 'exception'])
