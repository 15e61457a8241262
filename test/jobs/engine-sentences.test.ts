// What the engine says of jobs that are not there and of steps that fail by themselves: each sentence names the job or step.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from 'typebox'
import { bindJob, type BoundJob, defineJob, type Step } from '#src/jobs/define.ts'
import type { ApiError } from '#src/kernel/errors.ts'
import { SYSTEM } from '#src/kernel/http/context.ts'
import { ended } from '../support/job-harness.ts'
import { admit } from '../support/job-process.ts'
import { replicasOfFile } from '../support/toy-jobs.ts'

const replica = replicasOfFile()
const NO_JOB = '01a200ad-0000-7000-8000-000000000000'
const DAY_MS = 24 * 60 * 60_000

test('a job that is not there is neither waited for, cancelled nor signalled, and the error names it', async () => {
  const { engine } = await replica([])
  const signal = { name: 'wiped', payload: Type.Object({}) }
  const calls = [
    () => engine.wait(NO_JOB, { timeout_ms: DAY_MS }),
    () => engine.cancel(NO_JOB, SYSTEM),
    () => engine.signal(NO_JOB, signal, {}),
  ]
  for (const call of calls) {
    await assert.rejects(call, ({ code, message }: ApiError) => {
      assert.deepEqual([code, message], ['JOB_NOT_FOUND', `There is no job ${NO_JOB}.`])
      return true
    })
  }
})

test('a step that ends without its goal, or takes longer than it may, fails its job, which names the step', async () => {
  const acts: string[] = []
  const idle = oneStep('test.idle', { holds: async () => false, run: async () => void acts.push('idle') })
  const slow = oneStep('test.slow', {
    timeout_ms: 1,
    run: async ({ signal }) => {
      acts.push('slow')
      await delay(DAY_MS, undefined, { signal })
    },
  })
  const process = await replica([idle, slow])
  const of = async (bound: BoundJob): Promise<unknown[]> => {
    const { job_status, failure_code, failure_reason } = await ended(process, (await admit(process, bound, {})).id)
    return [job_status, failure_code, failure_reason]
  }
  assert.deepEqual(await of(idle), [
    'failed',
    'JOB_INTERRUPTED',
    'The step "Paint the door" ended, but its goal was not reached.',
  ])
  assert.deepEqual(await of(slow), ['failed', 'WAIT_TIMEOUT', 'The step "Paint the door" did not end in time.'])
  assert.deepEqual(acts, ['idle', 'slow'])
})

function oneStep(type: string, step: Pick<Step<null, object>, 'run' | 'holds' | 'timeout_ms'>): BoundJob {
  const definition = defineJob<null>()({
    type,
    resource_type: 'TEST',
    input: Type.Object({}),
    steps: [{ name: 'paint', title: 'Paint the door', ...step }],
  })
  return bindJob(definition, null)
}
