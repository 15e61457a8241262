// What a step sees of its job (define.ts, Run).
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { ERRORS, type ErrorCode } from '#src/contract/errors.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Log } from '#src/kernel/log.ts'
import type { AnyJob, BoundJob, JobDefinition, NoState, Run, Step } from './define.ts'
import type { Ledger } from './ledger.ts'
import type { JobRow } from './job-row.ts'
import { callerOf, type Claim } from './rows.ts'
import { placesOf } from './limits.ts'
import type { createProgress, ProgressSink } from './progress.ts'
import { WaitingError, type WaitingStep } from './waits.ts'

export interface RunnerDeps {
  ledger: Ledger
  log: Log
  /** A kind of job that this process knows. */
  bound: (type: string) => BoundJob
  /** Sends progress that is not stored. */
  live: ProgressSink
  /** How long what was sent may be on its way: so long the world settles before something counts as not done. */
  settle_ms: number
  /** First pause before an automatic repeat; doubles each time. */
  retry_ms: number
  /** Of the pauses between two questions to another system. */
  wait_factor: number
  /** Whether the job may be left to be taken up again, rather than fail: not endlessly. */
  mayDrop: (id: string) => boolean
  /** Takes jobs that may go on, once this time has passed. */
  pollAfter: (ms: number) => void
  /** Test hook of the harness: called at each named point; throwing there is a crash. */
  at?: (point: string) => void
}

export type AnyStep = Step<unknown, unknown, NoState>

export interface RunParts {
  claim: Claim
  bound: BoundJob
  /** Undefined: the job as a whole. */
  step: AnyStep | undefined
  attempt: number
  signal: AbortSignal
  progress: ReturnType<typeof createProgress>
  deps: RunnerDeps
}

export const DEFAULT_TIMEOUT_MS = 15 * 60_000

export function createRun(parts: RunParts): Run<unknown, unknown, NoState> {
  const { claim, bound, step, attempt, signal, progress, deps } = parts
  return {
    job_id: claim.row.id,
    epoch: claim.row.epoch,
    step: step?.name ?? '',
    input: claim.input,
    deps: bound.deps,
    caller: callerOf(claim.row),
    attempt,
    signal,
    log: deps.log,
    get state() {
      return claim.state
    },
    async save(change) {
      const next = { ...claim.state, ...change }
      await deps.ledger.save(claim, next)
      claim.state = next
      deps.at?.(`${step?.name ?? 'job'}:saved`)
    },
    async reached(milestone, change = {}) {
      const next = { ...claim.state, ...change }
      claim.row = await deps.ledger.reached(claim, milestone, next)
      claim.state = next
      deps.at?.(`${step?.name ?? 'job'}:saved`)
    },
    fenced: (work) => deps.ledger.fenced(claim, work),
    note: (level, text, data) => deps.ledger.note(claim, { level, step: step?.name ?? '', attempt, text, data }),
    progress: (percent, sentence) => progress.report(step?.name, percent, sentence),
    async about(resource) {
      claim.row = await deps.ledger.about(claim, resource)
    },
    settled: () => pause(deps.settle_ms, undefined, { signal }),
    ...waiting(parts),
  }
}

type Waiting = Pick<
  Run<unknown, unknown, NoState>,
  'signalled' | 'waitUntil' | 'repeatAfter' | 'startChild' | 'childResult'
>

function waiting({ claim, step, progress, deps }: RunParts): Waiting {
  const { ledger, bound, at, wait_factor } = deps
  const here = async (): Promise<WaitingStep> => {
    // Its act would begin again after the wait.
    if (step?.kind === 'once') throw new Error(`the step ${step.name} is of kind once, so it cannot wait`)
    await progress.settled()
    at?.(`${step?.name ?? 'job'}:waits`)
    return { name: step?.name ?? '', title: step?.title ?? '', timeout_ms: step?.timeout_ms ?? DEFAULT_TIMEOUT_MS }
  }
  return {
    async signalled({ name, payload }) {
      return checked(payload, await ledger.signalled(claim, await here(), name), `the signal ${name}`)
    },
    async waitUntil(time) {
      if (await ledger.waitUntil(claim, await here(), sql<Date>`${time}::timestamptz`))
        throw new WaitingError(claim.row.id)
    },
    async repeatAfter(ms) {
      const pause_ms = Math.max(1, ms * wait_factor)
      await ledger.waitUntil(claim, await here(), sql<Date>`${ledger.now()} + ${pause_ms} * interval '1 millisecond'`)
      deps.pollAfter(pause_ms)
      throw new WaitingError(claim.row.id)
    },
    async startChild(name, definition, admission) {
      const places = placesOf(bound(definition.type), admission.input)
      await ledger.startChild(claim, { name, definition: definition as unknown as AnyJob, places, admission })
      at?.(`${step?.name ?? 'job'}:child`)
    },
    async childResult(name, definition) {
      const child = await ledger.endedChild(claim, await here(), name)
      throwIfFailed(child)
      return resultOf(definition, ledger.resultOf(child))
    },
  }
}

/** Checks what was stored, perhaps by another version. */
function checked<T>(schema: TSchema | undefined, value: unknown, what: string): T {
  if (schema !== undefined && !Value.Check(schema, value))
    throw new Error(`${what} has not the form that its kind says`)
  return value as T
}

/** What a completed job of this kind passed on. */
export function resultOf<D, I, S, R>({ type, result }: JobDefinition<D, I, S, R>, value: unknown): R {
  return checked<R>(result, result === undefined ? null : value, `the result of a job ${type}`)
}

/** The failure of a job as those see it who asked for the job. */
export function throwIfFailed(row: JobRow): void {
  if (row.job_status !== 'failed') return
  const code = row.failure_code ?? ''
  const known = (name: string): name is ErrorCode => name in ERRORS
  throw new ApiError(known(code) ? code : 'INTERNAL_ERROR', row.failure_reason ?? 'The operation failed.', {
    upstream_message: row.upstream_message ?? undefined,
  })
}
