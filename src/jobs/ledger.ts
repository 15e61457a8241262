// The ledger: jobs, their steps and their audit log, the only truth about what was done. Every write of a running job
// names the epoch it was claimed under, so that a process which lost the job writes nothing.
import { randomUUIDv7 } from 'node:crypto'
import { sql } from 'kysely'
import type { Keyring } from '#src/kernel/keyring.ts'
import { endEvent, type Publish, reopenEvent, startEvent, updateEvent } from '#src/store/app-events.ts'
import type { Database, Trx } from '#src/store/database.ts'
import { holdKey } from '#src/store/idempotency.ts'
import { LOCKS } from '#src/store/locks.ts'
import { isAlive } from '#src/store/replicas.ts'
import { ASSOCIATED_DATA } from '#src/store/encrypted-places.ts'
import type { Admission } from './admit.ts'
import { appendLine, type AuditLine, chainHead } from './audit-log.ts'
import { type AnyJob, type Milestone, MILESTONES } from './define.ts'
import { freePlaces, MAY_START, type Place, takePlaces } from './limits.ts'
import type { JobRow } from './job-row.ts'
import {
  callerOf,
  cancelChildren,
  change,
  type Claim,
  type Failure,
  held,
  insertJob,
  notify,
  type Parts,
  type StepEnd,
  wakeJob,
} from './rows.ts'
import { type ChildStart, waits } from './waits.ts'

export type Ledger = ReturnType<typeof createLedger>

/** `clock`: in tests, instead of that of the database. */
export function createLedger(database: Database, keyring: Keyring, replica_id: string, clock?: () => Date) {
  const parts: Parts = {
    database,
    replica_id,
    now: () => (clock === undefined ? sql<Date>`now()` : sql<Date>`${clock()}::timestamptz`),
    encrypt: (value, id) => keyring.encrypt(JSON.stringify(value), ASSOCIATED_DATA.job(id)),
    decrypt: (text, id) => JSON.parse(keyring.decrypt(text, ASSOCIATED_DATA.job(id))) as unknown,
    held: (claim, work, lock) => held(database, claim, work, lock),
  }
  const { now } = parts
  return {
    now, ...admission(parts), ...claims(parts), ...stops(parts), ...stepWrites(parts), ...jobWrites(parts), ...waits(parts), ...auditLog(parts),
  } // biome-ignore format: its parts
}

function admission(parts: Parts) {
  return {
    /** Admission: job and start event; held by this process from the first moment when it has room. */
    async insert<Input>(
      trx: Trx,
      publish: Publish,
      definition: Pick<AnyJob, 'type' | 'resource_type' | 'steps'>,
      admission: Admission<Input>,
      { places, here }: { places: readonly Place[]; here: boolean },
    ): Promise<JobRow> {
      const { operation, operation_id, caller, named_ids } = admission.operation
      await holdKey(trx, admission.operation)
      const job = { id: operation_id, caller, places, here }
      const row = await insertJob(parts, trx, publish, definition, admission, job)
      await startEvent(trx, publish, {
        correlation_id: operation_id,
        action: operation,
        resource_type: definition.resource_type,
        description: admission.description,
        caller,
        related: [...named_ids, ...(admission.related ?? [])],
        tenant_id: row.tenant_id,
        ...(admission.resource_id === undefined ? {} : { resource_uuid: admission.resource_id }),
      })
      return row
    },
  }
}

function claims({ database, decrypt, replica_id, now }: Parts) {
  const opened = async (row: JobRow): Promise<Claim> => ({
    row,
    input: decrypt(row.input, row.id),
    state: decrypt(row.state, row.id) as Record<string, unknown>,
    steps: await database.db
      .selectFrom('job_step')
      .selectAll()
      .where('job_id', '=', row.id)
      .orderBy('ordinal')
      .orderBy('started_at')
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
     * Takes the oldest job that nobody alive holds, that is due and has its places, by raising its epoch. `types`: what this version can
     * run. `own`: what this process runs; another job that names this process was dropped by it and is free too, unless
     * it was admitted after this began: it may run here by now. So `own` is asked only then.
     */
    claimNext: (types: readonly string[], own: () => readonly string[]): Promise<Claim | undefined> =>
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
              or([
                eb('executor', 'is', null),
                eb('executor', '=', replica_id).and('created_at', '<', sql<Date>`now()`),
                eb.not(isAlive('job.executor')),
              ]),
            )
            .where(({ eb, or }) => or([eb('wake_at', 'is', null), eb('wake_at', '<=', now())]))
            .where(MAY_START)
            .where(sql<boolean>`id <> all(${own()}::uuid[])`)
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
  }
}

