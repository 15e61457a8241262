// Tells an outage of the database from a mistake in a statement, where statements are sent: the caller hears
// STORE_UNAVAILABLE or STORE_TIMEOUT for the one and INTERNAL_ERROR for the other.
import type { PostgresPool } from 'kysely'
import pg from 'pg'
import { UpstreamError } from '#src/kernel/errors.ts'

/** The pool as Kysely uses it. A connection that failed is closed, not used again. */
export function reportingOutages(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect().catch((error: unknown) => {
        throw outage('connect', 'unavailable', error)
      })
      let lost: UpstreamError | undefined
      const watched = {
        async query(sql: string, parameters: readonly unknown[]) {
          if (lost !== undefined) throw lost
          try {
            return await client.query(sql, [...parameters])
          } catch (error) {
            const failure = failureOf(error)
            if (failure === undefined) throw error
            const reported = outage('query', failure, error)
            if (failure === 'unavailable') lost = reported
            throw reported
          }
        },
        release: (destroy?: boolean) => client.release(destroy === true || lost !== undefined),
      }
      // Kysely's type has cursors, too, which nothing here uses.
      return watched as unknown as Awaited<ReturnType<PostgresPool['connect']>>
    },
  }
}

/** For a connection beside the pool: what it failed with, as the caller is to hear it. */
export function asOutage(operation: string, error: unknown): unknown {
  const failure = failureOf(error)
  return failure === undefined ? error : outage(operation, failure, error)
}

function outage(operation: string, failure: 'unavailable' | 'timeout', cause: unknown): UpstreamError {
  return new UpstreamError({ upstream: 'STORE', operation, failure, cause })
}

/** The connection to the database was lost, or there was none: what was asked may be asked again. */
export const isOutage = (error: unknown): boolean =>
  error instanceof UpstreamError && error.upstream === 'STORE' && error.failure === 'unavailable'

const STATEMENT_TIMEOUT = '57014'
/** Connection exceptions, too few resources, an operator or crash, a transaction ended for idling, a standby. */
const OUTAGE_CODES = /^(08|53|57P|25P03$|25006$)/

function failureOf(error: unknown): 'unavailable' | 'timeout' | undefined {
  if (error instanceof pg.DatabaseError) {
    if (error.code === STATEMENT_TIMEOUT) return 'timeout'
    return OUTAGE_CODES.test(error.code ?? '') ? 'unavailable' : undefined
  }
  // What is neither the database's word nor a mistake of ours in a value comes from the connection.
  return error instanceof TypeError || error instanceof RangeError ? undefined : 'unavailable'
}
