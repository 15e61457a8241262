// One exchange with one BMC over TLS. The certificate is checked on the bare socket, before a byte of HTTP, and with it the
// credentials, is written.
import type { X509Certificate } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { SecureContext, TLSSocket } from 'node:tls'
import { buildConnector, Pool } from 'undici'
import { RedfishError } from './redfish-error.ts'
import { connectionReason } from '../transport-text.ts'

export interface BmcCertificate {
  /** SHA-256, hexadecimal with colons. */
  fingerprint: string
  subject: string
  issuer: string
  valid_from: string
  valid_to: string
}

/** How the certificate is judged. */
export type TlsPolicy =
  /** `pin` answers the fingerprint that counts, having stored this one when there was none. */
  { mode: 'pin'; pin(seen: BmcCertificate): Promise<string> } | { mode: 'ca'; ca: string } | { mode: 'insecure' }

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

const CONNECT_TIMEOUT_MS = 5000
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
/** Small BMCs stall under more. */
const READS_AT_ONCE = 2
/** A watched BMC is asked every ten seconds; handshakes cost both sides more than a connection that waits. */
const IDLE_MS = 30_000

export function createTransport(endpoint: Endpoint): Transport {
  const origin = `https://${isIPv6(endpoint.address) ? `[${endpoint.address}]` : endpoint.address}:${endpoint.port}`
  const connect = pinnedConnector(endpoint)
  const common = { connect, headersTimeout: 0, bodyTimeout: 0, maxResponseSize: MAX_ANSWER_BYTES }
  let reads: Pool | undefined
  let writes: Pool | undefined
  const pool = (fresh: boolean): Pool =>
    fresh
      ? (writes ??= new Pool(origin, { ...common, connections: READS_AT_ONCE, pipelining: 0 }))
      : (reads ??= new Pool(origin, { ...common, connections: READS_AT_ONCE, keepAliveTimeout: IDLE_MS }))
  return {
    exchange: (request) => send(pool(request.fresh === true), request, endpoint),
    async close() {
      await Promise.all([reads?.destroy(), writes?.destroy()])
    },
  }
}

async function send(
  pool: Pool,
  { method, path, headers, body, timeout_ms, signal }: Exchange,
  { address, port }: Endpoint,
): Promise<Answer> {
  const operation = `${method} ${path}`
  const deadline = AbortSignal.timeout(timeout_ms)
  try {
    const answer = await pool.request({
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

function pinnedConnector({ tls, secure_context }: Endpoint): buildConnector.connector {
  const base = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    // A resumed session would skip the check of the certificate.
    maxCachedSessions: 0,
    allowH2: false,
    rejectUnauthorized: tls.mode === 'ca',
    ...(secure_context === undefined || tls.mode === 'ca' ? {} : { secureContext: secure_context }),
    // Certificates of BMCs rarely carry their address; who has the key of one that the CA issued is one of ours.
    ...(tls.mode === 'ca' ? { ca: tls.ca, checkServerIdentity: () => undefined } : {}),
  })
  return (options, callback) =>
    base(options, (error, socket) => {
      if (error !== null || socket === null) return callback(error ?? new Error('no connection'), null)
      if (tls.mode !== 'pin') return callback(null, socket)
      checkPin(socket as TLSSocket, tls).then(
        () => callback(null, socket),
        (reason: unknown) => {
          socket.destroy()
          callback(reason instanceof Error ? reason : new Error('the certificate was not accepted'), null)
        },
      )
    })
}

async function checkPin(socket: TLSSocket, tls: Extract<TlsPolicy, { mode: 'pin' }>): Promise<void> {
  const seen = certificateOf(socket.getPeerX509Certificate())
  if (seen === undefined) throw pinError('The BMC shows no certificate.')
  const pinned = await tls.pin(seen)
  if (pinned === seen.fingerprint) return
  throw pinError(
    `The BMC shows the certificate ${seen.fingerprint}, pinned is ${pinned}; nothing was sent. If it was changed on purpose, accept it with the repin call.`,
  )
}

function pinError(sentence: string): RedfishError {
  return new RedfishError({ operation: 'connect', failure: 'error', problem: 'pin', sentence })
}

function certificateOf(certificate: X509Certificate | undefined): BmcCertificate | undefined {
  if (certificate === undefined) return undefined
  const { fingerprint256, subject, issuer, validFromDate, validToDate } = certificate
  return {
    fingerprint: fingerprint256,
    subject: subject?.replaceAll('\n', ', ') ?? '',
    issuer: issuer?.replaceAll('\n', ', ') ?? '',
    valid_from: validFromDate.toISOString(),
    valid_to: validToDate.toISOString(),
  }
}
