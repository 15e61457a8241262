// What a person must still check after a job: closed by a person or a callback, and by itself as soon as it has come true.
import { sql } from 'kysely'
import pLimit from 'p-limit'
import type { Log } from '#src/kernel/log.ts'
import type { Db, Trx } from '#src/store/database.ts'
import { noteFrom } from './audit-log.ts'
import type { BoundJob, Holds, NoState, Run, Step } from './define.ts'
import type { AnyStep } from './run.ts'

/** Of one step, or of several. */
export async function closeOutstanding(
  trx: Trx,
  job_id: string,
  steps: readonly string[],
  closed_by: string,
): Promise<void> {
  await trx
    .updateTable('job_outstanding')
    .set({ closed_at: sql<Date>`now()`, closed_by })
    .where('job_id', '=', job_id)
    .where('step', 'in', steps)
    .where('closed_at', 'is', null)
    .execute()
}

/** What the step leaves to a person as things are now; it may be less than what it left at its end. */
export async function outstandingOf<Deps, Input, State>(
  outstanding: NonNullable<Step<Deps, Input, State>['outstanding']>,
  run: Run<Deps, Input, State>,
): Promise<readonly string[]> {
  return typeof outstanding === 'string' ? [outstanding] : outstanding(run)
}

interface RecheckDeps {
  db: Db
  log: Log
  /** Undefined: a kind that this version does not know. */
  bound: (type: string) => BoundJob | undefined
  /** A run of the step that may read, and writes nothing. */
  open: (
    job_id: string,
    bound: BoundJob,
    step: AnyStep,
    signal: AbortSignal,
  ) => Promise<Run<unknown, unknown, NoState> | undefined>
}

const AT_ONCE = 8
/** Of one step; the machines in question may be gone. */
const RECHECK_MS = 60_000

/** Asks the steps of ended jobs again whether their goal holds by now, and closes what has come true. */
export async function recheckOutstanding(deps: RecheckDeps, signal: AbortSignal): Promise<void> {
  const open = await deps.db
    .selectFrom('job_outstanding')
    .innerJoin('job', 'job.id', 'job_outstanding.job_id')
    .select(['job_id', 'step', 'type', 'epoch'])
    .distinct()
    .where('closed_at', 'is', null)
    .where('job_status', '<>', 'running')
    .execute()
  const turn = pLimit(AT_ONCE)
  const rechecks = open.map((one) => turn(() => (signal.aborted ? undefined : recheck(deps, one, signal))))
  await Promise.all(rechecks)
}

async function recheck(
  deps: RecheckDeps,
  { job_id, step: name, type, epoch }: { job_id: string; step: string; type: string; epoch: number },
  signal: AbortSignal,
): Promise<void> {
  const bound = deps.bound(type)
  const step = bound?.definition.steps.find((one) => one.name === name)
  if (bound === undefined || step?.holds === undefined || step.outstanding === undefined) return
  try {
    const run = await deps.open(job_id, bound, step, AbortSignal.any([signal, AbortSignal.timeout(RECHECK_MS)]))
    if (run === undefined) return
    const holds: Holds = await step.holds(run)
    const left = holds === true ? [] : await outstandingOf(step.outstanding, run)
    // Not come true, and yet nothing to do: a retry has changed what the job was given since the sentence was written.
    if (holds !== true && left.length === 0) return
    await deps.db.transaction().execute((trx) => replaceActions(trx, { job_id, epoch, step: name, left }))
  } catch (err) {
    deps.log.info({ err, job_id, step: name }, 'outstanding actions of a job not checked')
  }
}

async function replaceActions(
  trx: Trx,
  { job_id, epoch, step, left }: { job_id: string; epoch: number; step: string; left: readonly string[] },
): Promise<void> {
  // A retry since then may have run the step again: what it found out is newer than the answer that this one got.
  const job = await trx
    .selectFrom('job')
    .select('id')
    .where('id', '=', job_id)
    .where('epoch', '=', epoch)
    .where('job_status', '<>', 'running')
    .forUpdate()
    .executeTakeFirst()
  if (job === undefined) return
  const closed = await trx
    .updateTable('job_outstanding')
    .set({ closed_at: sql<Date>`now()`, closed_by: 'system' })
    .where('job_id', '=', job_id)
    .where('step', '=', step)
    .where('closed_at', 'is', null)
    .where(sql<boolean>`text <> all(${[...left]}::text[])`)
    .returning('text')
    .execute()
  for (const { text } of closed)
    await noteFrom(trx, job_id, { level: 'INFO', step, attempt: 1, text: `No longer left to do: ${text}` })
  // A person, or the report of a wipe, may have closed everything meanwhile.
  if (closed.length === 0) return
  // The same thing in other words, where a retry was given something else: it takes the place of what was closed.
  for (const text of left) {
    await trx
      .insertInto('job_outstanding')
      .values({ job_id, step, text })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}
