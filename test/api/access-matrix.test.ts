// Who may call what, over HTTP: every mounted route with every kind of caller, against what the contract says.
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { wellKnown } from '../../lab/site.ts'
import { areas } from '#src/contract/index.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { contractTable } from '#src/modules/console/contract-table.ts'
import { consoleReasons } from '../support/console-reasons.ts'
import { NOBODY } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { onDatabase } from '../support/test-database.ts'

const CALLERS = [
  'no token', 'garbage', 'unknown', 'expired', 'revoked', 'viewer', 'operator', 'admin', 'cluster', 'tenant-scoped viewer', 'tenant-scoped admin',
] as const // biome-ignore format: one list
type Caller = (typeof CALLERS)[number]
type Outcome = 'allowed' | '401' | '403 FORBIDDEN' | '403 TENANT_SCOPE'

const CLUSTER_SECRET = 'matrix-cluster-secret'
/** An answer that takes longer than this fails the test. */
const PATIENCE_MS = 60_000

let lab: Lab
let mounted: { method: string; url: string; operation: string | undefined; access: string | undefined }[] = []
const tokens = new Map<Caller, string>()

before(async () => {
  const servers: (typeof mounted)[] = []
  const seen = (message: unknown): void => {
    const routes: typeof mounted = []
    servers.push(routes)
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', ({ method, url, config }) => {
      for (const one of [method].flat()) {
        routes.push({ method: one, url, operation: config?.operation, access: config?.route?.access })
      }
    })
  }
  subscribe('fastify.initialization', seen)
  lab = await startLab({ config: { auth: { cluster_secret: CLUSTER_SECRET } } })
  unsubscribe('fastify.initialization', seen)
  mounted = servers[0] ?? []
  await makeCallers()
})
after(() => lab?.close())

async function makeCallers(): Promise<void> {
  const made = async (role: string, tenant_id?: string): Promise<{ id: string; token: string }> => {
    const { status, body, text } = await lab.call('POST', '/auth/tokens', { name: `matrix ${role}`, role, tenant_id })
    assert.equal(status, 201, text)
    return body
  }
  const [expired, revoked] = [await made('admin'), await made('admin')]
  await onDatabase(lab.database.connection, (client) =>
    client.query(`update api_token set expires_at = now() - interval '1 second' where id = $1`, [expired.id]),
  )
  assert.equal((await lab.call('DELETE', `/auth/tokens/${revoked.id}`)).status, 200)
  tokens
    .set('garbage', 'not-a-token')
    .set('unknown', `gp_${'A'.repeat(43)}`)
    .set('expired', expired.token)
    .set('revoked', revoked.token)
    .set('viewer', (await made('viewer')).token)
    .set('operator', (await made('operator')).token)
    .set('admin', (await made('admin')).token)
    .set('cluster', CLUSTER_SECRET)
    .set('tenant-scoped viewer', (await made('viewer', wellKnown.domains.acme)).token)
    .set('tenant-scoped admin', (await made('admin', wellKnown.domains.acme)).token)
}

/** The rules of the contract, said once more and independently (api-conventions, Callers and rights). */
function expected(route: RouteSpec, caller: Caller): Outcome {
  if (route.access === 'public') return 'allowed'
  // A machine's callback carries a credential of its own; no token opens it, so it is nobody's.
  if (route.access === 'callback') return '401'
  switch (caller) {
    case 'no token':
    case 'garbage':
    case 'unknown':
    case 'expired':
    case 'revoked':
      return '401'
    case 'cluster':
      return route.access === 'cluster' || route.runs_on === 'node' ? 'allowed' : '403 FORBIDDEN'
    case 'viewer':
    case 'operator':
    case 'admin':
      return mayBy(route, caller) ? 'allowed' : '403 FORBIDDEN'
    case 'tenant-scoped viewer':
    case 'tenant-scoped admin':
      if (!mayBy(route, caller === 'tenant-scoped admin' ? 'admin' : 'viewer')) return '403 FORBIDDEN'
      return route.tenant === 'own' ? 'allowed' : '403 TENANT_SCOPE'
  }
}

function mayBy(route: RouteSpec, role: 'viewer' | 'operator' | 'admin'): boolean {
  const accepted = { viewer: ['viewer'], operator: ['viewer', 'operator'], admin: ['viewer', 'operator', 'admin'] }[
    role
  ]
  return accepted.includes(route.access)
}

