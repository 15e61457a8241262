// What must hold before a replica may serve.
import { pendingMigrations } from '#src/store/migrate.ts'
import type { Database } from '#src/store/database.ts'
import type { Check } from '#src/modules/service/index.ts'

const DATABASE_WAIT_MS = 2000

export function readinessChecks(database: Database, stopping: AbortSignal): () => Promise<Check[]> {
  return async () => {
    const pending = await Promise.race([
      pendingMigrations(database.db).catch(() => undefined),
      new Promise<undefined>((resolve) => setTimeout(resolve, DATABASE_WAIT_MS, undefined).unref()),
    ])
    const current = pending !== undefined && pending.length === 0
    return [
      { name: 'database', ok: pending !== undefined, detail: pending === undefined ? 'does not answer' : 'answers' },
      {
        name: 'schema',
        ok: current,
        detail: pending === undefined ? 'not known' : current ? 'current' : `waits for ${pending.join(', ')}`,
      },
      { name: 'serving', ok: !stopping.aborted, detail: stopping.aborted ? 'is stopping' : 'accepts requests' },
    ]
  }
}
