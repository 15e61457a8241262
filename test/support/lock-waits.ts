// Somebody waits for a lock over all replicas (src/store/locks.ts) that the test holds.
import type pg from 'pg'
import { until } from './until.ts'

/** Ends the wait as the database does when it takes too long. */
export function endWait(client: pg.Client, lock: number): Promise<boolean> {
  return until('the wait for the lock is ended', async () => {
    const { rowCount } = await client.query(
      `select pg_cancel_backend(pid) from pg_locks where locktype = 'advisory' and classid = $1 and not granted
         and database = (select oid from pg_database where datname = current_database())`,
      [lock],
    )
    return rowCount === 1
  })
}
