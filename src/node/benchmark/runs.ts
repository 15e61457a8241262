// Benchmark runs of this node: one at a time for each thing they use, watched while they run, stored when they end.
import { randomUUID } from 'node:crypto'
import type { Unavailable } from '#src/contract/common.ts'
import type { BenchmarkResult } from '#src/contract/storage/benchmark.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { type Figures, liveIo, type LiveRates, UNKNOWN_IO } from './figures.ts'
import type { BenchmarkStore } from './history.ts'

export interface RunProgress {
  id: string
  percent: number
  result: BenchmarkResult
}

export interface RunPlan {
  type: BenchmarkResult['type']
  target: string
  profile: string
  /** What must not be used by two runs at once. */
  lock: string
  duration_s: number
  work(control: RunControl): Promise<RunOutcome>
}

export interface RunControl {
  id: string
  signal: AbortSignal
  /** The tool has begun: percent counts from here. */
  measuring(): void
  live(rates: LiveRates | null): void
}

export interface RunOutcome {
  /** Null when the tool gave no result: then `error` says why. */
  figures: Figures | null
  raw_output: string
  error: string
  notes: Unavailable[]
}

export interface Run {
  readonly id: string
  result(): BenchmarkResult
  readonly ended: Promise<BenchmarkResult>
  cancel(): void
}

export interface Runs {
  /** Throws BENCHMARK_RUNNING when another run holds the lock. */
  start(plan: RunPlan): Promise<Run>
  /** Throws BENCHMARK_RUNNING when the lock is held: to be asked before anything is prepared. */
  requireFree(lock: string): void
  running(): Run[]
  find(id: string): Run | undefined
  /** Cancels everything and waits for the ends. */
  close(): Promise<void>
}

export interface RunsOptions {
  host: Host
  store: BenchmarkStore
  publish: (progress: RunProgress) => void
}

const RAW_MAX = 1024 * 1024
const PUBLISH_MS = 1000

export function createRuns(options: RunsOptions): Runs {
  const active = new Map<string, Run>()
  const requireFree = (lock: string): void => {
    const other = active.get(lock)
    if (other !== undefined)
      throw new ApiError('BENCHMARK_RUNNING', `Run ${other.id} is using ${lock}; wait or cancel it.`)
  }
  return {
    requireFree,
    async start(plan) {
      requireFree(plan.lock)
      const run = begin(options, plan, () => active.delete(plan.lock))
      active.set(plan.lock, run)
      try {
        await options.store.save(run.result())
      } catch (error) {
        run.cancel()
        await run.ended
        throw error
      }
      return run
    },
    running: () => [...active.values()],
    find: (id) => [...active.values()].find((run) => run.id === id),
    async close() {
      const runs = [...active.values()]
      for (const run of runs) run.cancel()
      await Promise.all(runs.map(({ ended }) => ended))
    },
  }
}

function begin({ host, store, publish }: RunsOptions, plan: RunPlan, release: () => void): Run {
  const id = randomUUID()
  const cancelled = new AbortController()
  const started = host.monotonic()
  const began = { at: null as number | null }
  let now: BenchmarkResult = {
    id,
    profile: plan.profile,
    raw_output: '',
    started_at: new Date(host.now()).toISOString(),
    target: plan.target,
    type: plan.type,
    error: '',
    duration_seconds: 0,
    status: 'running',
    read: UNKNOWN_IO,
    write: UNKNOWN_IO,
    unavailable: [{ field: 'read, write', reason: 'the run has not ended; rates shown are those of the last second' }],
  }
  const seconds = (since: number | null): number => (since === null ? 0 : (host.monotonic() - since) / 1000)
  const result = (): BenchmarkResult =>
    now.status === 'running' ? { ...now, duration_seconds: round(seconds(began.at)) } : now
  const percent = (): number =>
    now.status === 'running' ? Math.min(99, Math.floor((seconds(began.at) / plan.duration_s) * 100)) : 100
  const tell = (): void => publish({ id, percent: percent(), result: result() })
  const ticker = setInterval(tell, PUBLISH_MS)
  const control: RunControl = {
    id,
    signal: cancelled.signal,
    measuring: () => {
      began.at = host.monotonic()
    },
    live(rates) {
      if (rates === null) return
      now = { ...now, read: liveIo(rates.read), write: liveIo(rates.write) }
      tell()
    },
  }
  const work = async (): Promise<BenchmarkResult> => {
    const outcome = await plan.work(control).catch(failed)
    const error = cancelled.signal.aborted ? 'the run was cancelled' : outcome.error
    now = { ...now, ...ended(outcome, error), duration_seconds: round(seconds(began.at ?? started)) }
    clearInterval(ticker)
    await store.save(now).catch(() => {
      now = { ...now, unavailable: [...now.unavailable, { field: 'id', reason: 'the result could not be stored' }] }
    })
    release()
    tell()
    return now
  }
  return { id, result, ended: work(), cancel: () => cancelled.abort() }
}

function ended(outcome: RunOutcome, error: string): Partial<BenchmarkResult> {
  const { figures, notes } = outcome
  const unknown = [{ field: 'read, write', reason: error }]
  return {
    raw_output: outcome.raw_output.slice(0, RAW_MAX),
    error,
    status: error === '' ? 'completed' : 'failed',
    read: figures?.read ?? UNKNOWN_IO,
    write: figures?.write ?? UNKNOWN_IO,
    unavailable: [...(figures?.unavailable ?? unknown), ...notes],
  }
}

function failed(error: unknown): RunOutcome {
  const message = error instanceof ApiError ? error.message : 'the run broke off inside the service'
  return { figures: null, raw_output: '', error: message, notes: [] }
}

function round(seconds: number): number {
  return Math.round(seconds * 1000) / 1000
}
