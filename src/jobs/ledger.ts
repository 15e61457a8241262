// The ledger: jobs, their steps and their audit log, the only truth about what was done. Every write of a running job
// names the epoch it was claimed under, so that a process which lost the job writes nothing.
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Caller } from '#src/kernel/http/context.ts'
import type { Keyring } from '#src/kernel/keyring.ts'
import { endEvent, type Publish, startEvent, updateEvent } from '#src/store/app-events.ts'
import { type Database, JOB_NOTIFY, type Trx } from '#src/store/database.ts'
import { holdKey } from '#src/store/idempotency.ts'
import { LOCKS } from '#src/store/locks.ts'
import { isAlive } from '#src/store/replicas.ts'
import { ASSOCIATED_DATA } from '#src/store/encrypted-places.ts'
import type { Admission } from './admit.ts'
import { type JobDefinition, type LogLevel, type Milestone, MILESTONES } from './define.ts'
import type { JobRow, StepRow } from './job-row.ts'
import { jobMessage } from './view.ts'

export type StepEnd = 'succeeded' | 'failed' | 'skipped' | 'unverified'

/** Thrown by every write of a process that no longer holds the job. It must stop at once and write nothing. */
export class FencedError extends Error {
  constructor(job_id: string) {
    super(`another process holds job ${job_id}`)
    this.name = 'FencedError'
  }
}

/** A job that this process holds, under one epoch. */
export interface Claim {
  row: JobRow
  input: unknown
  state: Record<string, unknown>
  steps: StepRow[]
}

export interface Failure {
  step: string
  code: string
  reason: string
  upstream_message: string | null
}

export type Ledger = ReturnType<typeof createLedger>

export function createLedger(database: Database, keyring: Keyring, replica_id: string) {
  const parts: Parts = {
    database,
    replica_id,
    encrypt: (value, id) => keyring.encrypt(JSON.stringify(value), ASSOCIATED_DATA.job(id)),
    decrypt: (text, id) => JSON.parse(keyring.decrypt(text, ASSOCIATED_DATA.job(id))) as unknown,
    held: (claim, work) => held(database, claim, work),
  }
  return { ...admission(parts), ...claims(parts), ...stepWrites(parts), ...jobWrites(parts), ...auditLog(parts) }
}

interface Parts {
  database: Database
  replica_id: string
  encrypt(value: unknown, id: string): string
  decrypt(text: string, id: string): unknown
  held<T>(claim: Claim, work: (trx: Trx, publish: Publish) => Promise<T>): Promise<T>
}

/** One fenced transaction: fails unless this process still holds the job under this epoch. */
function held<T>(database: Database, claim: Claim, work: (trx: Trx, publish: Publish) => Promise<T>): Promise<T> {
  const { id, epoch } = claim.row
  return database.transact(async (trx, publish) => {
    const row = await trx
      .selectFrom('job')
      .select('id')
      .where('id', '=', id)
      .where('epoch', '=', epoch)
      .where('job_status', '=', 'running')
      .forUpdate()
      .executeTakeFirst()
    if (row === undefined) throw new FencedError(id)
    return work(trx, publish)
  })
}

