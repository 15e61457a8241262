// Virtual machines over HTTP: real handlers, real jobs, the lab's platform.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { assertNoUnknownParameters, control, NOBODY } from '../support/platform-calls.ts'
import { impatiently, type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab

before(async () => {
  lab = await startLab({ time: 'step' })
})
after(() => lab.close())
beforeEach(() => lab.platform.reset())

const vm = wellKnown.vms
const WAIT = { headers: { prefer: 'wait=60' } }

afterEach(() => assertNoUnknownParameters(lab))

async function jobEnded(
  id: string,
): Promise<{ job_status: string; failure_code: string | null; failure_reason: string }> {
  return until(`job ${id} ends`, async () => {
    lab.platform.step()
    const { body } = await lab.call('GET', `/jobs/${id}`)
    return body.job_status === 'running' ? undefined : body
  })
}

async function eventOf(correlation_id: string): Promise<{ status: string; action: string; error_message: string }> {
  const { body } = await lab.call('POST', '/events/app-events', { page_size: 100 })
  const events: { correlation_id: string; status: string; action: string; error_message: string }[] =
    body.app_events ?? body.events
  const event = events.find((one) => one.correlation_id === correlation_id)
  assert.ok(event !== undefined, 'the operation has an event')
  return event
}

async function stateOf(id: string): Promise<string> {
  const { body } = await lab.call('POST', '/compute/vms/byID', { virtual_machine_id: id })
  return body.state
}

async function idIn(state: string): Promise<string> {
  const { body } = await lab.call('POST', '/compute/vms/list', { state })
  return body.virtual_machines[0].id
}

test('a list that was just asked for shows a change at once, and is otherwise the same text', async () => {
  const list = () => lab.call('POST', '/compute/vms/list', { page_size: 500 })
  const first = await list()
  assert.equal(first.status, 200, first.text)
  // The second answer is kept, the third is the kept one.
  for (const again of [await list(), await list()]) assert.equal(again.text, first.text)
  const { id } = first.body.virtual_machines[0]
  const renamed = await lab.call('POST', '/compute/vms/update', { virtual_machine_id: id, display_name: 'renamed' })
  assert.equal(renamed.status, 200, renamed.text)
  const vm = (await list()).body.virtual_machines.find((one: { id: string }) => one.id === id)
  assert.equal(vm.display_name, 'renamed')
  const narrower = await lab.call('POST', '/compute/vms/list', { page_size: 1 })
  assert.equal(narrower.body.virtual_machines.length, 1)
})

test('the list is complete, paged, and speaks our names', async () => {
  const all = await lab.call('POST', '/compute/vms/list', { page_size: 500 })
  assert.equal(all.status, 200, all.text)
  assert.equal(all.body.count, 40)
  assert.equal(all.body.virtual_machines.length, 40)
  const second = await lab.call('POST', '/compute/vms/list', { page: 2, page_size: 15 })
  assert.deepEqual(
    second.body.virtual_machines.map((one: { id: string }) => one.id),
    all.body.virtual_machines.slice(15, 30).map((one: { id: string }) => one.id),
  )
  const web = all.body.virtual_machines.find((one: { name: string }) => one.name === 'web-01')
  assert.equal(web.id, vm['web-01'])
  assert.ok(web.nics[0].mac_address.includes(':'))
  assert.equal(typeof web.memory_mb, 'number')
  assert.match(web.created_at, /^\d{4}-.*\.\d{3}Z$/)
})

test('filters narrow, and a body may be left out', async () => {
  const stopped = await lab.call('POST', '/compute/vms/list', { state: 'Stopped' })
  assert.ok(stopped.body.count > 0 && stopped.body.count < 40)
  assert.ok(stopped.body.virtual_machines.every((one: { state: string }) => one.state === 'Stopped'))
  assert.equal((await lab.call('POST', '/compute/vms/list')).body.count, 40)
})

test('an unknown field is refused by name', async () => {
  const { status, body } = await lab.call('POST', '/compute/vms/list', { zoneid: 'x' })
  assert.equal(status, 400)
  assert.match(JSON.stringify(body.errors), /zoneid/)
})

test('a machine is found by id, by name, and its id by name', async () => {
  assert.equal((await lab.call('POST', '/compute/vms/byID', { virtual_machine_id: vm.gitlab })).body.name, 'gitlab')
  assert.equal((await lab.call('POST', '/compute/vms/byName', { name: 'gitlab' })).body.id, vm.gitlab)
  assert.deepEqual((await lab.call('POST', '/compute/vms/getIdbyName', { name: 'gitlab' })).body, {
    id: vm.gitlab,
    name: 'gitlab',
  })
})

for (const [path, body] of [
  ['byID', { virtual_machine_id: NOBODY }],
  ['byID', { virtual_machine_id: 'not-a-uuid' }],
  ['byName', { name: 'nobody' }],
  ['getIdbyName', { name: 'nobody' }],
  ['start', { virtual_machine_id: NOBODY }],
  ['update', { virtual_machine_id: NOBODY, display_name: 'x' }],
] as const) {
  test(`${path} with ${Object.values(body)[0]} is 400 VM_NOT_FOUND`, async () => {
    const reply = await lab.call('POST', `/compute/vms/${path}`, body)
    assert.deepEqual([reply.status, reply.body.code], [400, 'VM_NOT_FOUND'], reply.text)
  })
}

test('a number never reaches the platform as an id', async () => {
  const { status } = await lab.call('POST', '/compute/vms/byID', { virtual_machine_id: '42' })
  assert.equal(status, 400)
})

test('starting answers at once, and job, event and machine end together', async () => {
  const id = await idIn('Stopped')
  const reply = await lab.call('POST', '/compute/vms/start', { virtual_machine_id: id })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.body.status, 'IN_PROGRESS')
  assert.equal(reply.body.resource_id, id)
  assert.equal(reply.headers.get('x-correlation-id'), reply.body.job_id)
  assert.equal((await jobEnded(reply.body.job_id)).job_status, 'completed')
  assert.equal(await stateOf(id), 'Running')
  const event = await eventOf(reply.body.correlation_id)
  assert.deepEqual([event.action, event.status], ['vmStart', 'SUCCESS'])
})

