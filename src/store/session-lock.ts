// A lock over all replicas for work outside the database: held on a connection of its own, because that work may take
// longer than a transaction may idle.
import pg from 'pg'
import type { Database } from './database.ts'
import { asOutage } from './outages.ts'

export interface SessionLock {
  /** One of LOCKS. */
  lock: number
  /** What of that kind: hashed by the database when it is text. */
  key: string | number
  /** For who looks at the connections of the database. */
  name: string
  wait_ms: number
}

/** Somebody else held the lock for as long as we were willing to wait. */
export class LockBusyError extends Error {
  constructor(name: string, cause: Error) {
    super(`the lock ${name} was held by others all the time`, { cause })
    this.name = 'LockBusyError'
  }
}

const STATEMENT_TIMEOUT = '57014'

/** `held` is aborted when the connection, and with it the lock, is lost. */
export async function withSessionLock<T>(
  database: Database,
  { lock, key, name, wait_ms }: SessionLock,
  work: (held: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  const client = new pg.Client({
    ...database.pool.options,
    application_name: `groundplane ${name}`,
    statement_timeout: wait_ms,
  })
  client.on('error', () => lost.abort())
  client.on('end', () => lost.abort())
  await client.connect().catch((error: unknown) => {
    throw asOutage('connect', error)
  })
  try {
    const second = typeof key === 'number' ? '$2::int' : 'hashtext($2)'
    await client.query(`select pg_advisory_lock($1::int, ${second})`, [lock, key]).catch((error: unknown) => {
      if (error instanceof pg.DatabaseError && error.code === STATEMENT_TIMEOUT) throw new LockBusyError(name, error)
      throw asOutage('lock', error)
    })
    return await work(lost.signal)
  } finally {
    await client.end().catch(() => {})
  }
}
