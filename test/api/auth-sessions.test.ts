// People: signing in and out, the CSRF rule, users and their rights.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type CallAnswer, type CallOptions, call } from '../support/api-call.ts'
import { createSignInCode } from '#src/modules/auth/first-admin.ts'
import { type AuthService, startAuthService } from '../support/auth-service.ts'
import { until } from '../support/until.ts'

const PASSWORD = 'correct horse battery'

let service: AuthService
before(async () => {
  service = await startAuthService({})
})
after(() => service.stop())

const admin = (method: string, path: string, body?: unknown): Promise<CallAnswer> =>
  call(service.url, method, path, { token: service.admin_token, ...(body === undefined ? {} : { body }) })

async function makeUser(username: string, role: string, more: object = {}): Promise<number> {
  const { status, body } = await admin('POST', '/auth/users', { username, password: PASSWORD, role, ...more })
  assert.equal(status, 201, JSON.stringify(body))
  return Number(body.id)
}

interface Browser {
  cookie: string
  csrf_token: string
  send(method: string, path: string, options?: CallOptions): Promise<CallAnswer>
}

async function signIn(username: string, password = PASSWORD, base = service.url): Promise<Browser> {
  const answer = await call(base, 'POST', '/auth/login', { body: { username, password } })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const cookie = `gp_session=${answer.cookies.get('gp_session')?.value ?? ''}`
  const csrf_token = String(answer.body.csrf_token)
  return {
    cookie,
    csrf_token,
    send: (method, path, options = {}) =>
      call(base, method, path, { ...options, cookie, headers: { 'x-csrf-token': csrf_token, ...options.headers } }),
  }
}

test('a user signs in, is known by the cookie, and is a stranger after signing out', async () => {
  await makeUser('mira', 'operator')
  const browser = await signIn('MIRA')
  const me = await browser.send('GET', '/auth/me')
  assert.equal(me.status, 200)
  assert.deepEqual(
    { kind: me.body.kind, username: me.body.username, role: me.body.role, csrf_token: me.body.csrf_token },
    { kind: 'session', username: 'mira', role: 'operator', csrf_token: browser.csrf_token },
  )
  const out = await browser.send('POST', '/auth/logout')
  assert.equal(out.status, 200)
  assert.match(out.cookies.get('gp_session')?.attributes ?? '', /Max-Age=0/)
  const later = await browser.send('GET', '/auth/me')
  assert.equal(later.status, 401)
  assert.equal(later.body.code, 'UNAUTHENTICATED')
})

test('who signs in again with the cookie of an ended session gets a new one', async () => {
  await makeUser('again', 'viewer')
  const old = await signIn('again')
  await old.send('POST', '/auth/logout')
  const body = { username: 'again', password: PASSWORD }
  const answer = await call(service.url, 'POST', '/auth/login', { cookie: old.cookie, body })
  assert.equal(answer.status, 200)
})

test('a wrong password and an unknown name get the same answer after about the same work', async () => {
  await makeUser('nina', 'viewer')
  // Time of the processor, which other programs do not lengthen.
  const attempt = async (username: string): Promise<{ ms: number; answer: CallAnswer }> => {
    const before_attempt = process.cpuUsage()
    const answer = await call(service.url, 'POST', '/auth/login', { body: { username, password: 'wrong password 1' } })
    const { user, system } = process.cpuUsage(before_attempt)
    return { ms: (user + system) / 1000, answer }
  }
  const known = await attempt('nina')
  const unknown = await attempt('nobody')
  for (const { answer } of [known, unknown]) {
    assert.equal(answer.status, 401)
    assert.equal(answer.body.code, 'LOGIN_FAILED')
    assert.equal(answer.cookies.size, 0)
  }
  assert.equal(known.answer.body.detail, unknown.answer.body.detail)
  assert.ok(unknown.ms > known.ms / 4, `unknown ${unknown.ms} ms, known ${known.ms} ms`)
})

test('a user name that cannot exist is refused before the database sees it', async () => {
  const body = { username: 'a\u0000b', password: PASSWORD }
  assert.equal((await call(service.url, 'POST', '/auth/login', { body })).status, 400)
})

