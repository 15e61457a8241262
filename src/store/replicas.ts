// Which processes of the service are alive: each writes its heartbeat every two seconds. Jobs and idempotent requests
// name the replica that holds them, and pass to another when its sign stops.
import { randomUUIDv7 } from 'node:crypto'
import { hostname } from 'node:os'
import { type RawBuilder, sql } from 'kysely'
import type { Background } from '#src/kernel/background.ts'
import type { Database } from './database.ts'

export interface Replica {
  readonly id: string
  start(): Promise<void>
  /** Removes the heartbeat, so that others take over at once. */
  stop(): Promise<void>
}

const SIGN_MS = 2000
/** A replica without a sign for this long is dead: long enough for a pause, short enough for a take-over in seconds. */
export const DEAD_AFTER_S = 7

export function createReplica(database: Database, background: Background): Replica {
  const id = randomUUIDv7()
  let timer: NodeJS.Timeout | undefined
  let signing: Promise<void> | undefined
  const sign = async (): Promise<void> => {
    await database.db
      .insertInto('replica')
      .values({ id, hostname: hostname() })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: sql`now()` }))
      .execute()
  }
  return {
    id,
    async start() {
      await sign()
      timer = setInterval(() => {
        signing = background.round('heartbeat', sign)
      }, SIGN_MS)
    },
    async stop() {
      clearInterval(timer)
      // One that came after the removal would make this replica alive again.
      await signing
      await database.db.deleteFrom('replica').where('id', '=', id).execute()
    },
  }
}

/** SQL: true when the replica of this column is alive. */
export function isAlive(column: string): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select 1 from replica where replica.id = ${sql.ref(column)}
      and replica.seen_at > now() - make_interval(secs => ${DEAD_AFTER_S}))`
}
