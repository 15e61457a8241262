// A change after which credentials must be read afresh: told to every replica when it commits, and to this one at once.
import { announceRevoked } from '#src/store/credentials.ts'
import type { Database, Trx } from '#src/store/database.ts'
import type { CredentialCache } from './credential-cache.ts'

export async function changeRights<T>(
  deps: { database: Database; cache: CredentialCache },
  work: (trx: Trx, revoke: (hashes: readonly Buffer[]) => void) => Promise<T>,
): Promise<T> {
  const keys: string[] = []
  const result = await deps.database.transact(async (trx) => {
    const value = await work(trx, (hashes) => keys.push(...hashes.map((hash) => hash.toString('hex'))))
    await announceRevoked(trx, keys)
    return value
  })
  // Only now: a look-up before the commit would have kept the old rights again.
  for (const key of keys) deps.cache.drop(key)
  return result
}
