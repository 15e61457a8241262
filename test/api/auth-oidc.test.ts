// The identity provider: access tokens of programs, and console sign-in by the authorization code.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type CallAnswer, call } from '../support/api-call.ts'
import { type AuthService, startAuthService } from '../support/auth-service.ts'
import { type OidcProvider, oidcClient, startOidcProvider } from '../support/oidc-provider.ts'

let provider: OidcProvider
let service: AuthService
before(async () => {
  provider = await startOidcProvider()
  service = await startAuthService(withProvider(provider.issuer))
})
after(async () => {
  await service.stop()
  await provider.close()
})
beforeEach(() => {
  provider.down = false
  provider.wrong_nonce = false
  provider.person = { sub: 'p-1', id_token: { preferred_username: 'mira', groups: ['ops'] }, userinfo: {} }
})

function withProvider(issuer: string): Parameters<typeof startAuthService>[0] {
  const roles = { readers: 'viewer', ops: 'operator', admins: 'admin' }
  return {
    // Only compared and redirected to; the test plays the browser and keeps to the real address.
    public_url: 'http://127.0.0.1:1',
    auth: { oidc: { issuer, ...oidcClient, roles, allow_http: true } },
  }
}

const me = (token: string): Promise<CallAnswer> => call(service.url, 'GET', '/auth/me', { token })

test('an access token of the provider has the highest role of its groups', async () => {
  const claims = { sub: 's-1', preferred_username: 'mira', groups: ['readers', 'ops', 'unknown'] }
  const wide = await me(await provider.accessToken(claims))
  assert.deepEqual(
    [wide.status, wide.body.kind, wide.body.id, wide.body.username, wide.body.role, wide.body.tenant_id],
    [200, 'oidc', 'oidc:s-1', 'mira', 'operator', null],
  )
})

test('an access token for somebody else, expired, forged, or of another issuer is 401', async () => {
  const claims = { sub: 's-1', groups: ['admins'] }
  const good = await provider.accessToken(claims)
  const refused = {
    'another audience': await provider.accessToken(claims, { audience: 'somebody-else' }),
    expired: await provider.accessToken(claims, { expires_in_s: -60 }),
    'another issuer': await provider.accessToken(claims, { issuer: 'https://elsewhere.test' }),
    forged: await provider.forgedToken(claims),
    unsigned: `${Buffer.from('{"alg":"none"}').toString('base64url')}.${good.split('.')[1] ?? ''}.AA`,
    'a subject with NUL': await provider.accessToken({ sub: 'a\u0000', groups: ['admins'] }),
    'no subject': await provider.accessToken({ groups: ['admins'] }),
  }
  for (const [why, token] of Object.entries(refused)) {
    const answer = await me(token)
    assert.deepEqual([answer.status, answer.body.code], [401, 'UNAUTHENTICATED'], why)
    assert.ok(!JSON.stringify(answer.body).includes(token))
    assert.ok(!service.logged().includes(token), why)
  }
  assert.equal((await me(good)).status, 200)
})

test('groups without a role give no right', async () => {
  provider.person = { sub: 's-3', id_token: {}, userinfo: {} }
  for (const claims of [{ groups: ['unknown'] }, {}, { groups: ['__proto__'] }]) {
    const answer = await me(await provider.accessToken({ sub: 's-3', ...claims }))
    assert.deepEqual([answer.status, answer.body.code], [403, 'FORBIDDEN'], JSON.stringify(claims))
  }
})

test('keys of the provider are fetched once; a provider that is down is 500 IDENTITY_UNAVAILABLE and no 401', async (t) => {
  const fetched = provider.requests.filter((path) => path === '/jwks').length
  for (let n = 0; n < 5; n++) await me(await provider.accessToken({ sub: `s-${n}`, groups: ['ops'] }))
  assert.ok(provider.requests.filter((path) => path === '/jwks').length - fetched <= 1)

  const dead = await startOidcProvider()
  dead.down = true
  const fresh = await startAuthService(withProvider(dead.issuer))
  t.after(async () => {
    await fresh.stop()
    await dead.close()
  })
  const token = await dead.accessToken({ sub: 's-1', groups: ['ops'] })
  const answer = await call(fresh.url, 'GET', '/auth/me', { token })
  assert.deepEqual([answer.status, answer.body.code], [500, 'IDENTITY_UNAVAILABLE'])
  const start = await call(fresh.url, 'GET', '/auth/oidc/start')
  assert.deepEqual([start.status, start.body.code], [500, 'IDENTITY_UNAVAILABLE'])
})

