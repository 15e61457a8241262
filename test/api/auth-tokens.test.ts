// Programs: API tokens, the cluster's own credential, tickets for streams, the audit.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type CallAnswer, call } from '../support/api-call.ts'
import { type AuthService, startAuthService } from '../support/auth-service.ts'
import { until } from '../support/until.ts'

const CLUSTER_SECRET = 'cluster-secret-4be1a7'
const PASSWORD = 'correct horse battery'
/** Credentials are cached for ten seconds: whoever waits for that is too late. */
const CACHED_MS = 9000

let service: AuthService
before(async () => {
  service = await startAuthService({ auth: { cluster_secret: CLUSTER_SECRET } })
})
after(() => service.stop())

const admin = (method: string, path: string, body?: unknown): Promise<CallAnswer> =>
  call(service.url, method, path, { token: service.admin_token, ...(body === undefined ? {} : { body }) })

async function makeToken(body: object, maker = service.admin_token): Promise<{ id: string; token: string }> {
  const answer = await call(service.url, 'POST', '/auth/tokens', {
    token: maker,
    body: { name: 'test', role: 'viewer', ...body },
  })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return { id: String(answer.body.id), token: String(answer.body.token) }
}

const me = (token: string, base = service.url): Promise<CallAnswer> => call(base, 'GET', '/auth/me', { token })

test('a token is shown once, and only its hash is kept', async () => {
  const { id, token } = await makeToken({ name: 'shown once' })
  assert.match(token, /^gp_[\w-]{43}$/)
  const later = await admin('GET', `/auth/tokens/${id}`)
  assert.equal(later.status, 200)
  assert.equal(later.body.prefix, token.slice(0, 9))
  assert.ok(!JSON.stringify(later.body).includes(token))
  const { db } = service.database
  const rows = await db.selectFrom('api_token').selectAll().execute()
  const events = await db.selectFrom('app_event').selectAll().execute()
  const stream = await db.selectFrom('stream_event').selectAll().execute()
  assert.ok(!JSON.stringify([rows, events, stream]).includes(token))
  assert.ok(!service.logged().includes(token))
})

test('a revoked token stops at once on every replica, and revoking it again is harmless', async () => {
  const other = await service.addReplica()
  const { id, token } = await makeToken({})
  assert.deepEqual([(await me(token)).status, (await me(token, other)).status], [200, 200])
  assert.equal((await admin('DELETE', `/auth/tokens/${id}`)).status, 200)
  const here = await me(token)
  assert.deepEqual([here.status, here.body.detail], [401, 'The API token has ended.'])
  await until('the other replica refuses it', async () => (await me(token, other)).status === 401, CACHED_MS)
  assert.equal((await admin('DELETE', `/auth/tokens/${id}`)).status, 200)
  assert.equal((await admin('GET', `/auth/tokens/${id}`)).body.state, 'REVOKED')
})

test('a token stops when its time has come, although it was used a moment before', async () => {
  const { id, token } = await makeToken({ expires_at: new Date(Date.now() + 1500).toISOString() })
  assert.equal((await me(token)).status, 200)
  await until('it has expired', async () => (await me(token)).status === 401, CACHED_MS)
  assert.equal((await me(token)).body.detail, 'The API token has expired.')
  assert.equal((await admin('GET', `/auth/tokens/${id}`)).body.state, 'EXPIRED')
})

test('an end in the past and two ends are refused', async () => {
  const refused = [
    { expires_at: '2020-01-01T00:00:00Z' },
    { expires_at: '2120-01-01T00:00:00Z', expires_in_days: 1 },
    { expires_in_days: 0 },
    { expires_at: 'tomorrow' },
    { expires_at: '9999-12-31T23:59:59-14:00' },
    { name: 'a\u0000b' },
    { role: 'cluster' },
    { name: '  ' },
  ]
  for (const body of refused) {
    const answer = await admin('POST', '/auth/tokens', { name: 'x', role: 'viewer', ...body })
    assert.equal(answer.status, 400, JSON.stringify(body))
  }
})

