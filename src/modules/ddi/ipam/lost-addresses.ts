// Addresses of another store whose answer was lost: what was made all the same is released, also after this process is gone.
import type { IpamStore } from '#src/drivers/ddi/ipam-store.ts'
import { isLostAnswer } from '#src/kernel/lost-answers.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Database } from '#src/store/database.ts'
import { addPending, pendingKeys, removePending } from '#src/store/ipam.ts'

/** The store with a note of each address that is asked of it, as long as nobody knows what became of it. */
export function notingStore(store: IpamStore, { db }: Database): IpamStore {
  return {
    ...store,
    async allocate(prefix_id, wish) {
      await addPending(db, wish.key)
      try {
        const answer = await store.allocate(prefix_id, wish)
        await removePending(db, wish.key)
        return answer
      } catch (error) {
        if (!isLostAnswer(error)) await removePending(db, wish.key)
        throw error
      }
    },
  }
}

/** Longer than any call with its repetitions takes. */
const SETTLED_MS = 180_000
/** A store under load may do late what it was asked for; then it is asked no more. */
const FORGOTTEN_MS = 900_000

export interface LostAddressDeps {
  store: IpamStore
  database: Database
  log: Log
}

export async function releaseLost({ store, database, log }: LostAddressDeps, settled_ms = SETTLED_MS): Promise<void> {
  for (const { key, age_ms } of await pendingKeys(database.db, settled_ms)) {
    const released = await store.releaseKey(key)
    if (released.length > 0) log.warn({ addresses: released }, 'addresses whose answer was lost are released')
    if (released.length > 0 || age_ms > FORGOTTEN_MS) await removePending(database.db, key)
  }
}
