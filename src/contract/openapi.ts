// The published document, made from the contract alone: OpenAPI 3.1, the reference's statuses and ours marked
// `x-extension`.
import type { TObject, TSchema } from 'typebox'
import { INTRODUCTION } from './introduction.ts'
import { FailureEnvelope, Problem } from './problem.ts'
import { type Area, firstStatus, isTokenless, type RouteSpec, routeEffect, takesIdempotencyKey } from './route.ts'

type Json = Record<string, unknown>

export interface DocumentOptions {
  version: string
  server_url?: string
}

export function openApiDocument(areas: readonly Area[], options: DocumentOptions): Json {
  const shared: Shared = { schemas: {}, responses: {}, parameters: {}, headers: {} }
  const paths: Record<string, Json> = {}
  for (const area of areas) {
    for (const [operation, route] of Object.entries(area.routes)) {
      if (route.hidden) continue
      const path = route.path.replace('*}', '}')
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationObject(operation, route, area, shared) }
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Groundplane',
      version: options.version,
      summary: 'The management API of a private cloud',
      description: INTRODUCTION.trim(),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: options.server_url ?? '/' }],
    security: [{ bearer: [] }, { session: [] }],
    tags: areas.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'API token (`gp_…`) or OIDC access token.' },
        session: { type: 'apiKey', in: 'cookie', name: '__Host-gp_session', description: 'Console session.' },
      },
      ...shared,
    },
  }
}

/** What stands once in the document and is referred to. */
interface Shared {
  schemas: Json
  responses: Json
  parameters: Json
  headers: Json
}

function refer(shared: Shared, kind: keyof Shared, name: string, value: Json): Json {
  shared[kind][name] ??= value
  return { $ref: `#/components/${kind}/${name}` }
}

function operationObject(operation: string, route: RouteSpec, area: Area, shared: Shared): Json {
  const parameters = [
    ...parametersOf('path', route.params, route, shared),
    ...parametersOf('query', route.query, route, shared),
    ...parametersOf('header', route.headers, route, shared),
    ...generalParameters(route).map((one) => refer(shared, 'parameters', String(one.name), one)),
  ]
  return {
    operationId: operation,
    tags: [area.name],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(route.extension ? { 'x-extension': true } : {}),
    'x-access': route.access,
    'x-tenant-scope': route.tenant ?? 'none',
    ...(route.kind === 'sse' ? { 'x-protocol': 'sse' } : route.kind === 'ws' ? { 'x-protocol': 'websocket' } : {}),
    ...(isTokenless(route) ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: requestBody(route, shared) }),
    responses: responses(route, area, shared),
  }
}

function parametersOf(where: string, fields: TObject | undefined, route: RouteSpec, shared: Shared): Json[] {
  if (fields === undefined) return []
  const required = new Set<string>(fields.required ?? [])
  const examples = where === 'path' ? route.example.params : where === 'query' ? route.example.query : undefined
  return Object.entries(fields.properties).map(([name, schema]) => {
    const { description, 'x-extension': extension, ...rest } = hoist(schema, shared.schemas)
    return {
      name,
      in: where,
      required: where === 'path' || required.has(name),
      ...(description === undefined ? {} : { description }),
      ...(extension === true ? { 'x-extension': true } : {}),
      schema: rest,
      ...(examples?.[name] === undefined ? {} : { example: examples[name] }),
    }
  })
}

/** Headers and queries that every route of a kind accepts (api-conventions.md, Changes and Streams). */
function generalParameters(route: RouteSpec): Json[] {
  const extension = { required: false, 'x-extension': true }
  const list: Json[] = []
  if (takesIdempotencyKey(route)) {
    list.push({
      name: 'Idempotency-Key',
      in: 'header',
      ...extension,
      description: 'The same key, caller, route and body within 24 h give the stored answer.',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    })
  }
  if (route.event !== undefined && route.kind !== 'sse') {
    list.push({
      name: 'Prefer',
      in: 'header',
      ...extension,
      description: '`wait=N` (60 at most) waits up to N seconds for the end of the operation (RFC 7240).',
      schema: { type: 'string' },
    })
  }
  if (route.dry_run) {
    list.push({
      name: 'dry_run',
      in: 'query',
      ...extension,
      description: 'All checks, no effect, the plan as answer.',
      schema: { type: 'boolean', default: false },
    })
  }
  if (route.kind === 'sse' || route.kind === 'ws') {
    list.push({
      name: 'ticket',
      in: 'query',
      ...extension,
      description: 'Single-use ticket of POST /auth/tickets, for browsers.',
      schema: { type: 'string' },
    })
  }
  if (route.runs_on === 'node' && route.headers?.properties['X-Target-Node'] === undefined) {
    list.push({
      name: 'X-Target-Node',
      in: 'header',
      ...extension,
      description: 'Address of the node that answers; the call is forwarded to its agent.',
      schema: { type: 'string' },
    })
  }
  return list
}

function requestBody(route: RouteSpec, shared: Shared): Json {
  const media = route.kind === 'multipart' ? 'multipart/form-data' : 'application/json'
  const content: Json = { schema: hoist(defaultsInWords(route.body) as TSchema, shared.schemas) }
  if (route.example.body !== undefined) content.example = route.example.body
  return { required: route.body_optional !== true, content: { [media]: content } }
}

