// Discovery over HTTP: what the platform can, does, and has left.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { assertNoUnknownParameters, callsOf, control, ended, NOBODY, tokenFor } from '../support/platform-calls.ts'
import { impatiently, type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step' })
})
after(() => lab.close())
beforeEach(() => lab.platform.reset())
afterEach(() => assertNoUnknownParameters(lab))

test('APIs are listed by name and part of a name, from an answer that is kept', async () => {
  const one = await lab.call('POST', '/discovery/apis', { name: 'startVirtualMachine' })
  assert.equal(one.status, 200, one.text)
  assert.deepEqual([one.body.count, one.body.apis[0].name, one.body.apis[0].is_async], [1, 'startVirtualMachine', true])
  assert.ok(
    one.body.apis[0].parameters.some(
      (field: { name: string; required: boolean }) => field.name === 'id' && field.required,
    ),
  )
  const asked = (await callsOf(lab, 'listApis')).length
  const gpu = await lab.call('POST', '/discovery/apis', { keyword: 'GPU', page: 1, page_size: 2 })
  assert.ok(gpu.body.count > 2 && gpu.body.apis.length === 2)
  assert.equal((await lab.call('POST', '/discovery/apis', { name: 'noSuchThing' })).body.count, 0)
  assert.equal((await callsOf(lab, 'listApis')).length, asked)
})

test('jobs of the platform are listed by their status, whole pages of it', async () => {
  const stop = await lab.call('POST', '/compute/vms/stop', { virtual_machine_id: wellKnown.vms['web-01'] })
  await ended(lab, stop.body.job_id)
  const start = await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: wellKnown.vms.gitlab })
  const running = await lab.call('POST', '/discovery/asyncjobs', { status: 'IN_PROGRESS' })
  assert.equal(running.status, 200, running.text)
  assert.deepEqual(
    running.body.async_jobs.map((job: { job_id: string }) => job.job_id),
    [start.body.job_id],
  )
  assert.equal(running.body.count, 1)
  // What has ended is asked for by its id alone.
  const done = await lab.call('POST', '/discovery/asyncjobs', { status: 'SUCCESS', keyword: 'StopVM', page_size: 1 })
  assert.equal(done.body.count, 0)
  const future = await lab.call('POST', '/discovery/asyncjobs', { start_date: '2999-01-01T00:00:00Z' })
  assert.equal(future.body.count, 0)
})

test('an account without its domain is 400', async () => {
  const reply = await lab.call('POST', '/discovery/asyncjobs', { account: 'acme' })
  assert.deepEqual([reply.status, reply.body.code], [400, 'INVALID_REQUEST'])
})

test('the result of a job says how it ended, in our words', async () => {
  const good = await lab.call('POST', '/compute/vms/stop', { virtual_machine_id: wellKnown.vms['web-01'] })
  const running = await lab.call('POST', '/discovery/asyncjobs/result', { job_id: good.body.job_id })
  assert.deepEqual([running.body.status, running.body.failure], ['IN_PROGRESS', null], running.text)
  await ended(lab, good.body.job_id)
  const result = await lab.call('POST', '/discovery/asyncjobs/result', { job_id: good.body.job_id })
  assert.deepEqual([result.body.status, result.body.failure, result.body.result_code], ['SUCCESS', null, 0])
  await control(lab, 'fail', {
    command: 'rebootVirtualMachine',
    code: 534,
    text: 'host secret-host-9 is down',
    at: 'job',
    times: 1,
  })
  const bad = await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: wellKnown.vms.gitlab })
  await ended(lab, bad.body.job_id)
  const failed = await lab.call('POST', '/discovery/asyncjobs/result', { job_id: bad.body.job_id })
  assert.deepEqual([failed.body.status, failed.body.failure.code], ['FAILED', 'COMPUTE_ERROR'], failed.text)
  assert.ok(!failed.text.includes('secret-host-9'))
  const stopped = await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: wellKnown.vms.gitlab })
  await control(lab, 'cancel-job', { jobid: stopped.body.job_id })
  const cancelled = await lab.call('POST', '/discovery/asyncjobs/result', { job_id: stopped.body.job_id })
  assert.deepEqual([cancelled.body.status, cancelled.body.failure.code], ['CANCELLED', 'JOB_INTERRUPTED'])
})

