// A tenant that is deactivated: its own callers read and change nothing, on every route and every replica; admins act on.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startControlPlane } from '../../bin/control-plane.ts'
import { wellKnown } from '../../lab/site.ts'
import { areas } from '#src/contract/index.ts'
import { routeEffect, type RouteSpec } from '#src/contract/route.ts'
import { callerFor } from '../support/http.ts'
import { callsOf, NOBODY } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

const { acme, globex } = wellKnown.domains
let lab: Lab
const tokens = new Map<string, string>()

before(async () => {
  lab = await startLab({ config: { compute: { tenants_poll_ms: 200 } } })
  await until('the tenants are known', async () => (await lab.call('GET', `/admin/tenants/${acme}`)).status === 200)
  for (const [name, role, tenant_id] of [
    ['acme admin', 'admin', acme],
    ['acme operator', 'operator', acme],
    ['globex admin', 'admin', globex],
    ['operator', 'operator', null],
  ] as const) {
    const made = await lab.call('POST', '/auth/tokens', { name, role, tenant_id })
    tokens.set(name, made.body.token)
  }
  await setActive(false)
})
after(() => lab?.close())

async function setActive(is_active: boolean): Promise<void> {
  const set = await lab.call('PUT', `/admin/tenants/${acme}/status`, { is_active })
  assert.equal(set.status, 200, set.text)
}

/** Names what does not exist and carries a member that no body knows: whoever is let in does nothing. */
function harmless(route: RouteSpec): [string, string, unknown] {
  const path = route.path.replace(/\{(\w+)\*?\}/g, NOBODY)
  return [route.method, path, route.body === undefined ? undefined : { impossible_member: true }]
}

const as = (name: string) => ({ token: tokens.get(name) ?? '' })
const own = areas.flatMap((area) =>
  Object.entries(area.routes)
    .map(([operation, route]): { operation: string; route: RouteSpec } => ({ operation, route }))
    .filter(({ route }) => route.tenant === 'own' && route.kind !== 'sse'),
)

test('every change is 403 TENANT_INACTIVE for callers of the tenant, and every read is not', async () => {
  for (const { operation, route } of own) {
    // To sign out is no use of the tenant.
    const should = routeEffect(route) === 'change' && operation !== 'authLogout'
    const { status, body } = await lab.call(...harmless(route), as('acme admin'))
    assert.equal(status === 403 && body?.code === 'TENANT_INACTIVE', should, `${operation}: ${status} ${body?.code}`)
  }
})

test('the answer names the tenant and how it is activated, and nothing is asked of the platform', async () => {
  const { id } = (await lab.call('POST', '/compute/vms/getIdbyName', { name: 'web-01' })).body
  const refused = await lab.call('POST', '/compute/vms/start', { virtual_machine_id: id }, as('acme operator'))
  assert.deepEqual([refused.status, refused.body.code], [403, 'TENANT_INACTIVE'])
  assert.match(refused.body.detail, new RegExp(`${acme}.*PUT /admin/tenants/\\{id\\}/status`))
  assert.deepEqual(await callsOf(lab, 'startVirtualMachine'), [])
})

test('callers of no tenant, and of another one, may still change', async () => {
  for (const name of ['operator', 'globex admin']) {
    const { status, body } = await lab.call('POST', '/compute/vms/start', { virtual_machine_id: NOBODY }, as(name))
    assert.match(String(body.code), /_NOT_FOUND$/, `${name}: ${status}`)
  }
})

test('another replica, and a restarted one, know a change of the tenant with the next request', async (t) => {
  const other = await startControlPlane(
    { ...lab.config, listen: { ...lab.config.listen, port: 0 } },
    { connection: lab.database.connection, log: lab.control.log, admin_token: 'always' },
  )
  t.after(() => other.close())
  const ask = async (url: string): Promise<string> => {
    const answer = await callerFor(url, tokens.get('acme admin') ?? '')('POST', '/compute/vms/start', {
      virtual_machine_id: NOBODY,
    })
    return answer.body.code
  }
  assert.equal(await ask(other.url), 'TENANT_INACTIVE')
  await setActive(true)
  assert.match(await ask(other.url), /_NOT_FOUND$/)
  assert.match(await ask(lab.url), /_NOT_FOUND$/)
  await setActive(false)
  assert.equal(await ask(other.url), 'TENANT_INACTIVE')
  await lab.restart()
  assert.equal(await ask(lab.url), 'TENANT_INACTIVE')
})