async function change(trx: Trx, publish: Publish, id: string, set: Record<string, unknown>): Promise<JobRow> {
  const row = await trx
    .updateTable('job')
    .set({ ...set, updated_at: sql`now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  publish(jobMessage(row, 1))
  return row
}

/** Heard by every replica when the transaction is committed. */
async function notify(trx: Trx, id: string): Promise<void> {
  await sql`select pg_notify(${JOB_NOTIFY}, ${id})`.execute(trx)
}

function admission({ encrypt, replica_id }: Parts) {
  return {
    /** Admission: job and start event; held by this process from the first moment when it has room. */
    async insert<Deps, Input, State, Result>(
      trx: Trx,
      publish: Publish,
      definition: JobDefinition<Deps, Input, State, Result>,
      admission: Admission<Input>,
      here: boolean,
    ): Promise<JobRow> {
      const { operation, operation_id, caller } = admission.operation
      await holdKey(trx, admission.operation)
      const row = await trx
        .insertInto('job')
        .values({
          id: operation_id,
          parent_id: admission.parent_id ?? null,
          type: definition.type,
          status: admission.description,
          description: admission.description,
          input: encrypt(admission.input, operation_id),
          state: encrypt({}, operation_id),
          metadata: JSON.stringify(admission.metadata ?? {}),
          planned_steps: JSON.stringify(definition.steps.map((step) => step.name)),
          node_ip: admission.node_ip ?? null,
          resource_type: definition.resource_type,
          resource_id: admission.resource_id ?? null,
          resource_name: admission.resource_name ?? '',
          tenant_id: admission.tenant_id ?? caller.tenant_id,
          caller: JSON.stringify(caller),
          executor: here ? replica_id : null,
          epoch: here ? 1 : 0,
        })
        .returningAll()
        .executeTakeFirstOrThrow()
      await startEvent(trx, publish, {
        correlation_id: operation_id,
        action: operation,
        resource_type: definition.resource_type,
        description: admission.description,
        caller,
        tenant_id: row.tenant_id,
        ...(admission.resource_id === undefined ? {} : { resource_uuid: admission.resource_id }),
      })
      await admission.also?.(trx)
      publish(jobMessage(row, 1))
      if (!here) await notify(trx, row.id)
      return row
    },
  }
}

function claims({ database, decrypt, replica_id }: Parts) {
  const opened = async (row: JobRow): Promise<Claim> => ({
    row,
    input: decrypt(row.input, row.id),
    state: decrypt(row.state, row.id) as Record<string, unknown>,
    steps: await database.db
      .selectFrom('job_step')
      .selectAll()
      .where('job_id', '=', row.id)
      .orderBy('ordinal')
      .execute(),
  })
  return {
    /** The job with what it was given and what it has done so far. */
    open: opened,

    /** What the job handed to those who asked; undefined until it has completed. */
    resultOf: (row: JobRow): unknown => (row.result === null ? undefined : decrypt(row.result, row.id)),

    find: (id: string): Promise<JobRow | undefined> =>
      database.db.selectFrom('job').selectAll().where('id', '=', id).executeTakeFirst(),

    /**
     * Takes the oldest job that nobody alive holds and that is due, by raising its epoch. `types`: what this version can
     * run. `own`: what this process runs; another job that names this process was dropped by it and is free too.
     */
    claimNext: (types: readonly string[], own: readonly string[]): Promise<Claim | undefined> =>
      database.db
        .transaction()
        .execute(async (trx) => {
          await sql`select pg_advisory_xact_lock(${LOCKS.job_claims})`.execute(trx)
          const free = trx
            .selectFrom('job')
            .select('id')
            .where('job_status', '=', 'running')
            .where('type', 'in', types)
            .where(({ eb, or }) =>
              or([eb('executor', 'is', null), eb('executor', '=', replica_id), eb.not(isAlive('job.executor'))]),
            )
            .where(({ eb, or }) => or([eb('wake_at', 'is', null), eb('wake_at', '<=', sql<Date>`now()`)]))
            .where(sql<boolean>`id <> all(${own}::uuid[])`)
            .orderBy('created_at')
            .orderBy('id')
            .limit(1)
            .forUpdate()
            .skipLocked()
          return trx
            .updateTable('job')
            .set({ executor: replica_id, epoch: sql<number>`epoch + 1`, wake_at: null, updated_at: sql`now()` })
            .where('id', 'in', free)
            .returningAll()
            .executeTakeFirst()
        })
        .then((row) => (row === undefined ? undefined : opened(row))),

    /** Lets the job go without an end: another process continues it. */
    release: (claim: Claim): Promise<void> =>
      database.db.transaction().execute(async (trx) => {
        await trx
          .updateTable('job')
          .set({ executor: null })
          .where('id', '=', claim.row.id)
          .where('epoch', '=', claim.row.epoch)
          .execute()
        await notify(trx, claim.row.id)
      }),

    requestCancel: (id: string): Promise<JobRow | undefined> =>
      database.db.transaction().execute(async (trx) => {
        const row = await trx
          .updateTable('job')
          .set({ cancel_requested_at: sql`now()`, wake_at: null })
          .where('id', '=', id)
          .where('job_status', '=', 'running')
          .where('point_of_no_return_at', 'is', null)
          .returningAll()
          .executeTakeFirst()
        if (row !== undefined) await notify(trx, id)
        return row
      }),

    /** Which of these were told to stop. */
    async cancelled(ids: readonly string[]): Promise<string[]> {
      if (ids.length === 0) return []
      const rows = await database.db
        .selectFrom('job')
        .select('id')
        .where('id', 'in', ids)
        .where('cancel_requested_at', 'is not', null)
        .execute()
      return rows.map((row) => row.id)
    },
  }
}

function stepWrites({ held }: Parts) {
  return {
    startStep: (
      claim: Claim,
      ordinal: number,
      name: string,
      attempt: number,
      now: { title: string; milestone?: Milestone },
    ): Promise<JobRow> =>
      held(claim, async (trx, publish) => {
        await trx
          .insertInto('job_step')
          .values({ job_id: claim.row.id, ordinal, name, attempt, state: 'running' })
          .onConflict((conflict) =>
            conflict.columns(['job_id', 'ordinal']).doUpdateSet({
              attempt,
              state: 'running',
              error: '',
              started_at: sql`now()`,
              finished_at: null,
            }),
          )
          .execute()
        return change(trx, publish, claim.row.id, { status: now.title, ...further(claim, now.milestone) })
      }),

    endStep: (
      claim: Claim,
      ordinal: number,
      name: string,
      end: {
        state: StepEnd
        error: string
        attempt: number
        progress: number
        outstanding?: string
        no_return?: boolean
      },
    ): Promise<JobRow> =>
      held(claim, async (trx, publish) => {
        const { state, error, attempt } = end
        await trx
          .insertInto('job_step')
          .values({ job_id: claim.row.id, ordinal, name, attempt, state, error, finished_at: sql`now()` as never })
          .onConflict((conflict) =>
            conflict.columns(['job_id', 'ordinal']).doUpdateSet({ state, error, attempt, finished_at: sql`now()` }),
          )
          .execute()
        if (end.outstanding !== undefined) {
          await trx
            .insertInto('job_outstanding')
            .values({ job_id: claim.row.id, step: name, text: end.outstanding })
            .onConflict((conflict) => conflict.doNothing())
            .execute()
        }
        const no_return = end.no_return && claim.row.point_of_no_return_at === null
        const progress = Math.max(end.progress, claim.row.progress)
        // After the last step the end of the event follows at once.
        const is_last = ordinal === claim.row.planned_steps.length - 1
        if (!is_last) await updateEvent(trx, publish, claim.row.id, { progress })
        return change(trx, publish, claim.row.id, {
          progress,
          ...(no_return ? { point_of_no_return_at: sql`now()` } : {}),
        })
      }),

    undoStep: (claim: Claim, ordinal: number, undo_state: 'running' | 'undone' | 'failed'): Promise<void> =>
      held(claim, async (trx) => {
        await trx
          .updateTable('job_step')
          .set({ undo_state })
          .where('job_id', '=', claim.row.id)
          .where('ordinal', '=', ordinal)
          .execute()
      }),
  }
}

/** A milestone is never taken back, whatever a repeated step says. */
function further({ row }: Claim, milestone: Milestone | undefined): { milestone?: Milestone } {
  if (milestone === undefined) return {}
  const passed = row.milestone === null ? -1 : MILESTONES.indexOf(row.milestone)
  return MILESTONES.indexOf(milestone) > passed ? { milestone } : {}
}

function jobWrites({ held, encrypt }: Parts) {
  return {
    fenced: <T>(claim: Claim, work: (trx: Trx) => Promise<T>): Promise<T> => held(claim, (trx) => work(trx)),

    save: (claim: Claim, state: Record<string, unknown>): Promise<void> =>
      held(claim, async (trx) => {
        await trx
          .updateTable('job')
          .set({ state: encrypt(state, claim.row.id), updated_at: sql`now()` })
          .where('id', '=', claim.row.id)
          .execute()
      }),

    /** Wakes those who wait for the job to come this far. */
    reached: (claim: Claim, milestone: Milestone, state: Record<string, unknown>): Promise<JobRow> =>
      held(claim, (trx, publish) =>
        change(trx, publish, claim.row.id, {
          state: encrypt(state, claim.row.id),
          ...further(claim, milestone),
        }),
      ),

    beginUndo: (claim: Claim, failure: Failure, sentence: string): Promise<JobRow> =>
      held(claim, (trx, publish) =>
        change(trx, publish, claim.row.id, {
          undoing: true,
          status: sentence,
          failed_step: failure.step,
          failure_code: failure.code,
          failure_reason: failure.reason,
          upstream_message: failure.upstream_message,
        }),
      ),

    /** Stored progress; the caller throttles. Progress never falls. */
    progress: (claim: Claim, progress: number, sentence: string | undefined): Promise<JobRow> =>
      held(claim, async (trx, publish) => {
        await updateEvent(trx, publish, claim.row.id, { progress })
        return change(trx, publish, claim.row.id, { progress, ...(sentence === undefined ? {} : { status: sentence }) })
      }),

    about: (claim: Claim, resource: { id?: string; name?: string }): Promise<JobRow> =>
      held(claim, async (trx, publish) => {
        if (resource.id !== undefined) await updateEvent(trx, publish, claim.row.id, { resource_uuid: resource.id })
        return change(trx, publish, claim.row.id, {
          ...(resource.id === undefined ? {} : { resource_id: resource.id }),
          ...(resource.name === undefined ? {} : { resource_name: resource.name }),
        })
      }),

    /** The end: job and event in one transaction. */
    finish: (claim: Claim, end: { sentence: string; failure?: Failure; result?: unknown }): Promise<JobRow> =>
      held(claim, async (trx, publish) => {
        const { sentence, failure, result } = end
        await endEvent(trx, publish, claim.row.id, {
          status: failure === undefined ? 'SUCCESS' : 'FAILED',
          ...(failure === undefined ? {} : { error_message: failure.reason }),
        })
        return change(trx, publish, claim.row.id, {
          job_status: failure === undefined ? 'completed' : 'failed',
          status: sentence,
          executor: null,
          finished_at: sql`now()`,
          ...(result === undefined ? {} : { result: encrypt(result, claim.row.id) }),
          ...(failure === undefined
            ? { progress: 100 }
            : {
                failed_step: failure.step,
                failure_code: failure.code,
                failure_reason: failure.reason,
                upstream_message: failure.upstream_message,
              }),
        })
      }),
  }
}

function auditLog({ held }: Parts) {
  return {
    /** One line of the audit log, chained to the one before it by its hash (node-lifecycle.md 12). */
    note: (
      claim: Claim,
      line: { level: LogLevel; step: string; attempt: number; text: string; data: Record<string, unknown> | undefined },
    ): Promise<void> =>
      held(claim, async (trx) => {
        const last = await trx
          .selectFrom('job_event')
          .select(['seq', 'hash'])
          .where('job_id', '=', claim.row.id)
          .orderBy('seq', 'desc')
          .limit(1)
          .executeTakeFirst()
        const seq = (last?.seq ?? 0) + 1
        const text = printable(line.text)
        const data = line.data === undefined ? null : JSON.stringify(line.data)
        const hash = createHash('sha256')
          .update(last?.hash ?? Buffer.alloc(32))
          .update(JSON.stringify([claim.row.id, seq, line.level, line.step, line.attempt, text, data]))
          .digest()
        await trx
          .insertInto('job_event')
          .values({
            job_id: claim.row.id,
            seq,
            level: line.level,
            step: line.step,
            attempt: line.attempt,
            text,
            data,
            hash,
          })
          .execute()
      }),
  }
}

const MAX_LINE = 2000

/** Texts from elsewhere cannot forge lines. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (char) => JSON.stringify(char).slice(1, -1)).slice(0, MAX_LINE)
}

export function callerOf(row: JobRow): Caller {
  return row.caller as Caller
}
