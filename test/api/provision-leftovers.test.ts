// A machine that could not be made is not left behind: the platform makes it first and may refuse it, or fail to start it,
// afterwards; and no answer that was lost makes it a machine that nobody knows.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { callsOf, control, ended } from '../support/platform-calls.ts'
import { type Fate, type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

const ORDER = {
  zone_id: wellKnown.zone,
  template_id: wellKnown.templates['Debian 12'],
  service_offering_id: wellKnown.service_offerings.small,
  network_ids: [wellKnown.networks['office-shared']],
}

let lab: Lab
let proxy: PlatformProxy
let ticking: NodeJS.Timeout

before(async () => {
  lab = await startLab({
    time: 'step',
    between: async (platform_url) => {
      proxy = await startPlatformProxy(platform_url)
      return proxy.url
    },
  })
  ticking = setInterval(() => lab.platform.step(), 50)
})
afterEach(() => proxy.behave(() => 'pass'))
after(async () => {
  clearInterval(ticking)
  await lab.close()
  await proxy.close()
})

const machines = (name: string) => lab.platform.state.tables.vms.filter((vm) => vm.name === name)

/** These fates for the first calls of the command, one after the other. */
function fates(command: string, ...ordered: Fate[]): void {
  proxy.behave((called) => (called === command ? (ordered.shift() ?? 'pass') : 'pass'))
}

async function provision(name: string) {
  const headers = { prefer: 'wait=100' }
  const reply = await lab.call('POST', '/compute/vms/provision', { ...ORDER, name }, { headers })
  return { reply, job: await ended(lab, reply.headers.get('x-correlation-id') ?? '') }
}

test('a refused machine that was made all the same is named in the job and in the error, and is expunged', async () => {
  fates('deployVirtualMachine', 'denied')
  const { reply, job } = await provision('denied-01')
  assert.equal(job.job_status, 'failed')
  const [destroyed] = await callsOf(lab, 'destroyVirtualMachine')
  assert.deepEqual([destroyed?.id, destroyed?.expunge], [job.resource_id, 'true'])
  assert.ok(job.failure_reason.includes(`denied-01 (${job.resource_id})`), job.failure_reason)
  assert.equal(reply.body.detail, job.failure_reason, reply.text)
  assert.deepEqual(machines('denied-01'), [])
  const again = await provision('denied-01')
  assert.equal(again.job.job_status, 'completed', again.job.failure_reason)
})

test('a machine that does not start is named in the error, is expunged and gives its name free', async () => {
  const text = 'No destination found for a deployment for VM instance'
  await control(lab, 'fail', { command: 'deployVirtualMachine', code: 533, text, at: 'job', times: 1 })
  const { job } = await provision('capless-01')
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'CAPACITY_EXCEEDED'])
  assert.ok(job.failure_reason.includes(`capless-01 (${job.resource_id})`), job.failure_reason)
  assert.deepEqual(machines('capless-01'), [])
  const again = await provision('capless-01')
  assert.equal(again.job.job_status, 'completed', again.job.failure_reason)
})

for (const [title, ...ordered] of [
  ['the third answer in a row', 'refuse', 'refuse', 'lost'],
  ['an answer cut in its middle', 'cut'],
  ['an answer that comes too late', 'late'],
  ['an answer to a call that the platform gets late', 'delayed'],
] as const) {
  test(`after ${title} was lost there is one machine, and the job has it`, async () => {
    fates('deployVirtualMachine', ...ordered)
    const name = `lost-${ordered.join('-')}`
    const { compute } = lab.config
    // Changes alone are too late: reads must not be, however busy the machine is.
    const usual = compute.timeout_ms
    if (ordered.some((fate) => fate === 'late' || fate === 'delayed')) compute.timeout_ms = 1000
    const { job } = await provision(name)
    compute.timeout_ms = usual
    assert.equal(job.job_status, 'completed', job.failure_reason)
    assert.deepEqual(
      machines(name).map(({ id, state }) => [id, state]),
      [[job.resource_id, 'Running']],
    )
  })
}

test('starting what runs already asks the platform for no job', async () => {
  const { body } = await lab.call('POST', '/compute/vms/list', { state: 'Running' })
  const before_start = (await callsOf(lab, 'queryAsyncJobResult')).length
  const id: string = body.virtual_machines[0].id
  const options = { headers: { prefer: 'wait=60' } }
  const reply = await lab.call('POST', '/compute/vms/start', { virtual_machine_id: id }, options)
  assert.equal(reply.status, 200, reply.text)
  assert.equal((await callsOf(lab, 'startVirtualMachine')).length, 0)
  assert.deepEqual((await callsOf(lab, 'queryAsyncJobResult')).slice(before_start), [], 'under whatever id')
})
