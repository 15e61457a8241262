// Waiting without a process: a job is let go until `wake_at`, and whatever it waits for takes that to now. Looking for what it
// waits for and letting it go are one transaction under the lock of its row, so that nothing arrives unseen in between.
import { randomUUIDv7 } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { ApiError } from '#src/kernel/errors.ts'
import type { Trx } from '#src/store/database.ts'
import type { AdmissionOf, AnyJob, Signal } from './define.ts'
import type { Place } from './limits.ts'
import type { JobRow } from './job-row.ts'
import { callerOf, cancelChildren, type Claim, insertJob, type Parts, wakeJob } from './rows.ts'

/** Thrown through a step that waits: this process holds the job no longer. */
export class WaitingError extends Error {
  constructor(job_id: string) {
    super(`job ${job_id} waits without a process`)
    this.name = 'WaitingError'
  }
}

/** The step has waited for as long as it may. */
export class WaitEndedError extends ApiError {}

export interface WaitingStep {
  name: string
  title: string
  timeout_ms: number
}

export interface ChildStart {
  name: string
  definition: AnyJob
  places: readonly Place[]
  admission: AdmissionOf<unknown>
}

export function waits(parts: Parts) {
  const { database, held, now, encrypt, decrypt } = parts
  /** Waits for what `read` looks for. */
  async function waitFor<T>(claim: Claim, step: WaitingStep, read: (trx: Trx) => Promise<T | undefined>): Promise<T> {
    const found = await held(claim, async (trx) => {
      const value = await read(trx)
      if (value === undefined) await letGo(trx, claim, await latest(trx, claim, step, now()))
      return value
    })
    if (found === undefined) throw new WaitingError(claim.row.id)
    return found
  }
  return {
    signalled: async (claim: Claim, step: WaitingStep, name: string): Promise<unknown> => {
      const payload = await waitFor(claim, step, async (trx) => {
        const signals = trx.selectFrom('job_signal').select('payload').where('job_id', '=', claim.row.id)
        return (await signals.where('name', '=', name).executeTakeFirst())?.payload
      })
      return decrypt(payload, claim.row.id)
    },

    /** Answers false when the time has come already. */
    waitUntil: (claim: Claim, step: WaitingStep, time: RawBuilder<Date>): Promise<boolean> =>
      held(claim, async (trx) => {
        const { rows } = await sql<{ come: boolean }>`select ${time} <= ${now()} as come`.execute(trx)
        if (rows[0]?.come === true) return false
        const wait_until = await latest(trx, claim, step, now())
        await letGo(trx, claim, sql<Date>`least(${wait_until}, ${time})`)
        return true
      }),

    startChild: (claim: Claim, { name, definition, places, admission }: ChildStart): Promise<void> =>
      held(claim, async (trx, publish) => {
        if ((await childOf(trx, claim, name)) !== undefined) return
        const { row } = claim
        const of = { id: randomUUIDv7(), caller: callerOf(row), places, here: false }
        const tenant_id = admission.tenant_id ?? row.tenant_id
        await insertJob(parts, trx, publish, definition, { ...admission, tenant_id }, { ...of, child: [row.id, name] })
      }),

    /** The child when it has ended. */
    endedChild: (claim: Claim, step: WaitingStep, name: string): Promise<JobRow> =>
      waitFor(claim, step, async (trx) => {
        const child = await childOf(trx, claim, name)
        if (child === undefined) throw new Error(`the job has started no child ${name}`)
        return child.job_status === 'running' ? undefined : child
      }),

    /** Before a failed job ends or undoes what it did: its children must act no more. */
    endChildren: async (claim: Claim): Promise<void> => {
      const running = await held(claim, async (trx) => {
        await cancelChildren(trx, [claim.row.id])
        const children = trx.selectFrom('job').select('id').where('parent_id', '=', claim.row.id)
        const child = await children.where('job_status', '=', 'running').limit(1).executeTakeFirst()
        if (child !== undefined) await letGo(trx, claim, sql<Date>`'infinity'`)
        return child !== undefined
      })
      if (running) throw new WaitingError(claim.row.id)
    },

    /** Stores the signal before anything else, so that none is lost that comes before the job waits for it. */
    signal(id: string, { name, payload: schema }: Signal<TSchema>, payload: unknown, trx?: Trx): Promise<boolean> {
      if (!Value.Check(schema, payload)) throw new Error(`the signal ${name} has not its form`)
      const store = async (within: Trx): Promise<boolean> => {
        const row = await within
          .selectFrom('job')
          .select('job_status')
          .where('id', '=', id)
          .forUpdate()
          .executeTakeFirst()
        if (row === undefined) throw new ApiError('JOB_NOT_FOUND', `There is no job ${id}.`)
        if (row.job_status !== 'running') return false
        const { numInsertedOrUpdatedRows } = await within
          .insertInto('job_signal')
          .values({ job_id: id, name, payload: encrypt(payload, id) })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirstOrThrow()
        if (numInsertedOrUpdatedRows !== 1n) return false
        await wakeJob(within, id)
        return true
      }
      return trx === undefined ? database.db.transaction().execute(store) : store(trx)
    },
  }
}

/** When the step must have what it waits for: counted from its first wait. */
async function latest(trx: Trx, claim: Claim, step: WaitingStep, now: RawBuilder<Date>): Promise<RawBuilder<Date>> {
  const limit = sql<Date>`${now} + ${step.timeout_ms} * interval '1 millisecond'`
  const row = await trx
    .updateTable('job_step')
    .set({ wait_until: sql<Date>`coalesce(wait_until, ${limit})` })
    .where('job_id', '=', claim.row.id)
    .where('name', '=', step.name)
    .returning(['wait_until', sql<boolean>`wait_until <= ${now}`.as('over')])
    .executeTakeFirst()
  if (row === undefined) throw new Error('a job waits in the act or the undo of a step, nowhere else')
  if (row.over) throw new WaitEndedError('WAIT_TIMEOUT', `The step "${step.title}" did not end in time.`)
  return sql<Date>`(select wait_until from job_step where job_id = ${claim.row.id} and name = ${step.name})`
}

/** Raises the epoch: whatever this process still tries for the job is refused. */
async function letGo(trx: Trx, { row }: Claim, wake_at: RawBuilder<Date>): Promise<void> {
  await trx
    .updateTable('job')
    .set({ executor: null, epoch: sql<number>`epoch + 1`, wake_at, updated_at: sql`now()` })
    .where('id', '=', row.id)
    .execute()
}

function childOf(trx: Trx, claim: Claim, name: string): Promise<JobRow | undefined> {
  const children = trx.selectFrom('job').selectAll().where('parent_id', '=', claim.row.id)
  return children.where('child_name', '=', name).executeTakeFirst()
}
