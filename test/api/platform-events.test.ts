// The platform's own event log over HTTP: what the caller got wrong is a 400 that names it, and archiving keeps to its filter.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { assertNoUnknownParameters, callsOf, control, NOBODY, tokenFor } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
before(async () => {
  lab = await startLab()
})
after(() => lab.close())
beforeEach(() => lab.platform.reset())
afterEach(() => assertNoUnknownParameters(lab))

for (const [what, body, path] of [
  ['a start on 30 February', { start_date: '2026-02-30T00:00:00Z' }, 'body.start_date'],
  ['an end of zero', { end_date: '0' }, 'body.end_date'],
  ['a leap second', { end_date: '2016-12-31T23:59:60Z' }, 'body.end_date'],
  [
    'a start after the end',
    { start_date: '2026-02-02T00:00:00Z', end_date: '2026-02-01T00:00:00Z' },
    'body.start_date',
  ],
] as const) {
  for (const route of ['/events/list', '/events/archive']) {
    test(`${route} with ${what} is 400 that names the field, and the platform is not asked`, async () => {
      const command = route === '/events/list' ? 'listEvents' : 'archiveEvents'
      const dates = { end_date: '2026-03-01T00:00:00Z', ...body }
      const earlier = (await callsOf(lab, command)).filter((params) => params.enddate !== undefined).length
      const reply = await lab.call('POST', route, dates)
      assert.deepEqual([reply.status, reply.body.errors?.[0].path], [400, path], reply.text)
      const asked = (await callsOf(lab, command)).filter((params) => params.enddate !== undefined).length
      assert.equal(asked, earlier)
    })
  }
}

for (const [what, body, path] of [
  ['an over-long type', { type: 'X'.repeat(101) }, 'body.type'],
  ['an over-long resource type', { resource_id: NOBODY, resource_type: 'X'.repeat(101) }, 'body.resource_type'],
  ['an account without its tenant', { account: 'acme' }, 'body.domain_id'],
  ['a resource without its type', { resource_id: NOBODY }, 'body.resource_type'],
] as const) {
  test(`/events/list with ${what} is 400 that names the field`, async () => {
    const reply = await lab.call('POST', '/events/list', body)
    assert.deepEqual([reply.status, reply.body.errors?.[0].path], [400, path], reply.text)
  })
}

const UNKNOWN = `Unable to execute API command listevents due to invalid value. Invalid parameter domainid value=${NOBODY} due to incorrect long value format, or entity does not exist or due to incorrect parameter annotation for the field in api cmd class.`
for (const [what, code, text, body] of [
  ['a tenant', 431, UNKNOWN, { domain_id: NOBODY }],
  ['a resource', 431, 'Invalid resourceid', { resource_id: NOBODY, resource_type: 'VirtualMachine' }],
  ['a kind of resource', 431, 'Invalid resourcetype', { resource_id: NOBODY, resource_type: 'Cat' }],
  ['an account', 531, 'Account is not authorized', { account: 'nobody', domain_id: wellKnown.domains.acme }],
] as const) {
  test(`${what} that the platform does not know in its event log is the caller's mistake`, async () => {
    await control(lab, 'fail', { command: 'listEvents', code, text, times: 1000 })
    const reply = await lab.call('POST', '/events/list', body)
    assert.equal(reply.status, 400, reply.text)
  })
}

test('events of a foreign tenant are refused to a caller of another tenant', async () => {
  const token = await tokenFor(lab, 'viewer', wellKnown.domains.acme)
  const of_others = await lab.call('POST', '/events/list', { domain_id: wellKnown.domains.globex }, { token })
  assert.deepEqual([of_others.status, of_others.body.code], [403, 'TENANT_SCOPE'], of_others.text)
  const own = await lab.call('POST', '/events/list', { domain_id: wellKnown.domains.acme }, { token })
  assert.equal(own.status, 200, own.text)
})

async function stoppedEvents(): Promise<{ id: string; type: string; created_at: string }[]> {
  const { id } = (await lab.call('POST', '/compute/vms/getIdbyName', { name: 'web-01' })).body
  const options = { headers: { prefer: 'wait=60' } }
  const stopped = await lab.call('POST', '/compute/vms/stop', { virtual_machine_id: id }, options)
  assert.equal(stopped.status, 200, stopped.text)
  const filter = { resource_id: id, resource_type: 'VirtualMachine', type: 'VM.STOP' }
  const known = async () => {
    const { body } = await lab.call('POST', '/events/app-events', { action: 'vmStop', resource_uuid: id })
    return body.app_events.flatMap((event: { sub_events: { id: string }[] }) => event.sub_events.map((sub) => sub.id))
  }
  return until('the events are known here', async () => {
    const { events } = (await lab.call('POST', '/events/list', filter)).body
    const here = await known()
    return events.length > 0 && events.every((event: { id: string }) => here.includes(event.id)) ? events : undefined
  })
}

test('ids that type or time exclude stay as they are, and archiving what is archived succeeds', async () => {
  const events = await stoppedEvents()
  const ids = events.map(({ id }) => id)
  const open = async () => {
    const { body } = await lab.call('POST', '/events/list', { type: 'VM.STOP', page_size: 500 })
    return body.events.filter((event: { id: string }) => ids.includes(event.id)).length
  }
  const by_type = await lab.call('POST', '/events/archive', { ids, type: 'VM.START' })
  assert.deepEqual([by_type.status, by_type.body.platform_archived], [200, null], by_type.text)
  const by_time = await lab.call('POST', '/events/archive', { ids, end_date: '2020-01-01T00:00:00Z' })
  assert.deepEqual([by_time.status, by_time.body.platform_archived], [200, null], by_time.text)
  assert.equal(await open(), ids.length)
  const first = await lab.call('POST', '/events/archive', { ids: ids.slice(0, 1) })
  assert.deepEqual([first.status, first.body.platform_archived], [200, true], first.text)
  await control(lab, 'fail', {
    command: 'archiveEvents',
    code: 530,
    text: 'Unable to archive Events, one or more parameters has invalid values',
    times: 1,
  })
  const all = await lab.call('POST', '/events/archive', { ids })
  assert.deepEqual([all.status, all.body.platform_archived], [200, true], all.text)
  assert.equal(await open(), 0)
})
