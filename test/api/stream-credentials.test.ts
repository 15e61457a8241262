// A stream ends with the credential that opened it, on whichever replica that happens.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type CallAnswer, call } from '../support/api-call.ts'
import { type AuthService, startAuthService } from '../support/auth-service.ts'
import { oidcClient, type OidcProvider, startOidcProvider } from '../support/oidc-provider.ts'
import { openStream, type SseReader } from '../support/sse-client.ts'
import { until } from '../support/until.ts'

const PASSWORD = 'correct horse battery'
/** Open streams are checked every 15 seconds: whoever waits for that is too late. */
const SWEPT_MS = 12_000

let provider: OidcProvider
let service: AuthService
/** The replica that holds the streams; rights change on the first one. */
let other: string
const streams: SseReader[] = []

before(async () => {
  provider = await startOidcProvider()
  const oidc = { issuer: provider.issuer, ...oidcClient, roles: { ops: 'operator' }, allow_http: true }
  service = await startAuthService({ auth: { oidc } })
  other = await service.addReplica()
})
after(async () => {
  for (const stream of streams) stream.close()
  await service?.stop()
  await provider?.close()
})

const admin = (method: string, path: string, body?: unknown): Promise<CallAnswer> =>
  call(service.url, method, path, { token: service.admin_token, ...(body === undefined ? {} : { body }) })

async function makeToken(more: object = {}): Promise<{ id: string; token: string }> {
  const { status, body } = await admin('POST', '/auth/tokens', { name: 'reader', role: 'viewer', ...more })
  assert.equal(status, 201, JSON.stringify(body))
  return { id: String(body.id), token: String(body.token) }
}

async function follow(token: string | null, query = ''): Promise<SseReader> {
  const stream = await openStream(`${other}/probe/follow${query}`, token)
  streams.push(stream)
  assert.equal(stream.status, 200)
  return stream
}

/**
 * Streams by a credential that expires soon, opened with itself and by a ticket: one that had expired before both were open is
 * made again with a longer life.
 */
async function expiring(make: (life_ms: number) => Promise<string>): Promise<SseReader[]> {
  for (let life_ms = 900; ; life_ms *= 3) {
    const token = await make(life_ms)
    const direct = await openStream(`${other}/probe/follow`, token)
    const ticket = await ticketOf(token)
    const by_ticket = await openStream(`${other}/probe/follow?ticket=${ticket}`, null)
    streams.push(direct, by_ticket)
    if (direct.status === 200 && by_ticket.status === 200) return [direct, by_ticket]
  }
}

async function ticketOf(token: string): Promise<string> {
  return String((await call(service.url, 'POST', '/auth/tickets', { token })).body.ticket)
}

/** Streams stay open for ever unless they are ended; the deadline of a test is a minute. */
async function endOf(stream: SseReader): Promise<string> {
  await stream.ended
  const last = stream.messages.at(-1)
  assert.equal(last?.event, 'closing')
  return String(last.data.reason)
}

test('streams of a token end when it is revoked on another replica, and those of others go on', async () => {
  const [revoked, unrevoked] = [await makeToken(), await makeToken()]
  const gone = await follow(revoked.token)
  const by_ticket = await follow(null, `?ticket=${await ticketOf(revoked.token)}`)
  const going_on = await follow(unrevoked.token)
  const made = await call(service.url, 'POST', '/auth/tickets', { token: unrevoked.token, body: { path: '/probe' } })
  const by_path = await follow(null, `?ticket=${String(made.body.ticket)}`)
  assert.equal((await admin('DELETE', `/auth/tokens/${revoked.id}`)).status, 200)
  const closing = (stream: SseReader) => stream.messages.at(-1)?.event === 'closing'
  await until('its streams end', () => closing(gone) && closing(by_ticket), SWEPT_MS)
  assert.equal(await endOf(gone), 'The API token has ended.')
  assert.equal(await endOf(by_ticket), 'The API token has ended.')
  assert.deepEqual([going_on.messages, by_path.messages], [[], []])
  assert.equal((await call(other, 'GET', '/auth/me', { token: unrevoked.token })).status, 200)
})

test('a stream ends when its token expires', async () => {
  const made = await expiring(
    async (life_ms) => (await makeToken({ expires_at: new Date(Date.now() + life_ms).toISOString() })).token,
  )
  for (const stream of made) assert.equal(await endOf(stream), 'The API token has expired.')
})

test('a stream ends when the access token of the identity provider expires, also one that was opened by a ticket', async () => {
  // Ten seconds of clocks that differ are allowed.
  const made = await expiring((life_ms) =>
    provider.accessToken({ sub: 'p-1', groups: ['ops'] }, { expires_in_s: Math.ceil(life_ms / 1000) - 9 }),
  )
  for (const stream of made) assert.equal(await endOf(stream), 'The access token has expired.')
})

for (const [what, change, reason] of [
  ['is disabled', { disabled: true }, 'The session has ended.'],
  ['gets another role', { role: 'viewer' }, 'The rights of the caller have changed.'],
  ['becomes tenant-scoped', { tenant_id: 't-1' }, 'The rights of the caller have changed.'],
] as const) {
  test(`a stream ends when its user ${what}`, async () => {
    const username = `user-${what.replaceAll(' ', '-')}`
    const { body } = await admin('POST', '/auth/users', { username, password: PASSWORD, role: 'operator' })
    const login = await call(other, 'POST', '/auth/login', { body: { username, password: PASSWORD } })
    const cookie = `gp_session=${login.cookies.get('gp_session')?.value ?? ''}`
    const { body: made } = await call(other, 'POST', '/auth/tickets', {
      cookie,
      headers: { 'x-csrf-token': String(login.body.csrf_token) },
    })
    const stream = await follow(null, `?ticket=${String(made.ticket)}`)
    assert.equal((await admin('PUT', `/auth/users/${String(body.id)}`, change)).status, 200)
    assert.equal(await endOf(stream), reason)
  })
}

test('a token that is revoked between the check of a stream and its opening keeps no stream', async () => {
  const { id, token } = await makeToken()
  const [stream] = await Promise.all([
    openStream(`${other}/probe/follow`, token),
    admin('DELETE', `/auth/tokens/${id}`),
  ])
  streams.push(stream)
  if (stream.status === 200) assert.equal(await endOf(stream), 'The API token has ended.')
  else assert.equal(stream.status, 401)
})
