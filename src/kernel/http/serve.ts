// The HTTP server: one Fastify instance with the habits that every route shares. Routes are mounted by mount.ts.
import { randomUUIDv7 } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Area, RouteSpec } from '#src/contract/route.ts'
import { ApiError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { HeldCredential } from './access.ts'
import { fastSerializer, validatingSerializer } from './answers.ts'
import { BODY_LIMIT_BYTES, nulIn, type ParseBody, readJsonBodies } from './body.ts'
import { compressLongAnswers } from './compression.ts'
import { ANONYMOUS, type Caller } from './context.ts'
import { errorAnswer } from './errors.ts'
import { createKnownPaths, type KnownPaths } from './known-paths.ts'
import { answerParserErrors } from './parser-errors.ts'
import { createProxy, type Proxy } from './proxy.ts'
import { createSseStreams, type SseStreams } from './sse.ts'
import { type RequestTracing, traceRequests } from './tracing.ts'
import { createValidators, type Validators } from './validation.ts'
import { readUploads } from './upload.ts'
import { createSockets, type Every, type Sockets } from './ws.ts'

/** What the server knows about a request, besides Fastify's own. */
export interface RequestState {
  started: number
  caller: Caller
  /** Of the caller, for streams that stay open. */
  credential?: HeldCredential | undefined
  /** Code of the error that was answered, for the log line and the audit. */
  code: string | null
  /** Of the span around this request; undefined while nothing is traced. */
  traceparent?: string
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState
  }
  interface FastifyContextConfig {
    operation?: string
    area?: Area
    route?: RouteSpec
  }
}

export interface ServerOptions {
  log: Log
  metrics: Metrics
  /** How many proxies in front are believed what they say of the address they were called from. */
  trusted_proxies?: number
  /** Checks every answer against its schema: tests and development. */
  validate_answers?: boolean
  /** Only where requests are traced. */
  tracing?: RequestTracing
  /** Mutual TLS between nodes: key and certificate of this program, and the CA of its peers. */
  tls?: { key: string; cert: string; ca: string }
  /** When WebSockets are pinged; real time where left out. */
  every?: Every
}

export interface Server {
  app: FastifyInstance
  log: Log
  streams: SseStreams
  sockets: Sockets
  proxy: Proxy
  /** Aborted when the server begins to stop. */
  stopping: AbortSignal
  parseBody: ParseBody
  paths: KnownPaths
  validators: Validators
  listen(host: string, port: number): Promise<string>
  /** Refuses new requests, ends streams, lets running requests finish for a while. */
  close(): Promise<void>
}

/** For a request to arrive as a whole: without a limit, callers who send a byte now and then hold connections for ever. */
const REQUEST_TIMEOUT_MS = 60_000

export function createServer(options: ServerOptions): Server {
  const { trusted_proxies = 0 } = options
  const stop = new AbortController()
  const streams = createSseStreams()
  const sockets = createSockets(options.every)
  const proxy = createProxy()
  // Without a WebSocket route nothing is taken out of plain HTTP.
  const upgrades = { shouldUpgradeCallback: sockets.isUpgrade }
  const app = Fastify({
    logger: false,
    // Not `true`: that believes the leftmost address, which the caller may have written.
    trustProxy: trusted_proxies === 0 ? false : (_address, hop) => hop < trusted_proxies,
    requestTimeout: REQUEST_TIMEOUT_MS,
    bodyLimit: BODY_LIMIT_BYTES,
    genReqId: requestId,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 512 },
    clientErrorHandler: answerParserErrors(options.log, SECURITY_HEADERS),
    frameworkErrors: (_error, request, reply) => refusePath(request as FastifyRequest, reply as FastifyReply, options),
    ...(options.tls === undefined
      ? { http: upgrades }
      : { https: { ...options.tls, ...upgrades, requestCert: true, rejectUnauthorized: false } }),
  }) as unknown as FastifyInstance
  const connections = trackConnections(app)
  sendAnswersWhole(app)
  app.decorateRequest('state', null as never)
  app.setSerializerCompiler(options.validate_answers ? validatingSerializer : fastSerializer)
  const parseBody = readJsonBodies(app)
  readUploads(app)
  shareHeaders(app)
  compressLongAnswers(app)
  if (options.tracing !== undefined) traceRequests(app, options.tracing)
  const paths = createKnownPaths()
  answerErrors(app, options.log, paths)
  writeOneLine(app, options)
  app.addHook('preClose', async () => {
    stop.abort(new ApiError('SHUTTING_DOWN'))
    streams.closeAll()
    sockets.closeAll()
  })
  app.addHook('onClose', () => proxy.close())
  sockets.serve(app)
  return {
    app,
    log: options.log,
    streams,
    sockets,
    proxy,
    stopping: stop.signal,
    parseBody,
    paths,
    validators: createValidators(),
    listen: (host, port) => app.listen({ host, port }),
    close: () => closeServer(app, connections),
  }
}

