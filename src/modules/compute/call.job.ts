// The job behind every change that the platform runs as a job of its own: submit it once, follow it to its end, and read
// back what it changed. The platform's job carries our job's id, so that a lost answer, a crash, or another process finds
// it again.
import { type Static, Type } from 'typebox'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { isRaw, type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { readBackJob } from '#src/drivers/cloudstack/later-jobs.ts'
import { type CloudStackError, LostJobError, UnknownJobError } from '#src/drivers/cloudstack/platform-error.ts'
import { look, Proof } from '#src/drivers/cloudstack/proof.ts'
import { orRefusal } from '#src/drivers/cloudstack/refusals.ts'
import { isLostAnswer, untilAnswered, WHATEVER_IT_SAYS } from '#src/drivers/cloudstack/until-answered.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Database } from '#src/store/database.ts'
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
  proof: Type.Optional(Proof),
  /** Nothing is sent when the proof holds already. */
  skip_if_so: Type.Optional(Type.Boolean()),
  /** The call writes details of this machine, so from the call to its end nobody else may. */
  settings_of: Type.Optional(Type.String()),
  resource_type: Type.String(),
  done: Type.String(),
})
export type CallInput = Static<typeof CallInput>

const CallState = Type.Object({
  /** A call may be on its way. */
  sending: Type.Boolean(),
  submitted: Type.Boolean(),
  /** What the answer, or else the result of the platform's job, says that was made. */
  made_id: Type.String(),
  /** What the platform's job is about. */
  instance_id: Type.String(),
  platform_result: Type.Record(Type.String(), Type.Unknown()),
})

/** What the platform's job ended with; null where nothing had to be sent or its outcome was read from what it did. */
const CallResult = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])

type CallRun = Run<CallDeps, CallInput, Static<typeof CallState>>

const HALF_AN_HOUR_MS = 30 * 60_000
/** The platform itself cancels a job after an hour. */
const LONGEST_FOLLOW_MS = 75 * 60_000
const SUBMIT_WEIGHT = 1
const FOLLOW_WEIGHT = 9
const READ_BACK_WEIGHT = 1
const FOLLOW_TITLE = 'Wait for the compute platform'
const READ_BACK_TITLE = 'Read back what changed'
const READ_BACK_TIMEOUT_MS = 5 * 60_000
const RESENDS = 3

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
      title: 'Hand over to the compute platform',
      weight: SUBMIT_WEIGHT,
      applies: isNeeded,
      run: submit,
      timeout_ms: HALF_AN_HOUR_MS + LONGEST_FOLLOW_MS,
    },
    {
      name: 'follow',
      title: FOLLOW_TITLE,
      milestone: 'following',
      weight: FOLLOW_WEIGHT,
      applies: wasSubmitted,
      run: follow,
      timeout_ms: LONGEST_FOLLOW_MS,
    },
    {
      name: 'read-back',
      title: READ_BACK_TITLE,
      milestone: 'verifying',
      weight: READ_BACK_WEIGHT,
      applies: isShown,
      run: readBackChange,
      timeout_ms: READ_BACK_TIMEOUT_MS,
      retries: 0,
    },
  ],
  on_failure: 'stop',
  done: (run) => run.input.done,
})

async function isNeeded(run: CallRun): Promise<string | true> {
  const { proof, skip_if_so } = run.input
  if (proof === undefined || skip_if_so !== true || run.state.sending === true) return true
  return (await sighting(run, proof)).holds ? 'It is so already.' : true
}

function wasSubmitted(run: CallRun): string | true {
  return run.state.submitted === true ? true : 'Nothing had to be sent.'
}

function isShown(run: CallRun): string | true {
  if (run.input.proof === undefined) return 'The compute platform shows no trace of such a change.'
  return wasSubmitted(run)
}

