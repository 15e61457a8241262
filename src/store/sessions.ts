// Table session: opaque console sessions, which can be ended because they are looked up.
import { randomUUIDv7 } from 'node:crypto'
import { sql } from 'kysely'
import type { Caller } from '#src/kernel/http/context.ts'
import {
  credentialHash,
  csrfTokenOf,
  type LiveCredential,
  newCredential,
  type Refusal,
  roleOf,
  storedCaller,
} from './credentials.ts'
import type { Db, Trx } from './database.ts'

export interface NewSession {
  secret: string
  csrf_token: string
  expires_at: Date
}

/** Also forgets sessions that ended long ago: a table that is written here needs no job to sweep it. */
export async function insertSession(trx: Trx, caller: Caller, life_ms: number): Promise<NewSession> {
  await trx.deleteFrom('session').where('expires_at', '<', sql<Date>`now() - interval '1 day'`).execute()
  const secret = newCredential('gps_')
  const csrf_token = csrfTokenOf(secret)
  const { expires_at } = await trx
    .insertInto('session')
    .values({
      id: randomUUIDv7(),
      hash: credentialHash(secret),
      csrf_hash: credentialHash(csrf_token),
      user_id: caller.user_id,
      caller: JSON.stringify(caller),
      expires_at: sql<Date>`now() + make_interval(secs => ${life_ms / 1000})`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return { secret, csrf_token, expires_at }
}

/** A local user's rights are those of the user now; somebody else's are those of the sign-in. */
export async function findLiveSession(db: Db, hash: Buffer): Promise<LiveCredential | Refusal> {
  const row = await db
    .selectFrom('session')
    .leftJoin('user_account', 'user_account.id', 'session.user_id')
    .select([
      'session.csrf_hash', 'session.user_id', 'session.caller', 'session.ended_at',
      'user_account.role', 'user_account.tenant_id', 'user_account.username', 'user_account.disabled_at',
      sql<number>`(extract(epoch from session.expires_at - now()) * 1000)::float8`.as('remaining_ms'),
    ]) // biome-ignore format: a list of columns
    .where('session.hash', '=', hash)
    .executeTakeFirst()
  if (row === undefined) return 'unknown'
  if (row.ended_at !== null) return 'revoked'
  if (row.remaining_ms <= 0) return 'expired'
  if (row.disabled_at !== null) return 'disabled'
  const stored = storedCaller(row.caller)
  const caller: Caller =
    row.role === null || row.username === null
      ? stored
      : { ...stored, role: roleOf(row.role), tenant_id: row.tenant_id, username: row.username }
  return { caller, remaining_ms: row.remaining_ms, csrf_hash: row.csrf_hash }
}

export async function sessionExpiry(db: Db, hash: Buffer): Promise<Date | undefined> {
  const row = await db.selectFrom('session').select('expires_at').where('hash', '=', hash).executeTakeFirst()
  return row?.expires_at
}

/** True when this call ended it. */
export async function endSession(trx: Trx, hash: Buffer): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('session')
    .set({ ended_at: sql<Date>`now()` })
    .where('hash', '=', hash)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Ends a user's sessions, all but the one that asks; answers the hashes of those that ended. */
export async function endSessionsOf(trx: Trx, user_id: number, except: Buffer | undefined): Promise<Buffer[]> {
  const rows = await trx
    .updateTable('session')
    .set({ ended_at: sql<Date>`now()` })
    .where('user_id', '=', user_id)
    .where('ended_at', 'is', null)
    .$if(except !== undefined, (query) => query.where('hash', '<>', except ?? Buffer.alloc(0)))
    .returning('hash')
    .execute()
  return rows.map((row) => row.hash)
}
