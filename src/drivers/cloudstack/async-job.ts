// Follows jobs of the platform (cloudstack.md 2): polls until the job has ended, whatever happens to the connection.
import type { Log } from '#src/kernel/log.ts'
import { platformError } from './answer.ts'
import { integerOf, isRaw, type Raw, textOf, timeOf } from './fields.ts'
import { CloudStackError, LostJobError, UnknownJobError } from './platform-error.ts'

export interface PlatformJob {
  id: string
  /** 0 running, 1 succeeded, 2 failed, 3 cancelled (many clients do not expect it). */
  status: 0 | 1 | 2 | 3
  /** Set by each command as it likes, almost always 0: not a percentage. */
  process_status: number
  /** The Java class of the command. */
  command: string
  result: Raw
  instance_id: string | null
  created_at: string | null
}

export interface FollowOptions {
  signal: AbortSignal
  onProgress?: (job: PlatformJob) => void
  /** `slow` for work that copies: migration, restore, volumes, backups. */
  profile?: 'quick' | 'slow'
  /** The arguments of its command: an error quotes what they named. */
  sent?: Readonly<Record<string, string>>
}

const FIRST_PAUSE_MS = 500
const GROWTH = 1.5
const LONGEST_PAUSE_MS = { quick: 5000, slow: 10_000 }
const RESTARTED = /management server restart or shutdown/i

export function readJob(content: Raw, id: string): PlatformJob {
  const status = integerOf(content, 'jobstatus') ?? 0
  const result = content.jobresult
  return {
    id,
    status: status === 1 || status === 2 || status === 3 ? status : 0,
    process_status: integerOf(content, 'jobprocstatus') ?? 0,
    command: textOf(content, 'cmd') ?? '',
    result: isRaw(result) ? result : {},
    instance_id: textOf(content, 'jobinstanceid'),
    created_at: timeOf(content, 'created'),
  }
}

/** The result of the job that succeeded; throws what the platform says about one that failed. */
export function outcomeOf(job: PlatformJob, sent: Readonly<Record<string, string>> = {}): Raw {
  if (job.status === 1) return job.result
  const detail = textOf(job.result, 'errortext') ?? ''
  if (job.status === 3 || RESTARTED.test(detail))
    throw new LostJobError(job.command, detail || 'the platform cancelled the job')
  throw platformError(job.command.split('.').at(-1) ?? '', integerOf(job.result, 'errorcode') ?? 530, job.result, sent)
}

interface Asking {
  query: (job_id: string, signal: AbortSignal) => Promise<PlatformJob | undefined>
  pause: (ms: number, signal: AbortSignal) => Promise<void>
}

/** Polls with growing pauses. An error of the connection says nothing about the job, so polling goes on. */
export async function followJob(
  { query, pause }: Asking,
  job_id: string,
  options: FollowOptions,
  log: Log,
): Promise<Raw> {
  const longest_ms = LONGEST_PAUSE_MS[options.profile ?? 'quick']
  for (let pause_ms = FIRST_PAUSE_MS; ; pause_ms = Math.min(pause_ms * GROWTH, longest_ms)) {
    const job = await asked(query, job_id, options.signal, log)
    if (job !== undefined) {
      options.onProgress?.(job)
      if (job.status !== 0) return outcomeOf(job, options.sent)
    }
    await pause(pause_ms * (0.8 + 0.4 * Math.random()), options.signal)
  }
}

async function asked(
  query: Asking['query'],
  job_id: string,
  signal: AbortSignal,
  log: Log,
): Promise<PlatformJob | undefined> {
  try {
    const job = await query(job_id, signal)
    if (job === undefined) throw new UnknownJobError(job_id)
    return job
  } catch (err) {
    if (err instanceof UnknownJobError || !(err instanceof CloudStackError)) throw err
    log.warn({ err, platform_job_id: job_id }, 'platform job could not be asked for; asking again')
    return undefined
  }
}
