// Runs one job of the platform from within a job of ours so that it survives a crash or a lost answer: the platform's job
// gets an id that is kept before it is sent, and is asked for by that id before anything is sent again (cloudstack.md 2).
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError } from '#src/kernel/errors.ts'
import { type Args } from './args.ts'
import type { PlatformJob } from './async-job.ts'
import type { CloudStack } from './client.ts'
import type { Raw } from './fields.ts'
import { isLostAnswer, untilAnswered } from './until-answered.ts'

/** Where ids are kept: the state of the job of ours. */
export interface JobMemory {
  readonly state: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
  save(change: Record<string, unknown>): Promise<void>
}

export interface KeptJob {
  /** Under which the platform's job is kept; unique within our job. */
  name: string
  command: string
  args: Args
  /** Id to use for the first attempt instead of a fresh one. */
  job_id?: string
  /** The platform makes the thing before it queues the job: a call whose answer is lost is never repeated. */
  creates?: boolean
}

const SENDS = 3
const SETTLE_MS = 1000

/** The result of the job that ended well; throws what the platform says about one that did not. */
export async function runKeptJob(cloudstack: CloudStack, memory: JobMemory, job: KeptJob): Promise<Raw> {
  const key = `${job.name}_job_id`
  for (let sent = 1; ; sent += 1) {
    const kept = memory.state[key]
    if (typeof kept === 'string') {
      const found = await soughtJob(cloudstack, memory, kept)
      if (found !== undefined) return cloudstack.followJob(kept, { signal: memory.signal })
      if (job.creates === true) throw outcomeUnknown(job.command)
    }
    const id = typeof kept === 'string' ? kept : (job.job_id ?? randomUUID())
    if (kept !== id) await memory.save({ [key]: id })
    try {
      await cloudstack.call(job.command, job.args, { job_id: id })
    } catch (error) {
      // A refusal leaves no job behind, so that a repeat of the step may ask anew.
      if (!isLostAnswer(error)) {
        await memory.save({ [key]: null })
        throw error
      }
      if (sent === SENDS) throw error
      continue
    }
    return cloudstack.followJob(id, { signal: memory.signal })
  }
}

function outcomeUnknown(command: string): ApiError {
  return new ApiError(
    'JOB_INTERRUPTED',
    'The answer of the compute platform was lost and it knows no such job; look for the resource before you repeat the request.',
    { cause: new Error(`${command} has no job`) },
  )
}

/** Asked twice: a call may still be on its way when its connection breaks. */
async function soughtJob(cloudstack: CloudStack, memory: JobMemory, id: string): Promise<PlatformJob | undefined> {
  const first = await untilAnswered(memory.signal, () => cloudstack.queryJob(id, { signal: memory.signal }))
  if (first !== undefined) return first
  await pause(SETTLE_MS, undefined, { signal: memory.signal })
  return untilAnswered(memory.signal, () => cloudstack.queryJob(id, { signal: memory.signal }))
}
