// Disk offerings over HTTP.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { assertNoUnknownParameters, callsOf, control, eventOf, NOBODY, tokenFor } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step' })
})
after(() => lab.close())
beforeEach(() => lab.platform.reset())
afterEach(() => assertNoUnknownParameters(lab))

const BASE = '/catalog/serviceofferings/diskoffering'
const call = (path: string, body?: unknown, token?: string) =>
  lab.call('POST', `${BASE}/${path}`, body, token === undefined ? {} : { token })
const offerings = () => [...lab.platform.state.tables.diskofferings.values()]

test('a created offering stands on the platform as asked for, and its event names it', async () => {
  const reply = await call('create', {
    name: 'fast-50', disk_size_gb: 50, tags: 'ssd,fast', storage_type: 'local', provisioning_type: 'fat', cache_mode: 'writeback',
    bytes_read_rate: 1000, iops_write_rate: 20, domain_ids: [wellKnown.domains.acme], zone_ids: [wellKnown.zone],
  }) // biome-ignore format: one record
  assert.equal(reply.status, 201, reply.text)
  const held = offerings().find((one) => one.id === reply.body.id)
  assert.deepEqual(
    [held?.disksize, held?.storagetype, held?.domainids, held?.zoneids],
    [50, 'local', [wellKnown.domains.acme], [wellKnown.zone]],
  )
  assert.deepEqual(
    [reply.body.bytes_read_rate, reply.body.iops_write_rate, reply.body.bytes_write_rate],
    [1000, 20, null],
  )
  assert.deepEqual(
    [reply.body.tags, reply.body.display_text, reply.body.cache_mode],
    [['ssd', 'fast'], 'fast-50', 'writeback'],
  )
  const event = await eventOf(lab, reply.headers.get('x-correlation-id') ?? '')
  assert.deepEqual([event.status, event.action, event.resource_uuid], ['SUCCESS', 'diskOfferingCreate', reply.body.id])
})

test('a customized offering has no size of its own', async () => {
  const reply = await call('create', { name: 'any', customized: true, customized_iops: true })
  assert.equal(reply.status, 201, reply.text)
  assert.deepEqual([reply.body.disk_size_gb, reply.body.customized], [null, true])
  assert.equal((await callsOf(lab, 'createDiskOffering')).at(-1)?.customizediops, 'true')
})

for (const [what, body] of [
  ['no size', { name: 'x' }],
  ['a size although customized', { name: 'x', customized: true, disk_size_gb: 5 }],
  ['least operations alone', { name: 'x', disk_size_gb: 5, min_iops: 3 }],
  ['least operations above the most', { name: 'x', disk_size_gb: 5, min_iops: 9, max_iops: 3 }],
  ['an unknown field', { name: 'x', disk_size_gb: 5, size: 3 }],
] as const) {
  test(`creating with ${what} is 400 and makes nothing`, async () => {
    const count = offerings().length
    const reply = await call('create', body)
    assert.deepEqual([reply.status, reply.body.code], [400, 'INVALID_REQUEST'], reply.text)
    assert.equal(offerings().length, count)
  })
}

test('an offering for a zone that is not there is 400', async () => {
  const reply = await call('create', { name: 'x', disk_size_gb: 5, zone_ids: [NOBODY] })
  assert.deepEqual([reply.status, reply.body.code], [400, 'RESOURCE_NOT_FOUND'], reply.text)
})

test('an update answers the offering as it now is; an empty set opens it to everybody', async () => {
  const { body } = await call('create', {
    name: 'narrow',
    disk_size_gb: 5,
    domain_ids: [wellKnown.domains.acme],
    zone_ids: [wellKnown.zone],
  })
  const reply = await call('update', {
    id: body.id,
    name: 'wide',
    state: 'Inactive',
    sort_key: 7,
    domain_ids: [],
    zone_ids: [],
    tags: '',
    display_offering: false,
  })
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(
    [reply.body.name, reply.body.state, reply.body.domain_ids, reply.body.zone_ids, reply.body.tags],
    ['wide', 'Inactive', [], [], []],
  )
  const [sent] = await callsOf(lab, 'updateDiskOffering')
  assert.deepEqual([sent?.domainid, sent?.zoneid], ['public', 'all'])
})

test('an update that names nothing, or nobody’s offering, is refused', async () => {
  const empty = await call('update', { id: wellKnown.disk_offerings['ssd-20'] })
  assert.deepEqual([empty.status, empty.body.code], [400, 'INVALID_REQUEST'])
  const unknown = await call('update', { id: NOBODY, name: 'x' })
  assert.deepEqual([unknown.status, unknown.body.code], [400, 'DISK_OFFERING_NOT_FOUND'])
})

