// Operations of the benchmark area: checks first, then one run object whose end is the answer.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pageOf } from '#src/contract/common.ts'
import type { Handlers } from '#src/contract/route.ts'
import {
  type BenchmarkResult,
  type BlockImageBenchmarkRequest,
  type benchmarks,
  type DiskBenchmarkRequest,
  type PoolBenchmarkRequest,
  TEST_SIZE_MAX_BYTES,
} from '#src/contract/storage/benchmark.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { type ClusterTools, cleanPool, requireImage, requirePool, runImage, runPool } from './cluster-run.ts'
import { runDisk } from './disk-run.ts'
import { openDiskTarget } from './disk-target.ts'
import type { BenchmarkStore } from './history.ts'
import { PRESETS, resolveProfile } from './profiles.ts'
import { createRuns, type Run, type RunProgress, type Runs } from './runs.ts'
import { sizeBytes } from './size-text.ts'
import { removeLeftovers } from './test-file.ts'

export interface BenchmarkDeps {
  host: Host
  store: BenchmarkStore
  /** Folder of the product for temporary files: default target, and the tools' reports. */
  temp_folder: string
  /** Where the absolute paths of targets stand, `/` on a node. */
  root?: string
  /** Absolute paths of tools that are not on the path; from configuration. */
  tools?: Partial<Record<'fio' | 'rados' | 'rbd' | 'ceph', string>>
  /** Arguments before every cluster command (`--conf`, `--id`). */
  cluster_args?: readonly string[]
  publish?: (progress: RunProgress) => void
}

/** The part of a request's context that these operations read. */
export interface BenchmarkContext {
  readonly signal: AbortSignal
  readonly prefer_async: boolean
}

export interface Benchmarks {
  handlers: Handlers<(typeof benchmarks)['routes'], BenchmarkContext>
  /** Once at start: ends on record what an earlier agent left running, and removes what it left behind. */
  recover(): Promise<void>
  close(): Promise<void>
}

const DISK_LOCK = 'the disks of this node'
const PACKAGES = { fio: 'fio', rados: 'ceph-common', rbd: 'ceph-common' } as const
const DEFAULT_DURATION_S = 30
const IO_SIZE_MAX = 32 * 2 ** 20

export function createBenchmarks(deps: BenchmarkDeps): Benchmarks {
  const { host, store } = deps
  const runs = createRuns({ host, store, publish: deps.publish ?? (() => {}) })
  const tools: ClusterTools = {
    host,
    rados: deps.tools?.rados ?? 'rados',
    rbd: deps.tools?.rbd ?? 'rbd',
    ceph: deps.tools?.ceph ?? 'ceph',
    args: deps.cluster_args ?? [],
  }
  const work = { deps, runs, tools }
  const byId = async (id: string): Promise<BenchmarkResult> => {
    const result = runs.find(id)?.result() ?? (await store.byId(id))
    if (result === null) throw new ApiError('BENCHMARK_NOT_FOUND', `Benchmark result ${id} not found on this node.`)
    return result
  }
  return {
    handlers: {
      benchmarkDiskRun: async ({ body }, ctx) => answerOf(await startDisk(work, body), ctx),
      benchmarkPoolRun: async ({ body }, ctx) => answerOf(await startPool(work, body), ctx),
      benchmarkBlockImageRun: async ({ body }, ctx) => answerOf(await startImage(work, body), ctx),
      benchmarkProfileList: () => ({ profiles: [...PRESETS] }),
      async benchmarkResultList({ query }) {
        const { page, page_size } = pageOf(query)
        const { type, status, target } = query
        const filter = { ...(type && { type }), ...(status && { status }), ...(target && { target }) }
        const { results, count } = await store.list({ ...filter, page, page_size })
        return { results: results.map((result) => runs.find(result.id)?.result() ?? result), count, page, page_size }
      },
      benchmarkResultRead: ({ params }) => byId(params.id),
      async benchmarkCancel({ params }) {
        const run = runs.find(params.id)
        run?.cancel()
        return (await run?.ended) ?? byId(params.id)
      },
    },
    recover: () => recover(deps, runs, tools),
    close: () => runs.close(),
  }
}

interface Work {
  deps: BenchmarkDeps
  runs: Runs
  tools: ClusterTools
}

