// One writer at a time for a DHCP or DNS server or an address store, over all replicas: none of them compares before it sets.
import pLimit from 'p-limit'
import { ApiError } from '#src/kernel/errors.ts'
import type { Database } from '#src/store/database.ts'
import { LOCKS } from '#src/store/locks.ts'
import { LockBusyError, withSessionLock } from '#src/store/session-lock.ts'

export type ServerLock = <T>(work: () => Promise<T>) => Promise<T>

/** A change of a large configuration takes seconds, and several replicas may stand in line. */
const WAIT_MS = 60_000

const KEYS = { DHCP: 1, DNS: 2, IPAM: 3 } as const

export function createServerLock(database: Database, server: keyof typeof KEYS): ServerLock {
  // Those of this process wait here, so that they do not take every connection of the database.
  const turn = pLimit(1)
  const lock = {
    lock: LOCKS.address_server,
    key: KEYS[server],
    name: `${server} server`,
    wait_ms: WAIT_MS,
  }
  return (work) =>
    turn(async () => {
      try {
        return await withSessionLock(database, lock, work)
      } catch (error) {
        if (!(error instanceof LockBusyError)) throw error
        const message = `Other changes of the ${server} server take too long; try again.`
        throw new ApiError(`${server}_TIMEOUT`, message, { cause: error })
      }
    })
}
