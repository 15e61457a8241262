// One remote KVM over HTTP: authentication by headers, its envelope, retries of reads, patience while it is busy, and uploads that
// may take as long as they make progress.
import { isIPv6 } from 'node:net'
import { Readable } from 'node:stream'
import type { SecureContext } from 'node:tls'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { pinnedConnector, type TlsPolicy } from '../pinned-tls.ts'
import { connectionReason, parsedJson } from '../transport-text.ts'
import { PikvmError, type PikvmProblem } from './pikvm-error.ts'

export interface KvmCredentials {
  username: string
  password: string
}

export interface KvmClientOptions {
  address: string
  port: number
  tls: TlsPolicy
  secure_context?: SecureContext
  credentials: KvmCredentials
  timeout_ms: number
  /** Before a request is repeated. */
  retry_ms: number
  observe?: ((operation: string, seconds: number, outcome: string) => void) | undefined
}

export type Query = Readonly<Record<string, string | number>>
/** Member `result` of the device's envelope. */
export type Result = Readonly<Record<string, unknown>>

export interface ReadOptions {
  signal?: AbortSignal | undefined
  /** One attempt: for pollers, which come again anyhow. */
  once?: boolean
}

export interface Upload {
  query: Query
  bytes: number
  body: AsyncIterable<Uint8Array>
  signal?: AbortSignal | undefined
  onProgress?: (sent: number) => void
}

export interface KvmClient {
  readonly address: string
  readonly retry_ms: number
  get(path: string, query?: Query, options?: ReadOptions): Promise<Result>
  /** Sent once; repeated only while the device says that it is busy, which means that it did nothing. */
  post(path: string, query?: Query, options?: ReadOptions): Promise<Result>
  upload(path: string, upload: Upload): Promise<Result>
  /** The bytes of a resource as they come. */
  download(path: string, query: Query, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array>>
  close(): Promise<void>
}

const READS_MOST = 3
const BUSY_TRIES = 30
/** An upload or download that moves nothing for so long is dead. */
const STALLED_MS = 60_000
const MAX_ANSWER_BYTES = 1024 * 1024
const CONNECTIONS = 2

export function createKvmClient(options: KvmClientOptions): KvmClient {
  const { address, port, credentials, tls, secure_context, retry_ms } = options
  const origin = `https://${isIPv6(address) ? `[${address}]` : address}:${port}`
  const connect = pinnedConnector({ tls, secure_context, device: 'KVM', errorOf: pinError })
  const pool = new Pool(origin, { connect, connections: CONNECTIONS, headersTimeout: 0, bodyTimeout: 0 })
  // No session: the device ends all sessions of a user when one of them logs out.
  const headers = { 'x-kvmd-user': credentials.username, 'x-kvmd-passwd': credentials.password }
  const send = sender(pool, headers, options)
  return {
    address,
    retry_ms,
    get: (path, query = {}, how = {}) => retried(how, retry_ms, () => send('GET', path, query, how)),
    post: (path, query = {}, how = {}) => whileBusy(how, retry_ms, () => send('POST', path, query, how)),
    upload: (path, upload) => uploaded(send, path, upload),
    download: (path, query, signal) => downloaded(pool, { path: pathOf(path, query), headers, signal }),
    close: () => pool.destroy(),
  }
}

interface SendOptions {
  signal?: AbortSignal | undefined
  body?: AsyncIterable<Uint8Array>
  bytes?: number
  /** Undefined: the usual time-out. Null: none. */
  timeout_ms?: null
}
type Send = (method: 'GET' | 'POST', path: string, query: Query, options: SendOptions) => Promise<Result>

function sender(pool: Pool, headers: Record<string, string>, client: KvmClientOptions): Send {
  return async (method, path, query, { signal, body, bytes, timeout_ms }) => {
    const operation = `${method} ${path}`
    const started = performance.now()
    const done = (outcome: string): void => client.observe?.(method, (performance.now() - started) / 1000, outcome)
    const deadline = timeout_ms === null ? undefined : AbortSignal.timeout(client.timeout_ms)
    const signals = [signal, deadline].filter((one) => one !== undefined)
    try {
      const answer = await pool.request({
        method,
        path: pathOf(path, query),
        headers: { ...headers, ...(bytes === undefined ? {} : { 'content-length': String(bytes) }) },
        ...(body === undefined ? {} : { body: Readable.from(body, { objectMode: false }) }),
        ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
      })
      const text = await boundedText(answer.body, operation)
      const result = resultOf(operation, answer.statusCode, text)
      done('ok')
      return result
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      const mapped =
        error instanceof PikvmError ? error : noAnswer(error, operation, client, deadline?.aborted === true)
      done(mapped.failure)
      throw mapped
    }
  }
}

function pathOf(path: string, query: Query): string {
  const text = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  return `/api${path}${text === '' ? '' : `?${text}`}`
}

async function boundedText(body: AsyncIterable<Uint8Array>, operation: string): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.byteLength
    if (bytes > MAX_ANSWER_BYTES)
      throw new PikvmError({ operation, failure: 'error', detail: 'the answer is too long' })
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function noAnswer(cause: unknown, operation: string, client: KvmClientOptions, late: boolean): PikvmError {
  const { address, port, timeout_ms } = client
  return new PikvmError({
    operation,
    failure: late ? 'timeout' : 'unavailable',
    detail: connectionReason(cause),
    sentence: late
      ? `The KVM ${address} did not answer within ${timeout_ms / 1000} s.`
      : `The KVM ${address} cannot be reached at port ${port}: check its address, its network and that it runs.`,
    cause,
    // An upload begins with what is there.
    retryable: operation.startsWith('GET') || operation === 'POST /msd/write',
  })
}

function pinError(sentence: string): PikvmError {
  return new PikvmError({ operation: 'connect', failure: 'error', problem: 'pin', sentence })
}

/** The result of the envelope; everything else is an error of the device. */
function resultOf(operation: string, status: number, text: string): Result {
  const body = parsedJson(text)
  const result = isRecord(body) && isRecord(body.result) ? body.result : undefined
  if (status === 200 && isRecord(body) && body.ok === true) return result ?? {}
  const device_error = typeof result?.error === 'string' ? result.error : undefined
  throw new PikvmError({
    operation,
    failure: status === 502 || status === 503 ? 'unavailable' : 'error',
    status,
    device_error,
    detail: clean(typeof result?.error_msg === 'string' ? result.error_msg : ''),
    problem: problemOf(status),
  })
}

function problemOf(status: number): PikvmProblem | undefined {
  if (status === 401 || status === 403) return 'credentials'
  if (status === 409) return 'busy'
  return status === 400 ? 'rejected' : undefined
}

const TEXT_MOST = 300

function clean(text: string): string {
  return text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, TEXT_MOST)
    .toWellFormed()
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

async function retried(how: ReadOptions, retry_ms: number, ask: () => Promise<Result>): Promise<Result> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await ask()
    } catch (error) {
      const passing = error instanceof PikvmError && error.problem === undefined && error.failure === 'unavailable'
      // The first failure of a poller may be of a connection that had stood open for too long.
      if (!passing || tried === (how.once === true ? 2 : READS_MOST)) throw error
    }
    if (how.once !== true) await pause(retry_ms, undefined, { signal: how.signal })
  }
}

