// The engine: admits jobs, runs those it holds, and takes over those whose process died. Truth is the ledger; pg-boss only
// says "look at job X" (docs/decisions/0003).
import { setTimeout as delay } from 'node:timers/promises'
import { Value } from 'typebox/value'
import { ApiError } from '#src/kernel/errors.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Metrics } from '#src/kernel/metrics.ts'
import type { Keyring } from '#src/kernel/keyring.ts'
import { appEventOf } from '#src/store/app-events.ts'
import type { Database } from '#src/store/database.ts'
import { DEAD_AFTER_S, type Replica } from '#src/store/replicas.ts'
import type { Stream } from '#src/store/stream.ts'
import type { Admission, Jobs, WaitOptions } from './admit.ts'
import type { BoundJob, JobDefinition } from './define.ts'
import { createDelivery } from './delivery.ts'
import { type Claim, createLedger, type JobRow, type Ledger } from './ledger.ts'
import type { ProgressSink } from './progress.ts'
import { type RunnerDeps, runJob, StopError } from './runner.ts'
import { jobOf } from './view.ts'

export interface EngineOptions {
  database: Database
  keyring: Keyring
  replica: Replica
  stream: Stream
  log: Log
  metrics: Metrics
  settle_ms?: number
  retry_ms?: number
  at?: (point: string) => void
}

export interface Engine extends Jobs {
  /** Makes a kind of job known; before `start`. */
  register(bound: BoundJob): void
  start(): Promise<void>
  /** Lets go of running jobs, so that another replica continues them. */
  stop(): Promise<void>
  running(): number
}

/** How soon the next look follows while a job's process is alive. */
const LOOK_AGAIN_S = 4
const SETTLE_MS = 5000
const RETRY_MS = 1000
const WAIT_POLL_MS = 500
const SWEEP_MS = 30_000

export function createEngine(options: EngineOptions): Engine {
  const { database, log, replica, stream } = options
  const ledger = createLedger(database, options.keyring, replica.id)
  const delivery = createDelivery(database, log)
  const waiters: Waiters = new Map()
  const held = createHeldJobs(ledger, options, waiters)

  /** A message came: take the job when nobody alive holds it, and look again while somebody does. */
  async function look(job_id: string): Promise<void> {
    const row = await ledger.find(job_id)
    if (row === undefined || row.job_status !== 'running') return
    if (row.cancel_requested_at !== null) held.cancel(job_id)
    if (!held.has(job_id)) {
      const claim = await ledger.claim(job_id)
      if (claim !== undefined) {
        log.info({ job_id, job_type: row.type, epoch: claim.row.epoch }, 'job taken over')
        held.run(claim)
      }
    }
    await delivery.send(job_id, LOOK_AGAIN_S)
  }

  /** At start, and in case a message was lost, for instance with the database. */
  async function findOrphans(): Promise<void> {
    for (const id of await ledger.orphans()) await look(id)
  }
  let sweep: NodeJS.Timeout | undefined

  return {
    register: held.register,
    running: held.count,
    find: ledger.find,
    wait: (id, wait) => waitFor(id, wait, ledger.find, waiters),
    async start() {
      stream.onMessage((message) => {
        if (message.channel === 'job') wake(waiters, (message.data as { id: string }).id)
      })
      await delivery.start(look)
      await findOrphans()
      sweep = setInterval(() => {
        findOrphans().catch((err: unknown) => log.warn({ err }, 'orphaned jobs not looked for'))
      }, SWEEP_MS)
    },
    async stop() {
      clearInterval(sweep)
      for (const id of await held.letGo()) await delivery.send(id, 0)
      await delivery.stop()
    },
    result: (definition, row) => readResult(definition, ledger.resultOf(row)),
    async admit<Deps, Input, State, Result>(
      definition: JobDefinition<Deps, Input, State, Result>,
      admission: Admission<Input>,
    ) {
      if (!held.knows(definition.type)) throw new Error(`the job ${definition.type} is not registered`)
      const row = await database.transact(async (trx, publish) => {
        const admitted = await ledger.insert(trx, publish, definition, admission)
        await delivery.send(admitted.id, DEAD_AFTER_S, trx)
        return admitted
      })
      held.run(await ledger.open(row))
      return row
    },
    async cancel(id: string, caller: Caller) {
      const row = await ledger.requestCancel(id)
      if (row === undefined) throw notCancellable(id, await ledger.find(id))
      log.info({ job_id: id, caller: caller.username }, 'job cancel requested')
      held.cancel(id)
      await delivery.send(id, 0)
      return row
    },
  }
}

function readResult<Deps, Input, State, Result>(
  { type, result }: JobDefinition<Deps, Input, State, Result>,
  value: unknown,
): Result | undefined {
  if (value === undefined || result === undefined) return undefined
  if (!Value.Check(result, value)) throw new Error(`the result of a job ${type} has not the form that its kind says`)
  return value as Result
}

