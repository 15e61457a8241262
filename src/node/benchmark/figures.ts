// The figures of one direction of a run, and the difference between "nothing was done" and "not known".
import type { BenchmarkIo } from '#src/contract/storage/benchmark.ts'
import type { Unavailable } from '#src/contract/common.ts'

/** Nothing is known yet. */
export const UNKNOWN_IO: BenchmarkIo = {
  bandwidth_kbps: null,
  bandwidth_mbps: null,
  iops: null,
  latency_avg_us: null,
  latency_p50_us: null,
  latency_p99_us: null,
  latency_p999_us: null,
  total_ios: null,
}

/** Measured: no operation of this direction took place; a latency of nothing does not exist. */
export const IDLE_IO: BenchmarkIo = { ...UNKNOWN_IO, bandwidth_kbps: 0, bandwidth_mbps: 0, iops: 0, total_ios: 0 }

export const LATENCIES = ['latency_avg_us', 'latency_p50_us', 'latency_p99_us', 'latency_p999_us'] as const

export interface Figures {
  read: BenchmarkIo
  write: BenchmarkIo
  unavailable: Unavailable[]
}

export function idleReasons(direction: 'read' | 'write'): Unavailable[] {
  return LATENCIES.map((name) => ({ field: `${direction}.${name}`, reason: `the run has no ${direction}s` }))
}

/** What is heard while a tool runs: rates only. */
export interface LiveRates {
  read?: { bandwidth_mbps: number; iops: number }
  write?: { bandwidth_mbps: number; iops: number }
}

export function liveIo(rates: { bandwidth_mbps: number; iops: number } | undefined): BenchmarkIo {
  if (rates === undefined) return UNKNOWN_IO
  return { ...UNKNOWN_IO, ...rates, bandwidth_kbps: rates.bandwidth_mbps * 1024 }
}
