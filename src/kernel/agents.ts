// How the control plane reaches the agents of nodes: mutual TLS with each agent's certificate pinned, every call bounded in
// time and size, and calls to many nodes side by side so that a dead one delays nobody.
import { createSecureContext, type SecureContext } from 'node:tls'
import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import { Agent, request } from 'undici'
import { type Client, ClientError, clientFor, type TransportRequest } from '#src/contract/client.ts'
import { ERRORS, type ErrorCode } from '#src/contract/errors.ts'
import type { FieldError } from '#src/contract/problem.ts'
import type { Routes } from '#src/contract/route.ts'
import { ApiError, UpstreamError } from './errors.ts'

/** Where an agent listens and which certificates it may show: the one in force, and the one before it while it renews. */
export interface AgentAddress {
  /** For messages: what people call the node. */
  name: string
  address: string
  port: number
  fingerprints: readonly string[]
}

/** What we show to agents, all PEM. */
export interface AgentIdentity {
  key: string
  certificate: string
  authority: string
}

export interface AgentCallOptions {
  /** For the whole call, connecting included. */
  timeout_ms: number
  /** Largest answer; 10 MB when left out. */
  max_bytes?: number
  signal?: AbortSignal | undefined
  traceparent?: string | undefined
}

export interface AgentAnswer {
  status: number
  text: string
}

export interface Agents {
  /** Sends one request; the answer may be an error of the agent. Throws UpstreamError when there is none. */
  send(node: AgentAddress, request: TransportRequest, options: AgentCallOptions): Promise<AgentAnswer>
  /** A typed client. Errors of the agent's own routes are thrown as ApiError with their code. */
  clientFor<A extends Routes>(node: AgentAddress, routes: A, options: AgentCallOptions): Client<A>
  close(): Promise<void>
}

export interface AgentsOptions {
  /** Asked before each call, so that it may renew; the same object means the same identity. */
  identity: () => Promise<AgentIdentity>
  observe?: (operation: string, seconds: number, outcome: string, traceparent: string | undefined) => void
}

const MAX_BYTES = 10 * 1024 * 1024
const CONNECT_TIMEOUT_MS = 5000
const CONNECTIONS_A_NODE = 8
const MAX_NODES = 1000

export function createAgents({ identity, observe }: AgentsOptions): Agents {
  let shown: AgentIdentity | undefined
  // Made once: parsing keys and certificates anew costs more than the handshake itself.
  let context: SecureContext | undefined
  const dispatchers = new LRUCache<string, Agent>({
    max: MAX_NODES,
    dispose: (dispatcher) => void dispatcher.close().catch(() => {}),
  })
  const dispatcherOf = async (node: AgentAddress): Promise<Agent> => {
    const mine = await identity()
    if (mine !== shown || context === undefined) {
      dispatchers.clear()
      context = createSecureContext({ key: mine.key, cert: mine.certificate, ca: mine.authority })
    }
    shown = mine
    const key = [node.address, node.port, ...node.fingerprints].join(' ')
    let dispatcher = dispatchers.get(key)
    if (dispatcher === undefined) {
      dispatcher = pinnedAgent(node, context)
      dispatchers.set(key, dispatcher)
    }
    return dispatcher
  }
  const send: Agents['send'] = async (node, message, options) => {
    const operation = `${message.method} ${pathOf(message.path)}`
    const started = performance.now()
    let outcome = 'ok'
    try {
      return await exchange(node, message, options, await dispatcherOf(node))
    } catch (error) {
      outcome = error instanceof UpstreamError ? error.failure : 'aborted'
      throw error
    } finally {
      observe?.(operation, (performance.now() - started) / 1000, outcome, options.traceparent)
    }
  }
  return {
    send,
    clientFor: (node, routes, options) =>
      speaking(
        node,
        clientFor(routes, (message) => transport(send, node, message, options)),
      ),
    async close() {
      await Promise.all([...dispatchers.values()].map((dispatcher) => dispatcher.destroy()))
    },
  }
}

/** The address of an agent is only a hint: who answers there is decided by the certificate it shows. */
function pinnedAgent(node: AgentAddress, secureContext: SecureContext): Agent {
  return new Agent({
    connections: CONNECTIONS_A_NODE,
    maxResponseSize: -1,
    connect: {
      secureContext,
      rejectUnauthorized: true,
      timeout: CONNECT_TIMEOUT_MS,
      // A resumed session would skip the look at the certificate.
      maxCachedSessions: 0,
      checkServerIdentity: (_host, certificate) =>
        node.fingerprints.includes(certificate.fingerprint256)
          ? undefined
          : new Error('the certificate is not the one of this node'),
    },
  })
}

