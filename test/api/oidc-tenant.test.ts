// The tenant of people and programs whom the identity provider vouches for: without one they are let in only where the
// configuration says so, and what cannot be read never widens a right.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type CallAnswer, call } from '../support/api-call.ts'
import { type AuthService, startAuthService } from '../support/auth-service.ts'
import { type OidcProvider, oidcClient, startOidcProvider } from '../support/oidc-provider.ts'

const TENANT = '7e57ab1e-0000-4000-8000-00000000acfe'

let provider: OidcProvider
let service: AuthService
before(async () => {
  provider = await startOidcProvider()
  service = await startAuthService({
    public_url: 'http://127.0.0.1:1',
    auth: {
      oidc: {
        issuer: provider.issuer,
        ...oidcClient,
        roles: { readers: 'viewer', ops: 'operator', admins: 'admin' },
        tenant_claim: 'org.tenant',
        roles_without_tenant: ['admin'],
        allow_http: true,
      },
    },
  })
  await service.database.db
    .insertInto('tenant')
    .values({ id: TENANT, name: 'acme', source: 'platform', created_by: 'test' })
    .execute()
})
after(async () => {
  await service?.stop()
  await provider?.close()
})
beforeEach(() => {
  provider.userinfo_status = 200
  provider.person = { sub: 'p-1', id_token: {}, userinfo: {} }
})

type Claims = Record<string, unknown>
interface Vouched {
  /** In the access token or the ID token. */
  token: Claims
  userinfo?: Claims
}

let subjects = 0

/** What the caller is told about itself. */
const ways: Record<string, (vouched: Vouched) => Promise<CallAnswer>> = {
  'a bearer token': async ({ token, userinfo = {} }) => {
    // Another subject each time, so that nothing is remembered from the try before.
    const sub = `s-${subjects++}`
    provider.person = { sub, id_token: {}, userinfo }
    return call(service.url, 'GET', '/auth/me', { token: await provider.accessToken({ sub, ...token }) })
  },
  'a sign-in': async ({ token, userinfo = {} }) => {
    provider.person = { sub: 'p-1', id_token: token, userinfo }
    const start = await call(service.url, 'GET', '/auth/oidc/start')
    const back = await fetch(start.headers.get('location') ?? '', { redirect: 'manual' })
    const address = new URL(back.headers.get('location') ?? '')
    const cookie = `gp_oidc=${start.cookies.get('gp_oidc')?.value ?? ''}`
    const finished = await call(service.url, 'GET', address.pathname + address.search, { cookie })
    if (finished.status !== 302) return finished
    const session = `gp_session=${finished.cookies.get('gp_session')?.value ?? ''}`
    return call(service.url, 'GET', '/auth/me', { cookie: session })
  },
}

const refused: Record<string, { vouched: Vouched; says: RegExp }> = {
  'no tenant anywhere': { vouched: { token: { groups: ['ops'] } }, says: /org\.tenant.*auth\.oidc\.roles_without_tenant/s },
  'a tenant that is null': { vouched: { token: { groups: ['ops'], org: { tenant: null } } }, says: /org\.tenant/ },
  'a number': { vouched: { token: { groups: ['admins'], org: { tenant: 7 } } }, says: /org\.tenant.*number/ },
  'an empty text': { vouched: { token: { groups: ['admins'], org: { tenant: '' } } }, says: /org\.tenant.*empty/ },
  'a list': { vouched: { token: { groups: ['admins'], org: { tenant: [TENANT] } } }, says: /org\.tenant.*array/ },
  'an object': { vouched: { token: { groups: ['admins'], org: { tenant: { id: TENANT } } } }, says: /org\.tenant.*object/ },
  'a tenant that is not known': {
    vouched: { token: { groups: ['admins'], org: { tenant: 'nobody' } } },
    says: /nobody.*org\.tenant/s,
  },
  'an empty text in the user info': {
    vouched: { token: { groups: ['admins'] }, userinfo: { org: { tenant: '' } } },
    says: /org\.tenant.*empty/,
  },
} // biome-ignore format: a table

for (const [way, arrive] of Object.entries(ways)) {
  for (const [what, { vouched, says }] of Object.entries(refused)) {
    test(`${way} with ${what} is refused, and the answer names the claim`, async () => {
      const answer = await arrive(vouched)
      assert.deepEqual([answer.status, answer.body.code], [403, 'FORBIDDEN'], JSON.stringify(answer.body))
      assert.match(String(answer.body.detail), says)
    })
  }

  test(`${way} without a tenant keeps all tenants for a role that the configuration names`, async () => {
    const answer = await arrive({ token: { groups: ['ops', 'admins'] } })
    assert.deepEqual([answer.status, answer.body.role, answer.body.tenant_id], [200, 'admin', null])
  })

  test(`${way} has the tenant of its claim, from the token or the user info, and the token wins`, async () => {
    const mine = { org: { tenant: TENANT } }
    for (const vouched of [
      { token: { groups: ['ops'], ...mine } },
      { token: { groups: ['ops'], org: { unit: 'x' } }, userinfo: mine },
      { token: {}, userinfo: { groups: ['ops'], ...mine } },
      { token: { groups: ['ops'], ...mine }, userinfo: { org: { tenant: 'another' } } },
    ]) {
      const answer = await arrive(vouched)
      assert.deepEqual(
        [answer.status, answer.body.role, answer.body.tenant_id],
        [200, 'operator', TENANT],
        JSON.stringify([vouched, answer.body]),
      )
    }
  })
}

const asked = (): number => provider.requests.filter((path) => path === '/userinfo').length

test('the user info of a bearer token counts only for the same subject', async () => {
  provider.person = { sub: 'another', id_token: {}, userinfo: { groups: ['admins'], org: { tenant: TENANT } } }
  const token = await provider.accessToken({ sub: 's-mine', groups: ['ops'] })
  const answer = await call(service.url, 'GET', '/auth/me', { token })
  assert.deepEqual([answer.status, answer.body.code], [401, 'UNAUTHENTICATED'], JSON.stringify(answer.body))
})

test('a bearer token that says everything itself does not make us ask for the user info', async () => {
  const before_call = asked()
  const token = await provider.accessToken({ sub: 's-whole', groups: ['ops'], org: { tenant: TENANT } })
  assert.equal((await call(service.url, 'GET', '/auth/me', { token })).status, 200)
  assert.equal(asked(), before_call)
})

test('the user info of one token is asked for once, however many requests come', async () => {
  provider.person = { sub: 's-many', id_token: {}, userinfo: { org: { tenant: 'nobody' } } }
  const token = await provider.accessToken({ sub: 's-many', groups: ['ops'] })
  const before_calls = asked()
  // Refused each time, so that the memory of accepted credentials does not hide repeated questions.
  for (let n = 0; n < 5; n++) assert.equal((await call(service.url, 'GET', '/auth/me', { token })).status, 403)
  assert.equal(asked(), before_calls + 1)
})

test('a token that the user info does not take counts by itself; a provider that fails there is an outage', async () => {
  provider.userinfo_status = 401
  const machine = await provider.accessToken({ sub: 's-machine', groups: ['admins'] })
  assert.equal((await call(service.url, 'GET', '/auth/me', { token: machine })).body.role, 'admin')
  provider.userinfo_status = 503
  const other = await provider.accessToken({ sub: 's-other', groups: ['admins'] })
  const answer = await call(service.url, 'GET', '/auth/me', { token: other })
  assert.deepEqual([answer.status, answer.body.code], [500, 'IDENTITY_UNAVAILABLE'])
})
