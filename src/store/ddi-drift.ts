// Differences between DHCP and DNS servers and what was ordered, as the last comparison found them.
import { type Selectable, sql } from 'kysely'
import type { Database, Db } from './database.ts'
import type { Tables } from './tables.ts'

export type DriftRow = Selectable<Tables['ddi_drift']>
export type DriftFinding = Omit<DriftRow, 'first_seen' | 'seen_at'>

const CHECKED = 'ddi_drift_checked'

/**
 * What is not found any more is gone; what was known keeps when it was first seen. Of comparisons that overlap the one that began
 * last counts: what an earlier one read may have been repaired since.
 */
export async function saveFindings(
  database: Database,
  findings: readonly DriftFinding[],
  read_at: Date,
): Promise<void> {
  await database.transact(async (trx) => {
    const value = JSON.stringify({ at: read_at.toISOString() })
    const newest = await trx
      .insertInto('setting')
      .values({ name: CHECKED, value })
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet({ value })
          .where(sql<boolean>`setting.value ->> 'at' <= excluded.value ->> 'at'`),
      )
      .returning('name')
      .executeTakeFirst()
    if (newest === undefined) return
    const ids = findings.map((finding) => finding.id)
    const gone = trx.deleteFrom('ddi_drift')
    await (ids.length === 0 ? gone : gone.where('id', 'not in', ids)).execute()
    for (const finding of findings) {
      await trx
        .insertInto('ddi_drift')
        .values(finding)
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ ...finding, seen_at: sql`now()` }))
        .execute()
    }
  })
}

export async function checkedAt(db: Db): Promise<string | null> {
  const row = await db.selectFrom('setting').select('value').where('name', '=', CHECKED).executeTakeFirst()
  const value = row?.value
  return value !== undefined && 'at' in value && typeof value.at === 'string' ? value.at : null
}

export async function listDrift(
  db: Db,
  of: { kind?: string; scope?: string },
  { page, page_size }: { page: number; page_size: number },
): Promise<{ rows: DriftRow[]; count: number }> {
  let matching = db.selectFrom('ddi_drift')
  if (of.kind !== undefined) matching = matching.where('kind', '=', of.kind)
  if (of.scope !== undefined) matching = matching.where('scope', '=', of.scope)
  const [rows, total] = await Promise.all([
    matching
      .selectAll()
      .orderBy('kind')
      .orderBy('subject')
      .limit(page_size)
      .offset((page - 1) * page_size)
      .execute(),
    matching.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow(),
  ])
  return { rows, count: total.count }
}
