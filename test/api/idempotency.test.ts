// Idempotent requests over HTTP: one effect and equal answers, whatever is sent twice and wherever.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { startControlPlane } from '../../bin/control-plane.ts'
import { createLog } from '#src/kernel/log.ts'
import { callerFor } from '../support/http.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
before(async () => {
  lab = await startLab()
})
after(() => lab.close())

const tokens = async (): Promise<number> => (await lab.call('GET', '/auth/tokens?page_size=500')).body.count
const create = (name: string, key: string, call = lab.call) =>
  call('POST', '/auth/tokens', { name, role: 'viewer' }, { headers: { 'idempotency-key': key } })

test('the same request sent twice with one key has one effect and two equal answers', async () => {
  const count = await tokens()
  const first = await create('one', 'key-one')
  const second = await create('one', 'key-one')
  assert.equal(first.status, second.status)
  assert.deepEqual(first.body, second.body)
  assert.equal(second.headers.get('x-correlation-id'), first.headers.get('x-correlation-id'))
  assert.equal(second.headers.get('idempotency-replayed'), 'true')
  assert.equal(await tokens(), count + 1)
})

test('the same request sent many times at the same instant has one effect', async () => {
  const count = await tokens()
  const replies = await Promise.all(Array.from({ length: 10 }, () => create('burst', 'key-burst')))
  assert.deepEqual(new Set(replies.map((reply) => reply.text)).size, 1)
  assert.equal(await tokens(), count + 1)
})

test('two replicas that get the same request at once do it once', async () => {
  const count = await tokens()
  const log = createLog({ level: 'error' })
  const other = await startControlPlane(lab.config, {
    connection: lab.database.connection,
    log,
    admin_token: 'first-start',
  })
  const call = callerFor(other.url, lab.token)
  const replies = await Promise.all([
    create('both', 'key-both'),
    create('both', 'key-both', call),
    create('both', 'key-both', call),
  ])
  await other.close()
  assert.deepEqual(new Set(replies.map((reply) => reply.text)).size, 1)
  assert.equal(await tokens(), count + 1)
})

test('the key with another body is refused, and changes nothing', async () => {
  await create('kept', 'key-kept')
  const count = await tokens()
  const { status, body } = await create('other', 'key-kept')
  assert.deepEqual([status, body.code], [409, 'IDEMPOTENCY_KEY_REUSED'])
  assert.equal(await tokens(), count)
})

test('a key that is longer than 255 characters is refused, and changes nothing', async () => {
  const count = await tokens()
  const { status, body } = await create('long', 'k'.repeat(256))
  assert.deepEqual([status, body.code], [400, 'INVALID_REQUEST'])
  assert.match(body.detail, /Idempotency-Key must have 1 to 255 characters/)
  assert.equal(await tokens(), count)
})

test('a body whose members stand in another order is the same request', async () => {
  const headers = { 'idempotency-key': 'key-order' }
  const first = await lab.call('POST', '/auth/tokens', '{"name":"order","role":"viewer"}', { headers })
  const second = await lab.call('POST', '/auth/tokens', '{"role":"viewer","name":"order"}', { headers })
  assert.equal(first.text, second.text)
})

test('a rejection before anything began is not kept: the corrected request may use the key', async () => {
  const bad = await lab.call(
    'POST',
    '/auth/tokens',
    { name: 'x', role: 'emperor' },
    { headers: { 'idempotency-key': 'key-bad' } },
  )
  assert.equal(bad.status, 400)
  assert.ok((await create('corrected', 'key-bad')).status < 300)
})

test('keys belong to their caller: another caller with the same key does its own work', async () => {
  const { body } = await lab.call('POST', '/auth/tokens', { name: 'second admin', role: 'admin' })
  const mine = await create('mine', 'key-shared')
  const theirs = await create('mine', 'key-shared', callerFor(lab.url, body.token))
  assert.notEqual(mine.text, theirs.text)
})

test('a token that was shown once stands nowhere in the database in clear, also with a key', async () => {
  const { body } = await create('encrypted', 'key-encrypted')
  const client = new pg.Client(lab.database.connection)
  await client.connect()
  const { rows } = await client.query(
    `select table_name from information_schema.tables where table_schema in ('public', 'pgboss') and table_type = 'BASE TABLE'`,
  )
  for (const { table_name } of rows) {
    const schema = (
      await client.query(`select table_schema from information_schema.tables where table_name = $1`, [table_name])
    ).rows[0].table_schema
    const { rows: found } = await client.query(
      `select count(*)::int as n from ${schema}."${table_name}" t where t::text like '%' || $1 || '%'`,
      [body.token],
    )
    assert.equal(found[0].n, 0, table_name)
  }
  await client.end()
  assert.doesNotMatch(lab.logs(), new RegExp(body.token))
})

test('a key of a caller who is not known means nothing: each sign-in is its own', async () => {
  const login = { username: 'keyed', password: 'correct horse battery' }
  const made = await lab.call('POST', '/auth/users', { ...login, role: 'viewer' })
  assert.equal(made.status, 201, made.text)
  const once = { token: null, headers: { 'idempotency-key': 'everybody-uses-this' } }
  const first = await lab.call('POST', '/auth/login', login, once)
  const second = await lab.call('POST', '/auth/login', login, once)
  const wrong = await lab.call('POST', '/auth/login', { ...login, password: 'wrong' }, once)
  assert.deepEqual([first.status, second.status, wrong.status], [200, 200, 401])
  assert.match(second.headers.get('set-cookie') ?? '', /^gp_session=./)
  assert.notEqual(second.body.csrf_token, first.body.csrf_token)
})
