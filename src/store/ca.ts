// The certificate authority (CA) that certifies agents: made once by whichever replica starts first, its key encrypted under the key file that
// all replicas share.
import { sql } from 'kysely'
import { Type } from 'typebox'
import Value from 'typebox/value'
import { createCa, type KeyedCertificate } from '#src/kernel/certificates.ts'
import type { Keyring } from '#src/kernel/keyring.ts'
import type { Database, Db } from './database.ts'
import { LOCKS } from './locks.ts'
import { ASSOCIATED_DATA } from './encrypted-places.ts'

const SETTING = ASSOCIATED_DATA.ca

export interface CaStore {
  /** Makes it when there is none. Kept in memory from then on: it never changes. */
  get(): Promise<KeyedCertificate>
}

const Stored = Type.Object({ certificate: Type.String(), sealed_key: Type.String() })

export function createCaStore(database: Database, keyring: Keyring): CaStore {
  let known: Promise<KeyedCertificate> | undefined
  const read = async (db: Db): Promise<KeyedCertificate | undefined> => {
    const row = await db.selectFrom('setting').select('value').where('name', '=', SETTING).executeTakeFirst()
    if (row === undefined) return undefined
    const { certificate, sealed_key } = Value.Parse(Stored, row.value)
    return { certificate, key: keyring.decrypt(sealed_key, SETTING) }
  }
  const readOrMake = async (): Promise<KeyedCertificate> =>
    (await read(database.db)) ??
    (await database.transact(async (trx) => {
      // Two replicas at their first start must not make two CAs.
      await sql`select pg_advisory_xact_lock(${LOCKS.ca})`.execute(trx)
      const there = await read(trx)
      if (there !== undefined) return there
      const made = await createCa()
      const value = JSON.stringify({ certificate: made.certificate, sealed_key: keyring.encrypt(made.key, SETTING) })
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