function notCancellable(id: string, found: JobRow | undefined): ApiError {
  if (found === undefined) return new ApiError('JOB_NOT_FOUND', `There is no job ${id}.`)
  const why = found.job_status === 'running' ? 'it has passed its point of no return' : `it is ${found.job_status}`
  return new ApiError('JOB_NOT_CANCELLABLE', `The job cannot be cancelled: ${why}.`)
}

/** The jobs that this process runs. */
function createHeldJobs(ledger: Ledger, options: EngineOptions, waiters: Waiters) {
  const { log, metrics } = options
  const known = new Map<string, BoundJob>()
  const running = new Map<string, { stop: AbortController; ended: Promise<void> }>()
  const runner: RunnerDeps = {
    ledger,
    log,
    live: liveProgress(options.database, options.stream),
    settle_ms: options.settle_ms ?? SETTLE_MS,
    retry_ms: options.retry_ms ?? RETRY_MS,
    ...(options.at === undefined ? {} : { at: options.at }),
  }
  return {
    register: (bound: BoundJob): void => void known.set(bound.definition.type, bound),
    knows: (type: string): boolean => known.has(type),
    has: (id: string): boolean => running.has(id),
    count: (): number => running.size,
    cancel: (id: string): void => running.get(id)?.stop.abort(new StopError('cancelled')),
    run(claim: Claim): void {
      const bound = known.get(claim.row.type)
      if (bound === undefined) {
        log.error({ job_id: claim.row.id, job_type: claim.row.type }, 'job of a kind this version does not know')
        return
      }
      const stop = new AbortController()
      if (claim.row.cancel_requested_at !== null) stop.abort(new StopError('cancelled'))
      const ended = runJob(claim, bound, stop.signal, runner)
        .then((row) => {
          if (row !== undefined) metrics.job(row.type, row.job_status)
        })
        .catch((err: unknown) =>
          log.error({ err, job_id: claim.row.id }, 'job runner failed; the job is taken up again'),
        )
        .finally(() => {
          running.delete(claim.row.id)
          wake(waiters, claim.row.id)
        })
      running.set(claim.row.id, { stop, ended })
    },
    /** Stops all without an end and answers which they were: another process continues them. */
    async letGo(): Promise<string[]> {
      const ids = [...running.keys()]
      const jobs = [...running.values()]
      for (const job of jobs) job.stop.abort(new StopError('shutdown'))
      await Promise.all(jobs.map((job) => job.ended))
      return ids
    },
  }
}

type Waiters = Map<string, Set<() => void>>

function wake(waiters: Waiters, id: string): void {
  for (const resolve of waiters.get(id) ?? []) resolve()
}

/** Follows a job wherever it runs: woken by this process's stream, and by a look now and then. */
async function waitFor(
  id: string,
  wait: WaitOptions,
  find: (id: string) => Promise<JobRow | undefined>,
  waiters: Waiters,
): Promise<JobRow> {
  const deadline = performance.now() + wait.timeout_ms
  const enough = wait.until ?? (() => false)
  for (;;) {
    const woken = new AbortController()
    const resolve = (): void => woken.abort()
    const set = waiters.get(id) ?? new Set()
    waiters.set(id, set.add(resolve))
    try {
      const row = await find(id)
      if (row === undefined) throw new ApiError('JOB_NOT_FOUND', `There is no job ${id}.`)
      const left = deadline - performance.now()
      if (row.job_status !== 'running' || enough(row) || left <= 0 || wait.signal?.aborted) return row
      const signal = wait.signal === undefined ? woken.signal : AbortSignal.any([woken.signal, wait.signal])
      await delay(Math.min(WAIT_POLL_MS, left), undefined, { signal }).catch(() => {})
    } finally {
      set.delete(resolve)
      if (set.size === 0) waiters.delete(id)
    }
  }
}

/** Progress between two stored states: the event and the job as they would read now. */
function liveProgress(database: Database, stream: Stream): ProgressSink {
  return (claim, progress, sentence) => {
    const { row } = claim
    const job = jobOf({ ...row, progress, status: sentence ?? row.status }, 1)
    stream.sendLive({ channel: 'job', type: 'job', tenant_id: row.tenant_id, data: job })
    database.db
      .selectFrom('app_event')
      .selectAll()
      .where('correlation_id', '=', row.id)
      .executeTakeFirst()
      .then((event) => {
        if (event === undefined || event.status !== 'IN_PROGRESS') return
        const data = appEventOf({ ...event, progress: Math.max(progress, event.progress) })
        stream.sendLive({ channel: 'app-event', type: 'app-event', tenant_id: row.tenant_id, data })
      })
      .catch(() => {})
  }
}
