// What a job is: named steps that probe, act and verify. A job file is this data at its top and plain functions below.
import type { Static, TSchema } from 'typebox'
import type { Caller } from '#src/kernel/http/context.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Trx } from '#src/store/database.ts'

/** Whether a step's goal is true in the world. `unknown`: nobody can tell. */
export type Holds = boolean | 'unknown'

export interface Step<Deps, Input> {
  /** Stable slug; what the status views and the log call it. */
  name: string
  /** What a person reads while it runs. */
  title: string
  /** Share of the whole job's progress; 1 when left out. */
  weight?: number
  /** Says why the step does not apply; it then ends `skipped` with that reason. */
  applies?: (run: Run<Deps, Input>) => Promise<string | true> | string | true
  /**
   * The goal. Asked before acting (true and never started: skipped; true after an interrupted start: succeeded) and after
   * (true: succeeded, false: failed, unknown: unverified when the step has an `outstanding` sentence, else failed).
   * Left out: the act proves itself by returning.
   */
  holds?: (run: Run<Deps, Input>) => Promise<Holds>
  /** The act. It may run again after a crash, so it must be safe to repeat, or ask `run.state` what it did. */
  run: (run: Run<Deps, Input>) => Promise<void>
  /** Takes the act back; runs in reverse order when the job undoes itself. Safe when nothing was done. */
  undo?: (run: Run<Deps, Input>) => Promise<void>
  /** What a person must still check when nobody can tell whether the goal holds. */
  outstanding?: string
  /** The whole step, waiting included; 15 minutes when left out. */
  timeout_ms?: number
  /** Automatic repeats for errors that say they may pass; 3 when left out. */
  retries?: number
  /**
   * `once`: after an interruption the act is not repeated unless `holds` says false twice, a settle time apart; an unclear
   * world ends the step failed (node-lifecycle.md 4.3).
   */
  kind?: 'repeatable' | 'once'
  /** From here on the job cannot be cancelled. */
  point_of_no_return?: boolean
}

export interface JobDefinition<Deps, Input> {
  /** Area and verb: `vm.provision`. The part after the dot is the record's `job_type`. */
  type: string
  input: TSchema
  /** Upper-case noun of the application event. */
  resource_type: string
  steps: readonly Step<Deps, Input>[]
  /** What follows a failed step: stop there, or undo the finished steps in reverse. */
  on_failure?: 'stop' | 'undo'
  /** One sentence for the timeline when the job has ended well. */
  done?: (run: Run<Deps, Input>) => string
}

/** Binds the dependencies' type first, so that the input's type is inferred from the schema. */
export function defineJob<Deps>() {
  return <S extends TSchema>(
    definition: Omit<JobDefinition<Deps, Static<S>>, 'input'> & { input: S },
  ): JobDefinition<Deps, Static<S>> => definition
}

/** A definition with its dependencies, ready to be run by the engine. */
export interface BoundJob {
  definition: JobDefinition<unknown, unknown>
  deps: unknown
}

export function bindJob<Deps, Input>(definition: JobDefinition<Deps, Input>, deps: Deps): BoundJob {
  return { definition: definition as JobDefinition<unknown, unknown>, deps }
}

export type LogLevel = 'INFO' | 'WARN' | 'ERROR' | 'DESTRUCTIVE'

/** What a step sees. Everything it writes is fenced: a process that lost the job writes nothing. */
export interface Run<Deps, Input> {
  readonly job_id: string
  /** Under which this process holds the job; effects outside the database name it. */
  readonly epoch: number
  /** Name of the step. */
  readonly step: string
  readonly input: Input
  readonly deps: Deps
  readonly caller: Caller
  /** 1 on the first try of this step, more after a crash or a retry. */
  readonly attempt: number
  /** Aborted on cancel, on the loss of the job, on the step's time-out, and when the process stops. */
  readonly signal: AbortSignal
  /** Process log; carries the job's id. */
  readonly log: Log
  /** What earlier steps (and earlier attempts of this one) saved. Encrypted at rest: it may hold secrets. */
  readonly state: Readonly<Record<string, unknown>>
  /** Commits a change of the state before it returns. Save what you are about to do before you do it. */
  save(change: Record<string, unknown>): Promise<void>
  /** Writes of a module's own tables in one transaction that a process which lost the job cannot make. */
  fenced<T>(work: (trx: Trx) => Promise<T>): Promise<T>
  /** A line of the job's audit log. */
  note(level: LogLevel, text: string, data?: Record<string, unknown>): Promise<void>
  /** Progress of this step, 0 to 100, and a sentence about now. Sent live, stored on a throttle. */
  progress(percent: number, sentence?: string): void
  /** Names the thing the job is about, once it is known. */
  about(resource: { id?: string; name?: string }): Promise<void>
}
