// Runs one held job: every step is probed, acted and verified, and what happened is in the ledger before anything else
// follows. A crash at any point leaves rows from which the next process continues here.
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import { isOutage } from '#src/store/outages.ts'
import { Value } from 'typebox/value'
import { Type } from 'typebox'
import type { AnyJob, BoundJob, Holds, NoState, Run } from './define.ts'
import { createProgress } from './progress.ts'
import type { JobRow } from './job-row.ts'
import type { JobEnd } from './ledger.ts'
import { placesOf } from './limits.ts'
import { outstandingOf } from './outstanding.ts'
import { type Claim, type Failure, FencedError, type StepEnd } from './rows.ts'
import { type AnyStep, createRun, DEFAULT_TIMEOUT_MS, type RunnerDeps } from './run.ts'
import { WaitEndedError, WaitingError } from './waits.ts'

/** Why a run was told to stop; `lost`: another process holds the job by now. */
export type StopReason = 'cancelled' | 'shutdown' | 'lost'

export class StopError extends Error {
  readonly reason: StopReason
  constructor(reason: StopReason) {
    super(`the job was stopped: ${reason}`)
    this.name = 'StopError'
    this.reason = reason
  }
}

/** Runs the job to its end, or until this process must let go of it. Returns the final row, or undefined when let go. */
export async function runJob(
  claim: Claim,
  bound: BoundJob,
  stop: AbortSignal,
  deps: RunnerDeps,
): Promise<JobRow | undefined> {
  const log = deps.log.child({ job_id: claim.row.id, job_type: claim.row.type })
  try {
    if (!isReadable(bound.definition, claim)) return await deps.ledger.finish(claim, UNREADABLE)
    return await walk(claim, bound, stop, { ...deps, log })
  } catch (error) {
    if (error instanceof WaitingError) return undefined
    if (error instanceof FencedError || (error instanceof StopError && error.reason === 'lost')) {
      log.warn({ err: error }, 'job lost to another process')
      return undefined
    }
    if (error instanceof StopError && error.reason === 'shutdown') {
      await deps.ledger.release(claim)
      return undefined
    }
    throw error
  }
}

const UNREADABLE_REASON =
  'What this job was given or has saved cannot be read by this version of the service; it was stopped where it stood.'
const UNREADABLE = {
  sentence: UNREADABLE_REASON,
  failure: { step: '', code: 'INTERNAL_ERROR', reason: UNREADABLE_REASON, upstream_message: null },
}

/** Another version, or another key, may have written it. */
function isReadable({ input, state }: AnyJob, claim: Claim): boolean {
  return Value.Check(input, claim.input) && Value.Check(Type.Partial(state ?? Type.Object({})), claim.state)
}

async function walk(claim: Claim, bound: BoundJob, stop: AbortSignal, deps: RunnerDeps): Promise<JobRow> {
  const { steps, done, resultOf } = bound.definition
  const progress = createProgress(claim, steps, deps)
  let failure = claim.row.undoing ? storedFailure(claim) : undefined
  for (const [ordinal, step] of steps.entries()) {
    if (failure !== undefined) break
    const before = claim.steps.find(({ name }) => name === step.name)
    if (before !== undefined && before.state !== 'running' && before.state !== 'failed') continue
    const attempt = (before?.attempt ?? 0) + 1
    const interrupted = before?.state === 'running'
    failure = await runStep({ claim, bound, step, ordinal, attempt, interrupted, stop, progress, deps })
  }
  if (failure !== undefined) await deps.ledger.endChildren(claim)
  if (failure !== undefined) {
    const left = doesUndo(bound, claim, failure.code) ? await undoSteps(claim, bound, stop, progress, deps) : undefined
    const sentence = left === undefined ? failure.reason : undone(failure, left)
    return deps.ledger.finish(claim, {
      sentence,
      failure,
      failed: whatFollows(claim, bound, stop, progress, deps, left),
    })
  }
  const run = createRun({ claim, bound, step: steps.at(-1), attempt: 1, signal: stop, progress, deps })
  return deps.ledger.finish(claim, { sentence: done?.(run) ?? 'Done.', result: resultOf?.(run) })
}

function doesUndo({ definition: { on_failure } }: BoundJob, { input }: Claim, failure_code: string): boolean {
  const what = typeof on_failure === 'function' ? on_failure(input) : on_failure
  return what === 'undo' || (what === 'undo_cancelled' && failure_code === 'JOB_CANCELLED')
}

/** What the definition writes with the failure, and the job that it names. */
function whatFollows(
  claim: Claim,
  bound: BoundJob,
  stop: AbortSignal,
  progress: ReturnType<typeof createProgress>,
  deps: RunnerDeps,
  left: readonly string[] = [],
): NonNullable<JobEnd['failed']> {
  return async (trx, publish) => {
    const run = createRun({ claim, bound, step: undefined, attempt: 1, signal: stop, progress, deps })
    const next = await bound.definition.failed?.(run, trx, publish, left)
    if (next === undefined) return undefined
    return { ...next, places: placesOf(deps.bound(next.definition.type), next.admission.input) }
  }
}

