// One exchange with one BMC over TLS, whose certificate is checked before credentials are written (../pinned-tls.ts).
import { isIPv6 } from 'node:net'
import type { SecureContext } from 'node:tls'
import { Client } from 'undici'
import { pinnedConnector, type TlsPolicy } from '../pinned-tls.ts'
import { RedfishError } from './redfish-error.ts'
import { connectionReason } from '../transport-text.ts'

export interface Endpoint {
  address: string
  port: number
  tls: TlsPolicy
  /** Shared by all connections: one of its own costs each of them more than all the rest. */
  secure_context?: SecureContext
}

export interface Exchange {
  method: string
  path: string
  headers: Record<string, string>
  body?: string
  timeout_ms: number
  signal?: AbortSignal | undefined
  /** A connection of its own: one that stood open may be dead, and nobody could tell whether the request ran. */
  fresh?: boolean
}

export interface Answer {
  status: number
  headers: Record<string, string | undefined>
  /** Parsed JSON; the text where it is none; undefined where it is empty. */
  body: unknown
}

export interface Transport {
  /** Throws RedfishError: unavailable, timeout, or pin; for everything else there is an answer. */
  exchange(request: Exchange): Promise<Answer>
  close(): Promise<void>
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024
/** Small BMCs stall under more. */
const READS_AT_ONCE = 2
/** A watched BMC is asked every ten seconds; handshakes cost both sides more than a connection that waits. */
const IDLE_MS = 30_000

export function createTransport(endpoint: Endpoint): Transport {
  const origin = `https://${isIPv6(endpoint.address) ? `[${endpoint.address}]` : endpoint.address}:${endpoint.port}`
  const { tls, secure_context } = endpoint
  const connect = pinnedConnector({ tls, secure_context, device: 'BMC', errorOf: pinError })
  const common = { connect, headersTimeout: 0, bodyTimeout: 0, maxResponseSize: MAX_ANSWER_BYTES }
  // A pool opens another connection for a read right after one that has just ended, and its queue alone takes 16 KB.
  const lanes = Array.from({ length: READS_AT_ONCE }, (): Lane => ({ client: undefined, reads: 0 }))
  const writes = new Set<Client>()
  const read = async (request: Exchange): Promise<Answer> => {
    const lane = lanes.reduce((least, one) => (one.reads < least.reads ? one : least))
    lane.client ??= new Client(origin, { ...common, keepAliveTimeout: IDLE_MS })
    lane.reads += 1
    try {
      return await send(lane.client, request, endpoint)
    } finally {
      lane.reads -= 1
    }
  }
  const write = async (request: Exchange): Promise<Answer> => {
    const client = new Client(origin, common)
    writes.add(client)
    try {
      return await send(client, request, endpoint)
    } finally {
      writes.delete(client)
      await client.destroy()
    }
  }
  return {
    exchange: (request) => (request.fresh === true ? write(request) : read(request)),
    async close() {
      const open = [...lanes.flatMap(({ client }) => client ?? []), ...writes]
      await Promise.all(open.map((client) => client.destroy()))
    },
  }
}

/** One connection, and how many reads wait for it. */
interface Lane {
  client: Client | undefined
  reads: number
}

async function send(
  client: Client,
  { method, path, headers, body, timeout_ms, signal }: Exchange,
  { address, port }: Endpoint,
): Promise<Answer> {
  const operation = `${method} ${path}`
  const deadline = AbortSignal.timeout(timeout_ms)
  try {
    const answer = await client.request({
      method: method as 'GET',
      path,
      headers,
      body: body ?? null,
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    })
    const text = await answer.body.text()
    return { status: answer.statusCode, headers: plainHeaders(answer.headers), body: parsed(text) }
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason
    if (error instanceof RedfishError) throw error
    throw new RedfishError({
      operation,
      failure: deadline.aborted ? 'timeout' : 'unavailable',
      detail: connectionReason(error),
      sentence: deadline.aborted
        ? `The BMC ${address} did not answer within ${timeout_ms / 1000} s.`
        : `The BMC ${address} cannot be reached at port ${port}: check its address, its network and that it runs.`,
      cause: error,
      retryable: method === 'GET',
    })
  }
}

function plainHeaders(headers: Record<string, string | string[] | undefined>): Answer['headers'] {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat()[0]]))
}

function parsed(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** Whether the request certainly did not run: there was no connection. */
export function neverRan(error: RedfishError): boolean {
  return (
    error.failure === 'unavailable' && /ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT/.test(error.detail ?? '')
  )
}

function pinError(sentence: string): RedfishError {
  return new RedfishError({ operation: 'connect', failure: 'error', problem: 'pin', sentence })
}
