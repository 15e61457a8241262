/** What a command's handler is given, and the two shapes of its answer. */
import type { EventSubject } from './event-log.ts'
import type { JobPlan } from './jobs.ts'
import type { CommandSpec, Params } from './params.ts'
import type { Account, User } from './records.ts'
import type { SimulatorState } from './state.ts'
import type { Reply } from './wire.ts'

export interface Caller {
  user: User
  account: Account
}

export interface Call {
  spec: CommandSpec
  params: Params
  state: SimulatorState
  caller: Caller
  catalogue: ReadonlyMap<string, CommandSpec>
  /** Writes the completed event of a synchronous command. */
  event(subject: EventSubject): void
  /** The index of the newest metrics sample. */
  sample(): number
}

export type Outcome = Reply | { kind: 'job'; plan: JobPlan }

export type Handler = (call: Call) => Outcome | Promise<Outcome>

export type Commands = Record<string, Handler>

export function job(plan: JobPlan): Outcome {
  return { kind: 'job', plan }
}
