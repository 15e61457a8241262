// How the control plane reaches the agents of nodes: connections kept a node, typed clients, and what an agent's error becomes.
import { createSecureContext, type SecureContext } from 'node:tls'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'undici'
import { type Client, ClientError, clientFor, requestOf, type TransportRequest } from '#src/contract/client.ts'
import { ERRORS, type ErrorCode } from '#src/contract/errors.ts'
import type { FieldError } from '#src/contract/problem.ts'
import type { RouteSpec, Routes } from '#src/contract/route.ts'
import {
  type AgentAddress,
  type AgentCallOptions,
  exchange,
  failed,
  pinnedPool,
  type RawAnswer,
} from './agent-exchange.ts'
import { createHandshakeLimiter } from './handshake-limiter.ts'
import { ApiError, UpstreamError } from './errors.ts'

/** What we show to agents, all PEM. */
export interface AgentIdentity {
  key: string
  certificate: string
  ca: string
}

export interface AgentAnswer {
  status: number
  text: string
}

export interface Agents {
  /** Sends one request; the answer may be an error of the agent. Throws UpstreamError when there is none. */
  send(node: AgentAddress, request: TransportRequest, options: AgentCallOptions): Promise<AgentAnswer>
  /** The bytes of a route's success, for callers that parse them themselves. Errors are thrown as those of `clientFor`. */
  read(node: AgentAddress, route: RouteSpec, input: { query?: unknown }, options: AgentCallOptions): Promise<Buffer>
  /** A typed client. Errors of the agent's own routes are thrown as ApiError with their code. */
  clientFor<A extends Routes>(node: AgentAddress, routes: A, options: AgentCallOptions): Client<A>
  close(): Promise<void>
}

export interface AgentsOptions {
  /** Asked before each call, so that it may renew; the same object means the same identity. */
  identity: () => Promise<AgentIdentity>
  observe?: (operation: string, seconds: number, outcome: string, traceparent: string | undefined) => void
}

/** More nodes than a replica is made for: with fewer places than nodes, every poll of all of them would connect again. */
const MAX_NODES = 4096

export function createAgents({ identity, observe }: AgentsOptions): Agents {
  const { poolOf, close } = createPools(identity)
  const handshakes = createHandshakeLimiter()
  const converse = async (
    node: AgentAddress,
    message: TransportRequest,
    options: AgentCallOptions,
  ): Promise<RawAnswer> => {
    const pool = await poolOf(node)
    if (pool.stats.free > 0) return exchange(node, message, options, pool)
    const release = await handshakes.take()
    return exchange(node, message, options, pool).finally(release)
  }
  const receive: typeof converse = async (node, message, options) => {
    const started = performance.now()
    let outcome = 'ok'
    try {
      return await converse(node, message, options)
    } catch (error) {
      outcome = error instanceof UpstreamError ? error.failure : 'aborted'
      throw error
    } finally {
      const operation = `${message.method} ${pathOf(message.path)}`
      observe?.(operation, (performance.now() - started) / 1000, outcome, options.traceparent)
    }
  }
  const send: Agents['send'] = async (node, message, options) => {
    const { status, body } = await receive(node, message, options)
    return { status, text: body.toString('utf8') }
  }
  const transport = (node: AgentAddress, options: AgentCallOptions) => async (message: TransportRequest) => {
    const { status, text } = await send(node, message, options)
    return { status, headers: { get: () => null }, text: () => Promise.resolve(text) }
  }
  return {
    send,
    async read(node, route, input, options) {
      const { status, body } = await receive(node, requestOf(route, input), options)
      if (Object.hasOwn(route.ok, status)) return body
      const problem = parsedAnswer(node, body.toString('utf8'))
      throw agentError(node, status, typeof problem === 'object' && problem !== null ? problem : {})
    },
    clientFor: (node, routes, options) => speaking(node, clientFor(routes, transport(node, options))),
    close,
  }
}

/** One pool of connections a node, for as long as our identity and its certificates stay the same. */
function createPools(identity: AgentsOptions['identity']) {
  let shown: AgentIdentity | undefined
  // Made once: parsing keys and certificates again costs more than the handshake itself.
  let context: SecureContext | undefined
  const pools = new LRUCache<string, Pool>({
    max: MAX_NODES,
    dispose: (pool) => void pool.close().catch(() => {}),
  })
  return {
    async poolOf(node: AgentAddress): Promise<Pool> {
      const mine = await identity()
      if (mine !== shown || context === undefined) {
        pools.clear()
        context = createSecureContext({ key: mine.key, cert: mine.certificate, ca: mine.ca })
      }
      shown = mine
      const key = [node.address, node.port, ...node.fingerprints].join(' ')
      let pool = pools.get(key)
      if (pool === undefined) {
        pool = pinnedPool(node, context)
        pools.set(key, pool)
      }
      return pool
    },
    async close(): Promise<void> {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
    },
  }
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
  const entries = Object.entries(client as Record<string, (...args: unknown[]) => Promise<unknown>>).map(
    ([operation, call]) => [
      operation,
      async (...args: unknown[]) => {
        try {
          return await call(...args)
        } catch (error) {
          if (error instanceof ClientError) throw agentError(node, error.status, error.problem)
          throw error instanceof SyntaxError ? failed(node, 'error', 'the answer is not JSON', error) : error
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

/** Without the query, so that metrics do not grow with what callers ask. */
function pathOf(path: string): string {
  return path.split('?')[0]?.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '{id}') ?? path
}

export type NodeOutcome<N, T> = { node: N; value: T } | { node: N; error: string }

const FAILURE_SENTENCE: Record<UpstreamError['failure'], string> = {
  unavailable: 'The agent of the node cannot be reached.',
  timeout: 'The node did not answer in time.',
  error: 'The agent of the node failed.',
  not_configured: 'No agent has enrolled from this node.',
}

/** One sentence for people: why a node gave no answer. */
export function nodeErrorSentence(error: unknown): string {
  if (error instanceof ApiError) return error.message
  if (error instanceof UpstreamError) return FAILURE_SENTENCE[error.failure]
  return 'The agent of the node failed.'
}