async function answerOf(run: Run, { prefer_async, signal }: BenchmarkContext): Promise<BenchmarkResult> {
  if (prefer_async) return run.result()
  const cancel = (): void => run.cancel()
  if (signal.aborted) cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    return await run.ended
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

async function startDisk({ deps, runs }: Work, body: DiskBenchmarkRequest): Promise<Run> {
  const profile = resolveProfile(body)
  const tool = deps.tools?.fio ?? 'fio'
  await requireTool(deps.host, tool, 'fio')
  runs.requireFree(DISK_LOCK)
  await mkdir(deps.temp_folder, { recursive: true, mode: 0o700 })
  const target = await openDiskTarget(
    { host: deps.host, root: rootOf(deps), default_folder: deps.temp_folder },
    { target: body.target, confirm_serial: body.confirm_serial, profile },
  )
  const start = runs.start({
    type: 'disk',
    target: target.path,
    profile: profile.id,
    lock: DISK_LOCK,
    duration_s: profile.runtime_sec,
    work: (control) => runDisk({ tool, target, profile, scratch_folder: deps.temp_folder }, control),
  })
  return start.catch(async (error: unknown) => {
    await target.file.close()
    throw error
  })
}

async function startPool({ deps, runs, tools }: Work, body: PoolBenchmarkRequest): Promise<Run> {
  const pool = named('pool_name', body.pool_name)
  const mode = body.mode ?? 'write'
  const duration_s = body.duration_sec ?? DEFAULT_DURATION_S
  await requireTool(deps.host, tools.rados, 'rados')
  runs.requireFree(`pool ${pool}`)
  const room = await requirePool(tools, pool)
  return runs.start({
    type: 'pool',
    target: pool,
    profile: `pool-${mode}`,
    lock: `pool ${pool}`,
    duration_s,
    work: (control) => runPool(tools, { pool, mode, duration_s, room }, control),
  })
}

async function startImage({ deps, runs, tools }: Work, body: BlockImageBenchmarkRequest): Promise<Run> {
  const pool = named('pool_name', body.pool_name)
  const image = named('image_name', body.image_name)
  const io_type = body.io_type ?? 'read'
  const io_bytes = checkedSize('io_size', body.io_size ?? '4K', IO_SIZE_MAX)
  const total_bytes = checkedSize('io_total', body.io_total ?? '1G', TEST_SIZE_MAX_BYTES)
  if (io_bytes > total_bytes) throw invalidField('io_total', `at least one io_size, ${io_bytes} bytes`)
  const duration_s = body.duration_sec ?? DEFAULT_DURATION_S
  await requireTool(deps.host, tools.rbd, 'rbd')
  runs.requireFree(`pool ${pool}`)
  await requirePool(tools, pool)
  await requireImage(tools, { pool, image, writes: io_type !== 'read', confirmed: body.confirm_image, io_bytes })
  const io_pattern = body.io_pattern ?? 'seq'
  const io_threads = body.io_threads ?? 16
  const name = `${pool}/${image}`
  return runs.start({
    type: 'blockimage',
    target: name,
    profile: `${io_type}-${io_pattern}`,
    lock: `pool ${pool}`,
    duration_s,
    work: (control) =>
      runImage(tools, { image: name, io_type, io_pattern, io_bytes, io_threads, total_bytes, duration_s }, control),
  })
}

function rootOf({ root = '/' }: BenchmarkDeps): string {
  return root
}

function named(field: string, value: string | undefined): string {
  if (value === undefined) throw invalidField(field, 'needed')
  return value
}

function checkedSize(field: string, text: string, most: number): number {
  const bytes = sizeBytes(text) ?? 0
  if (bytes < 512 || bytes > most) throw invalidField(field, `512 bytes to ${most / 2 ** 20}M`)
  return bytes
}

async function requireTool(host: Host, path: string, name: keyof typeof PACKAGES): Promise<void> {
  const run = await host.run(path, ['--version'], { timeout_ms: 10_000 })
  if (run.outcome !== 'missing') return
  throw new ApiError('BENCHMARK_TOOL_MISSING', `benchmark tool not installed: ${name} (package ${PACKAGES[name]})`)
}

async function recover(deps: BenchmarkDeps, runs: Runs, tools: ClusterTools): Promise<void> {
  const { store, temp_folder } = deps
  const { results } = await store.list({ page: 1, page_size: 500 })
  const targets = results.filter(({ type, target }) => type === 'disk' && target === join('/', target))
  await removeLeftovers([...new Set([temp_folder, ...targets.map(({ target }) => join(rootOf(deps), target))])])
  for (const result of results) {
    if (result.status !== 'running' || runs.find(result.id) !== undefined) continue
    const error = 'the agent ended during the run'
    await store.save({ ...result, status: 'failed', error, unavailable: [{ field: 'read, write', reason: error }] })
    if (result.type === 'pool') await cleanPool(tools, result.target, result.id)
  }
}
