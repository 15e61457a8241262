// Mounts one area of the contract: access, limits, validation, idempotency and audit come from the route's data; the
// handler is called with its input and a context, and never sees the request.
import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { TSchema } from 'typebox'
import type { BytesAnswer, ProxyAnswer, SocketSource, SocketUpstream, StreamSource } from '#src/contract/answers.ts'
import type { Area, Handlers, RouteKind, RouteSpec, Routes, SignedBody } from '#src/contract/route.ts'
import { firstStatus, isTokenless, routeEffect, takesIdempotencyKey } from '#src/contract/route.ts'
import { ApiError } from '../errors.ts'
import { type AuditLog, type Authenticator, checkAccess, type Identity, type TenantState } from './access.ts'
import { BODY_LIMIT_BYTES, TOKENLESS_BODY_LIMIT_BYTES } from './body.ts'
import { sendBytes } from './bytes.ts'
import { ANONYMOUS, type Caller, type RequestContext } from './context.ts'
import { errorAnswer } from './errors.ts'
import type { Idempotency, StoredAnswer } from './idempotency.ts'
import { addressCaller, type RateLimiter } from './rate-limit.ts'
import { requireInside } from './inside.ts'
import { createRequestContext, type ResumableContext } from './request-context.ts'
import { pathOf, peerCertificateName, type Server } from './serve.ts'
import { type OpenUpstream, openUpstream } from './socket-upstream.ts'
import { uploadedForm } from './upload.ts'
import { closingFrame } from './sse.ts'
import { enforcedQuery } from './validation.ts'
import { requireUpgrade } from './ws.ts'

/** What mounting needs beside the area. The agent mounts with fewer of them. */
export interface MountServices {
  authenticator: Authenticator
  /** Why nothing but the probes is served yet; undefined once it is. */
  starting?: () => string | undefined
  /** Absent where no caller is limited to a tenant: on agents. */
  isTenantActive?: TenantState
  audit?: AuditLog
  idempotency?: Idempotency
  limiter: RateLimiter
  /** For signing in: counted by address, whoever calls. */
  login_limiter: RateLimiter
  /** Sends a call for another node to that node's agent (X-Target-Node); absent on agents. */
  forward?: (request: ForwardedCall) => Promise<StoredAnswer | undefined>
}

/** A call that names the node it is meant for. `undefined` as answer: this node is meant. */
export interface ForwardedCall {
  operation: string
  route: RouteSpec
  target: string
  input: { params: unknown; query: unknown; body: unknown }
  ctx: RequestContext
}

type AnyHandler = (input: { params: unknown; query: unknown; body: unknown }, ctx: RequestContext) => unknown

export function mountArea<A extends Routes>(
  server: Server,
  area: Area<A>,
  handlers: Handlers<A, RequestContext>,
  services: MountServices,
): void {
  for (const [operation, route] of Object.entries(area.routes)) {
    const handler = handlers[operation] as AnyHandler | undefined
    if (handler === undefined) throw new Error(`the route ${operation} has no handler`)
    if (route.access === undefined) throw new Error(`the route ${operation} states no access`)
    checkKind(operation, route)
    const mounted: Mounted = {
      server,
      area: area as unknown as Area,
      route,
      operation,
      status: firstStatus(route),
      handler,
      services,
    }
    if (route.kind === 'ws') server.sockets.add(route.path)
    server.paths.add(route.method, route.path)
    server.app.route({
      method: route.method,
      url: route.path.replace(/\{\w+\*\}/, '*').replace(/\{(\w+)\}/g, ':$1'),
      ...routeOptions(mounted),
      onRequest: (request, _reply, done) => admit(mounted, request, done),
      handler: (request, reply) => serve(mounted, request, reply),
    })
  }
}

const METHODS: Partial<Record<RouteKind, string>> = { ws: 'GET', proxy: 'GET', multipart: 'POST' }

/** What the server could not serve as the contract says is noticed at start. */
function checkKind(operation: string, { kind = 'json', method, runs_on }: RouteSpec): void {
  const wanted = METHODS[kind]
  if (wanted === undefined) return
  if (method !== wanted) throw new Error(`the route ${operation} is of kind ${kind}, which must be ${wanted}`)
  if (runs_on === 'node')
    throw new Error(`the route ${operation} is of kind ${kind}, which cannot be forwarded to a node`)
}

interface Mounted {
  server: Server
  area: Area
  route: RouteSpec
  operation: string
  /** The status of an answer that does not name one. */
  status: number
  handler: AnyHandler
  services: MountServices
}

