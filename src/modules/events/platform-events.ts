// The platform's own event log: read from the platform, or from what the watcher keeps of it.
import { type Selectable, sql } from 'kysely'
import type { PlatformEvent } from '#src/contract/app-events.ts'
import { platformTime } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, type Raw, rowsOf, textOf, timeOf as timeOfField } from '#src/drivers/cloudstack/fields.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { timeOf } from '#src/store/app-event-list.ts'
import { type AppEventRow, PLATFORM_SLACK_S as SLACK_S } from '#src/store/app-events.ts'
import type { Db } from '#src/store/database.ts'
import type { Tables } from '#src/store/tables.ts'

interface PlatformEventFilter {
  type?: string
  level?: string
  state?: string
  start_date?: string
  end_date?: string
  resource_id?: string
  resource_type?: string
  archived?: boolean
  keyword?: string
  account?: string
  domain_id?: string
}

export async function listPlatformEvents(
  cloudstack: CloudStack,
  filter: PlatformEventFilter,
  page: { page: number; page_size: number },
  ctx: RequestContext,
): Promise<{ events: PlatformEvent[]; count: number }> {
  if (filter.resource_id !== undefined && filter.resource_type === undefined) {
    throw invalidField('body.resource_type', 'is required with resource_id')
  }
  if (filter.account !== undefined && filter.domain_id === undefined) {
    throw invalidField('body.domain_id', 'is required with account')
  }
  const { tenant_id } = ctx.caller
  if (tenant_id !== null && filter.domain_id !== undefined && filter.domain_id !== tenant_id) {
    throw new ApiError('TENANT_SCOPE', `domain_id must be ${tenant_id}, the tenant of the caller, or be left out.`)
  }
  const { from, to } = timesOf(filter)
  const scope = tenant_id === null ? WHOLE_SCOPE : { listall: true, isrecursive: true }
  const args = {
    ...scope,
    type: filter.type,
    level: filter.level,
    state: filter.state,
    startdate: from && platformTime(from),
    enddate: to && platformTime(to),
    resourceid: filter.resource_id,
    resourcetype: filter.resource_type,
    archived: filter.archived,
    keyword: filter.keyword,
    account: filter.account,
    domainid: tenant_id ?? filter.domain_id,
  }
  const found = await cloudstack.listPage('listEvents', args, { key: 'event', read: platformEventOf }, page, ctx)
  return { events: found.rows, count: found.count }
}

/** The window that a request names. */
export function timesOf({ start_date, end_date }: { start_date?: string; end_date?: string }) {
  const from = timeOf(start_date, 'start_date')
  const to = timeOf(end_date, 'end_date')
  if (from !== undefined && to !== undefined && from > to) throw invalidField('body.start_date', 'is after end_date')
  return { from, to }
}

export async function platformEventTypes(cloudstack: CloudStack, ctx: RequestContext): Promise<string[]> {
  if (!cloudstack.configured) return []
  const answer = await cloudstack.call('listEventTypes', {}, { signal: ctx.signal })
  return rowsOf(answer, 'eventtype').flatMap((row) => textOf(row, 'name') ?? [])
}

function platformEventOf(raw: Raw): PlatformEvent {
  return {
    id: textOf(raw, 'id') ?? '',
    type: textOf(raw, 'type') ?? '',
    level: textOf(raw, 'level') ?? '',
    state: textOf(raw, 'state') ?? '',
    description: textOf(raw, 'description') ?? '',
    username: textOf(raw, 'username') ?? '',
    account: textOf(raw, 'account'),
    tenant_id: textOf(raw, 'domainid'),
    resource_id: textOf(raw, 'resourceid'),
    resource_type: textOf(raw, 'resourcetype'),
    resource_name: textOf(raw, 'resourcename'),
    parent_id: textOf(raw, 'parentid'),
    archived: flagOf(raw, 'archived') ?? false,
    created_at: timeOfField(raw, 'created'),
  }
}

/**
 * The platform's events about the same resource while the operation ran. Read from what the watcher keeps, so that a list
 * of hundreds costs one query and nothing of the platform.
 */
export async function linkedEvents(db: Db, rows: readonly AppEventRow[]): Promise<Map<string, PlatformEvent[]>> {
  const ids = rows.filter((row) => row.resource_uuid !== '').map((row) => row.id)
  if (ids.length === 0) return new Map()
  const found = await db
    .selectFrom('app_event')
    .innerJoin('platform_event', (join) =>
      join
        .onRef('platform_event.resource_id', '=', 'app_event.resource_uuid')
        .on(sql<boolean>`platform_event.created_at >= app_event.created_at - make_interval(secs => ${SLACK_S})`)
        .on(
          sql<boolean>`platform_event.created_at <= coalesce(app_event.completed_at, now()) + make_interval(secs => ${SLACK_S})`,
        ),
    )
    .selectAll('platform_event')
    .select('app_event.id as app_event_id')
    .where('app_event.id', 'in', ids)
    .orderBy('platform_event.created_at')
    .execute()
  const linked = new Map<string, PlatformEvent[]>()
  for (const { app_event_id, ...row } of found) {
    linked.set(app_event_id, [...(linked.get(app_event_id) ?? []), storedEvent(row)])
  }
  return linked
}

function storedEvent({ created_at, ...row }: Selectable<Tables['platform_event']>): PlatformEvent {
  return { ...row, archived: false, created_at: created_at.toISOString() }
}