interface StepRun {
  claim: Claim
  bound: BoundJob
  step: AnyStep
  ordinal: number
  attempt: number
  interrupted: boolean
  stop: AbortSignal
  progress: ReturnType<typeof createProgress>
  deps: RunnerDeps
}

/** One step from probe to verification. Returns the failure when it failed. */
async function runStep(context: StepRun): Promise<Failure | undefined> {
  const { claim, bound, step, ordinal, attempt, stop, progress, deps } = context
  const timeout = AbortSignal.timeout(step.timeout_ms ?? DEFAULT_TIMEOUT_MS)
  const signal = AbortSignal.any([stop, timeout])
  const run = createRun({ ...context, signal })
  const end = async (state: StepEnd, error = '', more: StepMore = {}): Promise<void> => {
    await progress.settled()
    const row = await deps.ledger.endStep(claim, ordinal, step.name, {
      state,
      error,
      attempt,
      progress: progress.after(ordinal),
      is_last: ordinal === bound.definition.steps.length - 1,
      ...more,
      ...(step.point_of_no_return === true && state !== 'failed' ? { no_return: true } : {}),
    })
    claim.row = row
    deps.at?.(`${step.name}:ended`)
  }
  try {
    throwIfStopped(stop)
    const already = await probe(context, run)
    if (already !== undefined) {
      await end(already.state, already.reason)
      return undefined
    }
    claim.row = await deps.ledger.startStep(claim, ordinal, step.name, attempt, step)
    deps.at?.(`${step.name}:started`)
    await act(context, run, signal)
    deps.at?.(`${step.name}:acted`)
    const holds = step.holds === undefined ? true : await step.holds(run)
    if (holds === true) await end('succeeded')
    else if (holds === 'unknown' && step.outstanding !== undefined) {
      const outstanding = await outstandingOf(step.outstanding, run)
      await end('unverified', outstanding.join(' '), { outstanding })
    } else throw new ApiError('JOB_INTERRUPTED', `The step "${step.title}" ended, but its goal was not reached.`)
    return undefined
  } catch (thrown) {
    return failStep(thrown, { ...context, run }, timeout, end)
  }
}

interface StepMore {
  outstanding?: readonly string[]
  failure?: Failure & { sentence: string }
}

async function failStep(
  thrown: unknown,
  context: StepRun & { run: Run<unknown, unknown, NoState> },
  timeout: AbortSignal,
  end: (state: StepEnd, error: string, more: StepMore) => Promise<void>,
): Promise<Failure | undefined> {
  const { step, stop, deps, attempt, claim, bound } = context
  const stopped: unknown = stop.aborted ? stop.reason : thrown
  if (isEndOfRun(thrown)) throw thrown
  if (isEndOfRun(stopped)) throw stopped
  const { outstanding } = step
  if (stopped instanceof WaitEndedError && outstanding !== undefined) {
    const texts = await outstandingOf(outstanding, context.run)
    await end('unverified', texts.join(' '), { outstanding: texts })
    return undefined
  }
  if (!stop.aborted && !timeout.aborted && isCutOff(thrown, context)) throw thrown
  const error = errorOf(thrown, stopped, timeout, context)
  deps.log.warn({ step: step.name, err: error }, 'job step failed')
  await deps.ledger.note(claim, {
    level: 'ERROR',
    step: step.name,
    attempt,
    text: error.message,
    data: { code: error.code },
  })
  const { code, message: reason, upstream_message = null } = error
  const failure = { step: step.name, code, reason, upstream_message }
  const sentence = doesUndo(bound, claim, code) ? `Undoing: ${reason}` : reason
  // In one write: a crash after it must not begin the failed step again.
  await end('failed', reason, { failure: { ...failure, sentence } })
  return failure
}

/** Without the database nothing was decided: the step was interrupted, and goes on as after the end of a process. */
function isCutOff(thrown: unknown, { claim, deps }: Pick<StepRun, 'claim' | 'deps'>): boolean {
  return isOutage(thrown) && deps.mayDrop(claim.row.id)
}

function errorOf(thrown: unknown, stopped: unknown, timeout: AbortSignal, { step, claim }: StepRun): ApiError {
  if (stopped instanceof StopError) return new ApiError('JOB_CANCELLED', 'cancelled')
  if (timeout.aborted) {
    return new ApiError('WAIT_TIMEOUT', `The step "${step.title}" did not end in time.`, { cause: thrown })
  }
  return asApiError(thrown, claim.row.tenant_id)
}

