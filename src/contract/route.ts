// What a route is. Every route of the API is one entry of this shape; validation, OpenAPI, the client, the CLI, access
// control and the tests read it. Nothing here knows how a route is served.
import type { Static, TObject, TSchema } from 'typebox'
import type { KindAnswers } from './answers.ts'
import type { ErrorCode } from './errors.ts'

/**
 * Who may call. `viewer` < `operator` < `admin`; `cluster` is other nodes of the same cluster; `callback` is a machine
 * that carries a single-purpose credential which the handler checks (webhooks, phone-home); `public` needs none.
 */
export type Access = 'public' | 'viewer' | 'operator' | 'admin' | 'cluster' | 'callback'

/** `own`: a tenant-scoped token may call and sees that tenant's things alone. `none`: it gets 403 TENANT_SCOPE. */
export type TenantScope = 'own' | 'none'

/**
 * How the answer travels. `json`: a body. `sse`: server-sent events. `ws`: a WebSocket, bridged to an upstream or spoken by us.
 * `bytes`: text or bytes of ours. `proxy`: an upstream's resource as it is. `redirect`: a location. `multipart`: a form with one
 * file as body, JSON as answer. What the server cannot serve fails at start.
 */
export type RouteKind = 'json' | 'sse' | 'ws' | 'bytes' | 'proxy' | 'multipart' | 'redirect'

/** Declares that the operation writes an application event, and about what kind of thing (Part 1, 2.3). */
export interface EventDeclaration {
  /** Upper-case noun: VM, NODE, TENANT, … */
  resource_type: string
}

export interface RouteSpec {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** OpenAPI form: `/events/app-events/{id}`. A last segment `{path*}` spans slashes. */
  path: string
  /** Imperative, capitalised, without article or full stop. */
  summary: string
  /** Rules a caller must know: preconditions, side effects, where a value comes from. */
  description?: string
  access: Access
  /** Default `none`: a route belongs to no tenant until it says otherwise. */
  tenant?: TenantScope
  /** Whether the call changes anything. Default: GET reads, the others change. A POST that only reads says `read`. */
  effect?: 'read' | 'change'
  kind?: RouteKind
  params?: TObject
  query?: TObject
  body?: TSchema
  /** The body may be left out altogether (a POST of optional filters). */
  body_optional?: boolean
  /** The handler checks a signature over the bytes of the body before it reads them. */
  signed?: boolean
  /** Request headers beyond the general ones that the route documents. */
  headers?: TObject
  /** Success statuses with the schema of each answer. */
  ok: Record<number, TSchema>
  /** Error statuses the documents give for this route; 401, 403 and 429 are implied (api-conventions.md). */
  errors: readonly number[]
  event?: EventDeclaration
  /** Accepts `?dry_run=true`: all checks, no effect, the plan as answer. */
  dry_run?: boolean
  /** Node-local route: mounted by the agent too, and forwarded when `X-Target-Node` names another node. */
  runs_on?: 'control' | 'node'
  /** Not in the documents: published with `x-extension: true`. */
  extension?: boolean
  /** Mounted, but left out of the published document (node-to-node calls). */
  hidden?: boolean
  /** Refused where a proxy in front says that the request comes from another machine. */
  inside_only?: boolean
  /** The route may run long (a benchmark): milliseconds before the server gives up. Default 120 s. */
  timeout_ms?: number
  /** For `sse` and `ws`: the schema of each message by its event name. */
  messages?: Record<string, TSchema>
  /** One request that works as printed, and its answer. */
  example: RouteExample
}

export interface RouteExample {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: unknown
  answer?: unknown
}

export type Routes = Record<string, RouteSpec>

