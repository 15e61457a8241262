// What a replica says and does until its database is there: it listens, is not ready, and tries again.
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Log } from '#src/kernel/log.ts'
import type { Database } from '#src/store/database.ts'

export interface StartUp {
  /** Why it does not serve yet; undefined once it does. */
  state(): string | undefined
  /** Tries until the database answers; throws only the reason of the signal. */
  waitForDatabase(database: Database, log: Log, signal: AbortSignal | undefined): Promise<void>
  done(): void
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5000

export function createStartUp(): StartUp {
  let state: string | undefined = 'is starting'
  return {
    state: () => state,
    done() {
      state = undefined
    },
    async waitForDatabase({ db }, log, signal) {
      for (let pause_ms = FIRST_PAUSE_MS; ; pause_ms = Math.min(2 * pause_ms, LONGEST_PAUSE_MS)) {
        signal?.throwIfAborted()
        try {
          await sql`select 1`.execute(db)
          state = 'is starting'
          return
        } catch (error) {
          const reason = reasonOf(error)
          log.warn({ err: error, reason, next_try_ms: pause_ms }, 'waiting for the database')
          state = `waits for the database, which ${reason}`
        }
        await pause(pause_ms, undefined, signal === undefined ? {} : { signal }).catch(() => {})
      }
    },
  }
}

/** Codes of PostgreSQL and of the network; the text of the error may name what callers must not read, so it goes to the log. */
const REASONS: Readonly<Record<string, string>> = {
  '28P01': 'refuses the user or the password of database.url',
  '28000': 'refuses the user of database.url',
  '3D000': 'has no database of the name in database.url',
  '53300': 'has too many connections',
  '57P03': 'is starting or stopping itself',
  ECONNREFUSED: 'refuses connections',
  ENOTFOUND: 'has a host name in database.url that is not known',
  EAI_AGAIN: 'has a host name in database.url that cannot be resolved',
}

/** The store wraps what the network and the server say: the code is that of the innermost cause that has one. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'does not answer'
  const inner = error.cause === undefined ? undefined : reasonOf(error.cause)
  if (inner !== undefined && inner !== 'does not answer') return inner
  const code: unknown = 'code' in error ? error.code : undefined
  if (typeof code !== 'string') return 'does not answer'
  return `${REASONS[code] ?? 'cannot be used'} (${code})`
}
