// What failover daemons reported: each event once, in the order of its node, as an application event and on the channel `ha`.
import { randomUUIDv7 } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { HaEvent } from '#src/contract/ha/ha.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import { endEvent, type Publish, startEvent } from './app-events.ts'
import type { Db, Trx } from './database.ts'
import { LOCKS } from './locks.ts'
import type { Tables } from './tables.ts'

type HaEventRow = Selectable<Tables['ha_event']>

export interface NewHaEvent extends Pick<HaEventRow, 'action' | 'status' | 'level' | 'message' | 'address'> {
  counter: number | null
  occurred_at: Date
  /** Id of the operation that brings it: the correlation id of the application event that it begins. */
  operation_id: string
  caller: Caller
}

/** The same event without a counter: daemons report a state again within moments, never later. */
const SAME_WITHIN_S = 5

/** States that a failover daemon is in, as against what happens to it. */
const STATE_ACTIONS = ['HA_PROMOTED', 'HA_DEMOTED', 'HA_FAULT', 'HA_STOPPED']

export async function ingestHaEvent(
  trx: Trx,
  publish: Publish,
  event: NewHaEvent,
): Promise<{ event_id: string; duplicate: boolean }> {
  // Scripts of one node run beside each other, and the spool is read by whoever comes first.
  await sql`select pg_advisory_xact_lock(${LOCKS.ha_events}, hashtext(${event.address}))`.execute(trx)
  const known = await findSame(trx, event)
  if (known !== undefined) return { event_id: known.app_event_id, duplicate: true }
  const { app_event_id, correlation_id } = await writeAppEvent(trx, publish, event)
  const { operation_id: _operation, caller: _caller, ...row } = event
  await trx
    .insertInto('ha_event')
    .values({ ...row, id: randomUUIDv7(), app_event_id, correlation_id })
    .execute()
  const { action, level, message, status, address, occurred_at } = event
  const data = { event_id: app_event_id, at: occurred_at, action, level, message, resource_uuid: address, status }
  publish({ channel: 'ha', type: 'ha', tenant_id: null, data })
  return { event_id: app_event_id, duplicate: false }
}

function findSame(trx: Trx, { address, counter, action, status }: NewHaEvent): Promise<HaEventRow | undefined> {
  const of_node = trx.selectFrom('ha_event').selectAll().where('address', '=', address)
  if (counter !== null) return of_node.where('counter', '=', counter).executeTakeFirst()
  return of_node
    .where('action', '=', action)
    .where('status', '=', status)
    .where('received_at', '>', sql<Date>`now() - make_interval(secs => ${SAME_WITHIN_S})`)
    .orderBy('received_at')
    .executeTakeFirst()
}

/** One application event for a beginning and its end, whichever of them arrives first. */
async function writeAppEvent(trx: Trx, publish: Publish, event: NewHaEvent) {
  const { action, address, status, level, message, occurred_at, operation_id, caller } = event
  const other = await findOtherHalf(trx, event)
  // Its end has overtaken it, and was written as a whole event.
  if (other !== undefined && status === 'IN_PROGRESS') return other
  const correlation_id = other?.correlation_id ?? operation_id
  if (other === undefined) {
    const description = message === '' ? `${action} ${address}` : message
    const about = { action, resource_type: 'HA', resource_uuid: address, description, caller, level, at: occurred_at }
    await startEvent(trx, publish, { ...about, correlation_id })
  }
  if (status !== 'IN_PROGRESS') {
    const error_message = status === 'FAILED' ? message : ''
    const outcome = status === 'FAILED' ? 'FAILED' : 'SUCCESS'
    await endEvent(trx, publish, correlation_id, { status: outcome, level, error_message, at: occurred_at })
  }
  const { id } = await trx
    .selectFrom('app_event')
    .select('id')
    .where('correlation_id', '=', correlation_id)
    .executeTakeFirstOrThrow()
  return { app_event_id: id, correlation_id }
}

/** Of an end: the beginning that is still open. Of a beginning: the end that a greater counter says came after it. */
async function findOtherHalf(
  trx: Trx,
  { address, action, status, counter }: NewHaEvent,
): Promise<Pick<HaEventRow, 'app_event_id' | 'correlation_id'> | undefined> {
  const rows = trx
    .selectFrom('ha_event')
    .select(['ha_event.app_event_id', 'ha_event.correlation_id'])
    .where('ha_event.address', '=', address)
    .where('ha_event.action', '=', action)
  if (status === 'IN_PROGRESS') {
    if (counter === null) return undefined
    return rows
      .where('ha_event.status', '<>', 'IN_PROGRESS')
      .where('ha_event.counter', '>', counter)
      .orderBy('ha_event.counter')
      .limit(1)
      .executeTakeFirst()
  }
  return rows
    .innerJoin('app_event', 'app_event.id', 'ha_event.app_event_id')
    .where('ha_event.status', '=', 'IN_PROGRESS')
    .where('app_event.status', '=', 'IN_PROGRESS')
    .orderBy('ha_event.occurred_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export async function listHaEvents(
  db: Db,
  filter: { resource_uuid?: string; action?: string; limit: number },
): Promise<HaEvent[]> {
  let query = db.selectFrom('ha_event').selectAll()
  if (filter.resource_uuid !== undefined) query = query.where('address', '=', filter.resource_uuid)
  if (filter.action !== undefined) query = query.where('action', '=', filter.action)
  // An event that arrives late stands where its counter says, not where its time does.
  const reached = sql`max(occurred_at) over (partition by address, counter is null order by counter, received_at)`
  const rows = await query
    .orderBy(sql`${reached} desc`)
    .orderBy(sql`counter desc nulls last`)
    .orderBy('received_at', 'desc')
    .limit(filter.limit)
    .execute()
  return rows.map((row) => ({
    event_id: row.app_event_id,
    action: row.action,
    level: row.level,
    message: row.message,
    resource_uuid: row.address,
    status: row.status,
    counter: row.counter,
    occurred_at: row.occurred_at.toISOString(),
    received_at: row.received_at.toISOString(),
  }))
}

/** Addresses for which this has begun and not ended. */
export async function openHaEvents(db: Db, action: string): Promise<Set<string>> {
  const rows = await db
    .selectFrom('app_event')
    .select('resource_uuid')
    .where('resource_type', '=', 'HA')
    .where('status', '=', 'IN_PROGRESS')
    .where('action', '=', action)
    .execute()
  return new Set(rows.map((row) => row.resource_uuid))
}

/** The last state of each node: of two that overtook each other the one with the greater counter. */
export async function lastStates(db: Db): Promise<Map<string, Pick<HaEventRow, 'action' | 'occurred_at'>>> {
  const rows = await db
    .selectFrom('ha_event')
    .distinctOn('address')
    .select(['address', 'action', 'occurred_at'])
    .where('action', 'in', STATE_ACTIONS)
    .orderBy('address')
    .orderBy(sql`counter desc nulls last`)
    .orderBy('occurred_at', 'desc')
    .execute()
  return new Map(rows.map((row) => [row.address, row]))
}
