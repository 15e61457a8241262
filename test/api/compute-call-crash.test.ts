// The job behind start, stop and reboot: whichever moment the process dies at, the platform is asked once and the job ends.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CrashForTest } from '#src/jobs/runner.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
let crash_at: string | undefined
let points_to_pass = 0
let crashes = 0

before(async () => {
  lab = await startLab({
    time: 'step',
    at: (point) => {
      if (point !== crash_at || points_to_pass-- > 0) return
      crash_at = undefined
      crashes += 1
      throw new CrashForTest(point)
    },
  })
})
after(() => lab.close())

for (const [point, passed] of [
  ['submit:started', 0],
  ['submit:saved', 0],
  ['submit:saved', 1],
  ['submit:acted', 0],
  ['submit:ended', 0],
  ['follow:started', 0],
  ['follow:acted', 0],
  ['follow:ended', 0],
  ['verify:started', 0],
  ['verify:acted', 0],
] as const) {
  test(`a stop whose process dies at ${point} (after ${passed} of them) is sent once and ends`, async () => {
    lab.platform.reset()
    const before_crash = crashes
    const { body } = await lab.call('POST', '/compute/vms/list', { state: 'Running' })
    const id: string = body.virtual_machines[0].id
    crash_at = point
    points_to_pass = passed
    const asked = lab.call('POST', '/compute/vms/stop', { virtual_machine_id: id }, { headers: { prefer: 'wait=1' } })
    await until('the process has died', () => {
      lab.platform.step()
      return crashes > before_crash
    })
    const reply = await asked
    await lab.restart()
    const job_id: string = reply.headers.get('x-correlation-id') ?? ''
    const job = await until('the next process ends the job', async () => {
      lab.platform.step()
      const found = await lab.call('GET', `/jobs/${job_id}`)
      return found.body.job_status === 'running' ? undefined : found.body
    })
    assert.equal(job.job_status, 'completed', job.failure_reason)
    const { calls } = (await (await fetch(`${lab.platform.control_url}/calls`)).json()) as {
      calls: { command: string }[]
    }
    assert.equal(calls.filter((call) => call.command === 'stopVirtualMachine').length, 1)
    assert.equal((await lab.call('POST', '/compute/vms/byID', { virtual_machine_id: id })).body.state, 'Stopped')
  })
}
