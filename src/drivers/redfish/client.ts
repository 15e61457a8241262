// A strict client of one BMC: authentication, retries of reads, one careful attempt of writes, ETags.
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '#src/kernel/log.ts'
import { type Document, isDocument } from './document.ts'
import { errorOfAnswer, isBusy, RedfishError } from './redfish-error.ts'
import { createSession, type Credentials, pathOf, type RejectedSecrets, type Session } from './session.ts'
import { type Answer, createTransport, type Endpoint, neverRan } from './transport.ts'

export interface ClientOptions {
  endpoint: Endpoint
  credentials: Credentials
  rejected: RejectedSecrets
  timeout_ms: number
  /** Before a request is repeated. */
  retry_ms: number
  log: Log
  observe?: ((operation: string, seconds: number, outcome: string) => void) | undefined
}

export interface ReadOptions {
  signal?: AbortSignal | undefined
  timeout_ms?: number
  /** That it is not there means that the BMC lacks the feature. */
  optional?: boolean
  /** No pauses between attempts: for pollers, which come again anyhow. */
  once?: boolean
}

export interface WriteOptions {
  signal?: AbortSignal | undefined
  timeout_ms?: number
  etag?: string | null
}

export interface Written {
  status: number
  body: unknown
  /** Path of what was made or of where the BMC reports on it. */
  location: string | null
  retry_after_s: number | null
}

export interface RedfishClient {
  readonly address: string
  readonly retry_ms: number
  root(options?: ReadOptions): Promise<Document>
  /** Throws RedfishError unless the answer is a document. */
  get(path: string, options?: ReadOptions): Promise<Document>
  /** The answer as it is, for monitors of tasks, whose status counts. */
  poll(path: string, options?: ReadOptions): Promise<Answer>
  /** Reads, compares what is about to be changed, and writes with the ETag of what was read. */
  patch(path: string, body: Document, options?: WriteOptions): Promise<Written>
  post(path: string, body: Document, options?: WriteOptions): Promise<Written>
  delete(path: string, options?: WriteOptions): Promise<Written>
  login(): 'session' | 'basic' | undefined
  close(): Promise<void>
}

export const ROOT = '/redfish/v1/'
const READS_MOST = 3
/** Of the usual pause, for a BMC that says that it is busy. */
const BUSY_FACTOR = 7
const BUSY_RETRIES = 2

const HEADERS = {
  accept: 'application/json',
  'odata-version': '4.0',
  // Compression makes some BMCs answer with weak ETags that later fail.
  'accept-encoding': 'identity',
}

export function createClient(options: ClientOptions): RedfishClient {
  const { endpoint, credentials, rejected, log, timeout_ms, retry_ms, observe } = options
  const transport = createTransport(endpoint)
  const plain = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: Document,
    more: { signal?: AbortSignal | undefined; timeout_ms?: number | undefined } = {},
  ): Promise<Answer> => {
    const started = performance.now()
    const done = (outcome: string): void => observe?.(method, (performance.now() - started) / 1000, outcome)
    try {
      const answer = await transport.exchange({
        method,
        path,
        headers: { ...HEADERS, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        timeout_ms: more.timeout_ms ?? timeout_ms,
        signal: more.signal,
        fresh: method !== 'GET',
      })
      done(answer.status < 400 ? 'ok' : 'error')
      return answer
    } catch (error) {
      done(error instanceof RedfishError ? error.failure : 'error')
      throw error
    }
  }
  const session = createSession({ address: endpoint.address, credentials, rejected, send: plain })
  let root: Document | undefined
  const readRoot = async (read: ReadOptions = {}): Promise<Document> =>
    (root ??= documentOf('root', await retried(read, retry_ms, () => follow(plain, ROOT, {}, read)), {}))
  const authenticated = async (send: (headers: Record<string, string>) => Promise<Answer>, read: ReadOptions) => {
    const headers = await session.headers(await readRoot(read))
    const answer = await send(headers)
    if (answer.status !== 401 || !session.refused(headers)) return answer
    const renewed = await session.headers(await readRoot(read))
    const again = await send(renewed)
    if (again.status === 401) session.refused(renewed)
    return again
  }
  const read = (path: string, how: ReadOptions): Promise<Answer> =>
    retried(how, retry_ms, () => authenticated((headers) => follow(plain, path, headers, how), how))
  const write = (method: string, path: string, body: Document | undefined, how: WriteOptions): Promise<Written> =>
    careful({ method, path, log, retry_ms, signal: how.signal }, () =>
      authenticated((headers) => plain(method, path, { ...headers, ...ifMatch(how.etag) }, body, how), how),
    )
  return {
    address: endpoint.address,
    retry_ms,
    root: readRoot,
    get: async (path, how = {}) => documentOf(`GET ${path}`, await read(path, how), how),
    poll: (path, how = {}) => read(path, how),
    patch: (path, body, how = {}) => patchUnchanged(path, body, how, { read, write }),
    post: (path, body, how = {}) => write('POST', path, body, how),
    delete: (path, how = {}) => write('DELETE', path, undefined, how),
    login: session.kind,
    async close() {
      await session.end()
      await transport.close()
    },
  }
}

function ifMatch(etag: string | null | undefined): Record<string, string> {
  return etag === null || etag === undefined ? {} : { 'if-match': etag }
}