async function submit(run: CallRun): Promise<void> {
  const { settings_of } = run.input
  if (settings_of === undefined) return orRefusal(submitOnce(run))
  // A writer of settings replaces the whole map of details, so none may have read it before this call and write it after.
  await withSettingsLock(run.deps.database, settings_of, async (held) => {
    if (held.aborted) throw new ApiError('SETTINGS_BUSY', 'The lock on these settings was lost; nothing was changed.')
    await orRefusal(submitOnce(run))
    await follow(run)
  })
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
      await run.reached('submitted', { submitted: true, ...(entity_id === null ? {} : { made_id: entity_id }) })
      return
    } catch (error) {
      if (!isLostAnswer(error)) throw error
      await run.note('WARN', 'The answer of the compute platform was lost; asking for the job by its id.')
      if (await foundAgain(run)) return
      if (run.input.creates || attempt === RESENDS) throw error
    }
  }
}

/**
 * Asks for the job by its id until the platform answers. An unknown job was never queued, so it may be sent again, except
 * where the platform makes the thing first (cloudstack.md 2, customjobid).
 */
async function foundAgain(run: CallRun): Promise<boolean> {
  const job = await untilAnswered(
    run.signal,
    () => run.deps.cloudstack.queryJob(run.job_id, { signal: run.signal }),
    WHATEVER_IT_SAYS,
  )
  if (job !== undefined) {
    if (run.input.creates && job.instance_id !== null) await run.about({ id: job.instance_id })
    const about = job.instance_id === null ? {} : { instance_id: job.instance_id }
    await run.reached('submitted', { submitted: true, ...about })
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

async function follow(run: CallRun): Promise<void> {
  if (run.state.platform_result !== undefined) return
  try {
    const profile = run.input.slow ? 'slow' : 'quick'
    const result = await run.deps.cloudstack.followJob(run.job_id, { signal: run.signal, profile })
    const id = run.input.creates && madeId(run) === null ? idIn(result) : null
    await run.save({ platform_result: result, ...(id === null ? {} : { made_id: id }) })
  } catch (error) {
    if (!(error instanceof LostJobError) && !(error instanceof UnknownJobError)) return orRefusal(Promise.reject(error))
    await judge(run, error)
  }
}

/** The id that came with the answer, or with the result of the job. */
function madeId(run: CallRun): string | null {
  return run.state.made_id ?? null
}

/** Results are wrapped: `{ volume: { id } }`. */
function idIn(result: Raw): string | null {
  const made = Object.values(result).find(isRaw)
  return made === undefined ? null : textOf(made, 'id')
}

function sighting(run: CallRun, proof: Proof): ReturnType<typeof look> {
  return orRefusal(look(run.deps.cloudstack, proof, knownId(run), { signal: run.signal }))
}

/** Without an answer and a result, what the platform’s job is about: mostly, but not always, the thing made. */
function knownId(run: CallRun): string | null {
  return madeId(run) ?? run.state.instance_id ?? null
}

/** The platform lost its own job; what it shows tells whether it was done. */
async function judge(run: CallRun, cause: CloudStackError): Promise<void> {
  const { proof, creates } = run.input
  // What is made before the job is there in any case, so that its presence alone tells nothing.
  const tells = proof !== undefined && !(creates && Object.keys(proof.expect).length === 0)
  const found = tells ? await sighting(run, proof) : undefined
  if (found?.holds === true) return
  const seen = found === undefined ? '' : ` It shows that ${found.words}.`
  throw new ApiError(
    'JOB_INTERRUPTED',
    `The compute platform ended the operation without an outcome.${seen} Look at the resource before you repeat it.`,
    { cause },
  )
}

async function readBackChange(run: CallRun): Promise<void> {
  const { proof } = run.input
  if (proof === undefined) return
  const { cloudstack } = run.deps
  const change = { job_id: run.job_id, proof, made_id: knownId(run) }
  const found = await orRefusal(readBackJob(cloudstack, change, run.signal))
  if (found === 'replaced')
    await run.note('INFO', 'It is not as this operation left it: another one of the same resource came after it.')
}
