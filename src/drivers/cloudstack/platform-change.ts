// One command that the platform runs as a job, in the form in which the engine submits, follows and verifies a change
// (src/jobs/submit-once.ts). The platform's job carries the submission's id and is asked for by it (cloudstack.md 2).
import { type Args, encodeArgs } from './args.ts'
import type { CloudStack } from './client.ts'
import { isRaw, type Raw, textOf } from './fields.ts'
import { wasReplaced } from './later-jobs.ts'
import { LostJobError, UnknownJobError } from './platform-error.ts'
import { type Postcondition, findMismatch } from './postcondition.ts'

export const PLATFORM = 'compute platform'

export interface PlatformCommand {
  /** Of the change, unique within our job. */
  name: string
  /** For the platform's job. */
  id?: string
  command: string
  args: Args
  /** The platform makes the thing before it queues the job, so the same call must never be sent twice. */
  creates?: boolean
  /** For work that copies: polled less often. */
  slow?: boolean
  /** What the change must leave behind. Left out where the platform shows no trace of it. */
  postcondition?: Postcondition | undefined
  /** Keeps what is needed of the result of the platform's job. */
  onResult?: (result: Raw) => Promise<void>
}

type FollowedCommand = Pick<PlatformCommand, 'command' | 'args' | 'creates' | 'slow' | 'postcondition' | 'onResult'>

interface Submitted {
  id: string
  made: string | null
}

interface Context {
  readonly signal: AbortSignal
  note(level: 'INFO', text: string): Promise<void>
}

export function platformChange(cloudstack: CloudStack, run: Context, change: PlatformCommand) {
  const { name, id, command, args, creates = false, postcondition } = change
  return {
    name,
    id,
    system: PLATFORM,
    repeatable: !creates,
    submit: async (job_id: string) => textOf(await cloudstack.call(command, args, { job_id }), 'id'),
    find: (job_id: string) => findJob(cloudstack, job_id, run.signal),
    follow: (submitted: Submitted) => followJob(cloudstack, submitted, change, run.signal),
    verify:
      postcondition === undefined
        ? undefined
        : (submitted: Submitted) => verify(cloudstack, submitted, postcondition, run),
  }
}

/** What the platform's job is about: mostly, but not always, the thing made. Its result says it for sure. */
export async function findJob(
  cloudstack: CloudStack,
  id: string,
  signal: AbortSignal,
): Promise<{ made: string | null } | undefined> {
  const job = await cloudstack.queryJob(id, { signal })
  return job === undefined ? undefined : { made: job.instance_id }
}

/** Undefined: the platform lost its own job, or never had one. */
export async function followJob(
  cloudstack: CloudStack,
  { id }: Submitted,
  { command, args, creates = false, slow = false, postcondition, onResult }: FollowedCommand,
  signal: AbortSignal,
): Promise<{ made: string | null } | undefined> {
  try {
    const result = await cloudstack.followJob(id, {
      signal,
      profile: slow ? 'slow' : 'quick',
      sent: encodeArgs(args),
    })
    await onResult?.(result)
    // Results are wrapped: `{ volume: { id } }`.
    const made = Object.values(result).find(isRaw)
    return { made: creates && made !== undefined ? textOf(made, 'id') : null }
  } catch (error) {
    if (!(error instanceof LostJobError || error instanceof UnknownJobError)) throw error
    // The thing is made before the job is queued, so its presence does not show that the job succeeded.
    if (creates && postcondition !== undefined && Object.keys(postcondition.expect).length === 0)
      throw new LostJobError(command, error.detail ?? '')
    return undefined
  }
}

/** What is to be seen instead of the change, unless another one that came after it explains that. */
async function verify(
  cloudstack: CloudStack,
  { id: job_id, made: made_id }: Submitted,
  postcondition: Postcondition,
  run: Context,
): Promise<string | null> {
  const { signal } = run
  const seen = await findMismatch(cloudstack, postcondition, { signal, made_id })
  if (seen === null) return null
  if (!(await wasReplaced(cloudstack, { job_id, postcondition, made_id }, seen, signal))) return seen.words
  await run.note('INFO', 'It is not as this operation left it: another one of the same resource came after it.')
  return null
}
