// What the jobs of this area share: which BMC, one change at a time, and patience with a BMC that restarts.
import { setTimeout as pause } from 'node:timers/promises'
import { type Static, Type } from 'typebox'
import type { Bmc } from '#src/drivers/redfish/bmc.ts'
import { RedfishError } from '#src/drivers/redfish/redfish-error.ts'
import type { Run } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Database } from '#src/store/database.ts'
import { LOCKS } from '#src/store/locks.ts'
import { LockBusyError, withSessionLock } from '#src/store/session-lock.ts'
import type { BmcAccess } from '../bmc-access.ts'

export interface BmcJobDeps {
  bmcs: Pick<BmcAccess, 'open'>
  database: Database
  /** How often a BMC is asked how far it is. */
  follow_ms: number
  patience_ms: number
  /** A BMC that restarts is silent or unwell for minutes. */
  silence_ms: number
  timeout_ms: number
}

/** Encrypted at rest: credentials may travel here. */
export const BmcInput = Type.Object({
  bmc_ip: Type.String(),
  username: Type.Optional(Type.String()),
  password: Type.Optional(Type.String()),
  by: Type.String(),
})
export type BmcInput = Static<typeof BmcInput>

export function openBmc(run: Pick<Run<BmcJobDeps, BmcInput>, 'deps' | 'input'>): Promise<Bmc> {
  return run.deps.bmcs.open(run.input)
}

const LOCK_WAIT_MS = 30_000

/** Sends one change while no other process sends one to the same BMC. */
export async function sendAlone<T>(database: Database, bmc_ip: string, send: () => Promise<T>): Promise<T> {
  const lock = { lock: LOCKS.bmc_change, key: bmc_ip, name: `BMC ${bmc_ip}`, wait_ms: LOCK_WAIT_MS }
  try {
    return await withSessionLock(database, lock, send)
  } catch (error) {
    if (!(error instanceof LockBusyError)) throw error
    throw new ApiError('BMC_JOB_CONFLICT', `Another change is being sent to BMC ${bmc_ip}; try again.`, {
      cause: error,
    })
  }
}

/** Machines are restarted when their time has come: until then what was submitted may wait. */
export const APPLY_WITHIN_MS = 14 * 24 * 3600_000

/**
 * Answers undefined while the BMC is away, and throws when it has been away for too long, or for a reason that does not pass.
 * `silent_since` is saved, so that a process that takes over goes on counting.
 */
export async function whenAwake<T>(
  run: Pick<Run<BmcJobDeps, BmcInput, { silent_since: number }>, 'state' | 'save' | 'log' | 'deps'>,
  ask: () => Promise<T>,
): Promise<T | undefined> {
  try {
    const answer = await ask()
    if ((run.state.silent_since ?? 0) !== 0) await run.save({ silent_since: 0 })
    return answer
  } catch (error) {
    const passing = error instanceof RedfishError && error.problem === undefined && error.failure !== 'not_configured'
    if (!passing) throw error
    const since = run.state.silent_since ?? 0
    if (since !== 0 && Date.now() - since > run.deps.silence_ms) throw error
    if (since === 0) await run.save({ silent_since: Date.now() })
    run.log.info({ err: error }, 'bmc is silent')
    return undefined
  }
}

/** State members of jobs that poll. */
export const Polling = { silent_since: Type.Number(), polling_since: Type.Number() }

/** What takes longer goes on without holding a process. */
const IN_PROCESS_MS = 60_000
const OFTEN_FOR_MS = 10 * 60_000
const RARELY_MS = 60_000

type PollRun = Pick<
  Run<BmcJobDeps, BmcInput, { polling_since: number }>,
  'state' | 'save' | 'deps' | 'signal' | 'repeatAfter'
>

/** The pause between two questions: short while somebody may be waiting, then longer and longer. `asked_ms`: by the BMC. */
export async function pauseBeforePoll(run: PollRun, asked_ms = 0): Promise<void> {
  if (run.state.polling_since === undefined) await run.save({ polling_since: Date.now() })
  const elapsed = Date.now() - (run.state.polling_since ?? 0)
  const pause_ms = Math.max(asked_ms, run.deps.follow_ms, elapsed > OFTEN_FOR_MS ? RARELY_MS : 0)
  if (elapsed > IN_PROCESS_MS) return run.repeatAfter(pause_ms)
  await pause(pause_ms, undefined, { signal: run.signal })
}