async function whileBusy(how: ReadOptions, retry_ms: number, send: () => Promise<Result>): Promise<Result> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await send()
    } catch (error) {
      const busy = error instanceof PikvmError && error.problem === 'busy'
      if (!busy || tried === (how.once === true ? 1 : BUSY_TRIES)) throw error
    }
    await pause(retry_ms, undefined, { signal: how.signal })
  }
}

/** Aborts when nothing has moved for a while. */
function watchdog() {
  const stalled = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const moved = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => stalled.abort(), STALLED_MS)
    timer.unref()
  }
  moved()
  return { signal: stalled.signal, moved, end: () => clearTimeout(timer) }
}

async function uploaded(send: Send, path: string, { query, bytes, body, signal, onProgress }: Upload): Promise<Result> {
  const watch = watchdog()
  async function* counted() {
    let sent = 0
    for await (const part of body) {
      yield part
      watch.moved()
      sent += part.byteLength
      onProgress?.(sent)
    }
  }
  const both = signal === undefined ? watch.signal : AbortSignal.any([signal, watch.signal])
  try {
    return await send('POST', path, query, { body: counted(), bytes, signal: both, timeout_ms: null })
  } catch (error) {
    if (signal?.aborted === true || !watch.signal.aborted) throw error
    throw stalledError(`POST ${path}`, error)
  } finally {
    watch.end()
  }
}

function stalledError(operation: string, cause: unknown): PikvmError {
  const sentence = `The KVM moved no byte of the image for ${STALLED_MS / 1000} s.`
  return new PikvmError({ operation, failure: 'timeout', sentence, cause })
}

interface Download {
  path: string
  headers: Record<string, string>
  signal: AbortSignal | undefined
}

async function downloaded(pool: Pool, { path, headers, signal }: Download): Promise<AsyncIterable<Uint8Array>> {
  const operation = `GET ${path.split('?')[0] ?? ''}`
  const watch = watchdog()
  const both = signal === undefined ? watch.signal : AbortSignal.any([signal, watch.signal])
  const answer = await pool.request({ method: 'GET', path, headers, signal: both })
  if (answer.statusCode !== 200) {
    watch.end()
    await answer.body.dump()
    throw new PikvmError({ operation, failure: 'error', status: answer.statusCode })
  }
  return (async function* () {
    try {
      for await (const part of answer.body as AsyncIterable<Uint8Array>) {
        watch.moved()
        yield part
      }
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      if (watch.signal.aborted) throw stalledError(operation, error)
      throw new PikvmError({ operation, failure: 'unavailable', detail: connectionReason(error), cause: error })
    } finally {
      watch.end()
    }
  })()
}
