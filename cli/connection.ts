// The way to the service: which one, as whom, and one request over it.
import { readFile } from 'node:fs/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { TransportRequest } from '#src/contract/client.ts'
import { type Context, contextsPath, readContexts } from './contexts.ts'
import { ConnectionError, EXIT, NameError, UsageError } from './failures.ts'
import { textOf } from './records.ts'
import type { Terminal } from './terminal.ts'

export interface Target {
  url: URL
  token: string | undefined
  /** Where the choice came from, for `groundplane status`. */
  source: string
  ca_file?: string
}

export interface ConnectionOptions {
  url?: string | undefined
  token?: string | undefined
  context?: string | undefined
}

export interface Connection {
  target: Target
  /** The answer's head; its body is still to be read. `timeout_ms` covers the body too, unless it is a stream. */
  send(request: TransportRequest, options: SendOptions): Promise<Response>
}

interface SendOptions {
  timeout_ms: number
  /** Only the head is timed: the body is a stream. */
  stream?: boolean
  /** A body that is not JSON text. */
  form?: FormData
}

export const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Options win over the environment, the environment over the stored context. */
export async function chooseTarget(options: ConnectionOptions, env: Terminal['env']): Promise<Target> {
  const url = options.url ?? (options.context === undefined ? textOf(env.GROUNDPLANE_URL) : undefined)
  const token = options.token ?? (options.context === undefined ? textOf(env.GROUNDPLANE_TOKEN) : undefined)
  if (url !== undefined) {
    // A token of a context goes to the service of that context alone.
    return { url: serviceUrl(url), token, source: options.url === undefined ? 'GROUNDPLANE_URL' : '--url' }
  }
  const name = options.context ?? textOf(env.GROUNDPLANE_CONTEXT)
  const [used, context] = await storedContext(name, env)
  return {
    url: serviceUrl(context.url),
    token: token ?? context.token,
    source: `context ${used}`,
    ...(context.ca_file === undefined ? {} : { ca_file: context.ca_file }),
  }
}

export async function connect(target: Target, version: string, interrupted: AbortSignal): Promise<Connection> {
  if (target.ca_file !== undefined) await trust(target.ca_file)
  const send = async (request: TransportRequest, options: SendOptions): Promise<Response> => {
    const timer = new AbortController()
    // The reason of the abort is what a waiting reader of the body gets, too.
    const timeout = setTimeout(() => timer.abort(tooLate(target.url, options.timeout_ms)), options.timeout_ms)
    timeout.unref()
    const signals = [interrupted, timer.signal, ...(request.signal === undefined ? [] : [request.signal])]
    const headers: Record<string, string> = { ...request.headers, 'user-agent': `groundplane-cli/${version}` }
    if (target.token !== undefined) headers.authorization = `Bearer ${target.token}`
    try {
      const response = await fetch(requestUrl(target.url, request.path), {
        method: request.method,
        headers,
        body: options.form ?? request.body ?? null,
        // Following a redirect would hand the credential to whoever is named there.
        redirect: 'manual',
        signal: AbortSignal.any(signals),
      })
      if (options.stream === true) clearTimeout(timeout)
      return response
    } catch (error) {
      clearTimeout(timeout)
      throw connectionError(error, target.url)
    }
  }
  return { target, send }
}

/** Turns the ways in which a request or its body can break into one error. */
export function connectionError(error: unknown, url: URL): unknown {
  if (!(error instanceof TypeError)) return error
  const cause: unknown = error.cause ?? error
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const text = cause instanceof Error && cause.message !== '' ? cause.message : code || error.message
  const unsent = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'].includes(code)
  return unsent
    ? new ConnectionError(`cannot connect to ${url.host}: ${text}`, 'refused', error)
    : new ConnectionError(`the connection to ${url.host} was lost: ${text}`, 'lost', error)
}

function tooLate(url: URL, timeout_ms: number): ConnectionError {
  return new ConnectionError(`${url.host} did not answer within ${timeout_ms / 1000} s`, 'timeout', undefined)
}

export function serviceUrl(text: string): URL {
  const bare = URL.parse(`http://${text}`)
  // On this machine there is usually no proxy that ends TLS, and nobody on the way who could read a token.
  const scheme = bare !== null && LOOPBACK.test(bare.hostname) ? 'http' : 'https'
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `${scheme}://${text}`)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new UsageError(`${text} is not an http or https address`)
  }
  if (url.username !== '' || url.password !== '') throw new UsageError('credentials do not belong into the address')
  url.pathname = url.pathname.replace(/\/+$/, '')
  url.search = ''
  url.hash = ''
  return url
}

/** The service may live below a path of a reverse proxy. */
export function requestUrl(base: URL, path: string): string {
  return `${base.origin}${base.pathname.replace(/\/+$/, '')}${path}`
}

async function storedContext(name: string | undefined, env: Terminal['env']): Promise<[string, Context]> {
  const { current, contexts } = await readContexts(contextsPath(env))
  const used = name ?? current
  if (used === undefined) {
    throw new UsageError(
      'no service is chosen: run "groundplane login URL", or set GROUNDPLANE_URL and GROUNDPLANE_TOKEN',
    )
  }
  const context = contexts.get(used)
  if (context !== undefined) return [used, context]
  const known = contexts.size === 0 ? 'there are none' : `known: ${[...contexts.keys()].join(', ')}`
  throw new NameError(`there is no context "${used}" (${known})`, EXIT.not_found)
}

async function trust(ca_file: string): Promise<void> {
  try {
    setDefaultCACertificates([...getCACertificates('default'), await readFile(ca_file, 'utf8')])
  } catch (error) {
    throw new UsageError(`cannot use ${ca_file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
