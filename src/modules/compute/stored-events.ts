// The platform's own events, stored as the watcher reads them: what application events are linked to (Part 1, 6.1).
import { type Raw, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import type { Db } from '#src/store/database.ts'

/** The same event read twice is stored once; the platform itself may still change its state. */
export async function storeEvents(db: Db, rows: readonly Raw[]): Promise<void> {
  const events = rows.flatMap((row) => {
    const [id, created_at] = [textOf(row, 'id'), timeOf(row, 'created')]
    if (id === null || created_at === null) return []
    return {
      id,
      type: textOf(row, 'type') ?? '',
      level: textOf(row, 'level') ?? '',
      state: textOf(row, 'state') ?? '',
      description: textOf(row, 'description') ?? '',
      username: textOf(row, 'username') ?? '',
      account: textOf(row, 'account'),
      tenant_id: textOf(row, 'domainid'),
      resource_id: textOf(row, 'resourceid'),
      resource_type: textOf(row, 'resourcetype'),
      resource_name: textOf(row, 'resourcename'),
      parent_id: textOf(row, 'parentid'),
      created_at,
    }
  })
  if (events.length === 0) return
  await db
    .insertInto('platform_event')
    .values(events)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(({ ref }) => ({ state: ref('excluded.state') })))
    .execute()
}
