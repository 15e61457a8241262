// One request to one agent and the bytes of its answer: mutual TLS with the agent's certificate pinned, bounded in time and
// size, and made for a thousand calls at once.
import type { SecureContext } from 'node:tls'
import { Client, type Dispatcher, Pool } from 'undici'
import type { TransportRequest } from '#src/contract/client.ts'
import { UpstreamError } from './errors.ts'
import { claimHeaders, type JobClaim } from './job-claim.ts'

/** Where an agent listens and which certificates it may show: the one in force, and the one before it while it renews. */
export interface AgentAddress {
  /** For messages: what people call the node. */
  name: string
  address: string
  port: number
  fingerprints: readonly string[]
}

export interface AgentCallOptions {
  /** For the whole call, connecting included. A wait for our own turn to connect, when very many nodes are new, comes before. */
  timeout_ms: number
  /** Largest answer; 10 MB when left out. */
  max_bytes?: number
  signal?: AbortSignal | undefined
  traceparent?: string | undefined
  /** The job on whose behalf the call is made: the agent refuses it once another process took the job over. */
  job?: JobClaim | undefined
}

export interface RawAnswer {
  status: number
  body: Buffer
}

const MAX_BYTES = 10 * 1024 * 1024
const CONNECT_TIMEOUT_MS = 5000
const CONNECTIONS_A_NODE = 8
/** A view that somebody opens now and then finds its connections open; an agent that says less in its answers gets less. */
const IDLE_CONNECTION_MS = 60_000
/** Open connections take 100 KB each: those beyond the first serve calls that meet, and close soon after them. */
const IDLE_EXTRA_CONNECTION_MS = 1000

/** The address of an agent is only a hint: who answers there is decided by the certificate it shows. */
export function pinnedPool(node: AgentAddress, secureContext: SecureContext): Pool {
  let main: Client | undefined
  return new Pool(`https://${hostAndPort(node)}`, {
    connections: CONNECTIONS_A_NODE,
    // What the agent says of keeping connections counts only below the maximum.
    factory: (origin, options) => {
      const is_main = main === undefined || main.closed || main.destroyed
      const idle_ms = is_main ? IDLE_CONNECTION_MS : IDLE_EXTRA_CONNECTION_MS
      const client = new Client(origin, { ...options, keepAliveTimeout: idle_ms, keepAliveMaxTimeout: idle_ms })
      if (is_main) main = client
      return client
    },
    maxResponseSize: -1,
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
    connect: {
      secureContext,
      rejectUnauthorized: true,
      timeout: CONNECT_TIMEOUT_MS,
      // A resumed session would skip the check of the certificate.
      maxCachedSessions: 0,
      checkServerIdentity: (_host, certificate) =>
        node.fingerprints.includes(certificate.fingerprint256)
          ? undefined
          : new Error('the certificate is not the one of this node'),
    },
  })
}

/** Throws UpstreamError, or the reason of the signal that ended the call. */
export function exchange(
  node: AgentAddress,
  message: TransportRequest,
  options: AgentCallOptions,
  pool: Pool,
): Promise<RawAnswer> {
  const signals = [options.signal, message.signal].filter((signal) => signal !== undefined)
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const answer = createReceiver(node, options.max_bytes ?? MAX_BYTES, {
    ended(outcome) {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', leave)
      if (outcome instanceof Error) reject(outcome)
      else resolve(outcome)
    },
  })
  const expire = (): void =>
    // Timers come before input in a turn of the event loop: what arrived while this process was busy is read first.
    soon(INPUT_ROUNDS, () => answer.fail(failed(node, 'timeout', `no answer within ${options.timeout_ms} ms`)))
  const leave = (): void => {
    const reason: unknown = signals.find((signal) => signal.aborted)?.reason
    answer.fail(reason instanceof Error ? reason : new Error('the call was given up'))
  }
  const timer = setTimeout(expire, options.timeout_ms)
  for (const signal of signals) signal.addEventListener('abort', leave, { once: true })
  if (signals.some((signal) => signal.aborted)) leave()
  else pool.dispatch(requestFor(message, options), answer.handler)
  return promise
}

/** Enough for an answer that came in several pieces. */
const INPUT_ROUNDS = 8

function soon(rounds: number, act: () => void): void {
  setImmediate(() => (rounds <= 1 ? act() : soon(rounds - 1, act)))
}

function requestFor(message: TransportRequest, { traceparent, job }: AgentCallOptions): Dispatcher.DispatchOptions {
  const traced = traceparent === undefined ? message.headers : { ...message.headers, traceparent }
  return {
    method: message.method,
    path: message.path,
    headers: job === undefined ? traced : { ...traced, ...claimHeaders(job) },
    body: message.body ?? null,
  }
}

/** Collects one answer without the machinery of streams, which costs more than the rest of the call. */
function createReceiver(node: AgentAddress, max_bytes: number, { ended }: { ended(outcome: RawAnswer | Error): void }) {
  let controller: Dispatcher.DispatchController | undefined
  let chunks: Buffer[] = []
  let size = 0
  let status = 0
  let done = false
  const end = (outcome: RawAnswer | Error): void => {
    if (done) return
    done = true
    chunks = []
    ended(outcome)
  }
  const fail = (error: Error): void => {
    if (done) return
    end(error)
    controller?.abort(error)
  }
  const grown = (bytes: number): void => {
    if (bytes > max_bytes) fail(failed(node, 'error', `the answer exceeds ${max_bytes} bytes`))
  }
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started
      // Given up while it waited for a connection.
      if (done) started.abort(new Error('the call was given up'))
    },
    onResponseStart(_controller, code, headers) {
      status = code
      grown(Number(headers['content-length'] ?? 0))
    },
    onResponseData(_controller, chunk) {
      size += chunk.length
      if (!done) chunks.push(chunk)
      grown(size)
    },
    onResponseEnd: () => end({ status, body: joined(chunks, size) }),
    onResponseError: (_controller, error) => fail(failed(node, 'unavailable', reasonOf(error), error)),
  }
  return { fail, handler }
}

/** In memory of exactly its size: answers may be kept, and pieces share blocks with whatever else arrived. */
function joined(chunks: readonly Buffer[], size: number): Buffer {
  const body = Buffer.allocUnsafeSlow(size)
  let at = 0
  for (const chunk of chunks) at += chunk.copy(body, at)
  return body
}

function hostAndPort({ address, port }: AgentAddress): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}

export function failed(
  node: AgentAddress,
  failure: 'unavailable' | 'timeout' | 'error',
  detail: string,
  cause?: unknown,
  status?: number,
): UpstreamError {
  return new UpstreamError({
    upstream: 'AGENT',
    operation: node.name,
    failure,
    detail,
    ...(status === undefined ? {} : { status }),
    ...(cause === undefined ? {} : { cause }),
  })
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the connection failed'
  const code: unknown = 'code' in error ? error.code : undefined
  return typeof code === 'string' ? `${code}: ${error.message}` : error.message
}