test('the list shows active offerings unless asked otherwise, and pages', async () => {
  await call('update', { id: wellKnown.disk_offerings['archive-500'], state: 'Inactive' })
  const active = await call('list')
  const all = await call('list', { state: 'all', page: 1, page_size: 2 })
  assert.equal(active.status, 200, active.text)
  assert.equal(active.body.count, all.body.count - 1)
  assert.equal(all.body.disk_offerings.length, 2)
  assert.deepEqual([all.body.page, all.body.page_size], [1, 2])
  const suited = await call('list', { virtual_machine_id: wellKnown.vms['web-01'] })
  assert.ok(
    suited.body.disk_offerings.every(
      (one: { suitable_for_virtual_machine: boolean | null }) => one.suitable_for_virtual_machine !== null,
    ),
  )
  assert.equal((await call('list', { virtual_machine_id: NOBODY })).body.code, 'VM_NOT_FOUND')
})

test('an offering is found by id, by name, and its id by name', async () => {
  const id = wellKnown.disk_offerings['ssd-100']
  assert.equal((await call('getByID', { id })).body.name, 'ssd-100')
  assert.equal((await call('getByName', { name: 'ssd-100' })).body.id, id)
  assert.deepEqual((await call('getID', { name: 'ssd-100' })).body, { id, name: 'ssd-100' })
})

for (const [path, body] of [
  ['getByID', { id: NOBODY }],
  ['getByID', { id: 'no-uuid' }],
  ['getByName', { name: 'nobody' }],
  ['getID', { name: 'nobody' }],
] as const) {
  test(`${path} with ${Object.values(body)[0]} is 400 DISK_OFFERING_NOT_FOUND`, async () => {
    const reply = await call(path, body)
    assert.deepEqual([reply.status, reply.body.code], [400, 'DISK_OFFERING_NOT_FOUND'], reply.text)
  })
}

test('a name that several offerings carry is refused with their ids', async () => {
  const first = await call('create', { name: 'twin', disk_size_gb: 1 })
  const second = await call('create', { name: 'twin', disk_size_gb: 2 })
  for (const path of ['getByName', 'getID']) {
    const reply = await call(path, { name: 'twin' })
    assert.deepEqual([reply.status, reply.body.code], [400, 'DISK_OFFERING_NAME_AMBIGUOUS'])
    assert.ok(reply.body.detail.includes(first.body.id) && reply.body.detail.includes(second.body.id))
  }
})

test('a tenant sees what is for everybody or for it, and changes nothing', async () => {
  const { body: theirs } = await call('create', {
    name: 'globex-only',
    disk_size_gb: 1,
    domain_ids: [wellKnown.domains.globex],
  })
  const { body: ours } = await call('create', {
    name: 'acme-only',
    disk_size_gb: 1,
    domain_ids: [wellKnown.domains.acme],
  })
  const token = await tokenFor(lab, 'operator', wellKnown.domains.acme)
  const list = await call('list', {}, token)
  const ids = list.body.disk_offerings.map((one: { id: string }) => one.id)
  assert.ok(ids.includes(ours.id) && ids.includes(wellKnown.disk_offerings['ssd-20']) && !ids.includes(theirs.id))
  assert.equal(list.body.count, ids.length)
  assert.equal((await call('getByID', { id: theirs.id }, token)).body.code, 'DISK_OFFERING_NOT_FOUND')
  assert.equal((await call('getByName', { name: 'globex-only' }, token)).body.code, 'DISK_OFFERING_NOT_FOUND')
  assert.equal((await call('list', { domain_id: wellKnown.domains.globex }, token)).body.code, 'TENANT_SCOPE')
  const refused = await call('create', { name: 'x', disk_size_gb: 1 }, token)
  assert.deepEqual([refused.status, refused.body.code], [403, 'TENANT_SCOPE'])
})

test('a failure of the platform is 500, in our words, with a failed event', async () => {
  await control(lab, 'fail', { command: 'createDiskOffering', code: 530, text: 'db secret-db-1 deadlock', times: 1 })
  const reply = await call('create', { name: 'x', disk_size_gb: 1 })
  assert.deepEqual([reply.status, reply.body.code], [500, 'COMPUTE_ERROR'])
  assert.ok(!reply.text.includes('secret-db-1'))
  assert.equal((await eventOf(lab, reply.headers.get('x-correlation-id') ?? '')).status, 'FAILED')
})
