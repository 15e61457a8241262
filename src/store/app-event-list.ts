// Reads application events: filters, sorting, paging, archiving, made for a table of millions.
import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { AppEventFilter, AppEventSort } from '#src/contract/app-events.ts'
import { pageOf } from '#src/contract/common.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { AppEventRow } from './app-events.ts'
import type { Db } from './database.ts'
import { type EventScope, inEventScope } from './event-scope.ts'
import type { Tables } from './tables.ts'

/** Counting a million rows takes longer than reading a page of them: so many are always counted, … */
const EXACT_COUNT_LIMIT = 10_000
/** … and so many when the planner believes that there are no more. Above that its estimate is the count. */
const LIKELY_COUNT_LIMIT = 25_000

export interface AppEventPage {
  rows: AppEventRow[]
  count: number
  count_exact: boolean
  page: number
  page_size: number
}

export async function listAppEvents(db: Db, filter: AppEventFilter, scope: EventScope): Promise<AppEventPage> {
  const { page, page_size } = pageOf(filter)
  const sort = sortOf(filter)
  const matching = filtered(db.selectFrom('app_event'), filter).where(inEventScope(scope))
  const offset = (page - 1) * page_size
  const rows = await matching
    .selectAll()
    .orderBy(sort.by, sort.order)
    .orderBy('id', sort.order)
    .limit(page_size)
    .offset(offset)
    .execute()
  // A page that is not full is the last one: then there is nothing to count.
  const last = rows.length < page_size && (rows.length > 0 || page === 1)
  const total = last
    ? { count: offset + rows.length, count_exact: true }
    : await countOf(db, isWholeList(filter) ? matching.orderBy(NEWEST_FIRST) : matching, offset + rows.length)
  return { rows, ...total, page, page_size }
}

export async function findAppEvent(db: Db, id: string, scope: EventScope): Promise<AppEventRow> {
  const row = isUuid(id)
    ? await db.selectFrom('app_event').selectAll().where('id', '=', id).where(inEventScope(scope)).executeTakeFirst()
    : undefined
  if (row === undefined) throw new ApiError('EVENT_NOT_FOUND', `There is no application event ${id}.`)
  return row
}

export interface ArchiveFilter {
  ids?: string[]
  action?: string
  from?: Date
  to?: Date
}

/** Archives ended events; one that still runs is left where its operator looks for it. */
export async function archiveAppEvents(db: Db, filter: ArchiveFilter, scope: EventScope): Promise<number> {
  let query = db
    .updateTable('app_event')
    .set({ archived: true })
    .where('archived', '=', false)
    .where('status', '!=', 'IN_PROGRESS')
    .where(inEventScope(scope))
  if (filter.ids !== undefined) query = query.where('id', 'in', filter.ids.filter(isUuid).concat(NO_ID))
  if (filter.action !== undefined) query = query.where('action', '=', filter.action)
  if (filter.from !== undefined) query = query.where('created_at', '>=', filter.from)
  if (filter.to !== undefined) query = query.where('created_at', '<=', filter.to)
  const result = await query.executeTakeFirst()
  return Number(result.numUpdatedRows)
}

export async function knownActions(db: Db): Promise<string[]> {
  // A loose index scan: one probe an action instead of a read of the whole table.
  const { rows } = await sql<{ action: string }>`
    with recursive t as (
      (select action from app_event order by action limit 1)
      union all
      select (select action from app_event where action > t.action order by action limit 1) from t where t.action is not null
    )
    select action from t where action is not null`.execute(db)
  return rows.map((row) => row.action)
}

/** A list for SQL `in` must not be empty. */
const NO_ID = '00000000-0000-0000-0000-000000000000'

const EXACT = [
  'action', 'correlation_id', 'level', 'resource_type', 'resource_uuid', 'username', 'user_id', 'status',
] as const // biome-ignore format: one list

type Query = SelectQueryBuilder<Tables, 'app_event', object>