test('what is no credential of ours is 401, and the answer does not repeat it', async () => {
  const wrong = `gp_${'A'.repeat(43)}`
  for (const authorization of [
    `Bearer ${wrong}`,
    'Bearer planted-junk',
    'Basic cGxhbnRlZDpqdW5r',
    'Bearer a.b.c',
    'Bearer ',
  ]) {
    const answer = await call(service.url, 'GET', '/auth/me', { headers: { authorization } })
    assert.deepEqual([answer.status, answer.body.code], [401, 'UNAUTHENTICATED'], authorization)
    assert.doesNotMatch(JSON.stringify(answer.body), /planted|AAAA|cGxhb/)
  }
  assert.equal((await call(service.url, 'GET', '/auth/me')).status, 401)
  assert.doesNotMatch(service.logged(), /planted-junk|AAAAAAAA|cGxhbnRlZ/)
})

test('roles: a viewer manages no tokens, users or audit, and a tenant-scoped admin nothing beyond its tenant', async () => {
  const viewer = await makeToken({ role: 'operator' })
  const scoped = await makeToken({ role: 'admin', tenant_id: 'tenant-1' })
  for (const path of ['/auth/tokens', '/auth/users', '/auth/audit']) {
    const low = await call(service.url, 'GET', path, { token: viewer.token })
    assert.deepEqual([low.status, low.body.code], [403, 'FORBIDDEN'], path)
    const outside = await call(service.url, 'GET', path, { token: scoped.token })
    assert.deepEqual([outside.status, outside.body.code], [403, 'TENANT_SCOPE'], path)
  }
  const made = { token: scoped.token, body: { name: 'wider', role: 'admin' } }
  assert.equal((await call(service.url, 'POST', '/auth/tokens', made)).status, 403)
  assert.equal((await me(scoped.token)).body.tenant_id, 'tenant-1')
})

test('a token never has more right than the user who made it, and ends with that user', async () => {
  const user = (await admin('POST', '/auth/users', { username: 'maker', password: PASSWORD, role: 'admin' })).body
  const login = await call(service.url, 'POST', '/auth/login', { body: { username: 'maker', password: PASSWORD } })
  const made = await call(service.url, 'POST', '/auth/tokens', {
    cookie: `gp_session=${login.cookies.get('gp_session')?.value ?? ''}`,
    headers: { 'x-csrf-token': String(login.body.csrf_token) },
    body: { name: 'of maker', role: 'admin' },
  })
  const token = String(made.body.token)
  const grandchild = await makeToken({ role: 'admin' }, token)
  const rights = async (which: string) => {
    const { status, body } = await me(which)
    return [status, body.role, body.tenant_id]
  }
  assert.deepEqual(await rights(token), [200, 'admin', null])
  await admin('POST', '/auth/users', { username: 'spare-admin', password: PASSWORD, role: 'admin' })
  await admin('PUT', `/auth/users/${String(user.id)}`, { role: 'viewer', tenant_id: 'tenant-9' })
  assert.deepEqual(await rights(token), [200, 'viewer', 'tenant-9'])
  assert.deepEqual(await rights(grandchild.token), [200, 'viewer', 'tenant-9'])
  await admin('PUT', `/auth/users/${String(user.id)}`, { disabled: true })
  assert.equal((await me(token)).status, 401)
  await admin('DELETE', `/auth/users/${String(user.id)}`)
  assert.equal((await me(token)).body.detail, 'The API token is not known.')
})

