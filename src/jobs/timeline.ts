// One ordered list of what happened to a thing or in one operation: events, steps of jobs, platform events and requests.
import { type RawBuilder, sql } from 'kysely'
import { pageOf } from '#src/contract/common.ts'
import type { TimelineEntry } from '#src/contract/timeline.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import { PLATFORM_SLACK_S } from '#src/store/app-events.ts'
import type { Db } from '#src/store/database.ts'
import { eventScopeOf } from '#src/store/event-scope.ts'
import { timeOf } from '#src/store/app-event-list.ts'

export interface TimelineFilter {
  resource_id?: string
  correlation_id?: string
  source?: TimelineEntry['source']
  from?: string
  to?: string
  sort_order?: 'asc' | 'desc'
  page?: number
  page_size?: number
}

export interface TimelinePage {
  entries: TimelineEntry[]
  count: number
  page: number
  page_size: number
}

type Row = Omit<TimelineEntry, 'at' | 'ended_at'> & { at: Date; ended_at: Date | null }

export async function listTimeline(db: Db, filter: TimelineFilter, caller: Caller): Promise<TimelinePage> {
  const { page, page_size } = pageOf(filter)
  const order = sql.raw(filter.sort_order === 'asc' ? 'asc' : 'desc')
  const matching = sql`
    with own as (${operations(filter, caller)}), ${COLUMNS} as (${entries(filter, caller)}),
      wanted as (select * from entry where ${within(filter)})`
  const counted = await sql<{ count: number }>`${matching} select count(*)::int as count from wanted`.execute(db)
  const { rows } = await sql<Row>`${matching} select * from wanted
    order by at ${order}, source ${order}, id ${order}
    limit ${page_size} offset ${(page - 1) * page_size}`.execute(db)
  return { entries: rows.map(entryOf), count: counted.rows[0]?.count ?? 0, page, page_size }
}

const COLUMNS = sql.raw(
  'entry (at, ended_at, duration_s, source, id, what, text, status, error_message, username, correlation_id, resource_type, resource_id)',
)

/** The operations that the filter means: what all other sources are joined to. */
function operations({ resource_id, correlation_id }: TimelineFilter, caller: Caller): RawBuilder<unknown> {
  const { tenant_id, hidden_types } = eventScopeOf(caller)
  return sql`
    select * from app_event
    where ${resource_id === undefined ? sql`true` : sql`(resource_uuid = ${resource_id} or related @> array[${resource_id}]::text[])`}
      and ${correlation_id === undefined ? sql`true` : sql`correlation_id = ${correlation_id}`}
      and ${tenant_id === null ? sql`true` : sql`tenant_id = ${tenant_id}`}
      and resource_type <> all (${[...hidden_types]}::text[])`
}

function entries(filter: TimelineFilter, caller: Caller): RawBuilder<unknown> {
  const may_audit = caller.role === 'admin' && caller.tenant_id === null
  const parts = {
    operation: OPERATIONS,
    job: JOB_STEPS,
    platform: platformEvents(filter, caller),
    ...(may_audit ? { audit: REQUESTS } : {}),
  }
  const { source } = filter
  const wanted = Object.entries(parts).flatMap(([name, part]) =>
    source === undefined || name === source ? [part] : [],
  )
  return wanted.length === 0 ? sql`${OPERATIONS} where false` : sql.join(wanted, sql` union all `)
}

const OPERATIONS = sql`
  select created_at, completed_at, extract(epoch from completed_at - created_at)::float8, 'operation', id::text, action,
    description, status, error_message, username, correlation_id, resource_type, resource_uuid
  from own`

const JOB_STEPS = sql`
  select step.started_at, step.finished_at, extract(epoch from step.finished_at - step.started_at)::float8, 'job',
    concat(step.job_id, '/', step.ordinal), step.name, '', step.state, step.error, own.username, own.correlation_id,
    own.resource_type, own.resource_uuid
  from own join job_step as step on step.job_id::text = own.correlation_id`

const REQUESTS = sql`
  select audit.at, null::timestamptz, null::float8, 'audit', audit.id::text, audit.operation, audit.method || ' ' || audit.path,
    coalesce(audit.status::text, ''), coalesce(audit.code, ''), audit.username, own.correlation_id, own.resource_type,
    own.resource_uuid
  from own join audit on audit.correlation_id = own.correlation_id`

const SLACK = sql`make_interval(secs => ${PLATFORM_SLACK_S})`

/** Of the thing itself, whoever caused them; of a correlation: those of its thing while it ran. */
function platformEvents({ resource_id, correlation_id }: TimelineFilter, { tenant_id }: Caller): RawBuilder<unknown> {
  const during = sql`exists (select from own where own.resource_uuid = event.resource_id
    and event.created_at between own.created_at - ${SLACK} and coalesce(own.completed_at, now()) + ${SLACK})`
  return sql`
    select event.created_at, null::timestamptz, null::float8, 'platform', event.id, event.type, event.description, event.state,
      case when event.level = 'ERROR' then event.description else '' end, event.username, null::text,
      coalesce(event.resource_type, ''), coalesce(event.resource_id, '')
    from platform_event as event
    where ${correlation_id === undefined ? sql`event.resource_id = ${resource_id}` : during}
      and ${tenant_id === null ? sql`true` : sql`event.tenant_id = ${tenant_id}`}`
}

function within(filter: TimelineFilter): RawBuilder<unknown> {
  const from = timeOf(filter.from, 'from')
  const to = timeOf(filter.to, 'to')
  return sql`${from === undefined ? sql`true` : sql`at >= ${from}`} and ${to === undefined ? sql`true` : sql`date_trunc('milliseconds', at) <= ${to}`}`
}

function entryOf({ at, ended_at, ...row }: Row): TimelineEntry {
  return { ...row, at: at.toISOString(), ended_at: ended_at?.toISOString() ?? null }
}
