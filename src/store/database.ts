// The connection to PostgreSQL: one pool, transactions that publish what they changed, and nothing else.
import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely'
import pg from 'pg'
import type { Log } from '#src/kernel/log.ts'
import { LOCKS } from './locks.ts'
import { reportingOutages } from './outages.ts'
import type { Tables } from './tables.ts'

export type Db = Kysely<Tables>
export type Trx = Transaction<Tables>

/** Something that live streams carry. It is stored with the change that caused it, and sent when that is committed. */
export interface StreamMessage {
  channel: Channel
  /** Event type: the `event:` field of SSE. */
  type: string
  tenant_id: string | null
  data: object
}
export const CHANNELS = ['vm', 'ha', 'job', 'app-event', 'camera'] as const
export type Channel = (typeof CHANNELS)[number]

export interface Database {
  db: Db
  pool: pg.Pool
  /**
   * Runs `work` in one transaction. What it publishes becomes part of the transaction: stored last, under one lock, so
   * that positions in the stream are in commit order (docs/decisions/0004).
   */
  transact<T>(work: (trx: Trx, publish: (message: StreamMessage) => void) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** A URL, or the parts of one (the embedded database listens on a socket folder). */
  connection: string | { host: string; port: number; user: string; database: string }
  pool_size: number
  log: Log
}

/** Name of the NOTIFY channel that says: the stream has grown. The payload is the newest position. */
export const STREAM_NOTIFY = 'groundplane_stream'
/** Carries short-lived progress that is not stored; the payload is the message itself. */
export const LIVE_NOTIFY = 'groundplane_live'
/** Says that a job waits for a process, or that the one that runs it should look at its row; the payload is its id. */
export const JOB_NOTIFY = 'groundplane_job'
/** Says that a caller's rights changed; the payload names the hash of the credential. */
export const REVOKE_NOTIFY = 'groundplane_revoke'

const INT8 = 20
const STATEMENT_TIMEOUT_MS = 30_000

/** int8 columns here are counts and positions far below 2^53. */
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
}

export function connectionOptions(connection: DatabaseOptions['connection']): pg.ClientConfig {
  return typeof connection === 'string' ? { connectionString: connection, types } : { ...connection, types }
}

export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...connectionOptions(options.connection),
    max: options.pool_size,
    application_name: 'groundplane',
    // Also for a connection that others use: a hundred requests at once are served on a busy machine, too.
    connectionTimeoutMillis: 10_000,
    // A peer that vanished without a word is noticed within half a minute, not after hours.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // A frozen process must not keep the stream lock: the server ends its session and with it the transaction.
    idle_in_transaction_session_timeout: 5000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    // A database that fell silent ends no statement itself.
    query_timeout: STATEMENT_TIMEOUT_MS + 1000,
  })
  pool.on('error', (err) => options.log.warn({ err }, 'idle database connection failed'))
  // The pool listens to idle connections alone: one lost between two statements of a transaction would end the process.
  pool.on('connect', (client) => {
    client.on('error', (err) => options.log.debug({ err }, 'database connection failed'))
  })
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: reportingOutages(pool) }) })
  return {
    db,
    pool,
    transact: (work) =>
      db.transaction().execute(async (trx) => {
        const messages: StreamMessage[] = []
        const result = await work(trx, (message) => messages.push(message))
        if (messages.length > 0) await storeMessages(trx, messages)
        return result
      }),
    close: () => db.destroy(),
  }
}

/** Last statements of a transaction, so that the lock is held only until its commit and never waits for a row lock. */
async function storeMessages(trx: Trx, messages: readonly StreamMessage[]): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCKS.stream})`.execute(trx)
  const rows = messages.map((message) => ({ ...message, data: JSON.stringify(message.data) }))
  const stored = await trx.insertInto('stream_event').values(rows).returning('position').execute()
  const newest = Math.max(...stored.map((row) => row.position))
  await sql`select pg_notify(${STREAM_NOTIFY}, ${String(newest)})`.execute(trx)
}

/** True when the error is a violation of the named unique constraint or index. */
export function violates(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint
}
