// Table phone_home: what machines that were started from an image of ours may report, and how far they are.
import { createHash } from 'node:crypto'
import type { Selectable } from 'kysely'
import { sql } from 'kysely'
import type { Trx } from './database.ts'
import { LOCKS } from './locks.ts'
import type { Tables } from './tables.ts'

export type PhoneHomeRow = Selectable<Tables['phone_home']>

/** `macs`: of which the machine must have one; null: any machine. */
export async function grantPhoneHome(
  trx: Trx,
  { token, job_id, macs }: { token: string; job_id: string; macs: readonly string[] | null },
): Promise<void> {
  await trx
    .insertInto('phone_home')
    .values({ hash: hashOf(token), job_id, macs: macs === null ? null : JSON.stringify(macs), phase: null })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute()
}

/**
 * One report of a machine at a time. Not by a lock of the row: a step of the job locks the job and then writes here, where a
 * report comes the other way round. Undefined: there is no such token.
 */
export async function lockPhoneHome(trx: Trx, token: string): Promise<PhoneHomeRow | undefined> {
  const hash = hashOf(token)
  await sql`select pg_advisory_xact_lock(${LOCKS.phone_home}::int, hashtext(${hash.toString('hex')}))`.execute(trx)
  return trx.selectFrom('phone_home').selectAll().where('hash', '=', hash).executeTakeFirst()
}

export async function savePhase(trx: Trx, { hash }: PhoneHomeRow, phase: string): Promise<void> {
  await trx.updateTable('phone_home').set({ phase, reported_at: sql<Date>`now()` }).where('hash', '=', hash).execute()
}

export async function allowRestart(trx: Trx, job_id: string): Promise<void> {
  await trx.updateTable('phone_home').set({ may_restart: true }).where('job_id', '=', job_id).execute()
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
