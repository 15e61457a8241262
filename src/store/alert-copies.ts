// Copies of alerts: made before the platform forgets an alert, shown once it is archived.
import type { Selectable } from 'kysely'
import type { Db, Trx } from './database.ts'
import type { Tables } from './tables.ts'

export type AlertCopyRow = Selectable<Tables['alert_copy']>

export interface AlertCopy {
  id: string
  type: number | null
  name: string | null
  description: string | null
  sent_at: string | null
}

/** Copying again takes the newest words; an alert that was archived here before stays so. */
export async function copyAlerts(db: Db, operation_id: string, alerts: readonly AlertCopy[]): Promise<void> {
  if (alerts.length === 0) return
  await db
    .insertInto('alert_copy')
    .values(alerts.map((alert) => ({ ...alert, operation_id })))
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((eb) => ({
        operation_id: eb.ref('excluded.operation_id'),
        type: eb.ref('excluded.type'),
        name: eb.ref('excluded.name'),
        description: eb.ref('excluded.description'),
        sent_at: eb.ref('excluded.sent_at'),
        archived_at: null,
        archived_by: null,
      })),
    )
    .execute()
}

/** The next copies of this archiving that the platform has not been told to archive. */
export async function waitingCopies(db: Db, operation_id: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('alert_copy')
    .select('id')
    .where('operation_id', '=', operation_id)
    .where('archived_at', 'is', null)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

export async function markArchived(db: Db | Trx, ids: readonly string[], archived_by: string): Promise<void> {
  await db
    .updateTable('alert_copy')
    .set({ archived_at: new Date(), archived_by })
    .where('id', 'in', [...ids])
    .execute()
}

export async function archivedAlert(db: Db, id: string): Promise<AlertCopyRow | undefined> {
  return db
    .selectFrom('alert_copy')
    .selectAll()
    .where('id', '=', id)
    .where('archived_at', 'is not', null)
    .executeTakeFirst()
}

export interface ArchivedFilter {
  id?: string
  type?: number
  name?: string
  keyword?: string
}

/** Newest first. */
export async function archivedAlerts(
  db: Db,
  filter: ArchivedFilter,
  { page, page_size }: { page: number; page_size: number },
): Promise<{ rows: AlertCopyRow[]; count: number }> {
  let matching = db.selectFrom('alert_copy').where('archived_at', 'is not', null)
  if (filter.id !== undefined) matching = matching.where('id', '=', filter.id)
  if (filter.type !== undefined) matching = matching.where('type', '=', filter.type)
  if (filter.name !== undefined) matching = matching.where('name', '=', filter.name)
  if (filter.keyword !== undefined) {
    const pattern = `%${filter.keyword.replace(/[\\%_]/g, '\\$&')}%`
    matching = matching.where((eb) => eb.or([eb('name', 'ilike', pattern), eb('description', 'ilike', pattern)]))
  }
  const [rows, total] = await Promise.all([
    matching
      .selectAll()
      .orderBy('sent_at', (order) => order.desc().nullsLast())
      .orderBy('id')
      .limit(page_size)
      .offset((page - 1) * page_size)
      .execute(),
    matching.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow(),
  ])
  return { rows, count: total.count }
}