function stops(parts: Parts) {
  const { database, replica_id } = parts
  return {
    /**
     * Lets a failed job go on at the step that failed, with another input where one is given. Undefined: it has not failed.
     * `also` is written in the same transaction.
     */
    retry: (
      id: string,
      places: readonly Place[],
      { input, also }: { input?: unknown; also?: (trx: Trx, publish: Publish) => Promise<void> },
    ): Promise<JobRow | undefined> =>
      database.transact(async (trx, publish) => {
        const row = await trx
          .selectFrom('job')
          .select('id')
          .where('id', '=', id)
          .where('job_status', '=', 'failed')
          .forUpdate()
          .executeTakeFirst()
        if (row === undefined) return undefined
        const waiting = await takePlaces(trx, id, places)
        // What it waited for is over; it may wait as long again.
        await trx.updateTable('job_step').set({ wait_until: null }).where('job_id', '=', id).execute()
        await reopenEvent(trx, publish, id)
        await also?.(trx, publish)
        await notify(trx, id)
        return change(trx, publish, id, {
          job_status: 'running',
          status: waiting ?? 'Going on at the step that failed.',
          undoing: false,
          executor: null,
          finished_at: null,
          wake_at: null,
          cancel_requested_at: null,
          failed_step: null,
          failure_code: null,
          failure_reason: null,
          upstream_message: null,
          ...(input === undefined ? {} : { input: parts.encrypt(input, id) }),
        })
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
        if (row === undefined) return undefined
        await notify(trx, id)
        await cancelChildren(trx, [id])
        return row
      }),

    /** Which of these jobs must stop here: cancelled, or held by another process by now. */
    async stopped(ids: readonly string[]): Promise<{ id: string; reason: 'cancelled' | 'lost' }[]> {
      if (ids.length === 0) return []
      const rows = await database.db
        .selectFrom('job')
        .select(['id', 'executor'])
        .where('id', 'in', ids)
        .where(({ eb, or }) =>
          or([eb('cancel_requested_at', 'is not', null), eb('executor', 'is distinct from', replica_id)]),
        )
        .execute()
      return rows.map(({ id, executor }) => ({ id, reason: executor === replica_id ? 'cancelled' : 'lost' }))
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
            conflict.columns(['job_id', 'name']).doUpdateSet({
              ordinal,
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
        /** After the last step the end of the event follows at once. */
        is_last: boolean
        outstanding?: readonly string[]
        no_return?: boolean
        /** With this step the job has failed: from here on it only undoes and ends. */
        failure?: Failure & { sentence: string }
      },
    ): Promise<JobRow> =>
      held(claim, async (trx, publish) => {
        const { state, error, attempt } = end
        await trx
          .insertInto('job_step')
          .values({ job_id: claim.row.id, ordinal, name, attempt, state, error, finished_at: sql`now()` as never })
          .onConflict((conflict) =>
            conflict
              .columns(['job_id', 'name'])
              .doUpdateSet({ ordinal, state, error, attempt, finished_at: sql`now()` }),
          )
          .execute()
        if (state !== 'failed') await appendLine(trx, claim.row.id, endLine(name, state, error, attempt))
        for (const text of new Set(end.outstanding)) {
          await trx
            .insertInto('job_outstanding')
            .values({ job_id: claim.row.id, step: name, text })
            .onConflict((conflict) => conflict.doNothing())
            .execute()
        }
        const no_return = end.no_return && claim.row.point_of_no_return_at === null
        const progress = Math.max(end.progress, claim.row.progress)
        if (!end.is_last) await updateEvent(trx, publish, claim.row.id, { progress })
        return change(trx, publish, claim.row.id, {
          progress,
          ...(no_return ? { point_of_no_return_at: sql`now()` } : {}),
          ...(end.failure === undefined
            ? {}
            : { undoing: true, status: end.failure.sentence, ...failureColumns(end.failure) }),
        })
      }),
  }
}

/** Of a failure its cause has a line of its own. */
function endLine(step: string, state: StepEnd, error: string, attempt: number): AuditLine {
  const level = state === 'unverified' ? 'WARN' : 'INFO'
  return { level, step, attempt, text: error === '' ? state : `${state}: ${error}` }
}

/** A milestone is never withdrawn, whatever a repeated step says. */
function further({ row }: Claim, milestone: Milestone | undefined): { milestone?: Milestone } {
  if (milestone === undefined) return {}
  const passed = row.milestone === null ? -1 : MILESTONES.indexOf(row.milestone)
  return MILESTONES.indexOf(milestone) > passed ? { milestone } : {}
}

export interface JobEnd {
  sentence: string
  failure?: Failure
  result?: unknown
  /** What is written with the failure; answers the job that follows it. */
  failed?: (trx: Trx, publish: Publish) => Promise<NextJob | undefined>
}

/** A job that goes on from a failed one, in its places. */
export interface NextJob extends ChildStart {
  operation: string
}

async function insertFollowUp(
  parts: Parts,
  trx: Trx,
  publish: Publish,
  failed: JobRow,
  { name, definition, places, admission, operation }: NextJob,
): Promise<void> {
  const of = { id: randomUUIDv7(), caller: callerOf(failed), places, here: false }
  const tenant_id = admission.tenant_id ?? failed.tenant_id
  await insertJob(parts, trx, publish, definition, { ...admission, tenant_id }, { ...of, child: [failed.id, name] })
  await startEvent(trx, publish, {
    correlation_id: of.id,
    action: operation,
    resource_type: definition.resource_type,
    description: admission.description,
    caller: of.caller,
    related: admission.related ?? [],
    tenant_id,
    ...(admission.resource_id === undefined ? {} : { resource_uuid: admission.resource_id }),
  })
}

function jobWrites(parts: Parts) {
  const { held, encrypt } = parts
  return {
    fenced: <T>(claim: Claim, work: (trx: Trx, publish: Publish) => Promise<T>): Promise<T> => held(claim, work),

    undoStep: (claim: Claim, name: string, undo_state: 'running' | 'undone' | 'failed'): Promise<void> =>
      held(claim, async (trx) => {
        await trx
          .updateTable('job_step')
          // What the act waited for is over; the undo may wait as long.
          .set({ undo_state, wait_until: sql<Date>`case when undo_state is null then null else wait_until end` })
          .where('job_id', '=', claim.row.id)
          .where('name', '=', name)
          .execute()
      }),

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

    /** The end: job and event in one transaction; a waiting parent and those that wait for its places go on. */
    finish: (claim: Claim, end: JobEnd): Promise<JobRow> =>
      held(
        claim,
        async (trx, publish) => {
          const { sentence, failure, result } = end
          if (claim.row.parent_id !== null) await wakeJob(trx, claim.row.parent_id)
          if (await freePlaces(trx, claim.row.id)) await notify(trx, claim.row.id)
          await endEvent(trx, publish, claim.row.id, {
            status: failure === undefined ? 'SUCCESS' : 'FAILED',
            ...(failure === undefined ? { description: sentence } : { error_message: failure.reason }),
            audit_head: await chainHead(trx, claim.row.id),
          })
          const ended = await change(trx, publish, claim.row.id, {
            job_status: failure === undefined ? 'completed' : 'failed',
            status: sentence,
            executor: null,
            finished_at: sql`now()`,
            ...(result === undefined ? {} : { result: encrypt(result, claim.row.id) }),
            ...(failure === undefined ? { progress: 100 } : failureColumns(failure)),
          })
          const next = await end.failed?.(trx, publish)
          if (next !== undefined) await insertFollowUp(parts, trx, publish, ended, next)
          return ended
        },
        'with_parent',
      ),
  }
}

function failureColumns({ step, code, reason, upstream_message }: Failure) {
  return { failed_step: step, failure_code: code, failure_reason: reason, upstream_message }
}

function auditLog({ held }: Parts) {
  return {
    /** One line of the audit log. */
    note: (claim: Claim, line: AuditLine): Promise<void> => held(claim, (trx) => appendLine(trx, claim.row.id, line)),
  }
}