/** Names what does not exist and carries a member that no body knows: where the caller is let in, nothing is done. */
async function outcome(route: RouteSpec, caller: Caller): Promise<string> {
  const path = route.path.replace(/\{(\w+)\*?\}/g, (_, name: string) => impossible(route, name))
  const token = tokens.get(caller)
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), PATIENCE_MS)
  try {
    const response = await fetch(`${lab.url}${path}`, {
      method: route.method,
      redirect: 'manual',
      signal: abort.signal,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(route.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(route.body === undefined ? {} : { body: JSON.stringify(bodyFor(route)) }),
    })
    if (response.status !== 401 && response.status !== 403) return 'allowed'
    if (response.status === 401) return '401'
    const { code } = (await response.json()) as { code: string }
    return `403 ${code}`
  } finally {
    clearTimeout(timer)
    abort.abort()
  }
}

/** A callback is judged by its handler, behind the schema: what it gets is well-formed, and nobody has signed it. */
function bodyFor(route: RouteSpec): unknown {
  return route.access === 'callback' ? route.example.body : { impossible_member: true }
}

function impossible(route: RouteSpec, name: string): string {
  const schema = route.params?.properties[name] as { type?: string } | undefined
  if (schema?.type === 'integer') return '999999999'
  return /ip$/i.test(name) ? '192.0.2.254' : NOBODY
}

test('what is mounted is what the contract declares, no route more and none less, each with its access', () => {
  const declared = areas.flatMap((area) =>
    Object.entries(area.routes).map(([operation, { method, path, access }]) => {
      const url = path.replace(/\{\w+\*\}/, '*').replace(/\{(\w+)\}/g, ':$1')
      return `${method} ${url} ${operation} ${access}`
    }),
  )
  // The server answers HEAD wherever it answers GET, by the same hooks.
  const [heads, own] = [mounted.filter((one) => one.method === 'HEAD'), mounted.filter((one) => one.method !== 'HEAD')]
  const found = own.map(({ method, url, operation, access }) => `${method} ${url} ${operation} ${access}`)
  assert.ok(found.length > 0)
  assert.deepEqual(
    found.filter((one) => !declared.includes(one)),
    [],
    'mounted, but not in the contract',
  )
  assert.deepEqual(
    declared.filter((one) => !found.includes(one)),
    [],
    'in the contract, but not mounted',
  )
  assert.equal(found.length, declared.length)
  const gets = new Map(own.filter(({ method }) => method === 'GET').map(({ url, access }) => [url, access]))
  assert.deepEqual(
    heads.filter(({ url, access }) => gets.get(url) !== access),
    [],
  )
})

/** Who signs in at the console; the others have no page. */
const SIGNED_IN = ['viewer', 'operator', 'admin', 'tenant-scoped viewer', 'tenant-scoped admin'] as const
const { acme } = wellKnown.domains

/** What the console says of it before it is asked for, as the outcome that it predicts. */
async function outcomesInConsole(): Promise<(operation: string, caller: (typeof SIGNED_IN)[number]) => Outcome> {
  const whyNot = await consoleReasons()
  return (operation, caller) => {
    const role = caller.replace('tenant-scoped ', '') as 'viewer' | 'operator' | 'admin'
    const me = { username: caller, role, tenant_id: role === caller ? null : acme, expires_at: null }
    const why = whyNot(me, operation)
    if (why === null) return 'allowed'
    return why.startsWith('Needs the role') ? '403 FORBIDDEN' : '403 TENANT_SCOPE'
  }
}

test('the console predicts for everybody who signs in what the service lets them do', async () => {
  const inConsole = await outcomesInConsole()
  const table = contractTable()
  const wrong: string[] = []
  for (const [operation, route] of areas.flatMap(({ routes }) => Object.entries<RouteSpec>(routes))) {
    if (!(operation in table)) continue
    for (const caller of SIGNED_IN) {
      const [said, should] = [inConsole(operation, caller), expected(route, caller)]
      if (said !== should) wrong.push(`${operation} by ${caller}: ${said}, should be ${should}`)
    }
  }
  assert.deepEqual(wrong, [])
})

for (const area of areas) {
  test(`${area.name}: every route lets in and turns away whom the contract says`, { timeout: 300_000 }, async () => {
    const wrong: string[] = []
    let asked = 0
    for (const [operation, route] of Object.entries(area.routes)) {
      const outcomes = await Promise.all(CALLERS.map((caller) => outcome(route, caller)))
      for (const [index, caller] of CALLERS.entries()) {
        asked += 1
        const [found, should] = [outcomes[index], expected(route, caller)]
        if (found !== should) wrong.push(`${operation} by ${caller}: ${found}, should be ${should}`)
      }
    }
    assert.deepEqual(wrong, [])
    assert.equal(asked, Object.keys(area.routes).length * CALLERS.length)
  })
}
