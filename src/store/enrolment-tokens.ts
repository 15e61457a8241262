// One-time tokens with which the agent of a registered node enrols. Only their hash is kept.
import { sql } from 'kysely'
import type { Db, Trx } from './database.ts'

export interface NewEnrolmentToken {
  hash: Buffer
  node_id: number
  created_by: string
  expires_in_minutes: number
}

/** Voids the unused tokens of the node. Answers when the new one ends. */
export async function insertEnrolmentToken(trx: Trx, token: NewEnrolmentToken): Promise<Date> {
  await trx.deleteFrom('enrolment_token').where('node_id', '=', token.node_id).where('used_at', 'is', null).execute()
  const row = await trx
    .insertInto('enrolment_token')
    .values({
      hash: token.hash,
      node_id: token.node_id,
      created_by: token.created_by,
      expires_at: sql<Date>`now() + make_interval(mins => ${token.expires_in_minutes})`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return row.expires_at
}

/** Uses the token up. Undefined: it is unknown, used or expired, and the caller is not told which. */
export async function useEnrolmentToken(trx: Trx, hash: Buffer): Promise<{ node_id: number } | undefined> {
  return trx
    .updateTable('enrolment_token')
    .set({ used_at: sql<Date>`now()` })
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning('node_id')
    .executeTakeFirst()
}

/** For the log: why a token was rejected. */
export async function rejectionOf(db: Db, hash: Buffer): Promise<'unknown' | 'used' | 'expired'> {
  const row = await db.selectFrom('enrolment_token').select('used_at').where('hash', '=', hash).executeTakeFirst()
  if (row === undefined) return 'unknown'
  return row.used_at === null ? 'expired' : 'used'
}
