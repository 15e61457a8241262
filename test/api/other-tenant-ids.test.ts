// No id of another tenant gets in anywhere: every id field of every route that tenants may call is tried with a thing of
// globex by a caller of acme. The fields come from the contract; a field that no table of other-tenant-ids.ts knows fails the test.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TSchema } from 'typebox'
import { wellKnown } from '../../lab/site.ts'
import { areas } from '#src/contract/index.ts'
import { routeEffect, type RouteSpec } from '#src/contract/route.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'
import {
  BELONGS_TO_NOBODY,
  codeFor,
  fieldName,
  isIdField,
  kindOf,
  requestFor,
  SITE_KINDS,
  valuesOf,
  type Values,
} from './other-tenant-ids.ts'

let lab: Lab
let acme: string
let values: Values
let ticking: NodeJS.Timeout

before(async () => {
  lab = await startLab({ time: 'step', config: { compute: { tenants_poll_ms: 200 } } })
  ticking = setInterval(() => lab.platform.step(), 20)
  const scope = { name: 'acme', role: 'admin', tenant_id: wellKnown.domains.acme }
  acme = (await lab.call('POST', '/auth/tokens', scope)).body.token
  values = await valuesOf(lab)
  await until(
    'the tenants are known',
    async () => (await lab.call('GET', `/admin/tenants/${wellKnown.domains.globex}`)).status === 200,
  )
})
after(async () => {
  clearInterval(ticking)
  await lab?.close()
})

interface Field {
  operation: string
  route: RouteSpec
  /** `body.networks.0.network_id`: where the id goes. */
  path: string
}

const routes = areas.flatMap((area) => Object.entries(area.routes).map(([operation, route]) => ({ operation, route })))
const fields: Field[] = routes
  // A WebSocket begins with an upgrade: the tests of these routes try one as another tenant.
  .filter(({ route }) => route.tenant === 'own' && route.kind !== 'ws')
  .flatMap(({ operation, route }) =>
    (['params', 'query', 'body'] as const).flatMap((part) =>
      leaves(route[part], part)
        .filter(isIdField)
        .map((path) => ({ operation, route, path })),
    ),
  )

/** Paths of all values that a schema knows; an item of a list is number 0. */
function leaves(schema: TSchema | undefined, path: string): string[] {
  const { anyOf, properties, items } = (schema ?? {}) as {
    anyOf?: TSchema[]
    properties?: Record<string, TSchema>
    items?: TSchema
  }
  if (anyOf !== undefined) return [...new Set(anyOf.flatMap((one) => leaves(one, path)))]
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([name, one]) => leaves(one, `${path}.${name}`))
  if (items !== undefined) return leaves(items, `${path}.0`)
  return schema === undefined ? [] : [path]
}

function belongsToNobody(operation: string, field: string): boolean {
  return field in BELONGS_TO_NOBODY || `${operation} ${field}` in BELONGS_TO_NOBODY
}

test('every id field of a route open to tenants names a thing that the tables know', () => {
  const unknown = fields.filter(
    ({ operation, path }) => kindOf(operation, path) === undefined && !belongsToNobody(operation, fieldName(path)),
  )
  assert.deepEqual(
    unknown.map(({ operation, path }) => `${operation} ${path}`),
    [],
  )
  const used = new Set(fields.flatMap(({ operation, path }) => [fieldName(path), `${operation} ${fieldName(path)}`]))
  assert.deepEqual(
    Object.keys(BELONGS_TO_NOBODY).filter((name) => !used.has(name)),
    [],
    'rows without a field',
  )
  assert.ok(fields.length > 100)
})

for (const { operation, route, path } of fields) {
  const kind = kindOf(operation, path)
  if (kind === undefined) continue
  test(`${operation} takes no ${kind} of another tenant in ${path}`, async () => {
    const { params = {}, query, body } = requestFor(operation, route, path, values)
    const url = route.path.replace(/\{(\w+)\*?\}/g, (_all, name: string) => encodeURIComponent(String(params[name])))
    const search = query === undefined ? '' : `?${new URLSearchParams(query).toString()}`
    const before_call = await changes()
    const reply = await lab.call(route.method, `${url}${search}`, body, { token: acme })
    if (routeEffect(route) === 'read' && reply.status === 200) {
      const shown = Object.entries(values.of_others).filter(
        ([one, id]) => !SITE_KINDS.includes(one) && reply.text.includes(id),
      )
      return assert.deepEqual(shown, [], reply.text)
    }
    assert.match(String(reply.body.code), codeFor(operation, path), reply.text)
    assert.ok([400, 403, 404].includes(reply.status) || reply.body.code === 'DNS_NOT_CONFIGURED', reply.text)
    assert.deepEqual(await changes(), before_call, 'nothing was asked of the platform')
  })
}

/** Calls to the platform that are no reads. */
async function changes(): Promise<string[]> {
  const { calls } = (await (await fetch(`${lab.platform.control_url}/calls`)).json()) as {
    calls: { command: string }[]
  }
  return calls.map((call) => call.command).filter((command) => !/^(list|query|get|find)/.test(command))
}
