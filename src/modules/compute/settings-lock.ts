// One change of a machine's settings at a time, over all replicas: the platform replaces the whole map of details, so two
// writers that read the same map would undo each other.
import { ApiError } from '#src/kernel/errors.ts'
import type { Database } from '#src/store/database.ts'
import { LOCKS } from '#src/store/locks.ts'
import { LockBusyError, withSessionLock } from '#src/store/session-lock.ts'

/** Another change of the same machine takes seconds. */
const WAIT_MS = 20_000

/** Holds the machine's lock; `held` is aborted when it is lost. */
export async function withSettingsLock<T>(
  database: Database,
  virtual_machine_id: string,
  work: (held: AbortSignal) => Promise<T>,
): Promise<T> {
  const lock = { lock: LOCKS.vm_settings, key: virtual_machine_id, name: 'settings', wait_ms: WAIT_MS }
  try {
    return await withSessionLock(database, lock, work)
  } catch (error) {
    if (!(error instanceof LockBusyError)) throw error
    throw new ApiError(
      'SETTINGS_BUSY',
      `Another change of the settings of virtual machine ${virtual_machine_id} is under way; try again.`,
      { cause: error },
    )
  }
}
