// The contract's own rules (AGENTS.md): complete, described, with an example that its own schema accepts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import addFormatsModule from 'ajv-formats'
import type { TSchema } from 'typebox'
import { areas } from '#src/contract/index.ts'
import { firstStatus, type RouteSpec, routeEffect } from '#src/contract/route.ts'

const routes = areas.flatMap((area) =>
  Object.entries(area.routes).map(([operation, route]) => ({ area, operation, route })),
)
const ACCESS = ['public', 'viewer', 'operator', 'admin', 'cluster', 'callback']
/** What may be reached without a caller's credential (api-conventions: Callers and rights). */
const PUBLIC = [
  'GET /', 'GET /healthz', 'GET /readyz', 'GET /openapi.json', 'GET /docs', 'GET /docs/reference.js',
  'GET /cam/player', 'GET /cam/player/{file}',
  'GET /console', 'GET /console/{path*}', 'GET /console/assets/{file}',
  'POST /auth/login', 'POST /auth/sessions', 'GET /auth/oidc/start', 'GET /auth/oidc/callback',
  'POST /configure/decommission/wipe-result', 'GET /internal/ssh/filesync-pubkey',
] // biome-ignore format: a list of routes
/** Changes that a caller makes to itself only, and the report of a wipe image, which annotates. */
const SELF_SERVICE = [
  'authLogin',
  'sessionCreate',
  'authLogout',
  'oidcCallback',
  'ticketCreate',
  'passwordChange',
  'wipeResultReport',
]

const ajv = new Ajv({ strict: false, allErrors: true })
addFormatsModule.default(ajv, { mode: 'full' })

function complaints(schema: TSchema | undefined, value: unknown): string {
  if (schema === undefined) return 'there is no schema for it'
  return ajv.validate(schema as object, value) ? '' : ajv.errorsText()
}

test('every schema is a valid JSON Schema, which the server takes for granted', () => {
  for (const { operation, route } of routes) {
    for (const schema of [route.params, route.query, route.body, ...Object.values(route.ok)]) {
      if (schema !== undefined) assert.ok(ajv.validateSchema(schema), `${operation}: ${ajv.errorsText()}`)
    }
  }
})

test('every operation name and every path with its method stands once', () => {
  const names = routes.map(({ operation }) => operation)
  const paths = routes.map(({ route }) => `${route.method} ${route.path}`)
  assert.equal(new Set(names).size, names.length)
  assert.equal(new Set(paths).size, paths.length)
})

test('every route states who may call it, and only the listed ones are public', () => {
  for (const { operation, route } of routes) assert.ok(ACCESS.includes(route.access), `${operation} states no access`)
  const open = routes
    .filter(({ route }) => route.access === 'public')
    .map(({ route }) => `${route.method} ${route.path}`)
  assert.deepEqual(
    open.filter((path) => !PUBLIC.includes(path)),
    [],
  )
})

test('a viewer changes nothing: every change asks for operator, admin, cluster or a callback', () => {
  const weak = routes.filter(
    ({ operation, route }) =>
      routeEffect(route) === 'change' &&
      ['viewer', 'public'].includes(route.access) &&
      !SELF_SERVICE.includes(operation),
  )
  assert.deepEqual(
    weak.map(({ operation }) => operation),
    [],
  )
})

test('summaries are capitalised, imperative, without article or full stop', () => {
  for (const { operation, route } of routes) {
    assert.match(route.summary, /^[A-Z][a-z]+ /, operation)
    assert.doesNotMatch(route.summary, /\.$|\b(the|an?)\b/i, `${operation}: ${route.summary}`)
  }
})

test('every change of something says which application event it writes', () => {
  const silent = routes.filter(
    ({ route, operation }) =>
      routeEffect(route) === 'change' &&
      route.event === undefined &&
      !['ticketCreate', 'jobCancel'].includes(operation) &&
      route.access !== 'callback' &&
      route.hidden !== true,
  )
  assert.deepEqual(
    silent.map(({ operation }) => operation),
    [],
  )
})

test('every example is accepted by the schema it stands for', () => {
  for (const { operation, route } of routes) {
    const { params, query, body, answer } = route.example
    if (params !== undefined) assert.equal(complaints(route.params, params), '', `${operation}: path example`)
    if (query !== undefined) assert.equal(complaints(route.query, query), '', `${operation}: query example`)
    if (body !== undefined) assert.equal(complaints(route.body, body), '', `${operation}: body example`)
    if (answer !== undefined)
      assert.equal(complaints(route.ok[firstStatus(route)], answer), '', `${operation}: answer example`)
  }
})

test('every route whose body or path must be filled shows an example of it', () => {
  const missing = routes.filter(({ route }) => needs(route))
  assert.deepEqual(
    missing.map(({ operation }) => operation),
    [],
  )
})

function needs(route: RouteSpec): boolean {
  const required = (schema: TSchema | undefined): boolean =>
    ((schema as { required?: unknown[] })?.required?.length ?? 0) > 0
  return (
    (required(route.body) && route.example.body === undefined) ||
    (required(route.params) && route.example.params === undefined)
  )
}

test('path parameters in the path and in the schema are the same', () => {
  for (const { operation, route } of routes) {
    const named = [...route.path.matchAll(/\{(\w+)\*?\}/g)].map((match) => match[1] ?? '').sort()
    assert.deepEqual(Object.keys(route.params?.properties ?? {}).sort(), named, operation)
  }
})

test('request bodies refuse unknown members', () => {
  const open = routes.filter(({ route }) => {
    const body = route.body as { type?: string; additionalProperties?: unknown } | undefined
    return body?.type === 'object' && body.additionalProperties !== false
  })
  assert.deepEqual(
    open.map(({ operation }) => operation),
    [],
  )
})

test('every number of a request has a least and a greatest value, so that nothing is refused by the database alone', () => {
  const unlimited: string[] = []
  const walk = (schema: Record<string, unknown> | undefined, where: string): void => {
    if (typeof schema !== 'object') return
    const number = [schema.type].flat().some((type) => type === 'integer' || type === 'number')
    if (number && ((schema.minimum ?? schema.exclusiveMinimum) === undefined || schema.maximum === undefined))
      unlimited.push(where)
    for (const [name, inner] of Object.entries(schema)) walk(inner as Record<string, unknown>, `${where}.${name}`)
  }
  for (const { operation, route } of routes) {
    for (const part of ['params', 'query', 'body'] as const)
      walk(route[part] as Record<string, unknown>, `${operation}.${part}`)
  }
  assert.deepEqual(unlimited, [])
})
