// Tables wipe and wipe_submission: what the report of a wipe must prove, and what was reported.
import { type Selectable, sql } from 'kysely'
import type { Db, Trx } from './database.ts'
import type { Tables } from './tables.ts'

export type WipeRow = Selectable<Tables['wipe']>

export interface NewWipe {
  job_id: string
  node_id: number
  /** Null: nobody can report. */
  token_hash: Buffer | null
  expected_disks: readonly string[]
  /** How long reports are taken. */
  open_hours: number
}

/** The same again changes nothing. */
export async function openWipe(trx: Trx, { open_hours, expected_disks, ...wipe }: NewWipe): Promise<void> {
  await trx
    .insertInto('wipe')
    .values({
      ...wipe,
      expected_disks: JSON.stringify(expected_disks),
      open_until: sql`now() + make_interval(hours => ${open_hours})`,
    })
    .onConflict((conflict) => conflict.column('job_id').doNothing())
    .execute()
}

export function findWipe(db: Db, job_id: string): Promise<WipeRow | undefined> {
  return db.selectFrom('wipe').selectAll().where('job_id', '=', job_id).executeTakeFirst()
}

/** Job of the newest wipe of the node that still takes reports. */
export async function openWipeOf(db: Db, node_id: number): Promise<string | undefined> {
  const open = db.selectFrom('wipe').select('job_id').where('node_id', '=', node_id)
  const newest = open.where('open_until', '>', sql<Date>`now()`).orderBy('created_at', 'desc').limit(1)
  return (await newest.executeTakeFirst())?.job_id
}

/** The caller has locked its job. */
export function lockWipe(trx: Trx, job_id: string): Promise<WipeRow> {
  return trx.selectFrom('wipe').selectAll().where('job_id', '=', job_id).forUpdate().executeTakeFirstOrThrow()
}

/** Undefined fields stay as they are. */
export async function noteReport(
  trx: Trx,
  job_id: string,
  change: Partial<Pick<WipeRow, 'report' | 'authenticated' | 'conflict' | 'submissions' | 'authenticated_submissions'>>,
): Promise<void> {
  await trx.updateTable('wipe').set(change).where('job_id', '=', job_id).execute()
}

export async function addSubmission(trx: Trx, job_id: string, number: number, report: string): Promise<void> {
  await trx
    .insertInto('wipe_submission')
    .values({ job_id, number, report })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function submissionsOf(db: Db, job_id: string): Promise<string[]> {
  const rows = await db
    .selectFrom('wipe_submission')
    .select('report')
    .where('job_id', '=', job_id)
    .orderBy('number')
    .execute()
  return rows.map(({ report }) => report)
}

/** A person's statement. */
export async function confirmWipe(trx: Trx, job_id: string, statement: object): Promise<void> {
  await trx
    .updateTable('wipe')
    .set({ confirmed: JSON.stringify(statement) })
    .where('job_id', '=', job_id)
    .execute()
}

/** Whether a wipe that still takes reports has this secret. */
export async function hasOpenWipe(db: Db, token_hash: Buffer): Promise<boolean> {
  const open = db.selectFrom('wipe').select('job_id').where('token_hash', '=', token_hash)
  return (await open.where('open_until', '>', sql<Date>`now()`).executeTakeFirst()) !== undefined
}
