// What a person must still check after a job, and that it is done.
import { sql } from 'kysely'
import type { Trx } from '#src/store/database.ts'

/** Of one step, or of several. */
export async function closeOutstanding(
  trx: Trx,
  job_id: string,
  steps: readonly string[],
  closed_by: string,
): Promise<void> {
  await trx
    .updateTable('job_outstanding')
    .set({ closed_at: sql<Date>`now()`, closed_by })
    .where('job_id', '=', job_id)
    .where('step', 'in', steps)
    .where('closed_at', 'is', null)
    .execute()
}