test('with Prefer: wait the machine is the answer', async () => {
  const id = await idIn('Running')
  const stopping = lab.call('POST', '/compute/vms/stop', { virtual_machine_id: id, forced: true }, WAIT)
  const timer = setInterval(() => lab.platform.step(), 50)
  const reply = await stopping.finally(() => clearInterval(timer))
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual([reply.body.id, reply.body.state], [id, 'Stopped'])
})

test('starting what runs succeeds and asks the platform for nothing', async () => {
  const id = await idIn('Running')
  const reply = await lab.call('POST', '/compute/vms/start', { virtual_machine_id: id }, WAIT)
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.body.state, 'Running')
  const { calls } = (await (await fetch(`${lab.platform.control_url}/calls`)).json()) as {
    calls: { command: string }[]
  }
  assert.ok(calls.every((call) => call.command !== 'startVirtualMachine'))
})

test('rebooting what is stopped is refused with the state that would do', async () => {
  const reply = await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: await idIn('Stopped') })
  assert.deepEqual([reply.status, reply.body.code], [400, 'VM_STATE'])
  assert.match(reply.body.detail, /Stopped; this needs Running/)
})

test('what the platform refuses at once is the caller’s error, and job and event have failed', async () => {
  await control(lab, 'fail', {
    command: 'rebootVirtualMachine',
    code: 431,
    text: 'secret-host-7: VM is not running, unable to reboot it',
    times: 1,
  })
  const reply = await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: await idIn('Running') })
  assert.deepEqual([reply.status, reply.body.code], [400, 'VM_STATE'], reply.text)
  assert.ok(!reply.text.includes('secret-host-7'))
  assert.match(lab.logs(), /secret-host-7/)
  const event = await eventOf(reply.headers.get('x-correlation-id') ?? '')
  assert.equal(event.status, 'FAILED')
  assert.ok(!event.error_message.includes('secret-host-7'))
})

test('a job that fails on the platform fails here, in our words', async () => {
  await control(lab, 'fail', {
    command: 'rebootVirtualMachine',
    code: 534,
    text: 'host secret-host-8 is down',
    at: 'job',
    times: 1,
  })
  const reply = await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: await idIn('Running') })
  const job = await jobEnded(reply.body.job_id)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'COMPUTE_ERROR'])
  assert.ok(!job.failure_reason.includes('secret-host-8'))
})

test('a lost answer does not repeat the call: the platform’s job is found by its id', async () => {
  await control(lab, 'lose-answer', { command: 'rebootVirtualMachine', times: 1 })
  const reply = await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: await idIn('Running') })
  assert.equal(reply.status, 200, reply.text)
  assert.equal((await jobEnded(reply.body.job_id)).job_status, 'completed')
  const { calls } = (await (await fetch(`${lab.platform.control_url}/calls`)).json()) as {
    calls: { command: string }[]
  }
  assert.equal(calls.filter((call) => call.command === 'rebootVirtualMachine').length, 1)
})

test('a job cancelled on the platform is judged by the machine', async () => {
  const id = await idIn('Running')
  const reply = await lab.call('POST', '/compute/vms/stop', { virtual_machine_id: id })
  await control(lab, 'cancel-job', { jobid: reply.body.job_id })
  const job = await jobEnded(reply.body.job_id)
  assert.deepEqual([job.job_status, job.failure_code], ['failed', 'JOB_INTERRUPTED'])
})

test('updating answers the machine as it now is', async () => {
  const reply = await lab.call('POST', '/compute/vms/update', { virtual_machine_id: vm.wiki, display_name: 'The wiki' })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.body.display_name, 'The wiki')
  assert.equal((await eventOf(reply.headers.get('x-correlation-id') ?? '')).status, 'SUCCESS')
})

