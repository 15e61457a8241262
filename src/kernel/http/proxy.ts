// Passes on a resource of a subsystem as it is: ranges and conditions, back-pressure, and an end as soon as the client leaves.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Agent, type Dispatcher, errors } from 'undici'
import type { ProxyAnswer, UpstreamTls } from '#src/contract/answers.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { ApiError, UpstreamError, type UpstreamFailure } from '../errors.ts'
import { boundMediaMemory } from '../media-memory.ts'

const RANGE_HEADERS = ['range', 'if-range'] as const
const CONDITION_HEADERS = ['if-none-match', 'if-modified-since'] as const
const ANSWER_HEADERS = [
  'content-type', 'content-length', 'content-range', 'content-encoding', 'content-disposition', 'accept-ranges', 'etag',
  'last-modified',
] as const // biome-ignore format: a list

const CONNECT_TIMEOUT_MS = 5_000
const HEADERS_TIMEOUT_MS = 30_000
/** Between two pieces of a body, while the client reads. */
const BODY_TIMEOUT_MS = 60_000

export interface ProxyCall {
  operation: string
  route: RouteSpec
  /** Aborted when the client is gone or the service stops. */
  signal: AbortSignal
}

export interface Proxy {
  send(answer: ProxyAnswer, call: ProxyCall, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  close(): Promise<void>
}

export function createProxy(): Proxy {
  const agents = createAgents()
  return {
    async send(answer, call, request, reply) {
      const path = upstreamPath(answer)
      const response = await askAuthorized(agents.of(answer.tls), path, answer, call, request)
      if (!(response.statusCode in call.route.ok)) throw await refused(response, answer, call, reply)
      if (!isExpected(response, answer)) throw wrongMedia(response, answer, call)
      for (const name of ANSWER_HEADERS) {
        const value = response.headers[name]
        if (value !== undefined) reply.header(name, value)
      }
      reply.code(response.statusCode)
      if (response.statusCode !== 304) return reply.send(response.body)
      discard(response.body)
      return reply.send()
    },
    close: () => agents.close(),
  }
}

interface Agents {
  of(tls: UpstreamTls | undefined): Dispatcher
  close(): Promise<void>
}

/** One for all plain upstreams and public CAs, and one more for each CA of our own. */
function createAgents(): Agents {
  const agents = new Map<string, Dispatcher>()
  return {
    of(tls) {
      const key = tls === undefined ? '' : `${tls.servername} ${tls.ca}`
      const agent =
        agents.get(key) ??
        boundMediaMemory(
          new Agent({
            connect: { timeout: CONNECT_TIMEOUT_MS, ...tls },
            headersTimeout: HEADERS_TIMEOUT_MS,
            bodyTimeout: BODY_TIMEOUT_MS,
          }),
        )
      agents.set(key, agent)
      return agent
    },
    close: async () => void (await Promise.all([...agents.values()].map((agent) => agent.destroy()))),
  }
}

/** What an upstream rejects for its credentials is asked once more with new ones, where there are any. */
async function askAuthorized(
  agent: Dispatcher,
  path: string,
  answer: ProxyAnswer,
  call: ProxyCall,
  request: FastifyRequest,
): Promise<Dispatcher.ResponseData> {
  const response = await ask(agent, path, answer, call, request)
  if (response.statusCode !== 401 || answer.renew === undefined) return response
  discard(response.body)
  return ask(agent, path, { ...answer, headers: await answer.renew() }, call, request)
}

async function ask(
  agent: Dispatcher,
  path: string,
  { origin, headers, subsystem }: ProxyAnswer,
  { route, operation, signal }: ProxyCall,
  request: FastifyRequest,
): Promise<Dispatcher.ResponseData> {
  const method = request.method === 'HEAD' ? 'HEAD' : 'GET'
  try {
    return await agent.request({
      origin,
      path,
      method,
      headers: { ...passedHeaders(route, request), ...headers },
      signal,
    })
  } catch (cause) {
    if (signal.aborted) throw signal.reason
    throw new UpstreamError({ upstream: subsystem, operation, failure: failureOf(cause), cause })
  }
}

function failureOf(error: unknown): UpstreamFailure {
  const is_late = error instanceof errors.ConnectTimeoutError || error instanceof errors.HeadersTimeoutError
  return is_late ? 'timeout' : 'unavailable'
}

function passedHeaders(route: RouteSpec, { headers }: FastifyRequest): Record<string, string> {
  const names = [...(206 in route.ok ? RANGE_HEADERS : []), ...(304 in route.ok ? CONDITION_HEADERS : [])]
  const sent = names.map((name) => [name, headers[name]] as const)
  return Object.fromEntries(
    sent.filter((entry): entry is [(typeof names)[number], string] => typeof entry[1] === 'string'),
  )
}

/** Built of parts alone and sent as built: nothing between here and the upstream resolves `..`. */
function upstreamPath({ path, query }: ProxyAnswer): string {
  for (const part of path) {
    if (part === '' || part === '.' || part === '..' || /[/\\]/.test(part)) {
      throw new ApiError('INVALID_REQUEST', `The path part ${JSON.stringify(part)} is not allowed: name one segment.`)
    }
  }
  const search = query === undefined ? '' : `?${new URLSearchParams(query).toString()}`
  return `/${path.map(encodeURIComponent).join('/')}${search}`
}

/** The error that an upstream's answer means. Its body is not read: it may be endless, and its words are not ours. */
async function refused(
  { statusCode: status, headers, body }: Dispatcher.ResponseData,
  { subsystem, errorOf }: ProxyAnswer,
  { operation }: ProxyCall,
  reply: FastifyReply,
): Promise<Error> {
  discard(body)
  const meant = await errorOf?.(status)
  if (meant !== undefined) return meant
  if (status === 404)
    return new ApiError(
      'NOT_FOUND',
      `The ${subsystem.toLowerCase()} subsystem does not have the resource (${operation}).`,
    )
  if (status !== 416) return new UpstreamError({ upstream: subsystem, operation, failure: 'error', status })
  const range = headers['content-range']
  if (typeof range === 'string') reply.header('content-range', range)
  const asked = reply.request.headers.range ?? 'asked for'
  const size = typeof range === 'string' ? range.replace(/^bytes \*\//, '') : 'unknown'
  return new ApiError(
    'RANGE_NOT_SATISFIABLE',
    `The range ${asked} lies outside of the resource, whose size is ${size} bytes.`,
  )
}

function isExpected({ statusCode, headers }: Dispatcher.ResponseData, { media_types }: ProxyAnswer): boolean {
  if (media_types === undefined || statusCode === 304) return true
  const type = String(headers['content-type'])
  return media_types.some((beginning) => type.startsWith(beginning))
}

function wrongMedia({ body, headers }: Dispatcher.ResponseData, { subsystem }: ProxyAnswer, { operation }: ProxyCall) {
  discard(body)
  const detail = `the answer is ${String(headers['content-type'])}`
  return new UpstreamError({ upstream: subsystem, operation, failure: 'error', detail })
}

function discard(body: Dispatcher.ResponseData['body']): void {
  body.on('error', () => {}).destroy()
}