/** The browser's way to the provider and back, up to the address of our callback. */
async function goToProvider(return_to?: string): Promise<{ cookie: string; callback: string; authorize: URL }> {
  const query = return_to === undefined ? '' : `?return_to=${encodeURIComponent(return_to)}`
  const start = await call(service.url, 'GET', `/auth/oidc/start${query}`)
  assert.equal(start.status, 302, JSON.stringify(start.body))
  const authorize = new URL(start.headers.get('location') ?? '')
  const back = await fetch(authorize, { redirect: 'manual' })
  const address = new URL(back.headers.get('location') ?? '')
  const set = start.cookies.get('gp_oidc')
  assert.match(set?.attributes ?? '', /HttpOnly; SameSite=Lax$/)
  return { cookie: `gp_oidc=${set?.value ?? ''}`, callback: address.pathname + address.search, authorize }
}

test('a person signs in at the provider and has a session with the rights of the groups', async () => {
  const { cookie, callback, authorize } = await goToProvider('/console/?tab=vms')
  assert.equal(authorize.searchParams.get('code_challenge_method'), 'S256')
  assert.equal(authorize.searchParams.get('redirect_uri'), 'http://127.0.0.1:1/auth/oidc/callback')
  const back = await call(service.url, 'GET', callback, { cookie, headers: { 'sec-fetch-site': 'cross-site' } })
  assert.deepEqual([back.status, back.headers.get('location')], [302, '/console/?tab=vms'], JSON.stringify(back.body))
  assert.match(back.cookies.get('gp_session')?.attributes ?? '', /HttpOnly; SameSite=Strict$/)
  assert.match(back.cookies.get('gp_oidc')?.attributes ?? '', /Max-Age=0/)

  const session = `gp_session=${back.cookies.get('gp_session')?.value ?? ''}`
  const known = await call(service.url, 'GET', '/auth/me', { cookie: session })
  assert.deepEqual(
    [known.body.kind, known.body.id, known.body.username, known.body.role, known.body.user_id],
    ['session', 'oidc:p-1', 'mira', 'operator', null],
  )
  const headers = { 'x-csrf-token': String(known.body.csrf_token) }
  assert.equal((await call(service.url, 'POST', '/auth/logout', { cookie: session })).status, 403)
  assert.equal((await call(service.url, 'POST', '/auth/logout', { cookie: session, headers })).status, 200)
  assert.equal((await call(service.url, 'GET', '/auth/me', { cookie: session })).status, 401)
})

test('groups that stand only in the user info count too', async () => {
  provider.person = { sub: 'p-2', id_token: {}, userinfo: { groups: ['admins'], email: 'ada@example.test' } }
  const { cookie, callback } = await goToProvider()
  const back = await call(service.url, 'GET', callback, { cookie })
  assert.equal(back.headers.get('location'), '/')
  const session = `gp_session=${back.cookies.get('gp_session')?.value ?? ''}`
  const known = (await call(service.url, 'GET', '/auth/me', { cookie: session })).body
  assert.deepEqual([known.role, known.username], ['admin', 'ada@example.test'])
})