const IDLE_SWEEP_MS = 50
const UNSENT_MS = 10_000

/**
 * A connection that is kept alive after its last answer, or was opened ahead and never used, would hold up the end until
 * its client lets go of it or a time-out of a minute passes.
 */
async function closeServer(app: FastifyInstance, connections: ReadonlySet<Socket>): Promise<void> {
  const sweep = setInterval(() => {
    app.server.closeIdleConnections()
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
  }, IDLE_SWEEP_MS)
  try {
    await app.close()
  } finally {
    clearInterval(sweep)
  }
}

/**
 * Node takes a connection for idle as soon as its answer is written, though parts of it may wait to be sent, and cuts it off when
 * the server stops. None is closed here before all answers are sent, or a client does not read for too long.
 */
function sendAnswersWhole({ server }: FastifyInstance): void {
  const answers = new Set<ServerResponse>()
  server.on('request', (_request, response) => {
    answers.add(response)
    response.once('close', () => answers.delete(response))
  })
  const waitToBeSent = (): boolean => [...answers].some(({ writableEnded }) => writableEnded)
  const closeIdle = server.closeIdleConnections.bind(server)
  let began: number | undefined
  server.closeIdleConnections = () => {
    began ??= performance.now()
    if (!waitToBeSent() || performance.now() - began > UNSENT_MS) closeIdle()
  }
}

function trackConnections(app: FastifyInstance): ReadonlySet<Socket> {
  const connections = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  return connections
}

/** A caller's own id is kept when it is harmless, so that one id runs through several systems. */
function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\w.-]{8,64}$/.test(given) ? given : randomUUIDv7()
}

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
}

function shareHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply)
    done(addressFault(request.url))
  })
}

/** A path or query that is no text is refused here, before a handler or a subsystem sees half of it. */
function addressFault(url: string): ApiError | undefined {
  if (url.includes('%00')) return nulIn('path or query')
  if (!/[%\u0080-\uffff]/.test(url)) return undefined
  try {
    decodeURIComponent(url)
    if (!/[\u0080-\uffff]/.test(url)) return undefined
  } catch {
    // said below
  }
  return new ApiError(
    'INVALID_REQUEST',
    'The path or query holds an escape that is not UTF-8, or an unescaped character.',
  )
}

function begin(request: FastifyRequest, reply: FastifyReply): void {
  request.state = { started: performance.now(), caller: ANONYMOUS, code: null }
  reply.headers(SECURITY_HEADERS)
  reply.header('x-request-id', request.id)
}

/** A path that the router cannot read never reaches a hook. */
function refusePath(request: FastifyRequest, reply: FastifyReply, options: ServerOptions): void {
  begin(request, reply)
  const error = new ApiError(
    'INVALID_REQUEST',
    'The path holds an escape that cannot be read, or a part that is too long.',
  )
  reply.raw.once('finish', () => writeLine(request, reply, options))
  sendError(error, request, reply, options.log)
}

