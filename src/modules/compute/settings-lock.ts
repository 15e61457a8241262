// One change of a machine's settings at a time, over all replicas: the platform replaces the whole map of details, so two
// writers that read the same map would undo each other.
import pg from 'pg'
import { ApiError } from '#src/kernel/errors.ts'
import type { Database } from '#src/store/database.ts'
import { LOCKS } from '#src/store/locks.ts'

/** Another change of the same machine takes seconds. */
const WAIT_MS = 20_000

/**
 * Holds the machine's lock on a connection of its own: outside a transaction, because the platform may take longer than a
 * transaction may idle. `held` is aborted when the connection, and with it the lock, is lost.
 */
export async function withSettingsLock<T>(
  database: Database,
  virtual_machine_id: string,
  work: (held: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  const client = new pg.Client({
    ...database.pool.options,
    application_name: 'groundplane settings',
    statement_timeout: WAIT_MS,
  })
  client.on('error', () => lost.abort())
  client.on('end', () => lost.abort())
  await client.connect()
  try {
    await take(client, virtual_machine_id)
    return await work(lost.signal)
  } finally {
    await client.end().catch(() => {})
  }
}

const STATEMENT_TIMEOUT = '57014'

async function take(client: pg.Client, virtual_machine_id: string): Promise<void> {
  try {
    await client.query('select pg_advisory_lock($1::int, hashtext($2))', [LOCKS.vm_settings, virtual_machine_id])
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === STATEMENT_TIMEOUT)
      throw new ApiError('SETTINGS_BUSY', 'Another change of these settings is under way; try again.', { cause: error })
    throw error
  }
}
