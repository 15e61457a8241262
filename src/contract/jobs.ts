// Jobs: everything of several steps, or that outlives a request (Part 2, 4.4 for the record; the routes are extensions).
import { type Static, Type } from 'typebox'
import {
  Closed,
  Id,
  KnownText,
  ListOf,
  MAX_INT32,
  Nullable,
  NullableTime,
  OneOf,
  PageFields,
  SortFields,
  Time,
  TimeGiven,
} from './common.ts'
import { UpstreamMessage } from './problem.ts'
import { defineArea } from './route.ts'

export const JobStep = Type.Object(
  {
    name: Type.String(),
    status: OneOf(['succeeded', 'failed', 'skipped', 'unverified']),
    error: Type.String({ description: 'Why it failed, was skipped, or could not be verified; empty otherwise.' }),
  },
  { title: 'JobStep', description: 'Only finished steps are listed.' },
)

const EndedStep = Type.Object(
  {
    ...JobStep.properties,
    attempt: Type.Integer({ minimum: 1, description: 'Above 1: it was tried again, or was interrupted and went on.' }),
    started_at: Time,
    ended_at: NullableTime,
  },
  { title: 'EndedStep', description: 'Only finished steps are listed.' },
)

export const Job = Type.Object(
  {
    id: Id,
    parent_id: Type.String({ description: 'Job that caused this one; empty otherwise.' }),
    job_type: Type.String(),
    job_status: OneOf(['running', 'completed', 'failed']),
    status: Type.String({ description: 'One sentence about now.' }),
    progress: Type.Integer({ minimum: 0, maximum: 100 }),
    provision_status: Type.String({ description: 'State of the node, for node jobs; empty otherwise.' }),
    metadata: Type.Record(Type.String(), Type.Unknown(), { description: 'What was asked for, and who runs it.' }),
    node_ip: Type.String({ description: 'BMC address that names the node; empty for other jobs.' }),
    resource_name: Type.String(),
    created_at: Time,
    updated_at: Time,
    total_jobs: Type.Integer({ minimum: 1, description: 'This job and its children.' }),
    wipe_report: Type.String(),
  },
  { title: 'Job' },
)
export type Job = Static<typeof Job>

export const JobDetail = Type.Object(
  {
    ...Job.properties,
    correlation_id: Id,
    resource_type: Type.String(),
    resource_id: Nullable(Type.String()),
    failed_step: Type.String(),
    failure_code: Nullable(Type.String()),
    failure_reason: Type.String(),
    upstream_message: UpstreamMessage,
    cancel_requested: Type.Boolean(),
    current_step: Nullable(Type.String()),
    current_step_started_at: NullableTime,
    no_return_step: Nullable(Type.String({ description: 'With its end the job can no longer be cancelled.' })),
    no_return_at: Nullable(Type.String({ format: 'date-time', description: 'When that was; null before.' })),
    planned_steps: Type.Array(Type.String()),
    steps: Type.Array(EndedStep),
    outstanding_actions: Type.Array(Type.String()),
    finished_at: NullableTime,
    log: Type.Array(
      Type.Object({
        seq: Type.Integer({ description: 'Number of the line within the job, from 1.' }),
        at: Time,
        level: KnownText(['INFO', 'WARN', 'ERROR', 'DESTRUCTIVE'], 'Weight of the line.'),
        step: Type.String(),
        attempt: Type.Integer(),
        text: Type.String(),
      }),
      { description: 'At most 200 lines of the audit log, oldest first: the newest, or those after after_seq.' },
    ),
  },
  { title: 'JobDetail' },
)
export type JobDetail = Static<typeof JobDetail>

const params = Closed({ id: Id })

const example: Job = {
  id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10',
  parent_id: '',
  job_type: 'provision',
  job_status: 'completed',
  status: 'Virtual machine web-41 is running.',
  progress: 100,
  provision_status: '',
  metadata: { name: 'web-41' },
  node_ip: '',
  resource_name: 'web-41',
  created_at: '2026-11-20T03:12:45.120Z',
  updated_at: '2026-11-20T03:12:58.310Z',
  total_jobs: 1,
  wipe_report: '',
}

export const JOB_COLUMNS = ['created_at', 'updated_at', 'job_type', 'job_status', 'progress', 'resource_name'] as const

export const jobs = defineArea({
  name: 'jobs',
  description: 'Long operations: one ledger for every kind.',
  routes: {
    jobList: {
      method: 'GET',
      path: '/jobs',
      summary: 'List jobs',
      description: 'Newest first.',
      access: 'viewer',
      tenant: 'own',
      extension: true,
      query: Type.Object({
        job_type: Type.Optional(Type.String({ maxLength: 100 })),
        job_status: Type.Optional(OneOf(['running', 'completed', 'failed'])),
        resource_id: Type.Optional(Type.String({ maxLength: 200 })),
        node_ip: Type.Optional(Type.String({ maxLength: 45 })),
        correlation_id: Type.Optional(
          Type.String({ maxLength: 100, description: 'The job of one operation, and those it caused.' }),
        ),
        from: TimeGiven('Began here or later.'),
        to: TimeGiven('Began here or earlier.'),
        ...SortFields([...JOB_COLUMNS], 'newest first'),
        ...PageFields,
      }),
      ok: { 200: ListOf('jobs', Job, 'JobPage') },
      errors: [400, 500],
      example: { query: { job_status: 'running' }, answer: { jobs: [example], count: 1, page: 1, page_size: 50 } },
    },
    jobGet: {
      method: 'GET',
      path: '/jobs/{id}',
      summary: 'Get job',
      access: 'viewer',
      tenant: 'own',
      extension: true,
      params,
      query: Closed({
        after_seq: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: MAX_INT32,
            description: 'Lines of the log after this number, 0 for its first.',
          }),
        ),
      }),
      ok: { 200: JobDetail },
      errors: [400, 404, 500],
      example: { params: { id: example.id } },
    },
    jobCancel: {
      method: 'POST',
      path: '/jobs/{id}/cancel',
      summary: 'Cancel job',
      description:
        'Asks the job to end at its next safe point. 409 once it has passed its point of no return or has ended.',
      access: 'operator',
      tenant: 'own',
      extension: true,
      params,
      ok: { 200: Job },
      errors: [400, 404, 409, 500],
      example: { params: { id: example.id }, answer: example },
    },
  },
})
