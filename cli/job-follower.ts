// Waits for a job that an operation started: live progress from the event stream, the truth from the job itself.
import { ClientError } from '#src/contract/client.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { call } from './call.ts'
import type { Connection } from './connection.ts'
import { followEvents } from './event-stream.ts'
import { ConnectionError, EXIT, JobError, upstreamLines } from './failures.ts'
import type { JobLog } from './job-log.ts'
import type { RouteTable } from './names.ts'
import type { Progress } from './progress.ts'
import { isRecord, type Json, parseJson, textOf } from './records.ts'

export interface JobWait {
  job_id: string
  /** Undefined: until the job ends. */
  timeout_ms: number | undefined
  progress: Progress
  interrupted: AbortSignal
  /** Printed on the way, to its last line. */
  log?: JobLog
}

const POLL_MS = 1_000
/** With a live stream the job is asked rarely: the stream says when to look. */
const POLL_STREAMED_MS = 10_000

/** The job's record once it has ended well; throws a JobError when it ended badly or not in time. */
export async function waitForJob(connection: Connection, routes: RouteTable, wait: JobWait): Promise<Json> {
  const route = routes.get('jobGet')
  if (route === undefined) throw new JobError('this service has no jobs to wait for', EXIT.failed)
  const deadline = wait.timeout_ms === undefined ? undefined : Date.now() + wait.timeout_ms
  const bell = createBell()
  const listening = new AbortController()
  const stream = listen(connection, routes.get('eventStream'), wait, listening.signal, bell)
  try {
    for (;;) {
      let printed = false
      const job = await readJob(connection, route, wait)
      if (job !== undefined) {
        wait.progress.show(Number(job.progress), textOf(job.status) ?? '')
        printed = wait.log?.print(job) === true
        // The log has further lines than one answer, so its end is an answer without any.
        if (job.job_status !== 'running' && !printed) return ended(job, wait.job_id)
      }
      const left_ms = deadline === undefined ? Number.POSITIVE_INFINITY : deadline - Date.now()
      if (left_ms <= 0) throw new JobError(`job ${wait.job_id} still runs`, EXIT.still_running, followHint(wait.job_id))
      if (!printed) await bell.next(Math.min(left_ms, bell.live() ? POLL_STREAMED_MS : POLL_MS), wait.interrupted)
      wait.interrupted.throwIfAborted()
    }
  } finally {
    listening.abort()
    await stream
    wait.progress.end()
  }
}

function ended(job: Json, job_id: string): Json {
  if (job.job_status === 'completed') return job
  const reason = textOf(job.failure_reason) ?? textOf(job.status) ?? 'the operation failed'
  const outstanding = Array.isArray(job.outstanding_actions) ? job.outstanding_actions.map(String) : []
  const step = textOf(job.failed_step)
  const code = textOf(job.failure_code)
  throw new JobError(reason, EXIT.failed, [
    ...(step === undefined ? [] : [`failed step: ${step}`]),
    ...upstreamLines(job.upstream_message),
    ...outstanding.map((action) => `still to do: ${action}`),
    `${code === undefined ? '' : `${code}, `}job ${job_id}`,
  ])
}

function followHint(job_id: string): string[] {
  return [`look again: groundplane job wait ${job_id}`]
}

/** Undefined while the service cannot be asked: the job does not depend on our connection. */
async function readJob(connection: Connection, route: RouteSpec, wait: JobWait): Promise<Json | undefined> {
  try {
    const { value } = await call(connection, route, {
      params: { id: wait.job_id },
      ...(wait.log === undefined ? {} : { query: { after_seq: wait.log.after_seq } }),
    })
    return isRecord(value) ? value : undefined
  } catch (error) {
    const may_pass =
      error instanceof ConnectionError ||
      (error instanceof ClientError && (error.status >= 500 || error.status === 429))
    if (!may_pass) throw error
    wait.progress.show(0, 'the service does not answer, trying again')
    return undefined
  }
}

/** Rings when the stream says that the job has ended. A stream that fails is no failure: polling goes on. */
async function listen(
  connection: Connection,
  route: RouteSpec | undefined,
  wait: JobWait,
  signal: AbortSignal,
  bell: Bell,
): Promise<void> {
  if (route === undefined) return
  try {
    const input = { query: { channels: 'job' } }
    for await (const { event, data } of followEvents(connection, route, input, {
      signal,
      onReconnect: () => bell.ring(),
    })) {
      const job = event === 'job' ? parseJson(data) : undefined
      if (!isRecord(job) || job.id !== wait.job_id) continue
      bell.alive()
      if (job.job_status === 'running' && wait.log === undefined)
        wait.progress.show(Number(job.progress), textOf(job.status) ?? '')
      else bell.ring()
    }
  } catch {
    // The caller may not read streams, or something between us and the service buffers them.
  }
}

interface Bell {
  ring(): void
  /** The stream has delivered something about this job. */
  alive(): void
  live(): boolean
  /** Resolves when rung, after the time, or on interruption. */
  next(timeout_ms: number, interrupted: AbortSignal): Promise<void>
}

function createBell(): Bell {
  let rung = false
  let live = false
  let wake: () => void = () => {}
  return {
    ring() {
      rung = true
      wake()
    },
    alive() {
      live = true
    },
    live: () => live,
    async next(timeout_ms, interrupted) {
      if (rung || interrupted.aborted) {
        rung = false
        return
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => wake(), timeout_ms)
        const stop = (): void => wake()
        wake = () => {
          clearTimeout(timer)
          interrupted.removeEventListener('abort', stop)
          wake = () => {}
          resolve()
        }
        interrupted.addEventListener('abort', stop, { once: true })
      })
      rung = false
    },
  }
}
