// The engine: admits jobs, runs as many as it has room for, and takes those that nobody alive holds. Truth is the ledger; a
// notice only says that polling at once is worth it (docs/decisions/0003).
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '#src/kernel/errors.ts'
import type { Background } from '#src/kernel/background.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Metrics } from '#src/kernel/metrics.ts'
import type { Keyring } from '#src/kernel/keyring.ts'
import { appEventOf } from '#src/store/app-events.ts'
import { type Database, JOB_NOTIFY } from '#src/store/database.ts'
import type { Listener } from '#src/store/listener.ts'
import type { Replica } from '#src/store/replicas.ts'
import type { Stream } from '#src/store/stream.ts'
import type { Admission, Jobs, WaitOptions } from './admit.ts'
import type { BoundJob, JobDefinition } from './define.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { recheckOutstanding } from './outstanding.ts'
import type { JobRow } from './job-row.ts'
import type { Claim } from './rows.ts'
import { placesOf } from './limits.ts'
import { createProgress, type ProgressSink } from './progress.ts'
import { type AnyStep, createRun, resultOf, type RunnerDeps } from './run.ts'
import { runJob, StopError, type StopReason } from './runner.ts'
import { jobOf } from './view.ts'

export interface EngineOptions {
  database: Database
  keyring: Keyring
  replica: Replica
  stream: Stream
  listener: Listener
  background: Background
  log: Log
  metrics: Metrics
  /** Jobs that this process runs at once; others wait for room here or elsewhere. */
  slots?: number
  /** Of waiting jobs, in tests; that of the database when left out. */
  clock?: () => Date
  /** Factor on every pause that other systems are given; tests make it small. */
  wait_factor?: number
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

const SLOTS = 100
/** How often free jobs are looked for without a notice: those of a process that died, those whose time has come. */
const POLL_MS = 2000
/** A job that this process could not go on with, for instance without the database, is first left to others. */
const DROPPED_MS = 5000
/** A job that meets an outage so often meets something else: it fails. */
const MOST_DROPS = 20
const SETTLE_MS = 5000
const RETRY_MS = 1000
/** Of one who waits for a job whose notice got lost: hundreds may wait at once. */
const WAIT_POLL_MS = 2000

export function createEngine(options: EngineOptions): Engine {
  const { database, log, replica, stream, background } = options
  const ledger = createLedger(database, options.keyring, replica.id, options.clock)
  const waiters: Waiters = new Map()
  const held = createHeldJobs(ledger, options, waiters, () => void (stopping || poll()))
  const slots = options.slots ?? SLOTS
  let stopping = false
  let polling: Promise<void> | undefined
  let again = false
  /** Room for a job that is being taken. */
  let claiming = false

  /** Stops what was cancelled elsewhere or lost to another process, and takes free jobs while there is room. One round at a time. */
  function poll(): void {
    again = true
    polling ??= background.round('jobs', pollNow).finally(() => {
      polling = undefined
      if (again && !stopping) poll()
    })
  }
  async function pollNow(): Promise<void> {
    again = false
    for (const { id, reason } of await ledger.stopped(held.ids())) held.stop(id, reason)
    while (!stopping && held.count() < slots) {
      claiming = true
      const claim = await ledger.claimNext(held.types(), held.taken).finally(() => (claiming = false))
      if (claim === undefined) return
      const { id: job_id, type: job_type, epoch } = claim.row
      log.info({ job_id, job_type, epoch }, 'job taken')
      held.run(claim)
    }
  }
  let timer: NodeJS.Timeout | undefined
  options.listener.on(JOB_NOTIFY, poll, poll)

  return {
    register: held.register,
    running: held.count,
    find: ledger.find,
    wait: (id, wait) => waitFor(id, wait, ledger.find, waiters),
    async start() {
      stream.onMessage((message) => {
        if (message.channel === 'job') wake(waiters, (message.data as { id: string }).id)
      })
      timer = setInterval(poll, POLL_MS)
      poll()
      await polling
    },
    async stop() {
      stopping = true
      clearInterval(timer)
      await polling
      await held.letGo()
    },
    result: (definition, row) => (row.result === null ? undefined : resultOf(definition, ledger.resultOf(row))),
    signal: ledger.signal,
    async admit<Deps, Input, State, Result>(
      definition: JobDefinition<Deps, Input, State, Result>,
      admission: Admission<Input>,
    ) {
      const { operation_id } = admission.operation
      const places = placesOf(held.bound(definition.type), admission.input)
      // One with limits is taken like those that waited before it.
      const here = places.length === 0 && !stopping && held.count() + Number(claiming) < slots
      // Counts from here on: many admissions at once must not all see the same room, nor `poll` take what is about to run.
      if (here) held.reserved.add(operation_id)
      try {
        const row = await database.transact((trx, publish) =>
          ledger.insert(trx, publish, held.bound(definition.type).definition, admission, { places, here }),
        )
        if (here) held.run(await ledger.open(row))
        return row
      } finally {
        held.reserved.delete(operation_id)
      }
    },
    ...goingOn(ledger, held, poll),
    async cancel(id: string, caller: Caller) {
      const row = await ledger.requestCancel(id)
      if (row === undefined) throw notCancellable(id, await ledger.find(id))
      log.info({ job_id: id, caller: caller.username }, 'job cancel requested')
      held.stop(id, 'cancelled')
      return row
    },
  }
}

/** What a job was admitted with and has saved, and how it goes on after a failure. */
function goingOn(
  ledger: Ledger,
  held: Pick<ReturnType<typeof createHeldJobs>, 'bound' | 'recheckOutstanding' | 'noReturnStep'>,
  poll: () => void,
): Pick<Engine, 'retry' | 'saved' | 'inputOf' | 'recheckOutstanding' | 'noReturnStep'> {
  return {
    recheckOutstanding: held.recheckOutstanding,
    noReturnStep: held.noReturnStep,
    async retry(id, definition, more) {
      const row = await ledger.retry(id, placesOf(held.bound(definition.type), more.input), more)
      if (row === undefined) throw new ApiError('NODE_STATE', `Job ${id} has not failed; only a failed job is retried.`)
      poll()
      return row
    },
    saved: async (_definition, row) => (await ledger.open(row)).state as never,
    inputOf: async (_definition, row) => (await ledger.open(row)).input as never,
  }
}

function notCancellable(id: string, found: JobRow | undefined): ApiError {
  if (found === undefined) return new ApiError('JOB_NOT_FOUND', `There is no job ${id}.`)
  const why = found.job_status === 'running' ? 'it has passed its point of no return' : `it is ${found.job_status}`
  return new ApiError('JOB_NOT_CANCELLABLE', `Job ${id} cannot be cancelled: ${why}.`)
}

/** The jobs that this process runs. */
function createHeldJobs(ledger: Ledger, options: EngineOptions, waiters: Waiters, roomAgain: () => void) {
  const { log, metrics, wait_factor = 1 } = options
  const known = new Map<string, BoundJob>()
  const running = new Map<string, { stop: AbortController; ended: Promise<void> }>()
  const dropped = new Set<string>()
  const drops = new Map<string, number>()
  const reserved = new Set<string>()
  const bound = (type: string): BoundJob => {
    const job = known.get(type)
    if (job === undefined) throw new Error(`the job ${type} is not registered`)
    return job
  }
  const runner: RunnerDeps = {
    ledger,
    log,
    bound,
    live: liveProgress(options.database, options.stream),
    settle_ms: SETTLE_MS * wait_factor,
    retry_ms: RETRY_MS * wait_factor,
    wait_factor,
    mayDrop: (id) => (drops.get(id) ?? 0) < MOST_DROPS,
    pollAfter: (ms) => void setTimeout(roomAgain, Math.ceil(ms)).unref(),
    ...(options.at === undefined ? {} : { at: options.at }),
  }
  return {
    register(job: BoundJob): void {
      const { type, steps } = job.definition
      const names = steps.map(({ name }) => name)
      if (new Set(names).size < names.length) throw new Error(`two steps of the job ${type} have one name`)
      if (known.has(type)) throw new Error(`two jobs are of the type ${type}; rename one of them`)
      known.set(type, job)
    },
    bound,
    noReturnStep: (type: string): string | null =>
      known.get(type)?.definition.steps.find((step) => step.point_of_no_return === true)?.name ?? null,
    recheckOutstanding: (signal: AbortSignal): Promise<void> =>
      recheckOutstanding(
        { db: options.database.db, log, bound: (type) => known.get(type), open: readingRun(ledger, runner) },
        signal,
      ),
    types: (): string[] => [...known.keys()],
    ids: (): string[] => [...running.keys()],
    /** What this process must not take: what it runs, and for a while what it could not go on with. */
    taken: (): string[] => [...running.keys(), ...reserved, ...dropped],
    /** Ids of jobs that are being admitted to run here. */
    reserved,
    count: (): number => running.size + reserved.size,
    stop: (id: string, reason: StopReason): void => running.get(id)?.stop.abort(new StopError(reason)),
    run(claim: Claim): void {
      const stop = new AbortController()
      if (claim.row.cancel_requested_at !== null) stop.abort(new StopError('cancelled'))
      const ended = runJob(claim, bound(claim.row.type), stop.signal, runner)
        .then((row) => {
          drops.delete(claim.row.id)
          if (row !== undefined) metrics.job(row.type, row.job_status)
        })
        .catch((err: unknown) => {
          log.error({ err, job_id: claim.row.id }, 'job runner failed; the job is taken up again')
          dropped.add(claim.row.id)
          drops.set(claim.row.id, (drops.get(claim.row.id) ?? 0) + 1)
          setTimeout(() => dropped.delete(claim.row.id), DROPPED_MS * wait_factor).unref()
        })
        .finally(() => {
          running.delete(claim.row.id)
          wake(waiters, claim.row.id)
          roomAgain()
        })
      running.set(claim.row.id, { stop, ended })
      reserved.delete(claim.row.id)
    },
    /** Stops all without an end: another process continues them. */
    async letGo(): Promise<void> {
      const jobs = [...running.values()]
      for (const job of jobs) job.stop.abort(new StopError('shutdown'))
      await Promise.all(jobs.map((job) => job.ended))
    },
  }
}

/** Of a job that nobody runs: whatever it tries to write is refused, but for its notes, which go nowhere. */
function readingRun(ledger: Ledger, deps: RunnerDeps) {
  return async (id: string, bound: BoundJob, step: AnyStep, signal: AbortSignal) => {
    const row = await ledger.find(id)
    if (row === undefined) return undefined
    const claim = await ledger.open(row)
    const progress = createProgress(claim, bound.definition.steps, deps)
    const run = createRun({ claim, bound, step, attempt: 1, signal, progress, deps })
    return { ...run, state: claim.state, note: async () => {} }
  }
}

type Waiters = Map<string, Set<() => void>>

function wake(waiters: Waiters, id: string): void {
  for (const resolve of waiters.get(id) ?? []) resolve()
}

/** Follows a job wherever it runs: woken by this process's stream, and by a poll now and then. */
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