test('the last way in for an admin cannot be revoked', async (t) => {
  const alone = await startAuthService({})
  t.after(() => alone.stop())
  const { admin_token: token, url } = alone
  const [first] = (await call(url, 'GET', '/auth/tokens', { token })).body.tokens as { id: string }[]
  const refused = await call(url, 'DELETE', `/auth/tokens/${first?.id ?? ''}`, { token })
  assert.deepEqual([refused.status, refused.body.code], [409, 'LAST_ADMIN'])
  assert.equal((await call(url, 'GET', '/auth/me', { token })).status, 200)
  const second = await call(url, 'POST', '/auth/tokens', { token, body: { name: 'second', role: 'admin' } })
  assert.equal((await call(url, 'DELETE', `/auth/tokens/${first?.id ?? ''}`, { token })).status, 200)
  assert.equal((await call(url, 'GET', '/auth/me', { token: String(second.body.token) })).status, 200)
})

test('use is recorded, but not with every request', async () => {
  const { id, token } = await makeToken({})
  assert.equal((await admin('GET', `/auth/tokens/${id}`)).body.last_used_at, null)
  await me(token)
  const used = async () => (await admin('GET', `/auth/tokens/${id}`)).body.last_used_at
  await until('the use is recorded', async () => (await used()) !== null)
  const first = await used()
  const other = await service.addReplica()
  await me(token, other)
  await me(token, other)
  assert.equal(await used(), first)
})

test('tokens are listed by state, name and page', async () => {
  await makeToken({ name: 'Listed A', tenant_id: 'tenant-list' })
  const { id } = await makeToken({ name: 'listed b', tenant_id: 'tenant-list' })
  await admin('DELETE', `/auth/tokens/${id}`)
  const names = async (query: string) => {
    const { body } = await admin('GET', `/auth/tokens?tenant_id=tenant-list&${query}`)
    return [body.count, (body.tokens as { name: string }[]).map((row) => row.name)]
  }
  assert.deepEqual(await names('name=LISTED'), [2, ['listed b', 'Listed A']])
  assert.deepEqual(await names('state=REVOKED'), [1, ['listed b']])
  assert.deepEqual(await names('page=2&page_size=1'), [2, ['Listed A']])
  const missing = await admin('GET', '/auth/tokens/0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11')
  assert.deepEqual([missing.status, missing.body.code], [404, 'TOKEN_NOT_FOUND'])
  assert.equal((await admin('GET', '/auth/tokens/not-a-uuid')).status, 400)
  const nul = ['tokens?name=%00', 'users?username=%00', 'audit?operation=%00', 'audit?from=0000-01-01T00:00:00Z']
  for (const path of nul) assert.equal((await admin('GET', `/auth/${path}`)).status, 400, path)
})

test('the cluster secret opens the calls between nodes and nothing else', async () => {
  assert.equal((await call(service.url, 'GET', '/probe/cluster', { token: CLUSTER_SECRET })).status, 200)
  assert.equal((await call(service.url, 'GET', '/probe/global', { token: CLUSTER_SECRET })).status, 403)
  assert.equal((await call(service.url, 'GET', '/probe/cluster', { token: `${CLUSTER_SECRET}x` })).status, 401)
  assert.equal((await call(service.url, 'GET', '/probe/cluster', { token: service.admin_token })).status, 403)
})

test('a ticket opens one stream once, with the rights of its caller, and nothing that is no stream', async () => {
  const { token } = await makeToken({ tenant_id: 'tenant-1' })
  const made = await call(service.url, 'POST', '/auth/tickets', { token })
  assert.equal(made.status, 201)
  const ticket = String(made.body.ticket)
  const life_s = (Date.parse(String(made.body.expires_at)) - Date.now()) / 1000
  assert.ok(life_s > 50 && life_s <= 61, `${life_s} s`)
  const open = (which: string) => call(service.url, 'GET', `/probe/stream?ticket=${which}`)
  assert.equal((await call(service.url, 'GET', `/auth/me?ticket=${ticket}`)).status, 401)
  const both = await Promise.all([open(ticket), open(ticket)])
  assert.deepEqual(
    both.map((answer) => answer.status).sort((a, b) => a - b),
    [200, 401],
  )
  assert.equal((await open('gpt_junk')).status, 401)
  assert.ok(!service.logged().includes(ticket))
})

