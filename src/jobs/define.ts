// What a job is: named steps that probe, act and verify. A job file is this data at its top and plain functions below.
import type { Static, TNull, TObject, TSchema } from 'typebox'
import type { ErrorCode } from '#src/contract/errors.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Publish } from '#src/store/app-events.ts'
import type { Trx } from '#src/store/database.ts'

/** Whether a step's goal is true in the world. `unknown`: nobody can tell. */
export type Holds = boolean | 'unknown'

/**
 * How far a job is with a change that another system carries out. Set in order and never back: `submitted`: the other system
 * has taken it over, so from here on it can only succeed or fail there; `following`: it is being worked on there;
 * `verifying`: it is said to be done, and is being read back.
 */
export const MILESTONES = ['submitted', 'following', 'verifying'] as const
export type Milestone = (typeof MILESTONES)[number]

/** A job that saves nothing between its steps. */
export type NoState = Record<never, never>

export interface Step<Deps, Input, State = NoState> {
  /** Stable slug; what the views and the log call it, and by which another version of the service finds it again. */
  name: string
  /** What a person reads while it runs. */
  title: string
  /** Share of the whole job's progress; 1 when left out. */
  weight?: number
  /** Says why the step does not apply; it then ends `skipped` with that reason. */
  applies?: (run: Run<Deps, Input, State>) => Promise<string | true> | string | true
  /**
   * The goal. Asked before acting (true and never started: skipped; true after an interrupted start: succeeded) and after
   * (true: succeeded, false: failed, unknown: unverified when the step has an `outstanding` sentence, else failed).
   * Left out: that it returned is enough.
   */
  holds?: (run: Run<Deps, Input, State>) => Promise<Holds>
  /** The act. It may run again after a crash, so it must be safe to repeat, or ask `run.state` what it did. */
  run: (run: Run<Deps, Input, State>) => Promise<void>
  /** Rolls the act back; runs in reverse order when the job undoes itself. Safe when nothing was done. */
  undo?: (run: Run<Deps, Input, State>) => Promise<void>
  /** What a person must still check when nobody can tell whether the goal holds: a sentence, or one for each thing. */
  outstanding?: string | ((run: Run<Deps, Input, State>) => Promise<readonly string[]>)
  /** The whole step, waiting included; 15 minutes when left out. With `outstanding`, a wait that takes longer ends unverified. */
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
  /** Reached when the act begins. */
  milestone?: Milestone
}

type OnFailure = 'stop' | 'undo' | 'undo_cancelled'

export interface JobDefinition<Deps, Input, State = NoState, Result = null> {
  /** Area and verb: `vm.provision`. The part after the dot is the record's `job_type`. */
  type: string
  input: TSchema
  /** What steps save for later ones, and for whoever continues after a crash. A member is missing until it is saved. */
  state?: TObject
  /** What a completed job hands to those who asked for it. Encrypted at rest, so it may hold what is shown once. */
  result?: TSchema
  /** Makes the result of the input and the saved state when the last step has ended. */
  resultOf?: (run: Run<Deps, Input, State>) => Result
  /** Upper-case noun of the application event. */
  resource_type: string
  steps: readonly Step<Deps, Input, State>[]
  /** How many of them may run at once, over all replicas. */
  limits?: readonly Limit<Deps, Input>[]
  /** What follows a failed step: stop there, or undo the steps that began in reverse; `undo_cancelled`: only after a cancel. */
  on_failure?: OnFailure | ((input: Input) => OnFailure)
  /** Rolls back what was written with the admission; last of all when the job undoes itself. Safe to repeat. */
  undo?: (run: Run<Deps, Input, State>) => Promise<void>
  /**
   * Written in the transaction that ends the job as failed, after its undo. Answers the job that goes on from there: it takes
   * the places of this one, so that no other comes in between. It must not throw for what it finds: the job has failed already.
   * `left`: a sentence for each step that could not be undone.
   */
  failed?: (
    run: Run<Deps, Input, State>,
    trx: Trx,
    publish: Publish,
    left: readonly string[],
  ) => Promise<FollowUp | undefined>
  /** One sentence for the timeline when the job has ended well. */
  done?: (run: Run<Deps, Input, State>) => string
}

/** A job of its own, with an event of its own, whose parent is the failed job. */
export interface FollowUp {
  /** Unique among the children of the failed job. */
  name: string
  definition: AnyJob
  /** Action of its event. */
  operation: string
  admission: AdmissionOf<unknown>
}

export function followUp<Deps, Input, State, Result>(
  name: string,
  definition: JobDefinition<Deps, Input, State, Result>,
  operation: string,
  admission: AdmissionOf<Input>,
): FollowUp {
  return { name, definition: definition as unknown as AnyJob, operation, admission }
}

