// Views of the ledger: the job record of Part 2, 4.4, its details, and the message on the stream.
import type { Static } from 'typebox'
import type { Job, JobDetail, JobStep } from '#src/contract/jobs.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import { runsThePlatform } from '#src/kernel/http/errors.ts'
import type { Db, StreamMessage } from '#src/store/database.ts'
import type { JobRow, StepRow } from './job-row.ts'

const LOG_LINES = 200

/** `total_jobs`: this job and its children. */
export function jobOf(row: JobRow, total_jobs: number): Job {
  return {
    id: row.id,
    parent_id: row.parent_id ?? '',
    job_type: row.type.slice(row.type.indexOf('.') + 1),
    job_status: row.job_status as Job['job_status'],
    status: row.status,
    progress: row.progress,
    provision_status: '',
    metadata: row.metadata as Record<string, unknown>,
    node_ip: row.node_ip ?? '',
    resource_name: row.resource_name,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    total_jobs,
    wipe_report: '',
  }
}

export function jobMessage(row: JobRow, total_jobs: number): StreamMessage {
  return { channel: 'job', type: 'job', tenant_id: row.tenant_id, data: jobOf(row, total_jobs) }
}

/** What the views of a job show beside its row. */
export interface JobFacts {
  /** In the order they began, also the one that runs. */
  steps: StepRow[]
  /** What a person must still check, oldest first. */
  outstanding: string[]
  /** Children, oldest first. */
  children: JobRow[]
}

export async function readJobFacts(db: Db, id: string): Promise<JobFacts> {
  const [steps, outstanding, children] = await Promise.all([
    db.selectFrom('job_step').selectAll().where('job_id', '=', id).orderBy('ordinal').orderBy('started_at').execute(),
    db
      .selectFrom('job_outstanding')
      .select('text')
      .where('job_id', '=', id)
      .where('closed_at', 'is', null)
      .orderBy('created_at')
      .execute(),
    db.selectFrom('job').selectAll().where('parent_id', '=', id).orderBy('created_at').orderBy('id').execute(),
  ])
  return { steps, outstanding: outstanding.map(({ text }) => text), children }
}

/** The steps that have ended. */
export function endedSteps(steps: readonly StepRow[]): Static<typeof JobStep>[] {
  return steps.filter((step) => step.state !== 'running').map(endedStep)
}

function endedStep({ name, state, error }: StepRow): Static<typeof JobStep> {
  return { name, status: state as Static<typeof JobStep>['status'], error }
}

export function runningStep(steps: readonly StepRow[]): string | null {
  return steps.find((step) => step.state === 'running')?.name ?? null
}

export interface JobQuestion {
  caller: Caller
  after_seq: number | undefined
  /** Of this kind of job. */
  no_return_step: string | null
}

export async function jobDetail(
  db: Db,
  row: JobRow,
  { caller, after_seq, no_return_step }: JobQuestion,
): Promise<JobDetail> {
  const [{ steps, outstanding, children }, lines] = await Promise.all([
    readJobFacts(db, row.id),
    linesOf(db, row.id, after_seq),
  ])
  return {
    ...jobOf(row, 1 + children.length),
    correlation_id: row.id,
    resource_type: row.resource_type,
    resource_id: row.resource_id,
    failed_step: row.failed_step ?? '',
    failure_code: row.failure_code,
    failure_reason: row.job_status === 'failed' ? (row.failure_reason ?? '') : '',
    ...(row.upstream_message === null || !runsThePlatform(caller) ? {} : { upstream_message: row.upstream_message }),
    cancel_requested: row.cancel_requested_at !== null,
    current_step: runningStep(steps),
    current_step_started_at: steps.find(({ state }) => state === 'running')?.started_at.toISOString() ?? null,
    no_return_step,
    no_return_at: row.point_of_no_return_at?.toISOString() ?? null,
    planned_steps: row.planned_steps,
    steps: steps
      .filter(({ state }) => state !== 'running')
      .map((step) => ({
        ...endedStep(step),
        attempt: step.attempt,
        started_at: step.started_at.toISOString(),
        ended_at: step.finished_at?.toISOString() ?? null,
      })),
    outstanding_actions: outstanding,
    finished_at: row.finished_at?.toISOString() ?? null,
    log: lines.map(({ seq, at, level, step, attempt, text }) => ({
      seq, at: at.toISOString(), level, step, attempt, text,
    })), // biome-ignore format: a record
  }
}

async function linesOf(db: Db, job_id: string, after_seq: number | undefined) {
  const lines = db.selectFrom('job_event').selectAll().where('job_id', '=', job_id).limit(LOG_LINES)
  if (after_seq !== undefined) return lines.where('seq', '>', after_seq).orderBy('seq').execute()
  return (await lines.orderBy('seq', 'desc').execute()).reverse()
}

export async function countChildren(db: Db, ids: readonly string[]): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('job')
    .select(['parent_id', ({ fn }) => fn.countAll<number>().as('count')])
    .where('parent_id', 'in', [...ids])
    .groupBy('parent_id')
    .execute()
  return new Map(rows.flatMap((row) => (row.parent_id === null ? [] : [[row.parent_id, row.count]])))
}
