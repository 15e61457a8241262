// What a real platform answers when a caller asks for what cannot be: the caller's mistake, with its code, in the answer that
// was waited for, in the job and in the event; never a fault of ours.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import recorded from '../fixtures/cloudstack/errors.json' with { type: 'json' }
import { control, ended, eventOf } from '../support/platform-calls.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { vmApi } from '../support/vm-api.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step' })
})
after(() => lab.close())
const api = vmApi(() => lab)

const { vms, networks, service_offerings: offerings } = wellKnown
const table = () => lab.platform.state.tables

interface Mistake {
  what: string
  /** Of test/fixtures/cloudstack/errors.json, whose text comes back. */
  recording: string
  command: string
  at: 'submit' | 'job'
  order: () => [method: string, path: string, body: object]
  code: string
  says: RegExp
}

const MISTAKES: readonly Mistake[] = [
  {
    what: 'a size above the limit of the tenant',
    recording: 'deployVirtualMachine-domain-limit-cpu',
    command: 'scaleVirtualMachine',
    at: 'job',
    order: () => ['POST', '/compute/vms/scale', { virtual_machine_id: vms.gitlab, cpu_cores: 8 }],
    code: 'QUOTA_EXCEEDED',
    says: /no CPU cores left; ask .* to raise the limit/,
  },
  {
    what: 'a volume larger than the platform allows',
    recording: 'resizeVolume-too-big.job-failed',
    command: 'resizeVolume',
    at: 'job',
    order: () => ['PUT', '/compute/vms/update-disksize', { volume_id: rootOf(vms['db-01']), size_gb: 64 }],
    code: 'COMPUTE_REJECTED',
    says: /1024/,
  },
  {
    what: 'a start in an account that is disabled',
    recording: 'startVirtualMachine-disabled-owner.job-failed',
    command: 'startVirtualMachine',
    at: 'job',
    order: () => ['POST', '/compute/vms/start', { virtual_machine_id: vms['legacy-crm'] }],
    code: 'COMPUTE_REJECTED',
    says: /is disabled; activate its tenant first/,
  },
  {
    what: 'a machine at a guest address that is taken or outside',
    recording: 'deployVirtualMachine-bad-ip',
    command: 'deployVirtualMachine',
    at: 'submit',
    order: () => ['POST', '/compute/vms/provision', machineOrder()],
    code: 'COMPUTE_REJECTED',
    says: /in use, or outside network .*; choose another/,
  },
  {
    what: 'a secondary address that is taken',
    recording: 'addIpToNic-taken',
    command: 'addIpToNic',
    at: 'job',
    order: () => ['POST', '/compute/vms/nic/ip/add', { nic_id: nicOf(vms['web-01']) }],
    code: 'COMPUTE_CONFLICT',
    says: /in use, or outside the network .*; choose another/,
  },
  {
    what: 'a reboot of a machine that a stop overtook',
    recording: 'rebootVirtualMachine-stopped.job-failed',
    command: 'rebootVirtualMachine',
    at: 'job',
    order: () => ['POST', '/compute/vms/reboot', { virtual_machine_id: vms['web-01'] }],
    code: 'VM_STATE',
    says: /Running/,
  },
]

function rootOf(vm_id: string): string {
  const [root] = table()
    .volumes.by('vm', vm_id)
    .filter(({ type }) => type === 'ROOT')
  return root?.id ?? ''
}

const nicOf = (vm_id: string): string => table().vms.get(vm_id)?.nics[0]?.id ?? ''

const machineOrder = (): object => ({
  name: 'at-a-taken-address',
  zone_id: wellKnown.zone,
  template_id: wellKnown.templates['Debian 12'],
  service_offering_id: offerings.small,
  network_ids: [networks['acme-net']],
})

interface Rejection {
  code: number
  text: string
}

function rejectionOf(name: string): Rejection {
  const entry = recorded.errors.find((one) => one.name === name)
  assert.ok(entry !== undefined && typeof entry.answer === 'object', name)
  const answer = entry.answer as { errortext?: string; jobresult?: { errorcode: number; errortext: string } }
  if (answer.jobresult !== undefined) return { code: answer.jobresult.errorcode, text: answer.jobresult.errortext }
  return { code: entry.status, text: answer.errortext ?? '' }
}

for (const { what, recording, command, at, order, code, says } of MISTAKES) {
  test(`${what} is 400 ${code} in the answer, the job and the event`, async () => {
    await control(lab, 'fail', { command, at, times: 1, ...rejectionOf(recording) })
    const [method, path, body] = order()
    const reply = await api.done(method, path, body)
    api.refused(reply, code)
    assert.match(reply.body.detail, says)
    const id = reply.headers.get('x-correlation-id') ?? ''
    const job = await ended(lab, id)
    assert.deepEqual([job.job_status, job.failure_code], ['failed', code])
    assert.equal((await eventOf(lab, id)).status, 'FAILED')
  })
}