for (const job_id of [NOBODY, 'no-uuid']) {
  test(`the result of job ${job_id} is 400 JOB_NOT_FOUND`, async () => {
    const reply = await lab.call('POST', '/discovery/asyncjobs/result', { job_id })
    assert.deepEqual([reply.status, reply.body.code], [400, 'JOB_NOT_FOUND'], reply.text)
  })
}

test('capabilities are one record of our names', async () => {
  const { status, body } = await lab.call('GET', '/discovery/capabilities')
  assert.equal(status, 200)
  assert.deepEqual(
    [body.version, body.custom_disk_offering_max_size_gb, body.dynamic_scaling_enabled],
    ['4.22.0.0', 1024, true],
  )
  assert.equal(body.api_limit_max, null)
})

test('capacity has units, is filtered and paged, and never counts again by itself', async () => {
  const all = await lab.call('GET', '/discovery/listCapacity')
  assert.equal(all.status, 200, all.text)
  const memory = all.body.capacities.find((row: { type: number }) => row.type === 0)
  assert.deepEqual([memory.unit, memory.zone_id], ['bytes', wellKnown.zone])
  assert.equal(memory.used_percent, Math.round((memory.used / memory.total) * 10_000) / 100)
  const page = await lab.call('GET', '/discovery/listCapacity?page=2&page_size=1')
  assert.deepEqual([page.body.count, page.body.capacities], [all.body.count, [all.body.capacities[1]]])
  const one = await lab.call('GET', `/discovery/listCapacity?type=4&zone_id=${wellKnown.zone}`)
  assert.deepEqual(
    one.body.capacities.map((row: { type: number; unit: string }) => [row.type, row.unit]),
    [[4, 'count']],
  )
  assert.ok((await callsOf(lab, 'listCapacity')).every((params) => params.fetchlatest === undefined))
})

test('the fullest come first, zone or not, and the platform is never asked for a zone in its order, which it fails at', async () => {
  for (const query of ['sort_by=usage', `sort_by=usage&zone_id=${wellKnown.zone}`]) {
    const { status, body, text } = await lab.call('GET', `/discovery/listCapacity?${query}`)
    assert.equal(status, 200, text)
    const shares = body.capacities.map((row: { used: number; total: number }) => row.total && row.used / row.total)
    assert.deepEqual(
      shares,
      shares.toSorted((a: number, b: number) => b - a),
    )
    assert.ok(shares.length > 2)
  }
  assert.ok((await callsOf(lab, 'listCapacity')).every((params) => params.sortby === undefined || !params.zoneid))
})

test('a leap second as the start of jobs is 400', async () => {
  const reply = await lab.call('POST', '/discovery/asyncjobs', { start_date: '2016-12-31T23:59:60Z' })
  assert.deepEqual([reply.status, reply.body.errors?.[0].path], [400, 'body.start_date'], reply.text)
})

test('counting again asks for more than a viewer’s right', async () => {
  const refused = await lab.call('GET', '/discovery/listCapacity?fetch_latest=true', undefined, {
    token: await tokenFor(lab, 'viewer'),
  })
  assert.deepEqual([refused.status, refused.body.code], [403, 'FORBIDDEN'])
  const allowed = await lab.call('GET', '/discovery/listCapacity?fetch_latest=true')
  assert.equal(allowed.status, 200)
  assert.equal((await callsOf(lab, 'listCapacity')).at(-1)?.fetchlatest, 'true')
})

test('a zone that is not there is 400', async () => {
  const reply = await lab.call('GET', `/discovery/listCapacity?zone_id=${NOBODY}`)
  assert.deepEqual([reply.status, reply.body.code], [400, 'RESOURCE_NOT_FOUND'])
})

test('discovery belongs to no tenant', async () => {
  const token = await tokenFor(lab, 'viewer', wellKnown.domains.acme)
  const reply = await lab.call('GET', '/discovery/capabilities', undefined, { token })
  assert.deepEqual([reply.status, reply.body.code], [403, 'TENANT_SCOPE'])
})

test('a silent platform is 500 COMPUTE_TIMEOUT', async () => {
  await control(lab, 'silent', { command: 'listCapabilities', times: 1 })
  const reply = await impatiently(lab.config.compute, () => lab.call('GET', '/discovery/capabilities'))
  assert.deepEqual([reply.status, reply.body.code], [500, 'COMPUTE_TIMEOUT'])
})
