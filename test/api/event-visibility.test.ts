// Events about tokens, users and sessions are read by whom those areas belong to: admins of the whole installation. Every
// reader of events is held to it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { areas } from '#src/contract/index.ts'
import { ADMIN_EVENT_TYPES } from '#src/contract/app-events.ts'
import { openStream } from '../support/sse-client.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

const { acme } = wellKnown.domains
const HIDDEN_FROM = ['viewer', 'operator', 'tenant viewer', 'tenant operator', 'tenant admin'] as const
const tokens = new Map<string, string>()
let lab: Lab

before(async () => {
  lab = await startLab({ config: { bmc: { allowed_networks: ['10.1.0.0/16'] } } })
  for (const name of ['viewer', 'operator', 'admin', 'tenant viewer', 'tenant operator', 'tenant admin']) {
    const scope = name.startsWith('tenant ') ? { tenant_id: acme } : {}
    const made = await lab.call('POST', '/auth/tokens', { name, role: name.replace('tenant ', ''), ...scope })
    tokens.set(name, made.body.token)
  }
  const bmc = { username: 'root', password: 'a BMC password' }
  assert.equal((await lab.call('PUT', '/vendora-inventory/bmcs/10.1.0.21', bmc)).status, 200)
  const user = { username: 'mira', password: 'correct horse battery', role: 'viewer', tenant_id: acme }
  assert.equal((await lab.call('POST', '/auth/users', user)).status, 201)
  const { username, password } = user
  assert.equal((await lab.call('POST', '/auth/login', { username, password }, { token: '' })).status, 200)
})
after(() => lab?.close())

/** As this caller; undefined is the admin who made everything. */
const list = (caller?: string, body: object = {}) =>
  lab.call('POST', '/events/app-events', { page_size: 500, ...body }, as(caller))
const as = (caller: string | undefined) => (caller === undefined ? {} : { token: tokens.get(caller) ?? '' })

test('every kind of event about tokens, users and sessions is there to be hidden', async () => {
  for (const resource_type of ADMIN_EVENT_TYPES) {
    assert.ok((await list(undefined, { resource_type })).body.count > 0, resource_type)
    assert.ok((await list('admin', { resource_type })).body.count > 0, resource_type)
  }
})

test('what only admins may read in a whole area has events that only admins may read', () => {
  const types = areas.flatMap((area) =>
    Object.values(area.routes).flatMap((route) => {
      const event = 'event' in route ? route.event : undefined
      if (event === undefined) return []
      const reads = Object.values(area.routes).filter(
        (other) => other.method === 'GET' && route.path.startsWith(other.path.replace(/\/\{.*/, '')),
      )
      return reads.length > 0 && reads.every((read) => read.access === 'admin') ? [event.resource_type] : []
    }),
  )
  assert.deepEqual([...new Set(types)].sort(), [...ADMIN_EVENT_TYPES])
})

for (const caller of HIDDEN_FROM) {
  test(`${caller}: finds none of them: not in lists and counts, by filters, by id, nor on the stream`, async () => {
    const everything = await list(caller)
    assert.equal(everything.status, 200)
    const seen = (everything.body.app_events as { resource_type: string }[]).map((event) => event.resource_type)
    assert.deepEqual(
      seen.filter((type) => ADMIN_EVENT_TYPES.some((hidden) => hidden === type)),
      [],
    )
    assert.equal(everything.body.count, seen.length)
    for (const resource_type of ADMIN_EVENT_TYPES) {
      const { body } = await list(caller, { resource_type })
      assert.deepEqual([body.app_events, body.count], [[], 0])
      const [event] = (await list(undefined, { resource_type })).body.app_events
      const one = await lab.call('GET', `/events/app-events/${event.id}`, undefined, as(caller))
      assert.deepEqual([one.status, one.body.code], [404, 'EVENT_NOT_FOUND'])
    }
    for (const keyword of ['mira', 'Create viewer token'])
      assert.equal((await list(caller, { keyword })).body.count, 0, `found by ${keyword}`)
  })

  test(`the stream of ${caller} carries other events but none of them, live and replayed`, async () => {
    const token = tokens.get(caller) ?? ''
    const live = await openStream(`${lab.url}/events/sse?channels=app-event`, token)
    const whole = await openStream(`${lab.url}/events/sse?channels=app-event`, lab.token)
    await until('both streams are open', () => live.last_id !== undefined && whole.last_id !== undefined)
    const { last_id } = live
    const spec = { name: `of ${caller}`, role: 'viewer', tenant_id: acme }
    const made = await lab.call('POST', '/auth/tokens', spec)
    // A change that everybody of acme may see, after the one that they may not.
    const { id } = (await lab.call('POST', '/compute/vms/getIdbyName', { name: 'web-01' })).body
    const reboot = await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: id })
    const about = (reader: typeof live, correlation_id: string | null) =>
      reader.messages.filter((message) => message.data.correlation_id === correlation_id)
    const replayed = await openStream(`${lab.url}/events/sse?channels=app-event`, token, last_id)
    await until('the change arrives', () =>
      [live, whole, replayed].every((reader) => about(reader, reboot.body.correlation_id).length > 0),
    )
    const hidden = made.headers.get('x-correlation-id')
    assert.deepEqual(
      [live, replayed, whole].map((reader) => about(reader, hidden).length > 0),
      [false, false, true],
    )
    for (const reader of [live, whole, replayed]) reader.close()
  })
}

test('an operator archives what an operator can read, and nothing else', async () => {
  const { body } = await list(undefined, { resource_type: 'TOKEN' })
  const ids = (body.app_events as { id: string }[]).map((event) => event.id)
  const archived = await lab.call('POST', '/events/archive', { ids }, as('operator'))
  assert.deepEqual([archived.status, archived.body.archived], [200, 0], archived.text)
  assert.equal((await list(undefined, { resource_type: 'TOKEN' })).body.count, body.count)
})
