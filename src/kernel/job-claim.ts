// Under which claim of which job a call to an agent is made, as headers. A job that another process took over has a higher
// epoch, and agents refuse what is asked under a lower one (node-lifecycle.md 4.2).
import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from './errors.ts'

export interface JobClaim {
  readonly job_id: string
  /** Raised by one with every process that takes the job over. */
  readonly epoch: number
  /** For messages. */
  readonly step: string
}

const JOB_ID = /^[\w-]{1,64}$/
const EPOCH = /^[1-9]\d{0,8}$/
const STEP = /^[\w.-]{0,64}$/

export function claimHeaders({ job_id, epoch, step }: JobClaim): Record<string, string> {
  return { 'x-job-id': job_id, 'x-epoch': `${epoch}`, 'x-step': step }
}

/** Undefined when the call belongs to no job; throws when it says so by halves. */
export function claimOf(headers: IncomingHttpHeaders): JobClaim | undefined {
  const job_id = headers['x-job-id']
  const epoch = headers['x-epoch']
  const step = headers['x-step'] ?? ''
  if (job_id === undefined && epoch === undefined) return undefined
  const whole =
    typeof job_id === 'string' && JOB_ID.test(job_id) &&
    typeof epoch === 'string' && EPOCH.test(epoch) &&
    typeof step === 'string' && STEP.test(step) // biome-ignore format: one question
  if (!whole)
    throw new ApiError(
      'INVALID_REQUEST',
      'X-Job-Id must be a UUID, X-Epoch a number and X-Step the name of a step; together they name the claim of a job.',
    )
  return { job_id, epoch: Number(epoch), step }
}