/** One area of the API: its routes and the habits they share, said once. */
export interface Area<A extends Routes = Routes> {
  /** Tag in the published document, and the name of the CLI group. */
  name: string
  description: string
  /** `problem`: application/problem+json. `envelope`: the address-management envelope {success, message, …}. */
  errors: 'problem' | 'envelope'
  /** Status of an upstream failure: 502 under /cam, 500 elsewhere (Part 1, 1). */
  upstream_status: 500 | 502
  /** The code of an invalid request, where the documents name another one than INVALID_REQUEST. */
  invalid_request?: ErrorCode
  routes: A
}

/** Declares an area. The generic parameter keeps each route's exact schemas, which the types below read. */
export function defineArea<const A extends Routes>(
  area: Omit<Area<A>, 'errors' | 'upstream_status'> & Partial<Pick<Area<A>, 'errors' | 'upstream_status'>>,
): Area<A> {
  return { errors: 'problem', upstream_status: 500, ...area }
}

type StaticOf<S> = S extends TSchema ? Static<S> : undefined

/** What a handler receives: params, query and body stay separate, because several routes carry an id in two of them. */
export interface Input<R extends RouteSpec> {
  params: StaticOf<R['params']>
  query: StaticOf<R['query']>
  body: R['signed'] extends true
    ? SignedBody<StaticOf<R['body']>>
    : R['kind'] extends 'multipart'
      ? UploadedForm<StaticOf<R['body']>>
      : R['body_optional'] extends true
        ? StaticOf<R['body']> | undefined
        : StaticOf<R['body']>
}

/** A body that is parsed and validated only when it is read, after its signature was checked. */
export interface SignedBody<Body> {
  bytes: Buffer
  read(): Body
}

/** A file of a form. It has arrived as a whole, within the limit of its field. */
export interface UploadedFile {
  readonly filename: string
  readonly media_type: string
  readonly sha256: string
  readonly bytes: Buffer
}

export type UploadedForm<Body> = { [Field in keyof Body]: UploadedFile }

/** What a client sends. */
export interface CallInput<R extends RouteSpec> {
  params?: StaticOf<R['params']>
  query?: StaticOf<R['query']>
  body?: StaticOf<R['body']> | undefined
}

type Bodies<R extends RouteSpec> = { [S in keyof R['ok']]: StaticOf<R['ok'][S]> }[keyof R['ok']]

/** What a JSON handler returns: the body of the first success status. */
export type Output<R extends RouteSpec> = Bodies<R>
/** What a client gets back. */
export type Result<R extends RouteSpec> = Bodies<R>

/** Every operation of an area as a function: a missing handler or a wrong field is a compile error. */
export type Handlers<A extends Routes, Ctx> = {
  [Op in keyof A]: (input: Input<A[Op]>, ctx: Ctx) => HandlerResult<A[Op]>
}

type HandlerResult<R extends RouteSpec> = R['kind'] extends keyof KindAnswers
  ? KindAnswers[R['kind']] | Promise<KindAnswers[R['kind']]>
  : Output<R> | Promise<Output<R>>

export function routeEffect(route: RouteSpec): 'read' | 'change' {
  return route.effect ?? (route.method === 'GET' ? 'read' : 'change')
}

/** Anybody may call it: the service asks for no token. */
export function isTokenless(route: RouteSpec): boolean {
  return route.access === 'public' || route.access === 'callback'
}

/** Whose caller is not known has no keys of its own: those of strangers would meet. */
export function takesIdempotencyKey(route: RouteSpec): boolean {
  return !isTokenless(route) && routeEffect(route) === 'change' && (route.method === 'POST' || route.method === 'PUT')
}

export function firstStatus(route: RouteSpec): number {
  return Math.min(...Object.keys(route.ok).map(Number))
}

/** The routes of an area that a node answers about itself (`runs_on`). */
export type NodeRoutes<A extends Routes> = {
  [Op in keyof A as A[Op]['runs_on'] extends 'node' ? Op : never]: A[Op]
}

/** The routes of an area that the control plane answers: a module has a handler for each. */
export type ControlRoutes<A extends Routes> = Omit<A, keyof NodeRoutes<A>>
