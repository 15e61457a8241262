// What the database needs now and then: what is old goes, abandoned events end.
import { setTimeout as pause } from 'node:timers/promises'
import type { Background } from '#src/kernel/background.ts'
import type { Log } from '#src/kernel/log.ts'
import { failAbandonedEvents } from './app-events.ts'
import type { Database } from './database.ts'
import { DEAD_AFTER_S } from './replicas.ts'
import { deleteOldRows, type RetentionPeriods } from './retention.ts'

export interface Upkeep {
  start(): void
  /** Waits for what is under way. */
  stop(): Promise<void>
}

const OFTEN_MS = 15_000
const SELDOM_MS = 10 * 60_000

export function createUpkeep(database: Database, periods: RetentionPeriods, background: Background, log: Log): Upkeep {
  const ending = new AbortController()
  const { signal } = ending
  const running: Promise<void>[] = []
  const repeat = async (task: string, every_ms: number, work: () => Promise<unknown>): Promise<void> => {
    while (!signal.aborted) {
      await background.round(task, () =>
        work().catch((error: unknown) => {
          if (!signal.aborted) throw error
        }),
      )
      await pause(every_ms, undefined, { signal }).catch(() => {})
    }
  }
  return {
    start() {
      running.push(
        repeat('abandoned-events', OFTEN_MS, () => failAbandonedEvents(database, DEAD_AFTER_S)),
        repeat('retention', SELDOM_MS, () => deleteOldRows(database.db, periods, signal, log)),
      )
    },
    async stop() {
      ending.abort()
      await Promise.all(running)
    },
  }
}
