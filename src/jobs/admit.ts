// The engine as the rest of the service sees it.
import type { Caller, Operation } from '#src/kernel/http/context.ts'
import type { Trx } from '#src/store/database.ts'
import type { JobDefinition } from './define.ts'
import type { JobRow } from './job-row.ts'

export interface Admission<Input> {
  /** Its id becomes the job's id and its event's correlation id, its name the event's `action`. */
  operation: Operation
  input: Input
  /** One sentence for the timeline while it runs. */
  description: string
  resource_id?: string
  resource_name?: string
  tenant_id?: string | null
  node_ip?: string
  parent_id?: string
  /** Shown in the job's record: what was asked for, without secrets. */
  metadata?: Record<string, unknown>
  /** Written in the same transaction as the job and its event. */
  also?: (trx: Trx) => Promise<void>
}

export interface WaitOptions {
  timeout_ms: number
  signal?: AbortSignal
  /** Return as soon as this is true; by default when the job has ended. */
  until?: (job: JobRow) => boolean
}

export interface Jobs {
  /** Writes job, start event and message in one transaction; this process starts to run the job. */
  admit<Deps, Input, State, Result>(
    definition: JobDefinition<Deps, Input, State, Result>,
    admission: Admission<Input>,
  ): Promise<JobRow>
  /** The job when it has ended (or `until` holds), else as it is when the time is over. */
  wait(id: string, options: WaitOptions): Promise<JobRow>
  /** What the completed job handed over; undefined before, and after a failure. */
  result<Deps, Input, State, Result>(
    definition: JobDefinition<Deps, Input, State, Result>,
    row: JobRow,
  ): Result | undefined
  find(id: string): Promise<JobRow | undefined>
  cancel(id: string, caller: Caller): Promise<JobRow>
}
