// Lists jobs: filters and paging.
import { type SqlBool, sql } from 'kysely'
import type { JOB_COLUMNS } from '#src/contract/jobs.ts'
import type { ListOrder } from '#src/kernel/sorted.ts'
import { nextMillisecond, timeOf } from '#src/store/app-event-list.ts'
import type { Db } from '#src/store/database.ts'
import { listOrder } from '#src/store/list-order.ts'
import type { JobRow } from './job-row.ts'

export interface JobFilter extends ListOrder<(typeof JOB_COLUMNS)[number]> {
  job_type?: string
  job_status?: string
  resource_id?: string
  node_ip?: string
  correlation_id?: string
  from?: string
  to?: string
}

const COLUMNS = {
  created_at: sql`created_at`,
  updated_at: sql`updated_at`,
  // Without the area, as it is shown.
  job_type: sql`substr(type, strpos(type, '.') + 1)`,
  job_status: sql`job_status`,
  progress: sql`progress`,
  resource_name: sql`lower(nullif(resource_name, ''))`,
}

export async function listJobs(
  db: Db,
  filter: JobFilter,
  { page, page_size }: { page: number; page_size: number },
  tenant_id: string | null,
): Promise<{ rows: JobRow[]; count: number }> {
  let matching = db.selectFrom('job')
  if (filter.job_type !== undefined)
    matching = matching.where('type', 'like', `%.${filter.job_type.replace(/[\\%_]/g, '\\$&')}`)
  if (filter.job_status !== undefined) matching = matching.where('job_status', '=', filter.job_status)
  if (filter.resource_id !== undefined) matching = matching.where('resource_id', '=', filter.resource_id)
  if (filter.node_ip !== undefined) matching = matching.where('node_ip', '=', filter.node_ip)
  if (filter.correlation_id !== undefined) {
    const { correlation_id } = filter
    matching = matching.where(sql<SqlBool>`(id::text = ${correlation_id} or parent_id::text = ${correlation_id})`)
  }
  const from = timeOf(filter.from, 'from')
  const to = timeOf(filter.to, 'to')
  if (from !== undefined) matching = matching.where('created_at', '>=', from)
  if (to !== undefined) matching = matching.where('created_at', '<', nextMillisecond(to))
  if (tenant_id !== null) matching = matching.where('tenant_id', '=', tenant_id)
  const [rows, total] = await Promise.all([
    matching
      .selectAll()
      .orderBy(listOrder(filter, COLUMNS, sql`created_at desc, id desc`, sql`id`))
      .limit(page_size)
      .offset((page - 1) * page_size)
      .execute(),
    matching.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow(),
  ])
  return { rows, count: total.count }
}
