// Work that goes on beside the requests, round by round. What fails again and again is said here, for all tasks alike: in
// the log, in the metrics, and to who asks whether this replica is well.
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

export interface Background {
  /** Runs one round of a task. A failure is counted, not thrown; the next round may be better. */
  round(task: string, work: () => Promise<unknown>): Promise<void>
  /** Tasks whose last two rounds failed, or more. */
  failing(): { task: string; failures: number }[]
}

/** One failure may be a restart of the database; the second one is not. */
const MANY = 2

export function createBackground(log: Log, metrics: Pick<Metrics, 'background'>): Background {
  const failures = new Map<string, number>()
  return {
    async round(task, work) {
      try {
        await work()
        if ((failures.get(task) ?? 0) >= MANY) log.info({ task }, 'background task works again')
        failures.set(task, 0)
      } catch (err) {
        const count = (failures.get(task) ?? 0) + 1
        failures.set(task, count)
        if (count === 1) log.warn({ err, task }, 'background task failed')
        if (count === MANY) log.error({ err, task }, 'background task keeps failing')
      }
      metrics.background(task, failures.get(task) ?? 0)
    },
    failing: () => [...failures].flatMap(([task, count]) => (count >= MANY ? [{ task, failures: count }] : [])),
  }
}