function filtered(query: Query, filter: AppEventFilter): Query {
  let out = query.where('archived', '=', filter.archived ?? false)
  for (const field of EXACT) {
    const value = filter[field]
    if (value !== undefined) out = out.where(field, '=', value as never)
  }
  const { related_to } = filter
  if (related_to !== undefined)
    out = out.where(sql<SqlBool>`(resource_uuid = ${related_to} or related @> array[${related_to}]::text[])`)
  const from = timeOf(filter.created_at_from, 'created_at_from')
  const to = timeOf(filter.created_at_to, 'created_at_to')
  if (from !== undefined) out = out.where('created_at', '>=', from)
  if (to !== undefined) out = out.where('created_at', '<', nextMillisecond(to))
  if (filter.error_message !== undefined) out = out.where(contains(sql`error_message`, filter.error_message))
  if (filter.keyword !== undefined) {
    const rarest = rarestWord(filter.keyword)
    out = out.where(contains(WORDS, rarest))
    if (rarest !== filter.keyword) out = out.where(contains(sql`(${WORDS} || '')`, filter.keyword))
  }
  return out
}

/** The very expression of the trigram index. */
const WORDS = sql`(description || ' ' || error_message || ' ' || action || ' ' || resource_uuid || ' ' || username)`

/**
 * The index is asked for one word only: the letters of common words stand in every row, and to read their lists takes
 * longer than to check the few rows that a rare word leaves. Numbers are rarer than words, long words than short ones.
 * The appended nothing above keeps the check of the whole phrase away from the index.
 */
function rarestWord(keyword: string): string {
  const words = keyword.split(/\s+/).filter((word) => word.length >= 3)
  const rank = (word: string): number => (/\d/.test(word) ? 1000 : 0) + word.length
  return words.reduce((best, word) => (rank(word) > rank(best) ? word : best), words[0] ?? keyword)
}

function contains(text: Expression<unknown>, part: string): Expression<SqlBool> {
  const pattern = `%${part.replace(/[\\%_]/g, '\\$&')}%`
  return sql<SqlBool>`${text} ilike ${pattern}`
}

const NEWEST_FIRST = sql`created_at desc, id desc`
const NO_FILTERS: ReadonlySet<string> = new Set(['archived', 'page', 'page_size', 'sort_by', 'sort_order'])

/**
 * Without a filter the planner would count from anywhere in the table, out of blocks that are not in memory. In this order
 * it reads the index alone, and that part of it which every first page reads, too. Filtered rows would have to be sorted.
 */
function isWholeList(filter: AppEventFilter): boolean {
  return Object.keys(filter).every((name) => NO_FILTERS.has(name))
}

/** `seen`: so many there are at least. */
async function countOf(db: Db, matching: Query, seen: number): Promise<{ count: number; count_exact: boolean }> {
  const few = await countUpTo(db, matching, EXACT_COUNT_LIMIT)
  if (few <= EXACT_COUNT_LIMIT) return { count: few, count_exact: true }
  const plan = await matching.select('id').explain<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>('json')
  const estimate = Math.round(plan[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0)
  const least = estimate <= LIKELY_COUNT_LIMIT ? await countUpTo(db, matching, LIKELY_COUNT_LIMIT) : few
  if (estimate <= LIKELY_COUNT_LIMIT && least <= LIKELY_COUNT_LIMIT) return { count: least, count_exact: true }
  return { count: Math.max(least, estimate, seen), count_exact: false }
}

/** One more than the limit: there are more than that. */
async function countUpTo(db: Db, matching: Query, limit: number): Promise<number> {
  const capped = matching.select(sql<number>`1`.as('one')).limit(limit + 1)
  const { count } = await db
    .selectFrom(capped.as('capped'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function sortOf({ sort_by = 'created_at', sort_order = 'desc' }: AppEventFilter): {
  by: AppEventSort
  order: 'asc' | 'desc'
} {
  return { by: sort_by, order: sort_order === 'asc' || sort_order === 'ASC' ? 'asc' : 'desc' }
}

/** Reads a time of a filter; anything that is not one is the caller's mistake. */
export function timeOf(text: string | undefined, field: string): Date | undefined {
  if (text === undefined) return undefined
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) throw invalidField(`body.${field}`, 'must be an RFC 3339 time')
  return time
}

/** Rows have microseconds and show milliseconds: a filter that ends at a shown time means all of it. */
export function nextMillisecond(time: Date): Date {
  return new Date(time.getTime() + 1)
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text)
}
