// Whether a later job of the platform explains that a change of ours is not visible: jobs of one machine wait for
// each other there, and the next one may have begun, or ended, before we look. The platform lists pending jobs alone, so
// those that have ended are found by their events.
import type { CloudStack } from './client.ts'
import { textOf } from './fields.ts'
import { WHOLE_SCOPE } from './lists.ts'
import { type Postcondition, type Observation, subjectsOf } from './postcondition.ts'

interface Change {
  /** Ours, which has ended. */
  job_id: string
  postcondition: Postcondition
  made_id: string | null
}

const SUCCEEDED = 1
/** Making the thing came before every change of it, also when both were within one second. */
const CREATIONS = new Set(['VM.CREATE', 'VOLUME.CREATE', 'NETWORK.CREATE'])

export async function wasReplaced(
  cloudstack: CloudStack,
  { job_id, postcondition, made_id }: Change,
  seen: Observation,
  signal: AbortSignal,
): Promise<boolean> {
  const own = await cloudstack.queryJob(job_id, { signal })
  // One that failed has changed nothing that another could have replaced.
  if (own !== undefined && own.status !== SUCCEEDED) return false
  if (seen.pending_job_ids.some((id) => id !== job_id)) return true
  if (own === undefined || own.created_at === null) return false
  const subjects = subjectsOf(postcondition, made_id)
  // Times there have whole seconds, and a filter by resource wants its type.
  const args = { ...WHOLE_SCOPE, startdate: `${own.created_at.slice(0, 19)}Z` }
  const began = new Set<string>()
  for await (const rows of cloudstack.listPages('listEvents', args, 'event', { signal })) {
    const later = rows.filter((one) => !CREATIONS.has(textOf(one, 'type') ?? ''))
    for (const row of later.filter((one) => subjects.has(textOf(one, 'resourceid') ?? ''))) {
      const first_id = textOf(row, 'parentid')
      // All events of a job follow its first one; ours has one, too.
      if (first_id !== null && began.add(first_id).size > 1) return true
    }
  }
  return false
}