function routeOptions({ server, area, route, operation }: Mounted): RouteShorthandOptions {
  const schema: Record<string, TSchema> = { querystring: enforcedQuery(route) }
  if (route.params !== undefined) schema.params = route.params
  if (route.body !== undefined && route.signed !== true && route.kind !== 'multipart') schema.body = route.body
  const json = ['json', 'multipart'].includes(route.kind ?? 'json')
  return {
    schema: json ? { ...schema, response: route.ok } : schema,
    config: { operation, area, route },
    bodyLimit: isTokenless(route) ? TOKENLESS_BODY_LIMIT_BYTES : BODY_LIMIT_BYTES,
    validatorCompiler: ({ schema: part_schema, httpPart }) => {
      const validate = server.validators.compile(part_schema as TSchema, httpPart ?? 'body')
      const rest = /\{(\w+)\*\}$/.exec(route.path)?.[1]
      if (httpPart === 'params' && rest !== undefined)
        return (data: unknown) => validate(named(rest, data)) || { error: asError(validate.errors, 'params') }
      if (httpPart !== 'body' || route.body_optional !== true) return validate
      // Fastify shows an absent body as null; where the body may be left out, null and nothing are the same.
      return (data: unknown) =>
        data === null ? true : validate(data) === true || { error: asError(validate.errors, 'body') }
    },
  }
}

/** The router calls a part that spans slashes `*`; the contract has a name for it. */
function named(name: string, data: unknown): unknown {
  const params = data as Record<string, string | undefined>
  params[name] = params['*'] ?? ''
  delete params['*']
  return params
}

function asError(validation: unknown, validationContext: 'body' | 'params'): Error {
  return Object.assign(new Error('validation'), { validation, validationContext })
}

/** What tells whether the service lives must answer whoever else floods it from the same address. */
const PROBES: ReadonlySet<string> = new Set(['healthGet', 'readinessGet'])
const SIGN_IN_OPERATIONS: ReadonlySet<string> = new Set(['authLogin', 'sessionCreate', 'oidcStart', 'oidcCallback'])

/** Before the body is read: who calls, how often, and whether they may. */
function admit(mounted: Mounted, request: FastifyRequest, done: (error?: Error) => void): void {
  const { route, services } = mounted
  const decide = ({ caller, credential }: Identity): Promise<void> | void => {
    request.state.caller = caller
    if (route.inside_only === true) requireInside(request.headers)
    request.state.credential = credential
    if (!PROBES.has(mounted.operation)) services.limiter.take(countedAs(route, caller, request.ip))
    if (SIGN_IN_OPERATIONS.has(mounted.operation)) services.login_limiter.take(addressCaller(request.ip))
    return checkAccess(route, caller, services.isTenantActive)
  }
  try {
    if (!PROBES.has(mounted.operation)) requireStarted(services)
    // Who signs in may still carry the cookie of a session that has ended, and a machine's callback carries a credential
    // of its own, which its handler checks.
    const found = isTokenless(route)
      ? { caller: ANONYMOUS }
      : services.authenticator.authenticate({
          method: request.method,
          headers: request.headers,
          ticket: ticketOf(request),
          path: pathOf(request),
          is_stream: route.kind === 'sse' || route.kind === 'ws',
          remote_address: request.ip,
          certificate_name: peerCertificateName(request),
        })
    const decided = found instanceof Promise ? found.then(decide) : decide(found)
    if (decided === undefined) {
      done()
      return
    }
    decided.then(
      () => done(),
      (error: unknown) => done(rejection(error, mounted, request)),
    )
  } catch (error) {
    done(rejection(error, mounted, request))
  }
}

const START_RETRY_S = 2

function requireStarted({ starting }: MountServices): void {
  const reason = starting?.()
  if (reason !== undefined) {
    throw new ApiError('NOT_READY', `The service ${reason}.`, { retry_after_s: START_RETRY_S })
  }
}

/** Nodes report by callbacks, and thousands of them may share one IPv6 network: each counts for itself. */
function countedAs(route: RouteSpec, caller: Caller, address: string): string {
  if (caller.kind !== 'anonymous') return caller.id
  return route.access === 'callback' ? address : addressCaller(address)
}

/** Guesses are limited by address: each costs a query of the database. */
function rejection(error: unknown, { services }: Mounted, request: FastifyRequest): Error {
  if (error instanceof ApiError && error.code === 'UNAUTHENTICATED') {
    try {
      services.limiter.take(`rejected ${addressCaller(request.ip)}`)
    } catch (limited) {
      return limited as Error
    }
  }
  return error as Error
}

function ticketOf(request: FastifyRequest): string | undefined {
  if (request.method !== 'GET') return undefined
  const { ticket } = request.query as { ticket?: unknown }
  return typeof ticket === 'string' ? ticket : undefined
}

