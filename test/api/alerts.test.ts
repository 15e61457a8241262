// Alerts over HTTP: the platform forgets what is archived, we do not.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { assertNoUnknownParameters, callsOf, control, eventOf, NOBODY, tokenFor } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step' })
})
after(() => lab.close())
beforeEach(() => lab.platform.reset())
afterEach(() => assertNoUnknownParameters(lab))

interface Row {
  id: string
  type: number
  name: string
  sent_at: string
  archived: boolean
}

const call = (path: string, body?: unknown) => lab.call('POST', `/alerts/${path}`, body)
const open = async (filter: object = {}): Promise<Row[]> =>
  (await call('list', { ...filter, page_size: 500 })).body.alerts
const held = (id: string) => lab.platform.state.tables.alerts.get(id)

test('open alerts are listed newest first, filtered, and paged', async () => {
  const all = await call('list')
  assert.equal(all.status, 200, all.text)
  const times = all.body.alerts.map((one: Row) => one.sent_at)
  assert.deepEqual(times, times.toSorted().toReversed())
  const page = await call('list', { page: 2, page_size: 2 })
  assert.equal(page.body.count, all.body.count)
  assert.deepEqual(page.body.alerts, all.body.alerts.slice(2, 4))
  const one = all.body.alerts[0]
  assert.ok((await open({ type: one.type })).every((alert) => alert.type === one.type))
  assert.ok((await open({ name: one.name })).every((alert) => alert.name === one.name))
})

test('an alert is found by id, and the newest id by its kind', async () => {
  const [first] = await open()
  assert.ok(first !== undefined)
  assert.deepEqual((await call('get-by-id', { id: first.id })).body, first)
  const found = await call('get-id', { name: first.name, type: first.type })
  assert.deepEqual(found.body, { id: first.id, name: first.name }, found.text)
})

test('what is not there is 400 ALERT_NOT_FOUND', async () => {
  for (const [path, body] of [
    ['get-by-id', { id: NOBODY }],
    ['get-by-id', { id: 'x' }],
    ['get-id', { name: 'NOTHING' }],
    ['archive', { ids: [NOBODY] }],
  ] as const) {
    const reply = await call(path, body)
    assert.deepEqual([reply.status, reply.body.code], [400, 'ALERT_NOT_FOUND'], `${path} ${reply.text}`)
  }
})

test('asking for an id needs something to go by', async () => {
  const reply = await call('get-id', {})
  assert.deepEqual([reply.status, reply.body.code], [400, 'INVALID_REQUEST'])
})

test('an archived alert is gone from the platform and stays readable here', async () => {
  const [first, second] = await open()
  assert.ok(first !== undefined && second !== undefined)
  const reply = await call('archive', { ids: [first.id] })
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(reply.body, { message: '1 alert is archived.', archived_count: 1 })
  assert.equal(held(first.id)?.archived, true)
  assert.equal(held(second.id)?.archived, false)
  assert.ok((await open()).every((alert) => alert.id !== first.id))
  const copy = await call('get-by-id', { id: first.id })
  assert.deepEqual([copy.body.archived, copy.body.sent_at, copy.body.name], [true, first.sent_at, first.name])
  const archived = await call('list', { archived: true, id: first.id, keyword: first.name.slice(6) })
  assert.deepEqual([archived.body.count, archived.body.alerts[0].id], [1, first.id])
  assert.equal((await call('list', { archived: true, id: first.id, keyword: '%' })).body.count, 0)
  const event = await eventOf(lab, reply.headers.get('x-correlation-id') ?? '')
  assert.deepEqual([event.status, event.action, event.description], ['SUCCESS', 'alertArchive', '1 alert is archived.'])
})

test('a type, a window, and both together choose what is archived, always by the ids of the copies', async () => {
  const all = await open()
  const [newest] = all
  const oldest = all.at(-1)
  assert.ok(newest !== undefined && oldest !== undefined)
  const window = await call('archive', { start_date: oldest.sent_at, end_date: oldest.sent_at })
  assert.equal(window.status, 200, window.text)
  assert.deepEqual([window.body.archived_count, held(oldest.id)?.archived, held(newest.id)?.archived], [1, true, false])
  const none = await call('archive', { type: newest.type, end_date: '2001-01-01T00:00:00Z' })
  assert.equal(none.body.archived_count, 0)
  const typed = await call('archive', { type: newest.type })
  assert.equal(typed.body.archived_count, all.filter((one) => one.type === newest.type && one.id !== oldest.id).length)
  const sent = await callsOf(lab, 'archiveAlerts')
  assert.ok(
    sent.every((params) => params.ids !== undefined && params.type === undefined && params.enddate === undefined),
  )
})

test('alerts beyond one page and one batch are all archived', async () => {
  const { alerts } = lab.platform.state.tables
  const before_count = (await call('list')).body.count
  for (let number = 0; number < 620; number += 1) {
    const id = `10000000-0000-4000-8000-${String(number).padStart(12, '0')}`
    alerts.put({
      id,
      type: 27,
      name: 'ALERT.SYNC',
      description: `sync ${number}`,
      sent: 1_700_000_000_000 + number,
      archived: false,
    })
  }
  const reply = await call('archive', { type: 27 })
  assert.equal(reply.body.archived_count, 620, reply.text)
  assert.equal((await call('list')).body.count, before_count)
  assert.equal((await call('list', { archived: true, type: 27 })).body.count, 620)
})

for (const [what, body] of [
  ['nothing to go by', {}],
  ['a start without an end', { start_date: '2026-01-01T00:00:00Z' }],
  ['a start without an end beside a type', { type: 7, start_date: '2026-01-01T00:00:00Z' }],
  ['a start after the end', { start_date: '2026-02-01T00:00:00Z', end_date: '2026-01-01T00:00:00Z' }],
] as const) {
  test(`archiving with ${what} is 400 and archives nothing`, async () => {
    const reply = await call('archive', body)
    assert.deepEqual([reply.status, reply.body.code], [400, 'INVALID_REQUEST'], reply.text)
    assert.deepEqual(await callsOf(lab, 'archiveAlerts'), [])
  })
}

test('what the platform did not archive is not shown as archived', async () => {
  const [first] = await open()
  assert.ok(first !== undefined)
  await control(lab, 'fail', { command: 'archiveAlerts', code: 530, text: 'deadlock', times: 1 })
  const reply = await call('archive', { ids: [first.id] })
  assert.deepEqual([reply.status, reply.body.code], [500, 'COMPUTE_ERROR'])
  assert.equal((await call('list', { archived: true, id: first.id })).body.count, 0)
  assert.equal((await call('archive', { ids: [first.id] })).body.archived_count, 1)
})

test('types are listed by name', async () => {
  const { status, body } = await lab.call('GET', '/alerts/types?page_size=500')
  assert.equal(status, 200)
  assert.equal(body.alert_types.filter((one: { type: number }) => one.type === 32).length, 3)
  assert.equal(body.count, body.alert_types.length)
})

test('alerts belong to no tenant, and a viewer archives nothing', async () => {
  const { body } = await lab.call(
    'POST',
    '/alerts/list',
    {},
    { token: await tokenFor(lab, 'viewer', lab.platform.state.tables.domains.values().next().value?.id ?? '') },
  )
  assert.equal(body.code, 'TENANT_SCOPE')
  const refused = await lab.call('POST', '/alerts/archive', { type: 7 }, { token: await tokenFor(lab, 'viewer') })
  assert.equal(refused.status, 403)
})
