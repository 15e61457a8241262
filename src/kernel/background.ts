// Work that goes on beside the requests, round by round. What fails again and again is said here, for all tasks alike: in
// the log, in the metrics, and to who asks whether this replica is well.
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

export interface Background {
  /** Runs one round of a task. A failure is counted, not thrown; the next round may be better. */
  round(task: string, work: () => Promise<unknown>): Promise<void>
  /**
   * Round after round with a pause after each, until the signal. What fails because of the signal is no failure, and a task
   * that has ended fails no more: another replica may do it now.
   */
  repeat(
    task: string,
    pause_ms: number | (() => number),
    signal: AbortSignal,
    work: () => Promise<unknown>,
    wait?: Wait,
  ): Promise<void>
  /** For work that is no function: says that it goes well, or that it failed. */
  report(task: string, failure?: unknown): void
  /** Tasks whose last two rounds failed, or more. */
  failing(): { task: string; failures: number }[]
}

/** Ends after the time or with the signal. */
export type Wait = (wait_ms: number, signal: AbortSignal) => Promise<void>

/** One failure may be a restart of the database; the second one is not. */
const MANY = 2

export function createBackground(log: Log, metrics: Pick<Metrics, 'background'>): Background {
  const failures = new Map<string, number>()
  const report = (task: string, err?: unknown): void => {
    const before = failures.get(task) ?? 0
    const count = err === undefined ? 0 : before + 1
    failures.set(task, count)
    if (count === 0 && before > 0) log.info({ task }, 'background task works again')
    if (count === 1) log.warn({ err, task }, 'background task failed')
    if (count === MANY) log.error({ err, task }, 'background task keeps failing')
    metrics.background(task, count)
  }
  const round: Background['round'] = async (task, work) => {
    const failure = await work().then(
      () => undefined,
      (error: unknown) => error ?? new Error('failed without a reason'),
    )
    report(task, failure)
  }
  return {
    round,
    report,
    async repeat(task, pause_ms, signal, work, wait = waitFor) {
      while (!signal.aborted) {
        await round(task, () =>
          work().catch((error: unknown) => {
            if (!signal.aborted) throw error
          }),
        )
        await wait(typeof pause_ms === 'number' ? pause_ms : pause_ms(), signal)
      }
      failures.delete(task)
      metrics.background(task, 0)
    },
    failing: () => [...failures].flatMap(([task, count]) => (count >= MANY ? [{ task, failures: count }] : [])),
  }
}

async function waitFor(wait_ms: number, signal: AbortSignal): Promise<void> {
  await delay(wait_ms, undefined, { signal }).catch(() => {})
}
