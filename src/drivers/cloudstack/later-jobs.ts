// Whether a later job of the platform explains that a change of ours is not visible: jobs of one machine wait for
// each other there, and the next one may have begun, or ended, before we look.
import type { CloudStack } from './client.ts'
import { textOf } from './fields.ts'
import { type Postcondition, type Observation, subjectsOf } from './postcondition.ts'

interface Change {
  /** Ours, which has ended. */
  job_id: string
  postcondition: Postcondition
  made_id: string | null
}

export async function wasReplaced(
  cloudstack: CloudStack,
  { job_id, postcondition, made_id }: Change,
  seen: Observation,
  signal: AbortSignal,
): Promise<boolean> {
  if (seen.pending_job_ids.some((id) => id !== job_id)) return true
  const own = await cloudstack.queryJob(job_id, { signal })
  if (own === undefined || own.created_at === null) return false
  const subjects = subjectsOf(postcondition, made_id)
  // The list knows no filter by resource, and its times have whole seconds.
  const args = { listall: true, startdate: `${own.created_at.slice(0, 19)}Z` }
  for await (const rows of cloudstack.listPages('listAsyncJobs', args, 'asyncjobs', { signal })) {
    if (rows.some((row) => textOf(row, 'jobid') !== job_id && subjects.has(textOf(row, 'jobinstanceid') ?? '')))
      return true
  }
  return false
}
