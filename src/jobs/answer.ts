// Makes the answer of an operation that is a job. It reads the job's row and nothing else, so that the request which
// admitted the job and a repeat of it, in another process after a crash, are answered by the same function.
import type { ActionAccepted } from '#src/contract/common.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Jobs } from './admit.ts'
import type { JobRow } from './job-row.ts'
import { throwIfFailed } from './run.ts'

interface AdmittedBy<In> {
  /**
   * Checks what can be checked and admits the job under the id of the operation. Left out when an earlier request with the
   * same key has done so.
   */
  admit(input: In, ctx: RequestContext): Promise<unknown>
}

export interface AcceptedJob<In, Out> extends AdmittedBy<In> {
  /** How far a job must be before a caller who does not ask to wait is answered; at once when left out. */
  answers?: 'submitted'
  /** The resource for `Prefer: wait`. Left out, or answering undefined: the accepted form, with its final status. */
  completed?: (job: JobRow, input: In, ctx: RequestContext) => Out | undefined | Promise<Out | undefined>
}

/** How long a caller without `Prefer` waits for another system to take the change over, or refuse it. */
const SUBMIT_WAIT_MS = 15_000

/** A handler that answers as soon as the job is under way. What fails within the time the caller waits answers with its error. */
export function acceptedJob<In, Out = never>(jobs: Jobs, { admit, answers, completed }: AcceptedJob<In, Out>) {
  return async (input: In, ctx: RequestContext): Promise<Out | ActionAccepted> => {
    if (!ctx.resumed) await admit(input, ctx)
    const { operation_id, signal, wait_seconds } = ctx
    const job =
      wait_seconds > 0
        ? await jobs.wait(operation_id, { timeout_ms: wait_seconds * 1000, signal })
        : await jobs.wait(operation_id, {
            timeout_ms: SUBMIT_WAIT_MS,
            signal,
            until: ({ milestone }) => answers === undefined || milestone !== null,
          })
    throwIfFailed(job)
    const resource = job.job_status === 'completed' && wait_seconds > 0 ? await completed?.(job, input, ctx) : undefined
    return resource ?? acceptedOf(job)
  }
}

export interface CompletedJob<In, Out> extends AdmittedBy<In> {
  completed(job: JobRow, input: In, ctx: RequestContext): Out | Promise<Out>
}

/** How long a call waits whose answer the documents show (api-conventions.md, Changes). */
const END_WAIT_MS = 110_000

/** A handler that waits for the end of the job, for operations whose documented answer is the outcome. */
export function completedJob<In, Out>(jobs: Jobs, { admit, completed }: CompletedJob<In, Out>) {
  return async (input: In, ctx: RequestContext): Promise<Out> => {
    if (!ctx.resumed) await admit(input, ctx)
    const job = await jobs.wait(ctx.operation_id, { timeout_ms: END_WAIT_MS, signal: ctx.signal })
    throwIfFailed(job)
    if (job.job_status === 'running')
      throw new ApiError('WAIT_TIMEOUT', `${job.description} This still goes on; follow the job ${job.id}.`)
    return completed(job, input, ctx)
  }
}

function acceptedOf(row: JobRow): ActionAccepted {
  const done = row.job_status === 'completed'
  return {
    job_id: row.id,
    correlation_id: row.id,
    status: done ? 'SUCCESS' : 'IN_PROGRESS',
    resource_id: row.resource_id,
    message: done ? row.status : row.description,
  }
}
