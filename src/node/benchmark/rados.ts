// How `rados bench` is called and what its output means: every value of its JSON is text (linux-node.md 8.2).
import type { BenchmarkIo } from '#src/contract/storage/benchmark.ts'
import { type Figures, IDLE_IO, idleReasons, type LiveRates, UNKNOWN_IO } from './figures.ts'
import { numberOf, parseJson, recordOf } from '../untrusted-json.ts'

export type RadosMode = 'write' | 'seq' | 'rand'

export interface RadosCall {
  pool: string
  mode: RadosMode
  seconds: number
  run_name: string
  /** Writes stop here, so that a fast cluster is not filled. */
  max_objects: number
}

export const RADOS_OBJECT_BYTES = 4 * 2 ** 20

export function radosArgs({ pool, mode, seconds, run_name, max_objects }: RadosCall): string[] {
  const write = mode === 'write' ? ['--no-cleanup', '--max-objects', `${max_objects}`] : []
  return ['-p', pool, 'bench', `${seconds}`, mode, '--run-name', run_name, '--format', 'json', ...write]
}

export function radosCleanupArgs(pool: string, run_name: string): string[] {
  return ['-p', pool, 'cleanup', '--run-name', run_name]
}

/** Null when the run gave no result. */
export function parseRados(text: string, mode: RadosMode): Figures | null {
  const values = textValues(text.slice(text.indexOf('{')))
  const total = values.get(mode === 'write' ? 'total_writes_made' : 'total_reads_made')
  const bandwidth = values.get('bandwidth')
  if (total === undefined || bandwidth === undefined) return null
  const seconds = values.get('average_latency')
  const time = values.get('total_time_run') ?? 0
  const busy: BenchmarkIo = {
    ...UNKNOWN_IO,
    bandwidth_kbps: bandwidth * 1024,
    bandwidth_mbps: bandwidth,
    // average_iops is cut to a whole number; operations over time is exact.
    iops: time > 0 ? total / time : (values.get('average_iops') ?? null),
    latency_avg_us: seconds === undefined ? null : seconds * 1e6,
    total_ios: total,
  }
  const name = mode === 'write' ? 'write' : 'read'
  const missing = (['latency_p50_us', 'latency_p99_us', 'latency_p999_us'] as const).map((field) => ({
    field: `${name}.${field}`,
    reason: 'the pool benchmark prints no percentiles',
  }))
  return mode === 'write'
    ? { read: IDLE_IO, write: busy, unavailable: [...missing, ...idleReasons('read')] }
    : { read: busy, write: IDLE_IO, unavailable: [...missing, ...idleReasons('write')] }
}

/** The last second's rate in what has been printed so far. */
export function parseRadosLive(chunk: string, mode: RadosMode): LiveRates | null {
  const last = [...chunk.matchAll(/"cur_bw":"([\d.]+)"/g)].at(-1)
  if (last?.[1] === undefined) return null
  const bandwidth_mbps = Number(last[1])
  const rates = { bandwidth_mbps, iops: (bandwidth_mbps * 2 ** 20) / RADOS_OBJECT_BYTES }
  return mode === 'write' ? { write: rates } : { read: rates }
}

function textValues(text: string): Map<string, number> {
  const values = new Map<string, number>()
  for (const [name, value] of Object.entries(recordOf(parseJson(text)))) {
    const figure = numberOf(value)
    if (figure !== null) values.set(name, figure)
  }
  return values
}
