// Application events and their live stream (`eventStream`), over HTTP.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { openStream } from '../support/sse-client.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
before(async () => {
  lab = await startLab()
})
after(() => lab.close())

let made = 0
/** Any change writes an event; making a token is a small one. */
async function change(): Promise<string> {
  made += 1
  const { status, headers } = await lab.call('POST', '/auth/tokens', { name: `t-${made}`, role: 'viewer' })
  assert.ok(status < 300)
  return headers.get('x-correlation-id') ?? ''
}

async function withDatabase<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(lab.database.connection)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

test('a change leaves one event row with the correlation id of its answer', async () => {
  const correlation_id = await change()
  const { body } = await lab.call('POST', '/events/app-events', { action: 'tokenCreate' })
  const rows = body.app_events.filter((row: { correlation_id: string }) => row.correlation_id === correlation_id)
  assert.equal(rows.length, 1)
  assert.deepEqual([rows[0].status, rows[0].resource_type, rows[0].username], ['SUCCESS', 'TOKEN', 'first admin token'])
  assert.ok(rows[0].completed_at >= rows[0].created_at)
  const one = await lab.call('GET', `/events/app-events/${rows[0].id}`)
  assert.equal(one.body.app_event.correlation_id, correlation_id)
  assert.deepEqual(one.body.sub_events, [])
})

test('an operation on a machine is linked to the platform’s own events about it', async () => {
  const { id } = (await lab.call('POST', '/compute/vms/getIdbyName', { name: 'web-01' })).body
  const stopped = await lab.call(
    'POST',
    '/compute/vms/stop',
    { virtual_machine_id: id },
    { headers: { prefer: 'wait=60' } },
  )
  assert.equal(stopped.status, 200, stopped.text)
  const linked = await until('the platform’s events arrive', async () => {
    const { body } = await lab.call('POST', '/events/app-events', { action: 'vmStop' })
    const [event] = body.app_events
    return event.sub_events.some((sub: { type: string }) => sub.type === 'VM.STOP') && event
  })
  const one = await lab.call('GET', `/events/app-events/${linked.id}`)
  assert.ok(one.body.sub_events.every((sub: { resource_id: string }) => sub.resource_id === id))
})

test('an event that does not exist is 404 with its code', async () => {
  for (const id of ['0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11', 'nonsense']) {
    const { status, body } = await lab.call('GET', `/events/app-events/${id}`)
    assert.deepEqual([status, body.code], [404, 'EVENT_NOT_FOUND'])
  }
})

test('every filter narrows the list, and sorting and paging keep each row once', async () => {
  await withDatabase((client) =>
    client.query(`
      insert into app_event (id, action, level, status, description, error_message, resource_type, resource_uuid, username, user_id, created_at, tenant_id)
      select gen_random_uuid(), 'plant' || n % 3, case when n % 2 = 0 then 'ERROR' else 'INFO' end,
        case when n % 2 = 0 then 'FAILED' else 'SUCCESS' end, 'planted ' || n, case when n % 2 = 0 then 'no room for ' || n else '' end,
        'PLANT', 'uuid-' || n, 'user' || n % 5, null, timestamptz '2026-01-01' + n * interval '1 minute', null
      from generate_series(1, 120) n`),
  )
  const count = async (filter: object): Promise<number> =>
    (await lab.call('POST', '/events/app-events', { resource_type: 'PLANT', ...filter })).body.count
  assert.equal(await count({}), 120)
  assert.equal(await count({ action: 'plant0' }), 40)
  assert.equal(await count({ status: 'FAILED' }), 60)
  assert.equal(await count({ level: 'ERROR', username: 'user0' }), 12)
  assert.equal(await count({ resource_uuid: 'uuid-7' }), 1)
  assert.equal(await count({ keyword: 'planted 11' }), 11)
  assert.equal(await count({ keyword: '100%' }), 0)
  assert.equal(await count({ error_message: 'room for 12' }), 2)
  assert.equal(await count({ created_at_from: '2026-01-01T01:00:00Z', created_at_to: '2026-01-01T01:09:00Z' }), 10)
  assert.equal(await count({ archived: true }), 0)
  const seen = new Set<string>()
  for (const page of [1, 2, 3]) {
    const { body } = await lab.call('POST', '/events/app-events', {
      resource_type: 'PLANT',
      page,
      page_size: 50,
      sort_by: 'action',
      sort_order: 'asc',
    })
    for (const row of body.app_events) seen.add(row.id)
  }
  assert.equal(seen.size, 120)
})

test('a bad filter names its field and what would do', async () => {
  for (const [filter, path] of [
    [{ sort_by: 'password' }, 'body.sort_by'],
    [{ sort_order: 'sideways' }, 'body.sort_order'],
    [{ created_at_from: 'yesterday' }, 'body.created_at_from'],
    [{ page_size: 501 }, 'body.page_size'],
    [{ page: 0 }, 'body.page'],
    [{ actoin: 'x' }, 'body.actoin'],
  ] as const) {
    const { status, body } = await lab.call('POST', '/events/app-events', filter)
    assert.deepEqual([status, body.code, body.errors[0].path], [400, 'INVALID_REQUEST', path])
  }
})

