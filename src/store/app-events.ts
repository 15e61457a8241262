// Writes application events: one row an operation, from IN_PROGRESS to SUCCESS or FAILED (Part 1, 2.3), and every state
// of it on the stream's channel `app-event`.
import { randomUUIDv7 } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { AppEvent } from '#src/contract/app-events.ts'
import { ApiError, mapUpstreamError, UpstreamError } from '#src/kernel/errors.ts'
import type { Caller, Operation } from '#src/kernel/http/context.ts'
import type { Database, StreamMessage, Trx } from './database.ts'
import { holdKey } from './idempotency.ts'
import type { Tables } from './tables.ts'

export type AppEventRow = Selectable<Tables['app_event']>

/** Seconds by which the platform's events may lie beside ours: it stamps whole ones, and its clock is another. */
export const PLATFORM_SLACK_S = 2

export interface EventStart {
  /** Null for a one-shot event. Starting the same id again changes nothing. */
  correlation_id: string | null
  action: string
  resource_type: string
  resource_uuid?: string
  description: string
  caller: Caller
  /** Ids of all that it touches beside its resource; nulls are left out. */
  related?: readonly (string | null)[]
  tenant_id?: string | null
  /** The process that must end it; left out where any process may, as with a job. */
  replica_id?: string
  /** INFO when left out. */
  level?: 'INFO' | 'WARN' | 'ERROR'
  /** When it happened, where that is not now. */
  at?: Date
}

export type Publish = (message: StreamMessage) => void

/** Writes the start event. Replaying a correlation id is harmless: the row that is there stays as it is. */
export async function startEvent(trx: Trx, publish: Publish, start: EventStart): Promise<void> {
  const row = await trx
    .insertInto('app_event')
    .values({
      id: randomUUIDv7(),
      action: start.action,
      status: 'IN_PROGRESS',
      correlation_id: start.correlation_id,
      resource_type: start.resource_type,
      resource_uuid: start.resource_uuid ?? '',
      description: start.description,
      tenant_id: start.tenant_id ?? start.caller.tenant_id,
      user_id: start.caller.user_id,
      username: start.caller.username,
      replica_id: start.replica_id ?? null,
      ...(start.level === undefined ? {} : { level: start.level }),
      ...(start.at === undefined ? {} : { created_at: start.at }),
      related: [...new Set((start.related ?? []).filter((id) => id !== null))],
    })
    .onConflict((conflict) => conflict.column('correlation_id').doNothing())
    .returningAll()
    .executeTakeFirst()
  if (row !== undefined) publish(eventMessage(row))
}

export interface EventEnd {
  status: 'SUCCESS' | 'FAILED'
  description?: string
  error_message?: string
  resource_uuid?: string
  /** Left out: ERROR of what failed, else INFO. */
  level?: 'INFO' | 'WARN' | 'ERROR'
  /** When it ended, where that is not now. */
  at?: Date
  /** Of the job that the event is about, when it has written any line. */
  audit_head?: string | null
}

/** Completes the row of this correlation id. One that has ended already stays as it is, unless it was only given up. */
export async function endEvent(trx: Trx, publish: Publish, correlation_id: string, end: EventEnd): Promise<void> {
  const row = await trx
    .updateTable('app_event')
    .set({
      status: end.status,
      level: end.level ?? (end.status === 'FAILED' ? 'ERROR' : 'INFO'),
      completed_at: end.at ?? sql<Date>`now()`,
      error_message: end.error_message ?? '',
      ...(end.status === 'SUCCESS' ? { progress: sql<number>`case when progress > 0 then 100 else 0 end` } : {}),
      ...(end.description === undefined ? {} : { description: end.description }),
      ...(end.resource_uuid === undefined ? {} : { resource_uuid: end.resource_uuid }),
      ...(end.audit_head === undefined ? {} : { audit_head: end.audit_head }),
    })
    .where('correlation_id', '=', correlation_id)
    .where(({ or, eb }) => or([eb('status', '=', 'IN_PROGRESS'), eb('abandoned_at', 'is not', null)]))
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return
  if (row.abandoned_at !== null) await auditLateEnd(trx, row)
  publish(eventMessage(row))
}

/** A failed operation goes on. */
export async function reopenEvent(trx: Trx, publish: Publish, correlation_id: string): Promise<void> {
  const row = await trx
    .updateTable('app_event')
    .set({ status: 'IN_PROGRESS', level: 'INFO', completed_at: null, error_message: '' })
    .where('correlation_id', '=', correlation_id)
    .returningAll()
    .executeTakeFirst()
  if (row !== undefined) publish(eventMessage(row))
}

/** What an event said for a while is corrected; that it was stands in the audit beside the request. */
async function auditLateEnd(trx: Trx, { correlation_id, status }: AppEventRow): Promise<void> {
  await trx.updateTable('app_event').set({ abandoned_at: null }).where('correlation_id', '=', correlation_id).execute()
  await sql`
    insert into audit (request_id, correlation_id, operation, method, path, caller_kind, caller_id, username, role,
      tenant_id, remote_address, code)
    select request_id, correlation_id, operation, method, path, caller_kind, caller_id, username, role,
      tenant_id, remote_address, ${`EVENT_CORRECTED_TO_${status}`}
    from audit where correlation_id = ${correlation_id} order by id limit 1`.execute(trx)
}