test('a ticket is worth nothing after a minute, or when its token was revoked', async () => {
  const { id, token } = await makeToken({})
  const ticket = async () => String((await call(service.url, 'POST', '/auth/tickets', { token })).body.ticket)
  const open = async (which: string) => (await call(service.url, 'GET', `/probe/stream?ticket=${which}`)).status
  const [old, orphan] = [await ticket(), await ticket()]
  await service.database.db
    .updateTable('ticket')
    .set({ expires_at: new Date(Date.now() - 1) })
    .where('hash', '=', await sha256(old))
    .execute()
  assert.equal(await open(old), 401)
  await admin('DELETE', `/auth/tokens/${id}`)
  assert.equal(await open(orphan), 401)
})

test('a ticket for a path answers reads below it alone, again and again, as a viewer, until its token is revoked', async () => {
  const { id, token } = await makeToken({ role: 'admin' })
  const made = await call(service.url, 'POST', '/auth/tickets', { token, body: { path: '/probe' } })
  assert.equal(made.status, 201)
  const life_s = (Date.parse(String(made.body.expires_at)) - Date.now()) / 1000
  assert.ok(life_s > 3500 && life_s <= 3601, `${life_s} s`)
  const status = async (method: string, path: string, ticket = made.body.ticket) =>
    (await call(service.url, method, `${path}?ticket=${String(ticket)}`)).status
  for (const _again of [1, 2]) {
    assert.equal(await status('GET', '/probe/global'), 200)
    assert.equal(await status('GET', '/probe/stream'), 200)
  }
  assert.equal(await status('GET', '/auth/me'), 401)
  assert.equal(await status('POST', '/auth/tickets'), 401)
  const { body: wide } = await call(service.url, 'POST', '/auth/tickets', { token, body: { path: '/auth/' } })
  const { body: beside } = await call(service.url, 'POST', '/auth/tickets', { token, body: { path: '/probe/glob' } })
  assert.equal(await status('GET', '/auth/users', wide.ticket), 403)
  assert.equal(await status('GET', '/probe/global', beside.ticket), 401)
  for (const path of ['probe', '/probe/../auth', '/probe//x', '/probe?x=1', '/%2e', '']) {
    assert.equal((await call(service.url, 'POST', '/auth/tickets', { token, body: { path } })).status, 400, path)
  }
  await admin('DELETE', `/auth/tokens/${id}`)
  assert.equal(await status('GET', '/probe/global'), 401)
  assert.ok(!service.logged().includes(String(made.body.ticket)))
})

async function sha256(text: string): Promise<Buffer> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}

test('every change is in the audit with its caller, outcome and correlation id', async () => {
  const from = new Date(Date.now() - 1).toISOString()
  const { token } = await makeToken({ name: 'audited', role: 'admin' })
  const changed = await call(service.url, 'DELETE', '/auth/users/999999', { token })
  assert.equal(changed.status, 404)
  const correlation_id = String((await admin('POST', '/auth/logout')).headers.get('x-correlation-id'))
  const records = async (query: string) =>
    (await admin('GET', `/auth/audit?${query}`)).body.records as Record<string, unknown>[]
  const [record] = await records(`from=${from}&operation=userDelete&username=audited`)
  assert.deepEqual(
    [record?.path, record?.status, record?.code, record?.role, record?.caller_kind, record?.method],
    ['/auth/users/999999', 404, 'USER_NOT_FOUND', 'admin', 'token', 'DELETE'],
  )
  const [logout] = await records(`correlation_id=${correlation_id}`)
  assert.deepEqual([logout?.operation, logout?.status, logout?.code], ['authLogout', 200, null])
  assert.deepEqual(await records(`to=${from}&username=audited`), [])
})
