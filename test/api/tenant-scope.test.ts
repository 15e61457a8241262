// A tenant-scoped caller has nothing to do with another: every route of the contract is held to it. Routes of no
// tenant answer 403 TENANT_SCOPE; each route with `tenant: 'own'` has a row in tenant-scope-rows.ts that says how it is tried.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { areas } from '#src/contract/index.ts'
import { routeEffect, type RouteSpec } from '#src/contract/route.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'
import { SCOPE_ROWS } from './tenant-scope-rows.ts'
import { type OtherTenant, otherTenantThings } from './other-tenant-things.ts'

let lab: Lab
let acme: string
let of_others: OtherTenant
let ticking: NodeJS.Timeout

before(async () => {
  lab = await startLab({ time: 'step', config: { compute: { tenants_poll_ms: 200 } } })
  ticking = setInterval(() => lab.platform.step(), 20)
  const token = await lab.call('POST', '/auth/tokens', {
    name: 'acme',
    role: 'admin',
    tenant_id: wellKnown.domains.acme,
  })
  acme = token.body.token
  of_others = await otherTenantThings(lab)
  await until(
    'the tenants are known',
    async () => (await lab.call('GET', `/admin/tenants/${of_others.tenant_id}`)).status === 200,
  )
})
after(async () => {
  clearInterval(ticking)
  await lab?.close()
})

const routes = areas.flatMap((area) => Object.entries(area.routes).map(([operation, route]) => ({ operation, route })))
const own = routes.filter(({ route }) => route.tenant === 'own')
const none = routes.filter(
  ({ route }) => route.tenant !== 'own' && !['public', 'cluster', 'callback'].includes(route.access),
)

function pathOf(route: RouteSpec, params: Record<string, unknown> = {}): string {
  return route.path.replace(/\{(\w+)\*?\}/g, (_all, name: string) => encodeURIComponent(String(params[name] ?? 'x')))
}

test('every route of a tenant has a row, and every row a route', () => {
  const named = own.map(({ operation }) => operation)
  assert.deepEqual(
    named.filter((operation) => SCOPE_ROWS[operation] === undefined),
    [],
    'routes without a row in tenant-scope-rows.ts',
  )
  assert.deepEqual(
    Object.keys(SCOPE_ROWS).filter((operation) => !named.includes(operation)),
    [],
    'rows without a route',
  )
})

for (const { operation, route } of none) {
  test(`${operation} belongs to no tenant: a tenant-scoped caller gets 403 TENANT_SCOPE`, async () => {
    const sent = route.method === 'GET' ? undefined : (route.example.body ?? {})
    const reply = await lab.call(route.method, pathOf(route, route.example.params), sent, { token: acme })
    assert.deepEqual([reply.status, reply.body?.code], [403, 'TENANT_SCOPE'], reply.text)
  })
}

for (const { operation, route } of own) {
  const row = SCOPE_ROWS[operation]
  if (row === undefined || row.kind === 'common') continue
  test(`${operation} ${row.kind === 'lists' ? 'shows a caller of acme nothing' : 'finds nothing'} of globex`, async () => {
    const input = row.input(of_others)
    const query = input.query === undefined ? '' : `?${input.query}`
    const ask = (token?: string) =>
      lab.call(route.method, `${pathOf(route, input.params)}${query}`, input.body, {
        headers: { prefer: 'wait=60' },
        ...(token === undefined ? {} : { token }),
      })
    if (row.kind === 'lists') {
      const everybody = await ask()
      assert.equal(everybody.status, 200, everybody.text)
      const scoped = await ask(acme)
      assert.equal(scoped.status, 200, scoped.text)
      for (const mark of row.marks(of_others)) {
        assert.ok(everybody.text.includes(mark), `an unbound caller sees ${mark}: else this test shows nothing`)
        assert.ok(!scoped.text.includes(mark), `a caller of acme sees ${mark}`)
      }
      return
    }
    const before_call = await changes()
    const reply = await ask(acme)
    assert.ok([400, 403, 404, 500].includes(reply.status), reply.text)
    assert.match(String(reply.body.code), row.code ?? /_NOT_FOUND$/, reply.text)
    if (routeEffect(route) === 'change')
      assert.deepEqual(await changes(), before_call, 'nothing was asked of the platform')
    if (routeEffect(route) === 'read') {
      const everybody = await ask()
      assert.ok(everybody.status === 200 || everybody.body.code !== reply.body.code, everybody.text)
    }
  })
}

/** Calls to the platform that are no reads. */
async function changes(): Promise<string[]> {
  const { calls } = (await (await fetch(`${lab.platform.control_url}/calls`)).json()) as {
    calls: { command: string }[]
  }
  return calls.map((call) => call.command).filter((command) => !/^(list|query|get|find)/.test(command))
}