async function exchange(
  node: AgentAddress,
  message: TransportRequest,
  options: AgentCallOptions,
  dispatcher: Agent,
): Promise<AgentAnswer> {
  const deadline = AbortSignal.timeout(options.timeout_ms)
  const signals = [deadline, options.signal, message.signal].filter((signal) => signal !== undefined)
  try {
    const answer = await request(`https://${authority(node)}${message.path}`, {
      method: message.method as 'GET',
      dispatcher,
      signal: AbortSignal.any(signals),
      headersTimeout: 0,
      bodyTimeout: 0,
      headers: {
        ...message.headers,
        ...(options.traceparent === undefined ? {} : { traceparent: options.traceparent }),
      },
      ...(message.body === undefined ? {} : { body: message.body }),
    })
    return { status: answer.statusCode, text: await boundedText(node, answer.body, options.max_bytes ?? MAX_BYTES) }
  } catch (error) {
    if (error instanceof UpstreamError) throw error
    if (deadline.aborted) throw failed(node, 'timeout', `no answer within ${options.timeout_ms} ms`, error)
    const given_up = signals.find((signal) => signal.aborted)
    if (given_up !== undefined) throw given_up.reason
    throw failed(node, 'unavailable', reasonOf(error), error)
  }
}

function authority({ address, port }: AgentAddress): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}

async function boundedText(node: AgentAddress, body: AsyncIterable<Buffer>, max_bytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > max_bytes) throw failed(node, 'error', `the answer exceeds ${max_bytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size).toString('utf8')
}

async function transport(
  send: Agents['send'],
  node: AgentAddress,
  message: TransportRequest,
  options: AgentCallOptions,
) {
  const { status, text } = await send(node, message, options)
  parsedAnswer(node, text)
  return { status, headers: { get: () => null }, text: () => Promise.resolve(text) }
}

/** The JSON of an answer; UpstreamError when it is none. */
export function parsedAnswer(node: AgentAddress, text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch (cause) {
    throw failed(node, 'error', `the answer is not JSON: ${text.slice(0, 100)}`, cause)
  }
}

function speaking<A extends Routes>(node: AgentAddress, client: Client<A>): Client<A> {
  const entries = Object.entries(client).map(
    ([operation, call]: [string, (...args: unknown[]) => Promise<unknown>]) => [
      operation,
      async (...args: unknown[]) => {
        try {
          return await call(...args)
        } catch (error) {
          throw error instanceof ClientError ? agentError(node, error.status, error.problem) : error
        }
      },
    ],
  )
  return Object.fromEntries(entries) as Client<A>
}

/** Our own mistakes towards the agent: the caller of the API can do nothing about them. */
const TRUST_CODES: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'FORBIDDEN', 'ROUTE_NOT_FOUND', 'RATE_LIMITED'])

/** What an error answer of an agent becomes: the same code where it is one of ours, else AGENT_ERROR. */
export function agentError(
  node: AgentAddress,
  status: number,
  problem: { code?: unknown; detail?: unknown; errors?: unknown },
): Error {
  const { code, detail } = problem
  const sentence = typeof detail === 'string' ? detail : undefined
  if (typeof code !== 'string' || !isErrorCode(code) || TRUST_CODES.has(code)) {
    return failed(node, 'error', `status ${status}: ${sentence ?? 'no problem document'}`, undefined, status)
  }
  return new ApiError(code, sentence, isFieldErrors(problem.errors) ? { errors: problem.errors } : {})
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code)
}

function isFieldErrors(value: unknown): value is FieldError[] {
  return (
    Array.isArray(value) &&
    value.every(
      (one: unknown) =>
        typeof one === 'object' && one !== null && 'path' in one && 'message' in one &&
        typeof one.path === 'string' && typeof one.message === 'string',
    )
  ) // biome-ignore format: one question
}

function failed(
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

/** Without the query, so that metrics do not grow with what callers ask. */
function pathOf(path: string): string {
  return path.split('?')[0]?.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '{id}') ?? path
}

export type NodeOutcome<N, T> = { node: N; value: T } | { node: N; error: string }

export interface FanOutOptions {
  concurrency?: number
  timeout_ms: number
  signal?: AbortSignal | undefined
}

/**
 * Asks many nodes side by side, each within its own time limit, and answers in their order: a value, or one sentence that
 * says why there is none. A slow or dead node never delays the others beyond its limit.
 */
export function forEachNode<N, T>(
  nodes: readonly N[],
  work: (node: N, signal: AbortSignal) => Promise<T>,
  { concurrency = 32, timeout_ms, signal }: FanOutOptions,
): Promise<NodeOutcome<N, T>[]> {
  const limit = pLimit(concurrency)
  const ask = async (node: N): Promise<NodeOutcome<N, T>> => {
    const deadline = AbortSignal.timeout(timeout_ms)
    const both = signal === undefined ? deadline : AbortSignal.any([deadline, signal])
    try {
      return { node, value: await Promise.race([work(node, both), rejection(both)]) }
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      return { node, error: deadline.aborted ? 'The node did not answer in time.' : sentenceOf(error) }
    }
  }
  return Promise.all(nodes.map((node) => limit(() => ask(node))))
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
  })
}

const FAILURE_SENTENCE: Record<UpstreamError['failure'], string> = {
  unavailable: 'The agent of the node cannot be reached.',
  timeout: 'The node did not answer in time.',
  error: 'The agent of the node failed.',
  not_configured: 'No agent has joined from this node.',
}

function sentenceOf(error: unknown): string {
  if (error instanceof ApiError) return error.message
  if (error instanceof UpstreamError) return FAILURE_SENTENCE[error.failure]
  return 'The agent of the node failed.'
}
