// What the database needs now and then: what is old goes, abandoned events end.
import type { Background } from '#src/kernel/background.ts'
import type { Log } from '#src/kernel/log.ts'
import { failAbandonedEvents } from './app-events.ts'
import type { Database } from './database.ts'
import { DEAD_AFTER_S } from './replicas.ts'
import { deleteOldRows, type Retention } from './retention.ts'

export interface Maintenance {
  start(): void
  /** Waits for what is under way. */
  stop(): Promise<void>
}

const OFTEN_MS = 15_000
const RETENTION_MS = 10 * 60_000

export function createMaintenance(
  database: Database,
  retention: Retention,
  background: Background,
  log: Log,
): Maintenance {
  const ending = new AbortController()
  const { signal } = ending
  const running: Promise<void>[] = []
  return {
    start() {
      running.push(
        background.repeat('abandoned-events', OFTEN_MS, signal, () => failAbandonedEvents(database, DEAD_AFTER_S)),
        background.repeat('retention', RETENTION_MS, signal, () => deleteOldRows(database.db, retention, signal, log)),
      )
    },
    async stop() {
      ending.abort()
      await Promise.all(running)
    },
  }
}
