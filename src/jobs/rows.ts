// The rows of jobs and what is done with them under their locks; for the ledger and what waits.
import { type RawBuilder, sql } from 'kysely'
import type { Caller } from '#src/kernel/http/context.ts'
import type { Publish } from '#src/store/app-events.ts'
import { type Database, JOB_NOTIFY, type Trx } from '#src/store/database.ts'
import type { AdmissionOf, AnyJob } from './define.ts'
import type { JobRow, StepRow } from './job-row.ts'
import { type Place, takePlaces } from './limits.ts'
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

export interface Parts {
  database: Database
  replica_id: string
  /** SQL: the time that waiting jobs go by. */
  now(): RawBuilder<Date>
  encrypt(value: unknown, id: string): string
  decrypt(text: string, id: string): unknown
  /** One fenced transaction: fails unless this process still holds the job under this epoch. */
  held<T>(claim: Claim, work: (trx: Trx, publish: Publish) => Promise<T>, lock?: 'with_parent'): Promise<T>
}

export function held<T>(
  database: Database,
  claim: Claim,
  work: (trx: Trx, publish: Publish) => Promise<T>,
  lock?: 'with_parent',
): Promise<T> {
  const { id, epoch, parent_id } = claim.row
  return database.transact(async (trx, publish) => {
    if (lock === 'with_parent')
      await trx.selectFrom('job').select('id').where('id', '=', parent_id).forUpdate().execute()
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

export async function change(trx: Trx, publish: Publish, id: string, set: Record<string, unknown>): Promise<JobRow> {
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
export async function notify(trx: Trx, id: string): Promise<void> {
  await sql`select pg_notify(${JOB_NOTIFY}, ${id})`.execute(trx)
}

interface NewJob {
  id: string
  caller: Caller
  places: readonly Place[]
  /** Held by this process at once. */
  here: boolean
  /** Its parent and its name there. */
  child?: readonly [string, string]
}

/** The job itself. A child has no event of its own: an operation has one. */
export async function insertJob(
  { encrypt, replica_id }: Parts,
  trx: Trx,
  publish: Publish,
  { type, steps, resource_type }: Pick<AnyJob, 'type' | 'resource_type' | 'steps'>,
  admission: AdmissionOf<unknown>,
  { id, caller, places, here, child }: NewJob,
): Promise<JobRow> {
  const waiting = await takePlaces(trx, id, places)
  const row = await trx
    .insertInto('job')
    .values({
      id,
      parent_id: child?.[0] ?? null,
      child_name: child?.[1] ?? null,
      type,
      status: waiting ?? admission.description,
      description: admission.description,
      input: encrypt(admission.input, id),
      state: encrypt({}, id),
      metadata: JSON.stringify(admission.metadata ?? {}),
      planned_steps: JSON.stringify(steps.map((step) => step.name)),
      node_ip: admission.node_ip ?? null,
      resource_type,
      resource_id: admission.resource_id ?? null,
      resource_name: admission.resource_name ?? '',
      tenant_id: admission.tenant_id ?? caller.tenant_id,
      caller: JSON.stringify(caller),
      executor: here ? replica_id : null,
      epoch: here ? 1 : 0,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await admission.also?.(trx, publish)
  publish(jobMessage(row, 1))
  if (!here) await notify(trx, row.id)
  return row
}

/** Takes what the job waits for to now. It looks again and, if it was something else, waits on. */
export async function wakeJob(trx: Trx, id: string): Promise<void> {
  await trx.updateTable('job').set({ wake_at: null }).where('id', '=', id).where('job_status', '=', 'running').execute()
  await notify(trx, id)
}

/** Level by level from above: whoever locks a job and its parent locks the parent first. */
export async function cancelChildren(trx: Trx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const children = await trx
    .updateTable('job')
    .set({ cancel_requested_at: sql`coalesce(cancel_requested_at, now())`, wake_at: null })
    .where('parent_id', 'in', ids)
    .where('job_status', '=', 'running')
    .where('point_of_no_return_at', 'is', null)
    .returning('id')
    .execute()
  for (const { id } of children) await notify(trx, id)
  await cancelChildren(
    trx,
    children.map(({ id }) => id),
  )
}

export function callerOf(row: JobRow): Caller {
  return row.caller as Caller
}
