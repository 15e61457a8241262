// The engine as the rest of the service sees it.
import type { Static, TSchema } from 'typebox'
import type { Caller, Operation } from '#src/kernel/http/context.ts'
import type { Publish } from '#src/store/app-events.ts'
import type { Trx } from '#src/store/database.ts'
import type { AdmissionOf, JobDefinition, Signal } from './define.ts'
import type { JobRow } from './job-row.ts'

export interface Admission<Input> extends AdmissionOf<Input> {
  /** Its id becomes the job's id and its event's correlation id, its name the event's `action`. */
  operation: Operation
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
  /** What the completed job answers; undefined before, after a failure, and of a kind that hands nothing over. */
  result<Deps, Input, State, Result>(
    definition: JobDefinition<Deps, Input, State, Result>,
    row: JobRow,
  ): Result | undefined
  /** What the steps of the job have saved so far. */
  saved<Deps, Input, State, Result>(
    definition: JobDefinition<Deps, Input, State, Result>,
    row: JobRow,
  ): Promise<Partial<State>>
  find(id: string): Promise<JobRow | undefined>
  /** Of a kind of job: the step with whose end it can no longer be cancelled; null where there is none. */
  noReturnStep(type: string): string | null
  /** A failed job goes on at the step that failed, with another input where one is given. Throws NODE_STATE for one that has not failed. */
  retry<Deps, Input, State, Result>(
    id: string,
    definition: JobDefinition<Deps, Input, State, Result>,
    more: { input: Input; also?: (trx: Trx, publish: Publish) => Promise<void> },
  ): Promise<JobRow>
  /** What the job was admitted with. */
  inputOf<Deps, Input, State, Result>(
    definition: JobDefinition<Deps, Input, State, Result>,
    row: JobRow,
  ): Promise<Input>
  /** Closes what ended jobs left to a person and what has come true since. */
  recheckOutstanding(signal: AbortSignal): Promise<void>
  /** Its running children are cancelled with it. */
  cancel(id: string, caller: Caller): Promise<JobRow>
  /**
   * Stores the signal for the job, which may not wait for it yet, and wakes it. False: it has come before, or the job has
   * ended, and nothing was stored.
   */
  signal<P extends TSchema>(id: string, signal: Signal<P>, payload: Static<P>, trx?: Trx): Promise<boolean>
}