/** Whether the goal holds already: never started means skipped, interrupted means it succeeded. */
async function probe(
  context: StepRun,
  run: Run<unknown, unknown, NoState>,
): Promise<{ state: StepEnd; reason: string } | undefined> {
  const { step, interrupted } = context
  const applies = (await step.applies?.(run)) ?? true
  if (applies !== true) return { state: 'skipped', reason: applies }
  const holds: Holds = step.holds === undefined ? (interrupted ? 'unknown' : false) : await step.holds(run)
  if (holds === true)
    return interrupted ? { state: 'succeeded', reason: '' } : { state: 'skipped', reason: 'already so' }
  if (!interrupted || step.kind !== 'once') return undefined
  // Never a blind repeat of what must happen once: the world gets time to settle and must then say clearly "no".
  await run.settled()
  const again = step.holds === undefined ? 'unknown' : await step.holds(run)
  if (again === true) return { state: 'succeeded', reason: '' }
  if (again === 'unknown') {
    throw new ApiError('JOB_INTERRUPTED', `The step "${step.title}" was interrupted and its outcome cannot be told.`)
  }
  return undefined
}

/** The act, repeated by itself when the error says that it may pass. */
async function act(
  { step, deps }: Pick<StepRun, 'step' | 'deps'>,
  run: Run<unknown, unknown, NoState>,
  signal: AbortSignal,
): Promise<void> {
  const retries = step.retries ?? (step.kind === 'once' ? 0 : 3)
  for (let tried = 0; ; tried += 1) {
    try {
      return await abortable(step.run(run), signal)
    } catch (error) {
      const transient = error instanceof UpstreamError && error.retryable
      if (!transient || tried >= retries || signal.aborted) throw error
      deps.log.info({ step: step.name, tried, err: error }, 'job step repeated')
      await delay(deps.retry_ms * 2 ** tried, undefined, { signal })
    }
  }
}

/** A step that ignores its signal must not keep a stopping process. */
function abortable(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** Rolls back, in reverse order, every step that began, then what the admission wrote. Returns what could not be rolled back. */
async function undoSteps(
  claim: Claim,
  bound: BoundJob,
  stop: AbortSignal,
  progress: ReturnType<typeof createProgress>,
  deps: RunnerDeps,
): Promise<string[]> {
  const { steps } = await deps.ledger.open(claim.row)
  const { definition } = bound
  const left: string[] = []
  const rollBack = async (step: AnyStep, attempt: number, title: string): Promise<boolean> => {
    const signal = AbortSignal.any([shutdownOnly(stop), AbortSignal.timeout(step.timeout_ms ?? DEFAULT_TIMEOUT_MS)])
    const run = createRun({ claim, bound, step, attempt, signal, progress, deps })
    try {
      await act({ step, deps }, run, signal)
      deps.at?.(`${step.name}:undone`)
      return true
    } catch (thrown) {
      if (isEndOfRun(thrown) || isCutOff(thrown, { claim, deps })) throw thrown
      deps.log.error({ step: step.name, err: thrown }, 'job step not undone')
      const text = `${title} could not be undone: ${asApiError(thrown, claim.row.tenant_id).message}`
      await deps.ledger.note(claim, { level: 'ERROR', step: step.name, attempt, text, data: undefined })
      left.push(text)
      return false
    }
  }
  for (const step of definition.steps.toReversed()) {
    const row = steps.find(({ name }) => name === step.name)
    const over = row === undefined || row.state === 'skipped' || row.undo_state === 'undone'
    if (over || step.undo === undefined) continue
    await deps.ledger.undoStep(claim, step.name, 'running')
    const ended = await rollBack({ ...step, run: step.undo, kind: 'repeatable' }, row.attempt, `"${step.title}"`)
    await deps.ledger.undoStep(claim, step.name, ended ? 'undone' : 'failed')
  }
  const { undo } = definition
  if (undo !== undefined) await rollBack({ name: 'admission', title: '', run: undo }, 1, 'What the request recorded')
  return left
}

/** This process ends its part here; nothing has failed. */
function isEndOfRun(thrown: unknown): boolean {
  return (
    thrown instanceof FencedError ||
    thrown instanceof CrashForTest ||
    thrown instanceof WaitingError ||
    (thrown instanceof StopError && thrown.reason !== 'cancelled')
  )
}

/** A cancel is what undoing answers; only the end of the process interrupts it. */
function shutdownOnly(stop: AbortSignal): AbortSignal {
  const controller = new AbortController()
  const pass = (): void => {
    if (isEndOfRun(stop.reason)) controller.abort(stop.reason)
  }
  if (stop.aborted) pass()
  else stop.addEventListener('abort', pass, { once: true })
  return controller.signal
}

function undone(failure: Failure, left: readonly string[]): string {
  return left.length === 0
    ? `${failure.reason} Everything done before was undone.`
    : `${failure.reason} ${left.join(' ')}`
}

function storedFailure({ row }: Claim): Failure {
  return {
    step: row.failed_step ?? '',
    code: row.failure_code ?? 'INTERNAL_ERROR',
    reason: row.failure_reason ?? 'The job failed.',
    upstream_message: row.upstream_message,
  }
}

function throwIfStopped(stop: AbortSignal): void {
  if (stop.aborted) throw stop.reason
}

/** Thrown by the test harness to end a run as a killed process would: nothing more is written. */
export class CrashForTest extends Error {
  constructor(point: string) {
    super(`crash at ${point}`)
    this.name = 'CrashForTest'
  }
}
