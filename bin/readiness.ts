// What must hold before a replica may serve.
import { pendingMigrations } from '#src/store/migrate.ts'
import type { Database } from '#src/store/database.ts'
import type { Listener } from '#src/store/listener.ts'
import type { Check } from '#src/modules/module.ts'

const DATABASE_WAIT_MS = 2000
/** Anybody may ask as often as they like: the database is asked once for all who ask at about the same time. */
const KEEP_MS = 500
/** A lost connection comes back by itself; until then streams are silent and revocations come late. */
const DEAF_MS = 5000

interface Phase {
  /** Why it does not serve yet. */
  starting(): string | undefined
  /** Aborted when it begins to stop. */
  draining: AbortSignal
}

export function readinessChecks(
  database: Database,
  listener: Listener,
  { starting, draining }: Phase,
): () => Promise<Check[]> {
  let asked: { at: number; pending: Promise<string[] | undefined>; ended: boolean } | undefined
  const pendingNow = (): Promise<string[] | undefined> => {
    if (asked === undefined || (asked.ended && performance.now() - asked.at > KEEP_MS)) {
      const pending = pendingMigrations(database.db).catch(() => undefined)
      const question = { at: performance.now(), pending, ended: false }
      asked = question
      void pending.then(() => (question.ended = true))
    }
    return asked.pending
  }
  return async () => {
    const not_yet = starting()
    if (not_yet !== undefined) return [{ name: 'serving', ok: false, detail: not_yet }]
    const pending = await Promise.race([
      pendingNow(),
      new Promise<undefined>((resolve) => setTimeout(resolve, DATABASE_WAIT_MS, undefined).unref()),
    ])
    const current = pending !== undefined && pending.length === 0
    const deaf_since = listener.deaf_since()
    const hears = deaf_since === undefined || performance.now() - deaf_since < DEAF_MS
    return [
      { name: 'database', ok: pending !== undefined, detail: pending === undefined ? 'does not answer' : 'answers' },
      {
        name: 'schema',
        ok: current,
        detail: pending === undefined ? 'not known' : current ? 'current' : `waits for ${pending.join(', ')}`,
      },
      { name: 'notices', ok: hears, detail: hears ? 'are heard' : 'of other replicas cannot be heard' },
      { name: 'serving', ok: !draining.aborted, detail: draining.aborted ? 'is stopping' : 'accepts requests' },
    ]
  }
}