/** One that is over when it is known of: its start and its end at once, under an id of its own. */
export async function recordEvent(
  trx: Trx,
  publish: Publish,
  about: Omit<EventStart, 'correlation_id'>,
  end: EventEnd,
): Promise<void> {
  const correlation_id = randomUUIDv7()
  await startEvent(trx, publish, { ...about, correlation_id })
  await endEvent(trx, publish, correlation_id, end)
}

/** Stores progress and, when it is learnt, the resource; callers throttle. */
export async function updateEvent(
  trx: Trx,
  publish: Publish,
  correlation_id: string,
  change: { progress?: number; resource_uuid?: string },
): Promise<void> {
  const row = await trx
    .updateTable('app_event')
    .set(change)
    .where('correlation_id', '=', correlation_id)
    .where('status', '=', 'IN_PROGRESS')
    .returningAll()
    .executeTakeFirst()
  if (row !== undefined) publish(eventMessage(row))
}

export interface ChangeDeps {
  database: Database
  replica_id: string
}

export interface ChangeAbout {
  resource_type: string
  resource_uuid?: string
  description: string
  tenant_id?: string | null
  related?: readonly (string | null)[]
}

/** What a change may still learn while it runs. */
export interface ChangeNote {
  resource_uuid?: string
  description?: string
}

/**
 * Runs a change that is not a job between its start event and its end event. The event's correlation id is the
 * operation's id. A process that dies in between leaves the row to `failAbandonedEvents`.
 */
export async function recordChange<T>(
  deps: ChangeDeps,
  ctx: Operation,
  about: ChangeAbout,
  work: (note: ChangeNote) => Promise<T>,
): Promise<T> {
  const correlation_id = ctx.operation_id
  await deps.database.transact(async (trx, publish) => {
    await holdKey(trx, ctx)
    await startEvent(trx, publish, {
      ...about,
      correlation_id,
      action: ctx.operation,
      caller: ctx.caller,
      related: [...ctx.named_ids, ...(about.related ?? [])],
      replica_id: deps.replica_id,
    })
  })
  const note: ChangeNote = {}
  const end = (result: EventEnd): Promise<void> =>
    deps.database.transact((trx, publish) => endEvent(trx, publish, correlation_id, { ...note, ...result }))
  let result: T
  try {
    result = await work(note)
  } catch (error) {
    const tenant_id = about.tenant_id ?? ctx.caller.tenant_id
    await end({ status: 'FAILED', error_message: publicMessage(error, tenant_id) })
    throw error
  }
  await end({ status: 'SUCCESS' })
  return result
}

/** A sentence that may be shown: our own errors speak for themselves, anything else stays in the log. */
function publicMessage(error: unknown, tenant_id: string | null): string {
  if (error instanceof UpstreamError) return mapUpstreamError(error, tenant_id).message
  return error instanceof ApiError ? error.message : 'Something went wrong inside the service; the log has the cause.'
}

/** Ends events whose process died between start and end. The event of a job names no process: the job ends it. */
export async function failAbandonedEvents(database: Database, dead_after_s: number): Promise<number> {
  return database.transact(async (trx, publish) => {
    const rows = await trx
      .updateTable('app_event')
      .set({
        status: 'FAILED',
        level: 'ERROR',
        completed_at: sql<Date>`now()`,
        abandoned_at: sql<Date>`now()`,
        error_message: 'The operation was interrupted; read the resource to see its outcome.',
      })
      .where('status', '=', 'IN_PROGRESS')
      .where('replica_id', 'is not', null)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('replica')
              .select('replica.id')
              .whereRef('replica.id', '=', 'app_event.replica_id')
              .where('seen_at', '>', sql<Date>`now() - make_interval(secs => ${dead_after_s})`),
          ),
        ),
      )
      .returningAll()
      .execute()
    for (const row of rows) publish(eventMessage(row))
    return rows.length
  })
}

export function eventMessage(row: AppEventRow): StreamMessage {
  return { channel: 'app-event', type: 'app-event', tenant_id: row.tenant_id, data: appEventOf(row) }
}

export function appEventOf(row: AppEventRow): AppEvent {
  return {
    id: row.id,
    action: row.action,
    archived: row.archived,
    level: row.level,
    status: row.status as AppEvent['status'],
    description: row.description === '' ? derivedDescription(row) : row.description,
    error_message: row.error_message,
    progress: row.progress,
    correlation_id: row.correlation_id,
    cs_start_id: row.cs_start_id,
    created_at: row.created_at.toISOString(),
    completed_at: row.completed_at?.toISOString() ?? null,
    resource_type: row.resource_type,
    resource_uuid: row.resource_uuid,
    related: row.related.filter((id) => id !== row.resource_uuid),
    tenant_id: row.tenant_id,
    user_id: row.user_id,
    username: row.username,
    ...(row.audit_head === null ? {} : { audit_head: row.audit_head }),
  }
}

/** Part 1, 2.3: derived from action, resource uuid and status. */
function derivedDescription(row: AppEventRow): string {
  const word = { IN_PROGRESS: 'in progress', SUCCESS: 'succeeded', FAILED: 'failed' }[row.status] ?? row.status
  return `${row.action} ${row.resource_uuid} ${word}`.replace(/ {2,}/g, ' ')
}