const rejected: Record<string, (trip: { cookie: string; callback: string }) => Promise<CallAnswer>> = {
  'the answer is used twice': async ({ cookie, callback }) => {
    assert.equal((await call(service.url, 'GET', callback, { cookie })).status, 302)
    const again = await call(service.url, 'GET', callback, { cookie })
    // Not because the provider knows the code no more: because the sign-in is gone here.
    assert.match(String(again.body.detail), /finished before/)
    return again
  },
  'another browser comes back': ({ callback }) => call(service.url, 'GET', callback, { cookie: 'gp_oidc=another' }),
  'the browser lost its cookie': ({ callback }) => call(service.url, 'GET', callback),
  'the state is invented': ({ cookie }) =>
    call(service.url, 'GET', '/auth/oidc/callback?code=x&state=invented', { cookie }),
  'the code is invented': ({ cookie, callback }) =>
    call(service.url, 'GET', callback.replace(/code=\w+/, 'code=invented'), { cookie }),
  'the nonce is not ours': ({ cookie, callback }) => {
    provider.wrong_nonce = true
    return call(service.url, 'GET', callback, { cookie })
  },
  'the provider refuses': ({ cookie, callback }) =>
    call(service.url, 'GET', callback.replace(/code=\w+/, 'error=access_denied'), { cookie }),
}
for (const [when, act] of Object.entries(rejected)) {
  test(`a sign-in is rejected when ${when}`, async () => {
    const answer = await act(await goToProvider())
    assert.deepEqual([answer.status, answer.body.code], [400, 'OIDC_REJECTED'], JSON.stringify(answer.body))
    assert.equal(answer.cookies.size, 0)
  })
}

test('a person whose groups have no role gets no session', async () => {
  provider.person.id_token = { groups: ['visitors'] }
  const { cookie, callback } = await goToProvider()
  const answer = await call(service.url, 'GET', callback, { cookie })
  assert.deepEqual([answer.status, answer.body.code, answer.cookies.size], [403, 'FORBIDDEN', 0])
})

test('a provider that fails while the code is exchanged is 500, not a rejection', async () => {
  const { cookie, callback } = await goToProvider()
  provider.down = true
  const answer = await call(service.url, 'GET', callback, { cookie })
  assert.deepEqual([answer.status, answer.body.code], [500, 'IDENTITY_UNAVAILABLE'])
})

test('the sign-in leads back to this service only', async () => {
  for (const path of [
    'https://elsewhere.test/',
    '//elsewhere.test',
    '/\\elsewhere.test',
    '/\t/elsewhere.test',
    'console',
    '/a\\b',
    '',
  ]) {
    const answer = await call(service.url, 'GET', `/auth/oidc/start?return_to=${encodeURIComponent(path)}`)
    assert.equal(answer.status, 400, path)
  }
})

test('state, nonce and verifier of a sign-in are not in the database in clear, and the event names the person', async () => {
  const { cookie, callback, authorize } = await goToProvider()
  const rows = await service.database.db.selectFrom('oidc_login').selectAll().execute()
  const stored = JSON.stringify(rows)
  assert.ok(rows.length > 0)
  for (const name of ['state', 'nonce']) assert.ok(!stored.includes(authorize.searchParams.get(name) ?? 'missing'))
  assert.ok(!/code_verifier|return_to/.test(stored))
  const back = await call(service.url, 'GET', callback, { cookie })
  const event = await service.database.db
    .selectFrom('app_event')
    .selectAll()
    .where('correlation_id', '=', back.headers.get('x-correlation-id') ?? '')
    .executeTakeFirstOrThrow()
  assert.deepEqual([event.action, event.status, event.resource_uuid], ['oidcCallback', 'SUCCESS', 'oidc:p-1'])
  const audit = await service.database.db
    .selectFrom('audit')
    .selectAll()
    .where('operation', '=', 'oidcCallback')
    .execute()
  assert.ok(audit.length > 0 && audit.every((line) => line.path === '/auth/oidc/callback'))
  const code = new URL(callback, service.url).searchParams.get('code') ?? 'missing'
  assert.ok(!service.logged().includes(code))
})

test('without an identity provider its sign-in says what to configure', async (t) => {
  const plain = await startAuthService({})
  t.after(() => plain.stop())
  const answer = await call(plain.url, 'GET', '/auth/oidc/start')
  assert.deepEqual([answer.status, answer.body.code], [500, 'IDENTITY_NOT_CONFIGURED'])
  assert.match(String(answer.body.detail), /auth\.oidc/)
})