async function serve(mounted: Mounted, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { server, route, handler, operation } = mounted
  if (route.kind === 'ws') requireUpgrade(request, reply)
  const ctx = createRequestContext(mounted, request, reply, idempotencyKey(route, request))
  const input = inputOf(mounted, request)
  if (route.event !== undefined) reply.header('x-correlation-id', ctx.operation_id)
  switch (route.kind) {
    case 'sse':
      return openStream(mounted, (await handler(input, ctx)) as StreamSource, request, reply)
    case 'bytes':
      return sendBytes((await handler(input, ctx)) as BytesAnswer, route, request, reply)
    case 'proxy': {
      const answer = (await handler(input, ctx)) as ProxyAnswer
      return server.proxy.send(answer, { operation, route, signal: ctx.signal }, request, reply)
    }
    case 'ws': {
      const answer = await answerOf(mounted, input, ctx, request)
      return openSocket(mounted, answer.body as SocketSource | OpenUpstream, request, reply)
    }
    case 'redirect': {
      const answer = await answerOf(mounted, input, ctx, request)
      return reply.redirect((answer.body as { location: string }).location, mounted.status)
    }
    default: {
      const answer = await answerOf(mounted, input, ctx, request)
      if (answer.headers !== undefined) reply.headers(answer.headers)
      if (answer.error !== undefined) return sendStored(answer, request, reply)
      // Fastify would send null as no body at all.
      if (answer.body === null)
        return reply.code(answer.status).type('application/json; charset=utf-8').serializer(String).send('null')
      return reply.code(answer.status).send(answer.body)
    }
  }
}

const MAX_KEY_LENGTH = 255

function idempotencyKey(route: RouteSpec, request: FastifyRequest): string | null {
  const key = request.headers['idempotency-key']
  if (typeof key !== 'string' || !takesIdempotencyKey(route)) return null
  if (key !== '' && key.length <= MAX_KEY_LENGTH) return key
  throw new ApiError('INVALID_REQUEST', `Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} characters.`)
}

function answerOf(
  mounted: Mounted,
  input: ReturnType<typeof inputOf>,
  ctx: ResumableContext,
  request: FastifyRequest,
): Promise<Outcome> {
  return routeEffect(mounted.route) === 'read' ? callHandler(mounted, input, ctx) : change(mounted, input, ctx, request)
}

function identityOf({ state: { caller, credential } }: FastifyRequest): Identity {
  return credential === undefined ? { caller } : { caller, credential }
}

/** Followed for the same reason as a stream; its end is one line of the log, as an answer is. */
function openSocket(
  { server, services, operation }: Mounted,
  source: SocketSource | OpenUpstream,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const identity = identityOf(request)
  server.sockets.accept(request, reply, source, {
    follow: (ended) => services.authenticator.follow?.(identity, ended),
    closed(close_code) {
      const ms = Math.round(performance.now() - request.state.started)
      const { username } = identity.caller
      server.log.info({ request_id: request.id, operation, close_code, ms, caller: username }, 'socket closed')
    },
  })
}

/** A stream outlives the check of its credential, so the credential is followed for as long as the stream is open. */
function openStream(
  { server, services }: Mounted,
  source: StreamSource,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const identity = identityOf(request)
  if (request.method === 'HEAD') return void reply.type('text/event-stream; charset=utf-8').send()
  const headers = Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]))
  reply.hijack()
  server.streams.attach(reply.raw, headers, {
    open(client) {
      const detach = source.open(client)
      const release = services.authenticator.follow?.(identity, (reason) => client.end(closingFrame(reason)))
      return () => {
        release?.()
        detach()
      }
    },
  })
}

function inputOf(
  { server, route }: Mounted,
  request: FastifyRequest,
): { params: unknown; query: unknown; body: unknown } {
  const params = request.params as Record<string, string>
  if (route.kind === 'multipart') return { params, query: request.query, body: uploadedForm(request.body) }
  const body = route.signed === true ? signedBody(server, route, request.body) : (request.body ?? undefined)
  return { params, query: request.query, body }
}

function signedBody(server: Server, route: RouteSpec, sent: unknown): SignedBody<unknown> {
  const bytes = Buffer.isBuffer(sent) ? sent : Buffer.alloc(0)
  return {
    bytes,
    read() {
      const body = server.parseBody(bytes)
      const validate = server.validators.compile(route.body as TSchema, 'body')
      if (!validate(body)) throw asError(validate.errors, 'body')
      return body
    },
  }
}

interface Outcome {
  status: number
  body: unknown
  headers?: Record<string, string>
  /** Set when the answer is an error that was stored or must be sent with its own media type. */
  error?: { media_type: string; code: string }
}

