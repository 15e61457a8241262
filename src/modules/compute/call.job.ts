// The job behind every change that the platform runs as a job of its own: submit it once, follow it to its end, and verify
// that it took effect. The platform's job carries our job's id, so that a lost answer, a crash, or another process finds
// it again.
import { type Static, Type } from 'typebox'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { platformChange } from '#src/drivers/cloudstack/platform-change.ts'
import { observe, Postcondition } from '#src/drivers/cloudstack/postcondition.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import {
  type FollowedChange, followSubmission, Submissions, submitOnce, verifySubmission,
} from '#src/jobs/submit-once.ts' // biome-ignore format: one import
import type { Database } from '#src/store/database.ts'
import { withHostReport } from './host-report.ts'
import { withSettingsLock } from './settings-lock.ts'

export interface CallDeps {
  cloudstack: CloudStack
  database: Database
}

export const CallInput = Type.Object({
  command: Type.String(),
  /** As on the wire, encrypted at rest: user data stands here. */
  args: Type.Record(Type.String(), Type.String()),
  /** The platform makes the thing before it queues the job, so the same call must never be sent twice. */
  creates: Type.Boolean(),
  slow: Type.Boolean(),
  /** What the change must leave behind. Left out where the platform shows no trace of it. */
  postcondition: Type.Optional(Postcondition),
  /** Nothing is sent when the postcondition holds already. */
  skip_if_so: Type.Optional(Type.Boolean()),
  /** The call writes details of this machine, so from the call to its end nobody else may. */
  settings_of: Type.Optional(Type.String()),
  resource_type: Type.String(),
  done: Type.String(),
})
export type CallInput = Static<typeof CallInput>

const CallState = Type.Object({
  submissions: Submissions,
  platform_result: Type.Record(Type.String(), Type.Unknown()),
})

/** What the platform's job ended with; null where nothing had to be sent or its outcome was read from what it did. */
const CallResult = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])

type CallRun = Run<CallDeps, CallInput, Static<typeof CallState>>

const HALF_AN_HOUR_MS = 30 * 60_000
/** The platform itself cancels a job after an hour. */
const LONGEST_FOLLOW_MS = 75 * 60_000
const VERIFY_TIMEOUT_MS = 5 * 60_000
const SUBMIT_WEIGHT = 1
const FOLLOW_WEIGHT = 9
const VERIFY_WEIGHT = 1
const NAME = 'call'

export const computeCall = defineJob<CallDeps>()({
  type: 'compute.call',
  input: CallInput,
  state: CallState,
  result: CallResult,
  resultOf: (run) => run.state.platform_result ?? null,
  resource_type: 'VM',
  steps: [
    {
      name: 'submit',
      title: 'Submit to the compute platform',
      weight: SUBMIT_WEIGHT,
      applies: isNeeded,
      run: submit,
      timeout_ms: HALF_AN_HOUR_MS + LONGEST_FOLLOW_MS,
    },
    {
      name: 'follow',
      title: 'Wait for the compute platform',
      milestone: 'following',
      weight: FOLLOW_WEIGHT,
      applies: wasSubmitted,
      run: follow,
      timeout_ms: LONGEST_FOLLOW_MS,
    },
    {
      name: 'verify',
      title: 'Verify what changed',
      milestone: 'verifying',
      weight: VERIFY_WEIGHT,
      applies: isShown,
      run: (run) => verifySubmission(run, changeOf(run)),
      timeout_ms: VERIFY_TIMEOUT_MS,
      retries: 0,
    },
  ],
  on_failure: 'stop',
  done: (run) => run.input.done,
})

function changeOf(run: CallRun): FollowedChange {
  return platformChange(run.deps.cloudstack, run, {
    ...run.input,
    name: NAME,
    id: run.job_id,
    onResult: (platform_result) => run.save({ platform_result }),
  })
}

async function isNeeded(run: CallRun): Promise<string | true> {
  const { postcondition, skip_if_so } = run.input
  if (postcondition === undefined || skip_if_so !== true || run.state.submissions?.[NAME] !== undefined) return true
  const { holds } = await observe(run.deps.cloudstack, postcondition, null, { signal: run.signal })
  return holds ? 'It is so already.' : true
}

function wasSubmitted(run: CallRun): string | true {
  return run.state.submissions?.[NAME] === undefined ? 'Nothing had to be sent.' : true
}

function isShown(run: CallRun): string | true {
  if (run.input.postcondition === undefined) return 'The compute platform shows no trace of such a change.'
  return wasSubmitted(run)
}

async function submit(run: CallRun): Promise<void> {
  const { settings_of } = run.input
  if (settings_of === undefined) return submitCall(run)
  // A writer of settings replaces the whole map of details, so none may have read it before this call and write it after.
  await withSettingsLock(run.deps.database, settings_of, async () => {
    await submitCall(run)
    await run.reached('submitted')
    await follow(run)
  })
}

async function submitCall(run: CallRun): Promise<void> {
  const { made } = await withPlaces(run, () => submitOnce(run, changeOf(run)))
  if (run.input.creates && made !== null) await run.about({ id: made })
}

async function follow(run: CallRun): Promise<void> {
  if (run.state.platform_result === undefined) await withPlaces(run, () => followSubmission(run, changeOf(run)))
}

/** A start for which the planner finds no host is explained by what each host has free. */
async function withPlaces<T>(run: CallRun, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { command, args } = run.input
    if (command !== 'startVirtualMachine') throw error
    const { cloudstack } = run.deps
    throw await withHostReport(cloudstack, error, args['id'], { args, signal: run.signal })
  }
}