const NO_ROUTE = { errors: 'problem', upstream_status: 500 } as const

function answerErrors(app: FastifyInstance, log: Log, paths: KnownPaths): void {
  app.setErrorHandler((thrown, request, reply) => sendError(thrown, request, reply, log))
  app.setNotFoundHandler((request, reply) => {
    const methods = paths.methodsOf(pathOf(request))
    if (methods.length > 0) reply.header('allow', methods.join(', '))
    return sendError(noRoute(request, methods), request, reply, log)
  })
}

function noRoute(request: FastifyRequest, methods: readonly string[]): ApiError {
  const asked = `${request.method} ${pathOf(request)}`
  if (methods.length === 0) return new ApiError('ROUTE_NOT_FOUND', `There is no route ${asked}.`)
  return new ApiError('METHOD_NOT_ALLOWED', `There is no route ${asked}; this path takes ${methods.join(', ')}.`)
}

export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): FastifyReply {
  const { area, route, operation } = request.routeOptions.config
  const { caller } = request.state
  const place = { area: area ?? envelopeBy(request), route, path: pathOf(request), request_id: request.id, caller }
  const answer = errorAnswer(thrown, place)
  request.state.code = answer.error.code
  if (answer.status >= 500) {
    log.error({ request_id: request.id, operation, err: answer.error }, 'request failed')
  } else if (answer.error.cause !== undefined) {
    log.info({ request_id: request.id, operation, err: answer.error }, 'request refused')
  }
  if (answer.retry_after_s !== undefined) reply.header('retry-after', String(answer.retry_after_s))
  if (answer.status === 401) reply.header('www-authenticate', 'Bearer')
  return reply.code(answer.status).type(answer.media_type).serializer(JSON.stringify).send(answer.body)
}

/** An unknown path under /ddi still answers in that area's envelope. */
function envelopeBy(request: FastifyRequest): Pick<Area, 'errors' | 'upstream_status'> {
  return request.url.startsWith('/ddi/') ? { errors: 'envelope', upstream_status: 500 } : NO_ROUTE
}

/** For logs and errors: the address of a callback may itself be the secret that opens it, which is then left out. */
export function pathOf(request: FastifyRequest): string {
  const end = request.url.indexOf('?')
  const path = end === -1 ? request.url : request.url.slice(0, end)
  const { route } = request.routeOptions.config
  return route?.access === 'callback' && hasSecretParam(route) ? route.path : path
}

function hasSecretParam({ params }: RouteSpec): boolean {
  return Object.values(params?.properties ?? {}).some((schema) => 'x-secret' in schema)
}

function writeOneLine(app: FastifyInstance, options: ServerOptions): void {
  app.addHook('onResponse', (request, reply, done) => {
    writeLine(request, reply, options)
    done()
  })
}

/** One line a request; the query stays out, because it may carry a ticket. */
function writeLine(request: FastifyRequest, reply: FastifyReply, { log, metrics }: ServerOptions): void {
  const { state } = request
  const milliseconds = performance.now() - state.started
  const operation = request.routeOptions.config.operation ?? 'none'
  metrics.request(operation, reply.statusCode, milliseconds / 1000)
  log.info(
    {
      request_id: request.id,
      method: request.method,
      path: pathOf(request),
      operation,
      status: reply.statusCode,
      ...(state.code === null ? {} : { code: state.code }),
      ms: Math.round(milliseconds * 10) / 10,
      caller: state.caller.username,
    },
    'request',
  )
}

export function peerCertificateName(request: FastifyRequest): string | undefined {
  const socket = request.raw.socket as Partial<TLSSocket>
  if (socket.authorized !== true) return undefined
  const name = socket.getPeerCertificate?.().subject?.CN
  return Array.isArray(name) ? name[0] : name
}
