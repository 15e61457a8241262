// Whether the platform's webhook tells us of everything: what its event log shows must have been delivered, too.
import type { Database } from '#src/store/database.ts'

export interface HookCheck {
  /** Compares events that the log shows for the first time with the deliveries. */
  compare(event_ids: readonly string[]): Promise<void>
  /** All recent events were delivered; false while one is late, and before the first delivery. */
  delivers(): boolean
}

export function createHookCheck({ db }: Pick<Database, 'db'>): HookCheck {
  let alive = false
  /** Not delivered when the log showed them; a delivery may be under way, so the next comparison decides. */
  let late: readonly string[] = []
  return {
    async compare(event_ids) {
      const asked = [...late, ...event_ids]
      if (asked.length === 0) return
      const rows = await db.selectFrom('hook_delivery').select('id').where('id', 'in', asked).execute()
      const delivered = new Set(rows.map(({ id }) => id))
      if (late.some((id) => !delivered.has(id))) alive = false
      else if (delivered.size > 0) alive = true
      late = event_ids.filter((id) => !delivered.has(id))
    },
    delivers: () => alive && late.length === 0,
  }
}