test('archiving hides ended events, keeps running ones in sight, and is itself an event', async () => {
  await withDatabase((client) =>
    client.query(`
      insert into app_event (id, action, status, resource_type, created_at, correlation_id) values
        (gen_random_uuid(), 'old', 'SUCCESS', 'OLD', now() - interval '400 days', null),
        (gen_random_uuid(), 'old', 'IN_PROGRESS', 'OLD', now() - interval '400 days', 'old-running')`),
  )
  const { status, body } = await lab.call('POST', '/events/archive')
  assert.equal(status, 200)
  assert.ok(body.archived >= 1)
  const left = await lab.call('POST', '/events/app-events', { resource_type: 'OLD' })
  assert.deepEqual(
    left.body.app_events.map((row: { status: string }) => row.status),
    ['IN_PROGRESS'],
  )
  assert.equal((await lab.call('POST', '/events/app-events', { resource_type: 'OLD', archived: true })).body.count, 1)
  const bad = await lab.call('POST', '/events/archive', { start_date: '2026-01-01T00:00:00Z' })
  assert.deepEqual([bad.status, bad.body.errors[0].path], [400, 'body.end_date'])
})

test('the stream carries start and end of an operation, and a client that was away misses nothing and sees nothing twice', async () => {
  const first = await openStream(`${lab.url}/events/sse?channels=app-event`, lab.token)
  const seen_id = await change()
  const of = (messages: typeof first.messages, id: string): string[] =>
    messages.filter((message) => message.data.correlation_id === id).map((message) => message.data.status)
  await until('start and end arrive', () => of(first.messages, seen_id).length >= 2)
  first.close()
  const away = await change()
  const second = await openStream(`${lab.url}/events/sse?channels=app-event`, lab.token, first.last_id)
  const live = await change()
  await until('all have arrived', () => [away, live].every((id) => of(second.messages, id).length >= 2))
  assert.deepEqual(of(first.messages, seen_id), ['IN_PROGRESS', 'SUCCESS'])
  assert.deepEqual(of(second.messages, seen_id), [])
  assert.deepEqual(of(second.messages, away), ['IN_PROGRESS', 'SUCCESS'])
  assert.deepEqual(of(second.messages, live), ['IN_PROGRESS', 'SUCCESS'])
  const ids = [...first.messages, ...second.messages].map((message) => Number(message.id))
  assert.deepEqual(
    ids,
    [...new Set(ids)].sort((a, b) => a - b),
  )
  second.close()
})

test('a client that was cut off before its first message can still resume', async () => {
  const first = await openStream(`${lab.url}/events/sse`, lab.token)
  await until('the first id arrives', () => first.last_id !== undefined)
  first.close()
  const missed = await change()
  const second = await openStream(`${lab.url}/events/sse?channels=app-event`, lab.token, first.last_id)
  await until('what was missed arrives', () =>
    second.messages.some((message) => message.data.correlation_id === missed),
  )
  second.close()
})

test('transactions that commit in another order than they began lose no event on the stream', async () => {
  const stream = await openStream(`${lab.url}/events/sse?channels=app-event`, lab.token)
  const ids = await Promise.all(Array.from({ length: 30 }, change))
  await until('all ends arrive', () => {
    const ended = stream.messages.filter(({ data }) => data.status === 'SUCCESS')
    return ids.every((id) => ended.some(({ data }) => data.correlation_id === id))
  })
  stream.close()
})

test('what could not be read while the database failed reaches the stream without another message', async () => {
  const stream = await openStream(`${lab.url}/events/sse?channels=vm`, lab.token)
  await until('the stream is open', () => stream.last_id !== undefined)
  const failures = (): number => lab.logs().split('stream cannot be read').length
  const before = failures()
  await withDatabase(async (client) => {
    await client.query(`insert into stream_event (channel, type, data) values ('vm', 'vm-state', '{"id":"planted"}')`)
    await client.query('alter table stream_event rename to stream_event_away')
    await client.query(`select pg_notify('groundplane_stream', '')`)
    await until('it was read in vain', () => failures() > before)
    await client.query('alter table stream_event_away rename to stream_event')
  })
  await until('it arrives', () => stream.messages.some(({ data }) => data.id === 'planted'))
  stream.close()
})

test('channels are checked, and a position that is not one is refused', async () => {
  const unknown = await lab.call('GET', '/events/sse?channels=vm,wat')
  assert.deepEqual([unknown.status, unknown.body.errors[0].path], [400, 'query.channels'])
  const garbage = await lab.call('GET', '/events/sse?last_event_id=abc')
  assert.deepEqual([garbage.status, garbage.body.errors[0].path], [400, 'query.last_event_id'])
})

test('a client that does not read is cut off instead of being buffered without bound', async () => {
  const { hostname, port } = new URL(lab.url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET /events/sse HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${lab.token}\r\n\r\n`)
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  const padding = 'x'.repeat(7000)
  await until('the server lets go of it', async () => {
    await withDatabase(async (client) => {
      for (let n = 0; n < 200; n += 1) {
        await client.query(`select pg_notify('groundplane_live', $1)`, [
          JSON.stringify({ channel: 'vm', type: 'vm-state', tenant_id: null, data: { padding } }),
        ])
      }
    })
    return /groundplane_stream_clients 0/.test((await lab.call('GET', '/metrics')).text)
  })
  socket.destroy()
})

test('a restart of the service ends the streams and loses no stored event', async () => {
  const stream = await openStream(`${lab.url}/events/sse?channels=app-event`, lab.token)
  const before_restart = await change()
  await until('it arrives', () => stream.messages.some(({ data }) => data.correlation_id === before_restart))
  await lab.restart()
  await stream.ended
  const { body } = await lab.call('POST', '/events/app-events', { action: 'tokenCreate', page_size: 500 })
  assert.ok(body.app_events.some((row: { correlation_id: string }) => row.correlation_id === before_restart))
})