function responses(route: RouteSpec, area: Area, shared: Shared): Json {
  const out: Json = {}
  for (const [status, schema] of Object.entries(route.ok)) {
    const media = route.kind === 'sse' ? 'text/event-stream' : mediaOf(schema)
    const content: Json = { schema: hoist(schema, shared.schemas) }
    if (route.example.answer !== undefined && Number(status) === firstStatus(route)) {
      content.example = route.example.answer
    }
    const messages = route.messages === undefined ? {} : { 'x-messages': hoistAll(route.messages, shared.schemas) }
    const is_empty = route.kind === 'redirect' || route.kind === 'ws' || status === '304'
    out[status] = {
      description: (schema as { description?: string }).description ?? 'Success.',
      ...((schema as { 'x-extension'?: boolean })['x-extension'] === true ? { 'x-extension': true } : {}),
      headers: answerHeaders(route, shared),
      ...(is_empty ? messages : { content: { [media]: { ...content, ...messages } } }),
    }
  }
  for (const { status, documented } of errorStatuses(route)) {
    const [name, media, form] =
      area.errors === 'envelope'
        ? ['Failure', 'application/json', FailureEnvelope]
        : ['Problem', 'application/problem+json', Problem]
    out[status] ??= refer(shared, 'responses', `${name}${status}${documented ? '' : 'Extension'}`, {
      description: ERROR_TEXT[status] ?? 'Error.',
      ...(documented ? {} : { 'x-extension': true }),
      content: { [media]: { schema: hoist(form, shared.schemas) } },
    })
  }
  return out
}

function mediaOf(schema: TSchema): string {
  const media = (schema as { contentMediaType?: unknown }).contentMediaType
  return typeof media === 'string' ? media : 'application/json'
}

function answerHeaders(route: RouteSpec, shared: Shared): Json {
  const header = (name: string, description: string): Json => ({
    [name]: refer(shared, 'headers', name, { schema: { type: 'string' }, description }),
  })
  return {
    ...header('X-Request-Id', 'Id of this request in the log.'),
    ...(route.event === undefined ? {} : header('X-Correlation-Id', 'Id of the application event.')),
  }
}

/** Every status a route may answer beyond its successes: what it documents, and what every route may answer. */
export function errorStatuses(route: RouteSpec): { status: number; documented: boolean }[] {
  const documented = new Set(route.errors)
  // 431: the address and the headers of any request may be too long.
  const implied = [400, 431]
  if (route.access !== 'public') implied.push(401, 403, 429)
  if (route.access === 'public') implied.push(429)
  if (routeEffect(route) === 'change' && (route.method === 'POST' || route.method === 'PUT')) implied.push(409)
  // The node may be silent, whatever the route itself does.
  if (route.runs_on === 'node') implied.push(500)
  if (route.kind === 'ws') implied.push(426)
  if (206 in route.ok) implied.push(416)
  const all = new Set([...documented, ...implied])
  return [...all].sort((a, b) => a - b).map((status) => ({ status, documented: documented.has(status) }))
}

const ERROR_TEXT: Record<number, string> = {
  400: 'Invalid request, an unknown thing, or a state that does not allow it.',
  401: 'Credentials are missing or not valid.',
  403: 'The caller lacks the right.',
  404: 'Not found.',
  409: 'Conflict.',
  413: 'Payload too large.',
  416: 'Range not satisfiable.',
  422: 'Unsupported.',
  426: 'Upgrade to WebSocket required.',
  429: 'Too many requests; see Retry-After.',
  431: 'Headers and address are too large together.',
  500: 'Internal error or failure of a subsystem.',
  502: 'Upstream failure.',
  503: 'Unavailable.',
}

/**
 * A default in a body makes clients that are generated demand the field; in words it says the same. Only where the documents
 * show one (`x-documented-default`) it stays.
 */
function defaultsInWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(defaultsInWords)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, defaultsInWords(member)])
  const { default: preset, ...rest } = Object.fromEntries(members) as Json
  if (preset === undefined || rest['x-documented-default'] === true || (typeof preset === 'object' && preset !== null))
    return Object.fromEntries(members)
  const words = `${JSON.stringify(preset)} by default.`
  return { ...rest, description: rest.description === undefined ? words : `${String(rest.description)} ${words}` }
}

/** Moves every schema that has a title into components, once, and leaves a reference. */
function hoist(schema: TSchema, schemas: Json): Json {
  return hoistValue(schema, schemas) as Json
}

function hoistAll(messages: Record<string, TSchema>, schemas: Json): Json {
  return Object.fromEntries(Object.entries(messages).map(([name, schema]) => [name, hoist(schema, schemas)]))
}

function hoistValue(value: unknown, schemas: Json): unknown {
  if (Array.isArray(value)) return value.map((item) => hoistValue(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const { title, ...rest } = value as Json
  // A property may be called title too; that one is a schema.
  const untitled = typeof title === 'string' ? rest : value
  const plain = Object.fromEntries(Object.entries(untitled).map(([key, item]) => [key, hoistValue(item, schemas)]))
  if (typeof title !== 'string') return plain
  const known = schemas[title]
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(plain)) {
    throw new Error(`two different schemas are both titled ${title}`)
  }
  schemas[title] = plain
  return { $ref: `#/components/schemas/${title}` }
}