test('a failed update leaves a failed event without the platform’s words', async () => {
  await control(lab, 'fail', { command: 'updateVirtualMachine', code: 530, text: 'db secret-db-1 deadlock', times: 1 })
  const reply = await lab.call('POST', '/compute/vms/update', { virtual_machine_id: vm.wiki, display_name: 'y' })
  assert.deepEqual([reply.status, reply.body.code], [500, 'COMPUTE_ERROR'])
  const event = await eventOf(reply.headers.get('x-correlation-id') ?? '')
  assert.equal(event.status, 'FAILED')
  assert.ok(!reply.text.includes('secret-db-1') && !event.error_message.includes('secret-db-1'))
})

test('destroying, then expunging, removes the machine', async () => {
  const id = await idIn('Stopped')
  const plan = async (path: string) =>
    (await lab.call('POST', `/compute/vms/${path}?dry_run=true`, { virtual_machine_id: id })).body
  const { dry_run, message, affected } = await plan('destroy')
  assert.match(message, /^Would destroy virtual machine .*; it could be recovered until it is expunged\.$/)
  assert.deepEqual([dry_run, affected, await stateOf(id)], [true, [], 'Stopped'])
  const destroyed = await lab.call('POST', '/compute/vms/destroy', { virtual_machine_id: id })
  assert.equal((await jobEnded(destroyed.body.job_id)).job_status, 'completed', destroyed.text)
  assert.equal(await stateOf(id), 'Destroyed')
  const for_good = await plan('expunge')
  assert.match(for_good.message, /^Would destroy virtual machine .* for good with volume /)
  assert.equal(await stateOf(id), 'Destroyed')
  const expunged = await lab.call('POST', '/compute/vms/expunge', { virtual_machine_id: id })
  assert.equal((await jobEnded(expunged.body.job_id)).job_status, 'completed', expunged.text)
  const gone = await lab.call('POST', '/compute/vms/byID', { virtual_machine_id: id })
  assert.ok(gone.body.code === 'VM_NOT_FOUND' || gone.body.state === 'Expunging')
})

test('expunging what is not destroyed is refused', async () => {
  const reply = await lab.call('POST', '/compute/vms/expunge', { virtual_machine_id: vm['web-01'] })
  assert.deepEqual([reply.status, reply.body.code], [400, 'VM_STATE'])
})

test('a machine is not said to start on a host or in a cluster that is not there, also while it runs', async () => {
  for (const [field, word] of [
    ['host_id', 'Host'],
    ['cluster_id', 'Cluster'],
  ] as const) {
    const start = { virtual_machine_id: vm['web-01'], [field]: NOBODY }
    const reply = await lab.call('POST', '/compute/vms/start', start)
    assert.deepEqual([reply.status, reply.body.code], [400, 'RESOURCE_NOT_FOUND'], reply.text)
    assert.equal(reply.body.detail, `${word} ${NOBODY} not found.`)
  }
  const known = { virtual_machine_id: vm['web-01'], host_id: wellKnown.hosts['kvm-01'] }
  assert.equal((await lab.call('POST', '/compute/vms/start', known)).status, 200)
})

test('ISO images are listed', async () => {
  const reply = await lab.call('GET', '/compute/vms/isos?bootable=true')
  assert.equal(reply.status, 200, reply.text)
  assert.ok(reply.body.isos.length > 0)
  assert.ok(reply.body.isos.every((iso: { bootable: boolean }) => iso.bootable))
})

const FAULTS = [
  ['fail', { code: 530, text: 'x' }, 'COMPUTE_ERROR'],
  ['fail', { code: 401, text: 'unable to verify user credentials and/or request signature' }, 'COMPUTE_ERROR'],
  ['fail', { code: 503, text: 'maintenance' }, 'COMPUTE_UNAVAILABLE'],
  ['silent', {}, 'COMPUTE_TIMEOUT'],
  ['garbage', { kind: 'html200' }, 'COMPUTE_ERROR'],
  ['garbage', { kind: 'json' }, 'COMPUTE_ERROR'],
  ['garbage', { kind: 'cut', times: 2 }, 'COMPUTE_UNAVAILABLE'],
] as const
for (const [path, fault, code] of FAULTS) {
  test(`${path} ${JSON.stringify(fault)} of the platform is 500 ${code}`, async () => {
    await control(lab, path, { command: 'listVirtualMachines', times: 1, ...fault })
    // The watcher reads the same command and may have met the fault first.
    const meetsFault = () =>
      until('the caller meets the fault', async () => {
        const reply = await lab.call('POST', '/compute/vms/byID', { virtual_machine_id: vm['web-01'] })
        if (reply.status === 200) await control(lab, path, { command: 'listVirtualMachines', times: 1, ...fault })
        return reply.status === 500 && reply.body.code === code
      })
    await (path === 'silent' ? impatiently(lab.config.compute, meetsFault) : meetsFault())
  })
}
