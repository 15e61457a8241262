// Keeps a process that lost a job from acting on this node: the highest epoch seen of each job outlives a restart, and a call
// under a lower one is refused (node-lifecycle.md 4.2).
import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Type } from 'typebox'
import Value from 'typebox/value'
import { type Area, type Handlers, routeEffect, type Routes } from '#src/contract/route.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { claimOf, type JobClaim } from '#src/kernel/job-claim.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { writeDurably } from '#src/kernel/durable-file.ts'

export interface JobFence {
  /** Returns once the epoch is remembered for good; throws JOB_SUPERSEDED when a higher one was seen. */
  admit(claim: JobClaim): Promise<void>
}

const Stored = Type.Array(Type.Tuple([Type.String(), Type.Integer({ minimum: 1 })]))
/** Jobs last minutes; those pushed out ended long ago. */
const MOST_JOBS = 1000

export function createJobFence(file: string): JobFence {
  let loading: Promise<Map<string, number>> | undefined
  let changed = false
  let last_write: Promise<void> = Promise.resolve()
  const stored = (epochs: Map<string, number>): Promise<void> => {
    const write = async (): Promise<void> => {
      if (!changed) return
      changed = false
      try {
        await save(file, epochs)
      } catch (error) {
        changed = true
        throw error
      }
    }
    last_write = last_write.then(write, write)
    return last_write
  }
  return {
    async admit(claim) {
      const epochs = await (loading ??= load(file))
      const { job_id, epoch } = claim
      refuseLower(epochs, claim)
      if (epoch > (epochs.get(job_id) ?? 0)) {
        // Taken out first: the order is that of the last change, and the oldest go.
        epochs.delete(job_id)
        epochs.set(job_id, epoch)
        changed = true
      }
      await stored(epochs)
      // A process that took the job over may have called while this one waited.
      refuseLower(epochs, claim)
    },
  }
}

type Call = (input: unknown, ctx: RequestContext) => unknown

/** The handlers of an area whose changes pass the fence first; reads need none. */
export function fencedHandlers<A extends Routes>(
  area: Area<A>,
  handlers: Handlers<A, RequestContext>,
  fence: JobFence,
): Handlers<A, RequestContext> {
  const known: Readonly<Record<string, unknown>> = handlers
  const entries = Object.entries(area.routes).map(([operation, route]) => {
    const handler = known[operation]
    if (routeEffect(route) === 'read') return [operation, handler]
    const call: Call = async (input, ctx) => {
      const claim = claimOf(ctx.headers)
      if (claim !== undefined) await fence.admit(claim)
      return (handler as Call)(input, ctx)
    }
    return [operation, call]
  })
  // Each entry calls the handler of the same name with the same input.
  return Object.fromEntries(entries) as Handlers<A, RequestContext>
}

function refuseLower(epochs: ReadonlyMap<string, number>, { job_id, epoch, step }: JobClaim): void {
  const highest = epochs.get(job_id) ?? 0
  if (epoch >= highest) return
  throw new ApiError(
    'JOB_SUPERSEDED',
    `Job ${job_id} was taken over by another process (epoch ${highest}); step ${step} of epoch ${epoch} is refused.`,
  )
}

async function load(file: string): Promise<Map<string, number>> {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'))
    return new Map(Value.Check(Stored, value) ? value : [])
  } catch {
    return new Map()
  }
}

async function save(file: string, epochs: Map<string, number>): Promise<void> {
  for (const job_id of [...epochs.keys()].slice(0, Math.max(0, epochs.size - MOST_JOBS))) epochs.delete(job_id)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeDurably(file, `${file}.new`, JSON.stringify([...epochs]))
}
