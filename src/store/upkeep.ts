// What the database needs now and then: old stream messages, keys and replicas go, abandoned events end.
import type { Log } from '#src/kernel/log.ts'
import { failAbandonedEvents } from './app-events.ts'
import type { Database } from './database.ts'
import { forgetOldKeys } from './idempotency.ts'
import { DEAD_AFTER_S, forgetDeadReplicas } from './replicas.ts'
import type { Stream } from './stream.ts'

export interface Upkeep {
  start(): void
  stop(): void
}

const OFTEN_MS = 15_000
const SELDOM_MS = 10 * 60_000

export function createUpkeep(database: Database, stream: Stream, replay_hours: number, log: Log): Upkeep {
  const timers: NodeJS.Timeout[] = []
  const repeat = (every_ms: number, work: () => Promise<unknown>): void => {
    const once = (): void => void work().catch((err: unknown) => log.warn({ err }, 'upkeep failed'))
    once()
    timers.push(setInterval(once, every_ms))
  }
  return {
    start() {
      repeat(OFTEN_MS, () => failAbandonedEvents(database, DEAD_AFTER_S))
      repeat(SELDOM_MS, async () => {
        await stream.prune(replay_hours)
        await forgetOldKeys(database)
        await forgetDeadReplicas(database.db)
      })
    },
    stop() {
      for (const timer of timers) clearInterval(timer)
    },
  }
}