async function callHandler(
  mounted: Mounted,
  input: ReturnType<typeof inputOf>,
  ctx: ResumableContext,
): Promise<Outcome> {
  const forwarded = await forward(mounted, input, ctx)
  if (forwarded !== undefined) return forwarded
  const body = await mounted.handler(input, ctx)
  const status = ctx.status ?? mounted.status
  return { status, body: mounted.route.kind === 'ws' ? await openedSocket(mounted, body, ctx) : body }
}

/** An upstream is opened as part of the call: that it cannot be is the call's error, and is audited as such. */
async function openedSocket(mounted: Mounted, answer: unknown, ctx: RequestContext): Promise<SocketSource> {
  const source = answer as SocketSource | SocketUpstream
  return 'open' in source ? source : openUpstream(source, mounted.operation, ctx.signal)
}

async function forward(
  mounted: Mounted,
  input: ReturnType<typeof inputOf>,
  ctx: RequestContext,
): Promise<Outcome | undefined> {
  const target = ctx.headers['x-target-node']
  if (mounted.route.runs_on !== 'node' || typeof target !== 'string' || mounted.services.forward === undefined) {
    return undefined
  }
  return mounted.services.forward({ operation: mounted.operation, route: mounted.route, target, input, ctx })
}

/** A change is audited, and answered from the store when its idempotency key was seen before. */
async function change(
  mounted: Mounted,
  input: ReturnType<typeof inputOf>,
  ctx: ResumableContext,
  request: FastifyRequest,
): Promise<Outcome> {
  const { audit } = mounted.services
  const audit_id = await audit?.begin({
    request_id: ctx.request_id,
    correlation_id: mounted.route.event === undefined ? null : ctx.operation_id,
    operation: mounted.operation,
    method: request.method,
    path: pathOf(request),
    caller: ctx.caller,
    remote_address: ctx.remote_address,
  })
  const finish = async (status: number, code: string | null): Promise<void> => {
    if (audit !== undefined && audit_id !== undefined) await audit.finish(audit_id, status, code)
  }
  try {
    const outcome = await once(mounted, input, ctx, request)
    await finish(outcome.status, outcome.error?.code ?? null)
    return outcome
  } catch (error) {
    const answer = errorAnswer(error, placeOf(mounted, request))
    await finish(answer.status, answer.error.code)
    throw error
  }
}

async function once(
  mounted: Mounted,
  input: ReturnType<typeof inputOf>,
  ctx: ResumableContext,
  request: FastifyRequest,
): Promise<Outcome> {
  const { idempotency } = mounted.services
  const key = ctx.idempotency_key
  if (key === null || idempotency === undefined) return callHandler(mounted, input, ctx)
  const { answer, replayed } = await idempotency.run(
    {
      caller_id: ctx.caller.id,
      key,
      operation: mounted.operation,
      request: canonical(input),
      operation_id: ctx.operation_id,
      signal: ctx.signal,
    },
    (admitted) => {
      if (admitted !== undefined) ctx.resume(admitted)
      return storable(mounted, input, ctx, request)
    },
  )
  const headers = replayed ? { ...answer.headers, 'idempotency-replayed': 'true' } : answer.headers
  const media_type = answer.headers['content-type']
  if (answer.status < 400 || media_type === undefined) return { ...answer, headers }
  const code = (answer.body as { code?: string }).code ?? 'INTERNAL_ERROR'
  return { ...answer, headers, error: { media_type, code } }
}

/** Answer or error as something that can be kept and sent again. */
async function storable(
  mounted: Mounted,
  input: ReturnType<typeof inputOf>,
  ctx: ResumableContext,
  request: FastifyRequest,
): Promise<StoredAnswer> {
  const correlation: Record<string, string> =
    mounted.route.event === undefined ? {} : { 'x-correlation-id': ctx.operation_id }
  try {
    const { status, body } = await callHandler(mounted, input, ctx)
    return { status, body, headers: correlation }
  } catch (error) {
    const answer = errorAnswer(error, placeOf(mounted, request))
    if (answer.status >= 500) ctx.log.error({ err: answer.error }, 'request failed')
    return { status: answer.status, body: answer.body, headers: { ...correlation, 'content-type': answer.media_type } }
  }
}

function sendStored(outcome: Outcome, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  request.state.code = outcome.error?.code ?? null
  return reply
    .code(outcome.status)
    .type(outcome.error?.media_type ?? 'application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(outcome.body)
}

function placeOf(mounted: Mounted, request: FastifyRequest): Parameters<typeof errorAnswer>[1] {
  const { caller } = request.state
  return { area: mounted.area, route: mounted.route, path: pathOf(request), request_id: request.id, caller }
}

/** Members are sorted, so that two spellings of one body are one request. */
function canonical(input: unknown): string {
  return JSON.stringify(sorted(input))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  )
}
