// Runs on a Ceph pool or a block image (linux-node.md 8.2, 8.3), with the checks that keep others' data whole.
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { at, numberOf, parseJson } from '../untrusted-json.ts'
import { RADOS_OBJECT_BYTES, type RadosMode, parseRados, parseRadosLive, radosArgs, radosCleanupArgs } from './rados.ts'
import { parseRbd, parseRbdLive, rbdArgs, type RbdCall } from './rbd.ts'
import type { RunControl, RunOutcome } from './runs.ts'
import { runTool, type ToolEnd } from './tool-process.ts'

/** How the cluster's tools are called on this node; `args` come from configuration (`--conf`, `--id`). */
export interface ClusterTools {
  host: Host
  rados: string
  rbd: string
  ceph: string
  args: readonly string[]
}

export interface PoolRoom {
  /** Bytes that still fit, and the used part from 0 to 1. */
  free_bytes: number
  used: number
}

const AFTER_MS = 30_000
const CONNECT_MS = 12_000
const CLEANUP_MS = 120_000
const PREPARE_S = 2
const NEAR_FULL = 0.8

/** Throws when the pool does not exist or a run could fill it. */
export async function requirePool(tools: ClusterTools, pool: string): Promise<PoolRoom> {
  const room = await poolRoom(tools, pool)
  if (room === null)
    throw refused('pool_name', 'there is no such pool, or it is so new that the cluster has no figures of it yet')
  if (room.used >= NEAR_FULL) throw refused('pool_name', `the pool is ${Math.round(room.used * 100)} % full`)
  return room
}

/** Throws when the image is missing, in use, or would be overwritten without having been named twice. */
export async function requireImage(
  tools: ClusterTools,
  request: { pool: string; image: string; writes: boolean; confirmed: string | undefined; io_bytes: number },
): Promise<void> {
  const name = `${request.pool}/${request.image}`
  const run = await tools.host.run(tools.rbd, [...tools.args, 'info', name, '--format', 'json'], {
    timeout_ms: CONNECT_MS,
  })
  if (run.exit_code === 2) throw refused('image_name', 'there is no such image')
  const size = numberOf(at(parseJson(run.stdout), 'size'))
  if (run.exit_code !== 0 || size === null)
    throw new ApiError(
      'STORE_UNAVAILABLE',
      `Image ${name} could not be read: rbd info ended with ${run.exit_code ?? run.outcome}.`,
    )
  if (request.io_bytes > size) throw refused('io_size', 'larger than the image')
  if (!request.writes) return
  if (!request.image.startsWith('bench') && request.confirmed !== request.image) {
    throw refused('confirm_image', 'the name of the image again, because everything in it is overwritten')
  }
  const status = await tools.host.run(tools.rbd, [...tools.args, 'status', name, '--format', 'json'], {
    timeout_ms: CONNECT_MS,
  })
  const watchers = status.exit_code === 0 ? watchersIn(status.stdout) : null
  if (watchers === null)
    throw new ApiError(
      'STORE_UNAVAILABLE',
      `The clients of image ${name} could not be read: rbd status ended with ${status.exit_code ?? status.outcome}.`,
    )
  if (watchers > 0) throw refused('image_name', 'the image is in use')
}

export interface PoolRun {
  pool: string
  mode: RadosMode
  duration_s: number
  room: PoolRoom
}

export async function runPool(tools: ClusterTools, run: PoolRun, control: RunControl): Promise<RunOutcome> {
  const max_objects = Math.max(1, Math.floor(run.room.free_bytes / 2 / RADOS_OBJECT_BYTES))
  const bench = (mode: RadosMode, seconds: number): Promise<ToolEnd> =>
    runTool({
      tool: tools.rados,
      args: [...tools.args, ...radosArgs({ pool: run.pool, mode, seconds, run_name: control.id, max_objects })],
      timeout_ms: seconds * 1000 + AFTER_MS,
      signal: control.signal,
      onOutput: (chunk) => control.live(parseRadosLive(chunk, mode)),
    })
  try {
    if (run.mode !== 'write') {
      const written = await bench('write', PREPARE_S)
      if (written.outcome !== 'ended' || written.exit_code !== 0) return outcomeOf(written, null)
    }
    control.measuring()
    const end = await bench(run.mode, run.duration_s)
    return outcomeOf(end, parseRados(end.stdout, run.mode))
  } finally {
    await cleanPool(tools, run.pool, control.id)
  }
}

/** Removes the objects of one run; also for a run whose agent died. */
export async function cleanPool(tools: ClusterTools, pool: string, run_name: string): Promise<boolean> {
  const args = [...tools.args, ...radosCleanupArgs(pool, run_name)]
  return (await tools.host.run(tools.rados, args, { timeout_ms: CLEANUP_MS })).exit_code === 0
}

export async function runImage(
  tools: ClusterTools,
  run: RbdCall & { duration_s: number },
  control: RunControl,
): Promise<RunOutcome> {
  control.measuring()
  const end = await runTool({
    tool: tools.rbd,
    args: [...tools.args, ...rbdArgs(run)],
    // The tool has no duration of its own; SIGTERM makes it print its end line and succeed.
    stop_after_ms: run.duration_s * 1000,
    timeout_ms: run.duration_s * 1000 + AFTER_MS,
    signal: control.signal,
    onOutput: (chunk) => control.live(parseRbdLive(chunk, run)),
  })
  return outcomeOf(end, parseRbd(end.stdout, run))
}

function outcomeOf(end: ToolEnd, figures: RunOutcome['figures']): RunOutcome {
  return { figures, raw_output: end.stdout, error: errorOf(end, figures !== null), notes: [] }
}

function errorOf(end: ToolEnd, has_figures: boolean): string {
  if (end.outcome === 'not started') return 'the benchmark tool could not be started'
  if (end.outcome === 'timeout') return 'the benchmark tool did not end in time and was killed'
  if (end.exit_code === 0 && has_figures) return ''
  const said = end.stderr.trim().split('\n').at(-1)?.slice(0, 300) ?? ''
  return `the benchmark tool failed: ${said || `it ended with ${end.exit_code ?? 'a signal'}`}`
}

/** Null when the cluster has no such pool. */
async function poolRoom(tools: ClusterTools, pool: string): Promise<PoolRoom | null> {
  const args = [...tools.args, '--connect-timeout', '5', 'df', '--format', 'json']
  const run = await tools.host.run(tools.ceph, args, { timeout_ms: CONNECT_MS })
  if (run.exit_code !== 0)
    throw new ApiError(
      'STORE_UNAVAILABLE',
      `The storage cluster does not answer: ceph df ended with ${run.exit_code ?? run.outcome}.`,
    )
  return parsePoolRoom(run.stdout, pool)
}

export function parsePoolRoom(text: string, pool: string): PoolRoom | null {
  const pools = at(parseJson(text), 'pools')
  if (!Array.isArray(pools)) return null
  const found: unknown = pools.find((row: unknown) => at(row, 'name') === pool)
  const stats = at(found, 'stats')
  const free = at(stats, 'max_avail')
  const used = at(stats, 'percent_used')
  if (typeof free !== 'number') return null
  return { free_bytes: free, used: typeof used === 'number' ? used : 0 }
}

function refused(path: string, message: string): ApiError {
  return new ApiError('BENCHMARK_TARGET_REFUSED', `${path}: ${message}`, { errors: [{ path, message }] })
}

function watchersIn(text: string): number | null {
  const watchers = at(parseJson(text), 'watchers')
  return Array.isArray(watchers) ? watchers.length : null
}
