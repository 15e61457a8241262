// The job behind every change that the platform runs as a job of its own: submit it once, then follow it to its end.
// The platform's job carries our job's id, so that a lost answer, a crash, or another process finds it again.
import { setTimeout as pause } from 'node:timers/promises'
import { type Static, Type } from 'typebox'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { CloudStackError, LostJobError, UnknownJobError } from '#src/drivers/cloudstack/platform-error.ts'
import { orRefusal } from '#src/drivers/cloudstack/refusals.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'

export interface CallDeps {
  cloudstack: CloudStack
}

const Goal = Type.Object({
  virtual_machine_id: Type.String(),
  states: Type.Array(Type.String()),
})

export const CallInput = Type.Object({
  command: Type.String(),
  /** As on the wire, sealed at rest: user data stands here. */
  args: Type.Record(Type.String(), Type.String()),
  /** The platform makes the thing before it queues the job, so the same call must never be sent twice. */
  creates: Type.Boolean(),
  slow: Type.Boolean(),
  /** The machine is to be in one of these states: then nothing needs to be sent, and an unclear end can be judged. */
  goal: Type.Optional(Goal),
  resource_type: Type.String(),
  done: Type.String(),
})
export type CallInput = Static<typeof CallInput>

type CallRun = Run<CallDeps, CallInput>

const HALF_AN_HOUR_MS = 30 * 60_000
/** The platform itself cancels a job after an hour. */
const LONGEST_FOLLOW_MS = 75 * 60_000
const SUBMIT_WEIGHT = 1
const FOLLOW_WEIGHT = 9
const FOLLOW_TITLE = 'Wait for the compute platform'
const RESENDS = 3

export const computeCall = defineJob<CallDeps>()({
  type: 'compute.call',
  input: CallInput,
  resource_type: 'VM',
  steps: [
    {
      name: 'submit',
      title: 'Hand over to the compute platform',
      weight: SUBMIT_WEIGHT,
      applies: isNeeded,
      run: submit,
      timeout_ms: HALF_AN_HOUR_MS,
    },
    {
      name: 'follow',
      title: FOLLOW_TITLE,
      weight: FOLLOW_WEIGHT,
      applies: wasSubmitted,
      run: follow,
      timeout_ms: LONGEST_FOLLOW_MS,
    },
  ],
  on_failure: 'stop',
  done: (run) => run.input.done,
})

/** Whether the platform has taken the job over: from then on it can only succeed or fail there. */
export function isSubmitted(job: { status: string; job_status: string }): boolean {
  return job.job_status !== 'running' || job.status === FOLLOW_TITLE
}

async function isNeeded(run: CallRun): Promise<string | true> {
  const { goal } = run.input
  if (goal === undefined || run.state.sending === true) return true
  const state = await vmState(run, goal.virtual_machine_id)
  return state !== null && goal.states.includes(state) ? `The virtual machine is ${state} already.` : true
}

function wasSubmitted(run: CallRun): string | true {
  return run.state.submitted === true ? true : 'Nothing had to be sent.'
}

async function submit(run: CallRun): Promise<void> {
  await orRefusal(submitOnce(run))
}

async function submitOnce(run: CallRun): Promise<void> {
  if (run.state.submitted === true) return
  if (run.state.sending === true && (await foundAgain(run))) return
  for (let attempt = 1; ; attempt += 1) {
    await run.save({ sending: true })
    try {
      const { command, args } = run.input
      const answer = await run.deps.cloudstack.call(command, args, { job_id: run.job_id })
      const entity_id = textOf(answer, 'id')
      if (entity_id !== null) await run.about({ id: entity_id })
      await run.save({ submitted: true })
      return
    } catch (error) {
      if (!isLostAnswer(error)) throw error
      await run.note('WARN', 'The answer of the compute platform was lost; asking for the job by its id.')
      if (await foundAgain(run)) return
      if (run.input.creates || attempt === RESENDS) throw error
    }
  }
}

/** Nothing is known about what the platform did: no status came back. */
function isLostAnswer(error: unknown): boolean {
  return error instanceof CloudStackError && error.status === undefined && error.failure !== 'not_configured'
}

/**
 * Asks for the job by its id until the platform answers. An unknown job was never queued, so it may be sent again, except
 * where the platform makes the thing first (cloudstack.md 2, customjobid).
 */
async function foundAgain(run: CallRun): Promise<boolean> {
  const job = await untilAnswered(run, () => run.deps.cloudstack.queryJob(run.job_id, { signal: run.signal }))
  if (job !== undefined) {
    if (run.input.creates && job.instance_id !== null) await run.about({ id: job.instance_id })
    await run.save({ submitted: true })
    return true
  }
  if (run.input.creates) {
    throw new ApiError(
      'JOB_INTERRUPTED',
      'The answer of the compute platform was lost and it knows no such job; look for the resource before you repeat the request.',
    )
  }
  return false
}

const ASK_AGAIN_MS = 1000
const ASK_FOR_MS = 60_000

async function untilAnswered<T>(run: CallRun, ask: () => Promise<T>): Promise<T> {
  const started_ms = performance.now()
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof CloudStackError) || performance.now() - started_ms > ASK_FOR_MS) throw error
      await pause(ASK_AGAIN_MS, undefined, { signal: run.signal })
    }
  }
}

async function follow(run: CallRun): Promise<void> {
  try {
    await run.deps.cloudstack.followJob(run.job_id, { signal: run.signal, profile: run.input.slow ? 'slow' : 'quick' })
  } catch (error) {
    if (!(error instanceof LostJobError) && !(error instanceof UnknownJobError)) return orRefusal(Promise.reject(error))
    await judgeByState(run, error)
  }
}

/** The platform lost its own job; the machine tells whether it was done. */
async function judgeByState(run: CallRun, cause: CloudStackError): Promise<void> {
  const { goal } = run.input
  const state = goal === undefined ? null : await orRefusal(vmState(run, goal.virtual_machine_id))
  if (goal !== undefined && state !== null && goal.states.includes(state)) return
  const seen = state === null ? '' : ` The virtual machine is ${state}.`
  throw new ApiError(
    'JOB_INTERRUPTED',
    `The compute platform ended the operation without an outcome.${seen} Look at the resource before you repeat it.`,
    { cause },
  )
}

async function vmState(run: CallRun, virtual_machine_id: string): Promise<string | null> {
  const args = { id: virtual_machine_id, details: 'min', listall: true, page: 1, pagesize: 2 }
  const content: Raw = await run.deps.cloudstack.call('listVirtualMachines', args, { signal: run.signal })
  const row = rowsOf(content, 'virtualmachine')[0]
  return row === undefined ? null : textOf(row, 'state')
}
