// The authority that certifies agents: made once by whichever replica starts first, its key sealed under the key file that
// all replicas share.
import { sql } from 'kysely'
import { Type } from 'typebox'
import Value from 'typebox/value'
import { createAuthority, type KeyedCertificate } from '#src/kernel/certificates.ts'
import type { SecretBox } from '#src/kernel/secrets.ts'
import type { Database, Db } from './database.ts'
import { LOCKS } from './locks.ts'
import { SEAL_CONTEXTS } from './sealed-places.ts'

const SETTING = SEAL_CONTEXTS.authority

export interface Authority {
  /** Makes it when there is none. Kept in memory from then on: it never changes. */
  get(): Promise<KeyedCertificate>
}

const Stored = Type.Object({ certificate: Type.String(), sealed_key: Type.String() })

export function createAuthorityStore(database: Database, secrets: SecretBox): Authority {
  let known: Promise<KeyedCertificate> | undefined
  const read = async (db: Db): Promise<KeyedCertificate | undefined> => {
    const row = await db.selectFrom('setting').select('value').where('name', '=', SETTING).executeTakeFirst()
    if (row === undefined) return undefined
    const { certificate, sealed_key } = Value.Parse(Stored, row.value)
    return { certificate, key: secrets.open(sealed_key, SETTING) }
  }
  const readOrMake = async (): Promise<KeyedCertificate> =>
    (await read(database.db)) ??
    (await database.transact(async (trx) => {
      // Two replicas at their first start must not make two authorities.
      await sql`select pg_advisory_xact_lock(${LOCKS.authority})`.execute(trx)
      const there = await read(trx)
      if (there !== undefined) return there
      const made = await createAuthority()
      const value = JSON.stringify({ certificate: made.certificate, sealed_key: secrets.seal(made.key, SETTING) })
      await trx.insertInto('setting').values({ name: SETTING, value }).execute()
      return made
    }))
  return {
    get() {
      known ??= readOrMake().catch((error: unknown) => {
        known = undefined
        throw error
      })
      return known
    },
  }
}
