// Limits: how often a caller may call, an address sign in, and an address guess.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Reply } from '../support/http.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

const BURST = 25
const LOGINS = 1
/** What is used up stays so for ten seconds, and a sign-in for a minute. */
const RATE_LIMIT = { per_second: 0.1, burst: BURST, login_per_minute: LOGINS }
/** For who waits until it may call again. */
const PER_SECOND = 0.5

/** Callers that tests have used up do not disturb others: each test makes its own. */
async function tokenOf(lab: Lab, name: string): Promise<string> {
  const { status, body, text } = await lab.call('POST', '/auth/tokens', { name, role: 'viewer' })
  assert.equal(status, 201, text)
  return body.token
}

/** Asks until the answer is 429; answers how many were let in before. */
async function useUp(
  ask: () => Promise<Reply>,
  allowed: readonly number[],
): Promise<{ let_in: number; refused: Reply }> {
  for (let let_in = 0; let_in < 10 * BURST; let_in += 1) {
    const reply = await ask()
    if (reply.status === 429) return { let_in, refused: reply }
    assert.ok(allowed.includes(reply.status), reply.text)
  }
  throw new Error('nothing was ever refused')
}

function assertTooMany({ headers, body }: Reply): number {
  assert.equal(body.code, 'RATE_LIMITED')
  assert.match(headers.get('content-type') ?? '', /^application\/problem\+json/)
  const seconds = headers.get('retry-after') ?? ''
  assert.match(seconds, /^[1-9]\d*$/)
  assert.match(body.detail, new RegExp(`${seconds} s`))
  return Number(seconds)
}

suite('limits', () => {
  let lab: Lab
  before(async () => {
    lab = await startLab({ config: { rate_limit: { ...RATE_LIMIT, per_second: PER_SECOND } } })
  })
  after(() => lab?.close())

  test('a caller that has used its burst up is told when to come back, is let in then, and takes nothing from others', async () => {
    const [greedy, modest] = [await tokenOf(lab, 'greedy'), await tokenOf(lab, 'modest')]
    const ask = (token: string): Promise<Reply> => lab.call('GET', '/version', undefined, { token })
    const began = performance.now()
    const { let_in, refused } = await useUp(() => ask(greedy), [200])
    const came_back = ((performance.now() - began) / 1000) * PER_SECOND
    assert.ok(let_in >= BURST && let_in <= BURST + 1 + came_back, `${let_in} were let in`)
    const retry_after_s = assertTooMany(refused)
    assert.equal((await ask(modest)).status, 200)
    await pause(retry_after_s * 1000)
    assert.equal((await ask(greedy)).status, 200)
  })

  test('a caller is limited as itself on every route, whichever it calls', async () => {
    const token = await tokenOf(lab, 'wandering')
    await until('it is refused elsewhere, before a call has come back to it', async () => {
      await useUp(() => lab.call('GET', '/version', undefined, { token }), [200])
      return (await lab.call('POST', '/events/app-events', {}, { token })).status === 429
    })
  })
})

suite('limits of signing in', () => {
  let lab: Lab
  before(async () => {
    lab = await startLab({ config: { rate_limit: { ...RATE_LIMIT, burst: 10_000 } } })
    const made = await lab.call('POST', '/auth/users', {
      username: 'mira',
      password: 'correct horse battery',
      role: 'viewer',
    })
    assert.equal(made.status, 201, made.text)
  })
  after(() => lab?.close())

  const login = (username: string, password: string, headers: Record<string, string> = {}): Promise<Reply> =>
    lab.call('POST', '/auth/login', { username, password }, { token: null, headers })

  test('sign-in is limited by address: another name, the right password or a claimed address change nothing', async () => {
    let n = 0
    const { let_in, refused } = await useUp(() => login(`guess-${(n += 1)}`, 'wrong password'), [401])
    assert.equal(let_in, LOGINS)
    assertTooMany(refused)
    assert.equal((await login('mira', 'correct horse battery')).status, 429)
    assert.equal((await login('mira', 'correct horse battery', { 'x-forwarded-for': '198.51.100.9' })).status, 429)
    const start = await lab.call('GET', '/auth/oidc/start', undefined, { token: null })
    assert.equal(start.status, 429, 'the identity provider is no way round')
    assert.equal((await lab.call('GET', '/version')).status, 200, 'a token still works')
  })
})

suite('limits of guessing', () => {
  let lab: Lab
  before(async () => {
    lab = await startLab({ config: { rate_limit: RATE_LIMIT, listen: { port: 0, trust_proxy: true } } })
  })
  after(() => lab?.close())

  test('credentials that fail are limited by address, and who has a valid one still gets in from there', async () => {
    let n = 0
    const guess = (): Promise<Reply> => {
      n += 1
      return lab.call('GET', '/version', undefined, { token: `gp_${String(n).padStart(43, 'x')}` })
    }
    const began = performance.now()
    const { let_in, refused } = await useUp(guess, [401])
    const came_back = ((performance.now() - began) / 1000) * RATE_LIMIT.per_second
    assert.ok(let_in >= BURST && let_in <= BURST + 1 + came_back, `${let_in} guesses were let in`)
    assertTooMany(refused)
    assert.equal((await lab.call('GET', '/version')).status, 200)
  })

  test('nobody can be kept out by what another address did, where a trusted proxy tells addresses apart', async () => {
    const from = (address: string): Promise<Reply> =>
      lab.call('GET', '/version', undefined, { token: null, headers: { 'x-forwarded-for': address } })
    await useUp(() => from('198.51.100.1'), [401])
    assert.equal((await from('198.51.100.2')).status, 401)
    assert.equal((await from('198.51.100.1')).status, 429)
  })

  test('behind a proxy nobody chooses the address that is counted, neither by a header nor within an IPv6 network', async () => {
    const from = (addresses: string): Promise<Reply> =>
      lab.call('GET', '/version', undefined, { token: null, headers: { 'x-forwarded-for': addresses } })
    let n = 0
    const claiming = (): Promise<Reply> => {
      n += 1
      return from(`203.0.113.${n}, 198.51.100.3`)
    }
    await useUp(claiming, [401])
    await useUp(() => from('2001:db8::7:0:0:0:1'), [401])
    assert.equal((await from('2001:db8:0:7:ffff:1:2:3')).status, 429)
    assert.equal((await from('2001:db8:0:8::1')).status, 401)
  })
})