test('sign-in attempts of one address are limited', async (t) => {
  const strict = await startAuthService({ login_per_minute: 1 })
  t.after(() => strict.stop())
  const attempt = () => call(strict.url, 'POST', '/auth/login', { body: { username: 'x', password: 'y' } })
  assert.equal((await attempt()).status, 401)
  const second = await attempt()
  assert.equal(second.status, 429)
  assert.ok(Number(second.headers.get('retry-after')) >= 1)
})

test('a session changes nothing without its CSRF token, from another site, or from another origin', async () => {
  const id = await makeUser('carl', 'admin')
  const browser = await signIn('carl')
  const refused: CallOptions[] = [
    { headers: { 'x-csrf-token': '' } },
    { headers: { 'x-csrf-token': 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' } },
    { headers: { 'sec-fetch-site': 'cross-site' } },
    { headers: { 'sec-fetch-site': 'same-site' } },
    { headers: { origin: 'https://elsewhere.test' } },
  ]
  for (const options of refused) {
    const answer = await browser.send('PUT', `/auth/users/${id}`, { ...options, body: { disabled: true } })
    assert.equal(answer.status, 403, JSON.stringify(options))
    assert.equal(answer.body.code, 'CSRF_REJECTED')
  }
  assert.equal((await admin('GET', `/auth/users/${id}`)).body.disabled, false)
  const ours = { headers: { 'sec-fetch-site': 'same-origin', origin: service.url }, body: { role: 'admin' } }
  assert.equal((await browser.send('PUT', `/auth/users/${id}`, ours)).status, 200)
})

test('a page of another site cannot sign its visitor in', async () => {
  const answer = await call(service.url, 'POST', '/auth/login', {
    headers: { 'sec-fetch-site': 'cross-site' },
    body: { username: 'mira', password: PASSWORD },
  })
  assert.equal(answer.status, 403)
})

test('a session cookie opens no socket for a page of another origin', async () => {
  await makeUser('wes', 'viewer')
  const browser = await signIn('wes')
  // The fetch of this test cannot upgrade; the credential is resolved before that matters.
  const { request } = await import('node:http')
  const status = await new Promise<number>((resolve, reject) => {
    request(new URL('/auth/me', service.url), {
      headers: {
        cookie: browser.cookie,
        origin: 'https://elsewhere.test',
        connection: 'upgrade',
        upgrade: 'websocket',
      },
    })
      .on('response', (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      .on('error', reject)
      .end()
  })
  assert.equal(status, 403)
})

test('the cookie is HttpOnly, strict, and secure everywhere but on plain loopback', async () => {
  await makeUser('vera', 'viewer')
  const body = { username: 'vera', password: PASSWORD }
  const plain = await call(service.url, 'POST', '/auth/login', { body })
  assert.match(plain.cookies.get('gp_session')?.attributes ?? '', /^Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/)
  const proxied = await call(service.url, 'POST', '/auth/login', { body, headers: { 'x-forwarded-proto': 'https' } })
  const secure = proxied.cookies.get('__Host-gp_session')
  assert.match(secure?.attributes ?? '', /^Path=\/; Max-Age=43200; HttpOnly; Secure; SameSite=Strict$/)
  const cookie = `gp_session=${secure?.value ?? ''}`
  const headers = { 'x-forwarded-proto': 'https' }
  assert.equal((await call(service.url, 'GET', '/auth/me', { cookie, headers })).status, 401)
})

test('disabling, demoting or giving a new password counts at once in open sessions', async () => {
  const id = await makeUser('otto', 'operator')
  const first = await signIn('otto')
  assert.equal((await first.send('GET', '/auth/me')).body.role, 'operator')
  await admin('PUT', `/auth/users/${id}`, { role: 'viewer', tenant_id: 'tenant-1' })
  const scoped = (await first.send('GET', '/auth/me')).body
  assert.deepEqual([scoped.role, scoped.tenant_id], ['viewer', 'tenant-1'])
  assert.equal((await first.send('GET', '/probe/global')).body.code, 'TENANT_SCOPE')
  await admin('PUT', `/auth/users/${id}`, { password: 'another long password' })
  assert.equal((await first.send('GET', '/auth/me')).status, 401)
  const second = await signIn('otto', 'another long password')
  await admin('PUT', `/auth/users/${id}`, { disabled: true })
  assert.equal((await second.send('GET', '/auth/me')).status, 401)
  const body = { username: 'otto', password: 'another long password' }
  assert.equal((await call(service.url, 'POST', '/auth/login', { body })).status, 401)
})

test('who changes the own password keeps this session and loses the others', async () => {
  await makeUser('paul', 'viewer')
  const [here, there] = [await signIn('paul'), await signIn('paul')]
  assert.equal((await there.send('GET', '/auth/me')).status, 200)
  const change = (current_password: string, new_password: string): Promise<CallAnswer> =>
    here.send('POST', '/auth/me/password', { body: { current_password, new_password } })
  const wrong = await change('not the password', 'a brand new password')
  assert.equal(wrong.status, 400)
  assert.match(JSON.stringify(wrong.body.errors), /body\.current_password/)
  assert.equal((await change(PASSWORD, 'short')).status, 400)
  assert.equal((await change(PASSWORD, 'a brand new password')).status, 200)
  assert.equal((await here.send('GET', '/auth/me')).status, 200)
  assert.equal((await there.send('GET', '/auth/me')).status, 401)
  await signIn('paul', 'a brand new password')
})

test('an API token has no password to change', async () => {
  const body = { current_password: 'x', new_password: 'a brand new password' }
  assert.equal((await admin('POST', '/auth/me/password', body)).status, 403)
})

test('user names are unique without regard to case, and passwords have 12 characters at least', async () => {
  await makeUser('Quinn', 'viewer')
  const twice = await admin('POST', '/auth/users', { username: 'quinn', password: PASSWORD, role: 'viewer' })
  assert.deepEqual([twice.status, twice.body.code], [409, 'USER_EXISTS'])
  const short = await admin('POST', '/auth/users', { username: 'rosa', password: 'elevenchars', role: 'viewer' })
  assert.equal(short.status, 400)
  assert.equal(
    (await admin('POST', '/auth/users', { username: 'a b', password: PASSWORD, role: 'viewer' })).status,
    400,
  )
})

test('the last admin user stays an enabled admin of no tenant, also when two requests race', async (t) => {
  const alone = await startAuthService({})
  t.after(() => alone.stop())
  const ask = (method: string, path: string, body?: unknown): Promise<CallAnswer> =>
    call(alone.url, method, path, { token: alone.admin_token, ...(body === undefined ? {} : { body }) })
  const make = async (username: string) =>
    Number((await ask('POST', '/auth/users', { username, password: PASSWORD, role: 'admin' })).body.id)
  const [one, two] = [await make('one'), await make('two')]
  const both = await Promise.all([ask('DELETE', `/auth/users/${one}`), ask('DELETE', `/auth/users/${two}`)])
  assert.deepEqual(
    both.map((answer) => answer.status).sort((a, b) => a - b),
    [200, 409],
  )
  const left = Number(((await ask('GET', '/auth/users')).body.users as { id: number }[])[0]?.id)
  for (const body of [{ role: 'operator' }, { disabled: true }, { tenant_id: 'tenant-1' }]) {
    const answer = await ask('PUT', `/auth/users/${left}`, body)
    assert.deepEqual([answer.status, answer.body.code], [409, 'LAST_ADMIN'], JSON.stringify(body))
  }
  const left_over = (await ask('GET', `/auth/users/${left}`)).body
  assert.deepEqual([left_over.role, left_over.disabled, left_over.tenant_id], ['admin', false, null])
})

test('users are listed by filter and page; a deleted one is gone with its session', async () => {
  const id = await makeUser('zoe', 'viewer', { tenant_id: 'tenant-z' })
  const browser = await signIn('zoe')
  const page = (await admin('GET', '/auth/users?username=ZO&tenant_id=tenant-z&page_size=1')).body
  assert.deepEqual([page.count, page.page_size, (page.users as { username: string }[])[0]?.username], [1, 1, 'zoe'])
  assert.equal((await admin('DELETE', `/auth/users/${id}`)).status, 200)
  assert.equal((await browser.send('GET', '/auth/me')).status, 401)
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', { role: 'admin' }],
    ['DELETE', undefined],
  ] as const) {
    const gone = await admin(method, `/auth/users/${id}`, body)
    assert.deepEqual([gone.status, gone.body.code], [404, 'USER_NOT_FOUND'], method)
  }
})

test('a session ends by its age', async (t) => {
  const brief = await startAuthService({ auth: { session_hours: 0.1 } })
  t.after(() => brief.stop())
  const token = brief.admin_token
  await call(brief.url, 'POST', '/auth/users', { token, body: { username: 'ivy', password: PASSWORD, role: 'viewer' } })
  const browser = await signIn('ivy', PASSWORD, brief.url)
  // The database decides about time: the session is made old there, before anything about it is remembered.
  await brief.database.db
    .updateTable('session')
    .set({ expires_at: new Date(Date.now() - 1000) })
    .execute()
  const answer = await browser.send('GET', '/auth/me')
  assert.deepEqual([answer.status, answer.body.detail], [401, 'The session has expired.'])
})

test('an admin sees who is signed in and when each was last there, and signs somebody out', async () => {
  await makeUser('uma', 'operator')
  const [first, second] = [await signIn('uma'), await signIn('uma')]
  const list = async (query: string) => (await admin('GET', `/auth/sessions?${query}`)).body
  const { sessions, count } = (await list('username=UMA')) as { sessions: Record<string, unknown>[]; count: number }
  assert.equal(count, 2)
  assert.deepEqual([sessions[0]?.username, sessions[0]?.role, sessions[0]?.tenant_id], ['uma', 'operator', null])
  const [newest, oldest] = [String(sessions[0]?.id), String(sessions[1]?.id)]

  // Neither session has been used yet, so the first use is looked up.
  const long_ago = new Date(Date.now() - 300_000)
  await service.database.db.updateTable('session').set({ seen_at: long_ago }).where('id', '=', oldest).execute()
  assert.equal((await first.send('GET', '/auth/me')).status, 200)
  await until('the use is seen', async () => {
    const { sessions: now } = (await list('username=uma')) as { sessions: { id: string; seen_at: string }[] }
    return Date.parse(now.find(({ id }) => id === oldest)?.seen_at ?? '') > long_ago.getTime() + 200_000
  })

  const ended = await admin('DELETE', `/auth/sessions/${newest}`)
  assert.deepEqual([ended.status, ended.body.message], [200, 'The session of uma has ended.'])
  assert.equal((await second.send('GET', '/auth/me')).status, 401)
  assert.equal((await first.send('GET', '/auth/me')).status, 200)
  assert.equal((await list('username=uma')).count, 1)
  const again = await admin('DELETE', `/auth/sessions/${newest}`)
  assert.deepEqual([again.status, again.body.code], [404, 'SESSION_NOT_FOUND'])
  assert.equal((await first.send('DELETE', `/auth/sessions/${oldest}`)).status, 403)
})

test('sign-ins and changes of users leave events and audit lines, and no password or session anywhere', async () => {
  const secret = 'planted-password-7c1f'
  await makeUser('planted', 'viewer', { password: secret })
  await call(service.url, 'POST', '/auth/login', { body: { username: 'planted', password: 'planted-wrong-password' } })
  const browser = await signIn('planted', secret)
  await browser.send('POST', '/auth/logout')

  const events = await service.database.db.selectFrom('app_event').selectAll().orderBy('created_at').execute()
  const mine = events.filter((event) => event.description.includes('planted'))
  assert.deepEqual(
    mine.map((event) => [event.action, event.resource_type, event.status]),
    [
      ['userCreate', 'USER', 'SUCCESS'],
      ['authLogin', 'SESSION', 'FAILED'],
      ['authLogin', 'SESSION', 'SUCCESS'],
    ],
  )
  const failed = (await admin('GET', '/auth/audit?operation=authLogin&status=401&page_size=1')).body
  assert.equal((failed.records as { code: string }[])[0]?.code, 'LOGIN_FAILED')

  const hidden = [
    secret,
    'planted-wrong-password',
    browser.cookie.split('=')[1] ?? '',
    browser.csrf_token,
    service.admin_token,
  ]
  const stored = JSON.stringify(await everything())
  for (const text of hidden) {
    assert.ok(text.length > 10)
    assert.ok(!stored.includes(text), 'a secret stands in the database')
    assert.ok(!service.logged().includes(text), 'a secret stands in the log')
  }
})

async function everything(): Promise<unknown[]> {
  const { db } = service.database
  const tables = [
    'user_account',
    'api_token',
    'session',
    'ticket',
    'oidc_login',
    'audit',
    'app_event',
    'stream_event',
    'idempotency',
  ] as const
  const all: unknown[] = []
  for (const table of tables) all.push(await db.selectFrom(table).selectAll().execute())
  return all.map((rows) =>
    JSON.stringify(rows, (_key, value: unknown) =>
      isBytes(value) ? Buffer.from(value.data).toString('latin1') : value,
    ),
  )
}

function isBytes(value: unknown): value is { type: 'Buffer'; data: number[] } {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer'
}

test('an API token opens a session with its rights, which ends with the token', async () => {
  const made = await admin('POST', '/auth/tokens', { name: 'for the console', role: 'operator' })
  const opened = await call(service.url, 'POST', '/auth/sessions', { body: { token: made.body.token } })
  assert.equal(opened.status, 201, JSON.stringify(opened.body))
  assert.deepEqual([opened.body.username, opened.body.role], ['for the console', 'operator'])
  const set = opened.cookies.get('gp_session')
  assert.match(set?.attributes ?? '', /HttpOnly; SameSite=Strict/)
  const cookie = `gp_session=${set?.value ?? ''}`
  const me = await call(service.url, 'GET', '/auth/me', { cookie })
  assert.deepEqual([me.status, me.body.kind, me.body.role], [200, 'session', 'operator'])
  const listed = await admin('GET', '/auth/sessions?username=for%20the%20console')
  assert.equal(listed.body.count, 1)
  const forged = await call(service.url, 'POST', '/auth/logout', { cookie })
  assert.equal(forged.body.code, 'CSRF_REJECTED')
  assert.equal((await admin('DELETE', `/auth/tokens/${String(made.body.id)}`)).status, 200)
  const later = await call(service.url, 'GET', '/auth/me', { cookie })
  assert.deepEqual([later.status, later.body.code], [401, 'UNAUTHENTICATED'])
})

test('a session of an API token does not outlive the end of the token', async () => {
  const expires_at = new Date(Date.now() + 600_000).toISOString()
  const made = await admin('POST', '/auth/tokens', { name: 'short', role: 'viewer', expires_at })
  const opened = await call(service.url, 'POST', '/auth/sessions', { body: { token: made.body.token } })
  assert.ok(Date.parse(String(opened.body.expires_at)) <= Date.parse(expires_at) + 1000, String(opened.body.expires_at))
})

test('a sign-in link opens one session and no second one, and no ticket is a sign-in link', async () => {
  const code = await createSignInCode(service, service.admin_token)
  const opened = await call(service.url, 'POST', '/auth/sessions', { body: { code } })
  assert.deepEqual([opened.status, opened.body.role], [201, 'admin'])
  const { body: stream } = await admin('POST', '/auth/tickets')
  for (const refused of [{ code }, { code: stream.ticket }, { code: 'gpl_unknown' }, { token: 'gp_unknown' }]) {
    const { status, body } = await call(service.url, 'POST', '/auth/sessions', { body: refused })
    assert.deepEqual([status, body.code], [401, 'LOGIN_FAILED'], JSON.stringify(refused))
  }
  const both = await call(service.url, 'POST', '/auth/sessions', { body: { code, token: 'gp_x' } })
  assert.deepEqual([both.status, both.body.code], [400, 'INVALID_REQUEST'])
  const origin = { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' }
  const elsewhere = await call(service.url, 'POST', '/auth/sessions', { body: { code }, headers: origin })
  assert.deepEqual([elsewhere.status, elsewhere.body.code], [403, 'CSRF_REJECTED'])
})
