// One call to the NVR: over TLS to the certificate that we installed, with the one login that all calls share, which is renewed
// once when it is rejected.
import { Agent, type Dispatcher, errors } from 'undici'
import { UpstreamError, type UpstreamFailure } from '#src/kernel/errors.ts'
import { boundMediaMemory } from '#src/kernel/media-memory.ts'
import { createSession, type Session } from './session.ts'
import type { NvrSettings, Observe } from './settings.ts'

export interface NvrRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  query?: Readonly<Record<string, string | number | undefined>>
  /** Sent as JSON; bytes as they are, with `content_type`. */
  body?: object | Uint8Array
  content_type?: string
  headers?: Readonly<Record<string, string>>
  /** Sees what was written a moment ago: answers are otherwise cached for 5 seconds there. */
  no_cache?: boolean
  signal?: AbortSignal | undefined
  timeout_ms?: number
  /** Statuses besides 200 that the caller reads itself; all others are failures. */
  accept?: readonly number[]
}

export interface NvrAnswer {
  status: number
  headers: Dispatcher.ResponseData['headers']
  bytes: Buffer
}

export interface NvrTransport {
  readonly settings: NvrSettings
  readonly session: Session
  /** `path` begins with a slash and is sent as it is: whoever calls has encoded each part. */
  call(operation: string, path: string, request?: NvrRequest): Promise<NvrAnswer>
  /** The same, with a body that is read as it comes; the time-out is that of its beginning, and of each pause. */
  open(operation: string, path: string, request?: NvrRequest): Promise<Dispatcher.ResponseData>
  close(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 5_000
const CALLS_AT_ONCE = 32
/** A day of events or segments of many cameras, and no more. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const PAUSE_MS = 60_000
/** A restart closes what was kept open; a short life makes fewer calls meet that. */
const KEEP_ALIVE_MS = 4_000
const TIMEOUT_MS = 15_000

export function createTransport(settings: NvrSettings, observe: Observe): NvrTransport {
  const { ca, servername } = settings.tls
  const agentOf = (connections: number | null): Agent =>
    new Agent({
      connect: { ca, servername, timeout: CONNECT_TIMEOUT_MS },
      connections,
      keepAliveTimeout: KEEP_ALIVE_MS,
      bodyTimeout: PAUSE_MS,
    })
  // Those that read a stream slowly must not hold up the calls, nor the login.
  const [calls, streams] = [agentOf(CALLS_AT_ONCE), boundMediaMemory(agentOf(null))]
  const session = createSession(settings, streams)
  const ask = async (
    agent: Dispatcher,
    operation: string,
    path: string,
    request: NvrRequest,
  ): Promise<Dispatcher.ResponseData> => {
    const started = performance.now()
    const done = (outcome: string): void => observe(operation, (performance.now() - started) / 1000, outcome)
    try {
      const response = await authorized(session, request, (authorization) =>
        send(agent, settings, path, request, authorization),
      )
      if (response.statusCode !== 200 && request.accept?.includes(response.statusCode) !== true) {
        response.body.on('error', () => {}).destroy()
        throw new UpstreamError({ upstream: 'NVR', operation, failure: 'error', status: response.statusCode })
      }
      done(String(response.statusCode))
      return response
    } catch (cause) {
      done('failed')
      throw failed(operation, cause, request.signal)
    }
  }
  return {
    settings,
    session,
    open: (operation, path, request = {}) => ask(streams, operation, path, request),
    async call(operation, path, request = {}) {
      const { timeout_ms = TIMEOUT_MS } = request
      const deadline = AbortSignal.timeout(timeout_ms)
      const signal = request.signal === undefined ? deadline : AbortSignal.any([request.signal, deadline])
      try {
        const {
          statusCode: status,
          headers,
          body,
        } = await ask(calls, operation, path, { ...request, timeout_ms, signal })
        return { status, headers, bytes: await readAll(body, operation) }
      } catch (cause) {
        if (deadline.aborted && request.signal?.aborted !== true) throw late(operation, cause)
        throw failed(operation, cause, request.signal)
      }
    },
    close: async () => void (await Promise.all([calls.destroy(), streams.destroy()])),
  }
}

/** A login that is rejected is renewed once; whose second one is rejected too is no matter of the login. */
async function authorized(
  session: Session,
  { signal }: NvrRequest,
  ask: (authorization: string) => Promise<Dispatcher.ResponseData>,
): Promise<Dispatcher.ResponseData> {
  const token = await session.token(signal)
  const first = await ask(`Bearer ${token}`)
  if (first.statusCode !== 401) return first
  first.body.on('error', () => {}).destroy()
  return ask(`Bearer ${await session.renew(token, signal)}`)
}

function send(
  agent: Dispatcher,
  { origin }: NvrSettings,
  path: string,
  request: NvrRequest,
  authorization: string,
): Promise<Dispatcher.ResponseData> {
  const { method = 'GET', body, timeout_ms = TIMEOUT_MS, signal } = request
  const json = body !== undefined && !(body instanceof Uint8Array)
  return agent.request({
    origin,
    path: `${path}${searchOf(request)}`,
    method,
    headersTimeout: timeout_ms,
    ...(signal === undefined ? {} : { signal }),
    headers: {
      authorization,
      ...(method === 'GET' ? {} : { 'x-csrf-token': '1' }),
      ...(request.no_cache === true ? { 'x-cache-bypass': '1' } : {}),
      ...(body === undefined ? {} : { 'content-type': json ? 'application/json' : (request.content_type ?? '') }),
      ...request.headers,
    },
    ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : body }),
  })
}

function searchOf({ query = {} }: NvrRequest): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  return search.size === 0 ? '' : `?${search.toString()}`
}

async function readAll(body: Dispatcher.ResponseData['body'], operation: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk as Buffer)
    length += (chunk as Buffer).length
    if (length > MAX_ANSWER_BYTES)
      throw new UpstreamError({ upstream: 'NVR', operation, failure: 'error', detail: 'the answer is too long' })
  }
  return Buffer.concat(chunks, length)
}

function failed(operation: string, cause: unknown, signal: AbortSignal | undefined): unknown {
  if (cause instanceof UpstreamError) return cause
  if (signal?.aborted === true) return signal.reason
  return new UpstreamError({ upstream: 'NVR', operation, failure: failureOf(cause), cause })
}

function late(operation: string, cause: unknown): UpstreamError {
  return new UpstreamError({ upstream: 'NVR', operation, failure: 'timeout', cause })
}

export function failureOf(error: unknown): UpstreamFailure {
  const is_late =
    error instanceof errors.ConnectTimeoutError ||
    error instanceof errors.HeadersTimeoutError ||
    error instanceof errors.BodyTimeoutError
  return is_late ? 'timeout' : 'unavailable'
}
