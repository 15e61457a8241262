// What other areas ask of the jobs: whether one about a thing is running, which was the last. All SQL on the tables of jobs
// stands in this folder (test/rules/job-tables.test.ts).
import { sql } from 'kysely'
import type { Db } from '#src/store/database.ts'
import type { RetentionRule } from '#src/store/retention.ts'
import type { JobRow } from './job-row.ts'

/** Every member that is given must fit. */
export interface AboutJob {
  types?: readonly string[]
  resource_id?: string
  resource_name?: string
  node_ip?: string
}

function jobsAbout(db: Db, { types, resource_id, resource_name, node_ip }: AboutJob) {
  let matching = db.selectFrom('job')
  if (types !== undefined) matching = matching.where('type', 'in', types)
  if (resource_id !== undefined) matching = matching.where('resource_id', '=', resource_id)
  if (resource_name !== undefined) matching = matching.where('resource_name', '=', resource_name)
  if (node_ip !== undefined) matching = matching.where('node_ip', '=', node_ip)
  return matching
}

/**
 * Id of a running job about it. `except`: the job that is being admitted in this transaction. Who asks in order to be alone
 * holds a lock until the transaction ends.
 */
export async function runningJob(db: Db, about: AboutJob, except?: string): Promise<string | undefined> {
  let running = jobsAbout(db, about).select('id').where('job_status', '=', 'running')
  if (except !== undefined) running = running.where('id', '<>', except)
  return (await running.limit(1).executeTakeFirst())?.id
}

/** The newest running job about it. */
export function runningJobOf(db: Db, about: AboutJob): Promise<JobRow | undefined> {
  return jobsAbout(db, about).selectAll().where('job_status', '=', 'running').orderBy('created_at', 'desc').limit(1).executeTakeFirst() // biome-ignore format: one query
}

export function lastJob(db: Db, about: AboutJob): Promise<JobRow | undefined> {
  return jobsAbout(db, about)
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Those that are still there. */
export async function jobsById(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, JobRow>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('job')
    .selectAll()
    .where('id', 'in', [...ids])
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** Ids of the resources of a type that a job has worked on within the last hour and still does. */
export async function busyResources(db: Db, resource_type: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('job')
    .select('resource_id')
    .where('job_status', '=', 'running')
    .where('resource_type', '=', resource_type)
    .where('resource_id', 'is not', null)
    .where('updated_at', '>', sql<Date>`now() - interval '1 hour'`)
    .limit(limit)
    .execute()
  return rows.flatMap(({ resource_id }) => resource_id ?? [])
}

/** Steps and lines go with their job; a job whose children are kept is kept. */
export function jobRetention(days: number): RetentionRule {
  const before = sql`now() - make_interval(days => ${days})`
  return {
    table: 'job',
    old: sql`created_at < ${before} and finished_at < ${before}
      and not exists (select 1 from job child where child.parent_id = job.id)`,
  }
}
