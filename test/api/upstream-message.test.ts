// What the compute platform itself said about an error: for those who run the platform, and for nobody else.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { callsOf, control } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
const tokens: Record<string, string> = {}
const id = wellKnown.vms['web-01']
const SAID = 'VM is on kvm-07.internal (10.20.30.40) and {"uuid":"x","name":"shop"} has password=hunter2-hunter2'
const SHOWN = 'VM is on [address] ([address]) and shop has password=[hidden]'

before(async () => {
  // Whoever asks first meets a planted fault: watchers read once, and no more then.
  const never = { states_poll_ms: 3_600_000, events_poll_ms: 3_600_000 }
  lab = await startLab({ config: { compute: { ...never, tenants_poll_ms: 200 } } })
  await until('the states are read', async () => (await callsOf(lab, 'listVirtualMachines')).length > 0)
  for (const role of ['viewer', 'operator', 'admin']) {
    for (const tenant_id of [undefined, wellKnown.domains.acme]) {
      const { body } = await lab.call('POST', '/auth/tokens', { name: role, role, tenant_id })
      tokens[`${role} ${tenant_id === undefined ? 'of none' : 'of acme'}`] = body.token
    }
  }
  await until(
    'the tenants are known',
    async () => (await lab.call('GET', `/admin/tenants/${wellKnown.domains.acme}`)).status === 200,
  )
})
after(() => lab?.close())

const plant = (command: string, at?: 'job') =>
  control(lab, 'fail', { command, code: 431, text: SAID, times: 1, ...(at === undefined ? {} : { at }) })

for (const [who, sees] of [
  ['admin of none', true],
  ['operator of none', true],
  ['admin of acme', false],
  ['operator of acme', false],
] as const) {
  test(`${who}: an error of a change ${sees ? 'carries' : 'does not carry'} the platform’s own sentence`, async () => {
    await plant('updateVirtualMachine')
    const body = { virtual_machine_id: id, display_name: 'x' }
    const reply = await lab.call('POST', '/compute/vms/update', body, { token: tokens[who] ?? '' })
    assert.deepEqual([reply.status, reply.body.code], [400, 'COMPUTE_REJECTED'], reply.text)
    assert.equal(reply.body.upstream_message, sees ? SHOWN : undefined)
    assert.doesNotMatch(reply.text, /kvm-07|10\.20\.30\.40|hunter2/)
  })

  test(`${who}: a failed job ${sees ? 'carries' : 'does not carry'} the platform’s own sentence`, async () => {
    await plant('rebootVirtualMachine', 'job')
    const options = { token: tokens[who] ?? '', headers: { prefer: 'wait=60' } }
    const reply = await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: id }, options)
    assert.equal(reply.status, 400, reply.text)
    assert.equal(reply.body.upstream_message, sees ? SHOWN : undefined)
    const job = await lab.call('GET', `/jobs/${reply.headers.get('x-correlation-id')}`, undefined, options)
    assert.deepEqual([job.body.job_status, job.body.upstream_message], ['failed', sees ? SHOWN : undefined], job.text)
    assert.doesNotMatch(job.text, /kvm-07|10\.20\.30\.40|hunter2/)
  })
}

test('viewers see the job of another, and a refused list, without it', async () => {
  await plant('rebootVirtualMachine', 'job')
  const failed = await lab.call(
    'POST',
    '/compute/vms/reboot',
    { virtual_machine_id: id },
    { headers: { prefer: 'wait=60' } },
  )
  assert.equal(failed.body.upstream_message, SHOWN, failed.text)
  for (const who of ['viewer of none', 'viewer of acme']) {
    const token = tokens[who] ?? ''
    const job = await lab.call('GET', `/jobs/${failed.headers.get('x-correlation-id')}`, undefined, { token })
    assert.deepEqual([job.body.job_status, job.body.upstream_message], ['failed', undefined], job.text)
    await plant('listVirtualMachines')
    const list = await lab.call('POST', '/compute/vms/list', {}, { token })
    assert.deepEqual([list.status, list.body.upstream_message], [400, undefined], list.text)
    assert.doesNotMatch(list.text + job.text, /kvm-07|10\.20\.30\.40|hunter2/)
  }
})