/** A job holds its place from its start to its end, also while it waits. */
export interface Limit<Deps, Input> {
  /** What is limited, in words that a refused caller reads: `node 10.1.2.3`. Undefined: not limited with this input. */
  of: (input: Input) => string | undefined
  most: number | ((deps: Deps) => number)
  /** Code of the rejection at admission. Left out: the job waits for its turn, oldest first. */
  refuse?: ErrorCode
}

/** Something that another system tells a waiting job: a callback, a report. One name counts once a job. */
export interface Signal<P extends TSchema> {
  name: string
  payload: P
}

/** What a job is admitted with. */
export interface AdmissionOf<Input> {
  input: Input
  /** One sentence for the timeline while it runs. */
  description: string
  resource_id?: string
  resource_name?: string
  tenant_id?: string | null
  /** Ids of what it touches beside its resource; nulls are left out. */
  related?: readonly (string | null)[]
  node_ip?: string
  /** Shown in the job's record: what was asked for, without secrets. */
  metadata?: Record<string, unknown>
  /** Written, and published, in the same transaction as the job. */
  also?: (trx: Trx, publish: Publish) => Promise<void>
}

/** Binds the dependencies' type first, so that the other types are inferred from the schemas. */
export function defineJob<Deps>() {
  return <I extends TSchema, S extends TObject = TObject<NoState>, R extends TSchema = TNull>(
    definition: Omit<JobDefinition<Deps, Static<I>, Static<S>, Static<R>>, 'input' | 'state' | 'result'> & {
      input: I
      state?: S
      result?: R
    },
  ): JobDefinition<Deps, Static<I>, Static<S>, Static<R>> => definition
}

/** A definition with its dependencies, ready to be run by the engine. */
export interface BoundJob {
  definition: AnyJob
  deps: unknown
}

/** What the engine runs: it checks input and state against the schemas where it reads them. */
export type AnyJob = JobDefinition<unknown, unknown, NoState, unknown>

export function bindJob<Deps, Input, State, Result>(
  definition: JobDefinition<Deps, Input, State, Result>,
  deps: Deps,
): BoundJob {
  return { definition: definition as unknown as AnyJob, deps }
}

export type LogLevel = 'INFO' | 'WARN' | 'ERROR' | 'DESTRUCTIVE'

/** What a step sees. Everything it writes is fenced: a process that lost the job writes nothing. */
export interface Run<Deps, Input, State = NoState> {
  readonly job_id: string
  /** Under which this process holds the job; effects outside the database name it. */
  readonly epoch: number
  /** Name of the step. */
  readonly step: string
  readonly input: Input
  readonly deps: Deps
  readonly caller: Caller
  /** 1 on the first try of this step, more after a crash, a retry or a wait. */
  readonly attempt: number
  /** Aborted on cancel, on the loss of the job, on the step's time-out, and when the process stops. */
  readonly signal: AbortSignal
  /** Process log; carries the job's id. */
  readonly log: Log
  /** What earlier steps (and earlier attempts of this one) saved. Encrypted at rest: it may hold secrets. */
  readonly state: Readonly<Partial<State>>
  /** Commits a change of the state before it returns. Save what you are about to do before you do it. */
  save(change: Partial<State>): Promise<void>
  /** Tells those who wait for it that the job has come this far, together with a change of the state. */
  reached(milestone: Milestone, change?: Partial<State>): Promise<void>
  /** Writes of a module's own tables in one transaction that a process which lost the job cannot make. */
  fenced<T>(work: (trx: Trx, publish: Publish) => Promise<T>): Promise<T>
  /** A line of the job's audit log. */
  note(level: LogLevel, text: string, data?: Record<string, unknown>): Promise<void>
  /** Progress of this step, 0 to 100, and a sentence about now. Sent live, stored on a throttle. */
  progress(percent: number, sentence?: string): void
  /** Returns when what was sent has arrived, or never will: before something counts as not done. */
  settled(): Promise<void>
  /** Names the thing the job is about, once it is known. */
  about(resource: { id?: string; name?: string }): Promise<void>
  // Waiting holds neither a process nor a slot: the job is let go, and when it goes on, the act of the step begins again.
  /** The payload of the signal; waits for it. */
  signalled<P extends TSchema>(signal: Signal<P>): Promise<Static<P>>
  /** Returns when this time has come. */
  waitUntil(time: Date): Promise<void>
  /** Ends this run of the act; it begins again after so long. For asking another system at intervals. */
  repeatAfter(ms: number): Promise<never>
  /** Admits a child job; once under this name, however often it is called. */
  startChild<D, I, S, R>(name: string, definition: JobDefinition<D, I, S, R>, admission: AdmissionOf<I>): Promise<void>
  /** What the child passed on; waits for its end, and throws its failure. */
  childResult<D, I, S, R>(name: string, definition: JobDefinition<D, I, S, R>): Promise<R>
}