function documentOf(operation: string, answer: Answer, { optional = false }: ReadOptions): Document {
  const { status, body } = answer
  if (status < 200 || status >= 300) throw errorOfAnswer(operation, status, body, { optional })
  if (isDocument(body)) return body
  throw new RedfishError({ operation, failure: 'error', status, detail: 'the answer is no JSON document' })
}

type Plain = (
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: Document,
  more?: { signal?: AbortSignal | undefined; timeout_ms?: number | undefined },
) => Promise<Answer>

const REDIRECTS_MOST = 3

/** Redirects stay on the BMC: of the location only the path is used, and only where its host is none or the same. */
async function follow(plain: Plain, path: string, headers: Record<string, string>, read: ReadOptions): Promise<Answer> {
  let at = path
  for (let hops = 0; ; hops += 1) {
    const answer = await plain('GET', at, headers, undefined, read)
    if (answer.status === 406) return plain('GET', at, { ...headers, 'accept-encoding': '*' }, undefined, read)
    const { location } = answer.headers
    const moved = [301, 302, 307, 308].includes(answer.status) && location !== undefined
    if (!moved || hops === REDIRECTS_MOST) return answer
    if (URL.canParse(location)) {
      throw new RedfishError({
        operation: `GET ${path}`, failure: 'error', status: answer.status, detail: 'it redirects to another host',
      }) // biome-ignore format: a record
    }
    at = pathOf(location) ?? at
  }
}

/** Reads are repeated when no answer came, or one that says that the BMC is unwell. */
async function retried(read: ReadOptions, retry_ms: number, ask: () => Promise<Answer>): Promise<Answer> {
  for (let tried = 1; ; tried += 1) {
    const last = tried === (read.once === true ? 2 : READS_MOST)
    try {
      const answer = await ask()
      // What is not implemented does not become so.
      if (answer.status < 500 || answer.status === 501 || last) return answer
    } catch (error) {
      const passing = error instanceof RedfishError && error.problem === undefined && error.failure === 'unavailable'
      if (!passing || last) throw error
    }
    // The first failure may be of a connection that had stood open for too long.
    if (read.once !== true) await pause(retry_ms * (0.5 + Math.random()), undefined, { signal: read.signal })
  }
}

interface Careful {
  method: string
  path: string
  log: Log
  retry_ms: number
  signal: AbortSignal | undefined
}

/** A write is sent again only when it certainly did not run: no connection came about, or the BMC said that it is busy. */
async function careful(
  { method, path, log, retry_ms, signal }: Careful,
  send: () => Promise<Answer>,
): Promise<Written> {
  const operation = `${method} ${path}`
  let busy = 0
  for (let tried = 1; ; tried += 1) {
    try {
      const { status, headers, body } = await send()
      if (status >= 200 && status < 300) {
        return { status, body, location: pathOf(headers.location), retry_after_s: retryAfter(headers['retry-after']) }
      }
      const error = errorOfAnswer(operation, status, body)
      if (!isBusy(error) || busy === BUSY_RETRIES) throw error
      busy += 1
      log.info({ operation, err: error }, 'bmc is busy, trying again')
      await pause(BUSY_FACTOR * retry_ms, undefined, { signal })
    } catch (error) {
      if (!(error instanceof RedfishError) || !neverRan(error) || tried === READS_MOST) throw error
      await pause(retry_ms, undefined, { signal })
    }
  }
}

function retryAfter(value: string | undefined): number | null {
  if (value === undefined) return null
  if (/^\d+$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, Math.round((at - Date.now()) / 1000))
}

interface Sending {
  read(path: string, how: ReadOptions): Promise<Answer>
  write(method: string, path: string, body: Document, how: WriteOptions): Promise<Written>
}

/**
 * 412: somebody may have changed the resource. Unless one of the members that we are about to change is different now, it is
 * sent again: first with the strong form of a weak ETag, then without.
 */
async function patchUnchanged(
  path: string,
  body: Document,
  how: WriteOptions,
  { read, write }: Sending,
): Promise<Written> {
  const before = await read(path, how)
  const etag = before.headers.etag ?? null
  const attempt = (tag: string | null): Promise<Written | undefined> =>
    write('PATCH', path, body, { ...how, etag: tag }).catch((error: unknown) => {
      if (error instanceof RedfishError && error.status === 412) return undefined
      throw error
    })
  const first = await attempt(etag)
  if (first !== undefined) return first
  const strong = etag?.startsWith('W/') === true ? await attempt(etag.slice(2)) : undefined
  if (strong !== undefined) return strong
  const now = await read(path, how)
  if (!isSame(before.body, now.body, body)) {
    throw new RedfishError({
      operation: `PATCH ${path}`,
      failure: 'error',
      status: 412,
      problem: 'busy',
      sentence: 'Somebody else is changing the same settings of the BMC; read them again.',
    })
  }
  return write('PATCH', path, body, { ...how, etag: null })
}

/** Whether what the body names has the same value in both. */
function isSame(before: unknown, now: unknown, body: unknown): boolean {
  if (!isDocument(body)) return JSON.stringify(before) === JSON.stringify(now)
  return Object.entries(body).every(([name, member]) =>
    isSame(isDocument(before) ? before[name] : undefined, isDocument(now) ? now[name] : undefined, member),
  )
}

export type { Credentials, Session }
