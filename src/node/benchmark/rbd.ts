// How `rbd bench` is called and what its text means; it has no JSON and no duration (linux-node.md 8.3).
import type { BenchmarkIo } from '#src/contract/storage/benchmark.ts'
import { type Figures, IDLE_IO, idleReasons, type LiveRates, UNKNOWN_IO } from './figures.ts'

export type RbdType = 'write' | 'read' | 'readwrite'

export interface RbdCall {
  image: string
  io_type: RbdType
  io_pattern: 'rand' | 'seq'
  io_bytes: number
  io_threads: number
  total_bytes: number
}

export function rbdArgs(call: RbdCall): string[] {
  return [
    'bench',
    '--io-type',
    call.io_type,
    '--io-size',
    `${call.io_bytes}B`,
    '--io-threads',
    `${call.io_threads}`,
    '--io-total',
    `${call.total_bytes}B`,
    '--io-pattern',
    call.io_pattern,
    call.image,
  ]
}

/** Null when the run printed no end line. */
export function parseRbd(text: string, call: Pick<RbdCall, 'io_type' | 'io_bytes' | 'io_threads'>): Figures | null {
  const whole = pair(text, /^elapsed: .*?\bops: (\d+)\s+ops\/sec: ([\d.]+)/m)
  if (whole === null) return null
  const read = call.io_type === 'readwrite' ? pair(text, /^read_ops: (\d+)\s+read_ops\/sec: ([\d.]+)/m) : null
  const write = call.io_type === 'readwrite' ? pair(text, /^write_ops: (\d+)\s+write_ops\/sec: ([\d.]+)/m) : null
  const latency_us = whole.rate > 0 ? (call.io_threads / whole.rate) * 1e6 : null
  const busy = (figures: OpsAndRate | null): BenchmarkIo =>
    figures === null ? IDLE_IO : io(figures, call.io_bytes, latency_us)
  const directions = {
    read: call.io_type === 'read' ? busy(whole) : busy(read),
    write: call.io_type === 'write' ? busy(whole) : busy(write),
  }
  const unavailable = (['read', 'write'] as const).flatMap((name) =>
    directions[name].total_ios === 0 ? idleReasons(name) : unmeasured(name),
  )
  return { ...directions, unavailable }
}

/** `    3     22016   7305.04    29 MiB/s` while it runs. */
export function parseRbdLive(chunk: string, call: Pick<RbdCall, 'io_type' | 'io_bytes'>): LiveRates | null {
  const last = [...chunk.matchAll(/^\s+\d+\s+\d+\s+([\d.]+)\s+[\d.]+ \S*B\/s$/gm)].at(-1)
  if (last?.[1] === undefined) return null
  const iops = Number(last[1])
  const rates = { iops, bandwidth_mbps: (iops * call.io_bytes) / 2 ** 20 }
  // For a mix the line is the sum of both directions, which belongs to neither.
  return call.io_type === 'readwrite' ? null : { [call.io_type]: rates }
}

interface OpsAndRate {
  ops: number
  rate: number
}

function pair(text: string, pattern: RegExp): OpsAndRate | null {
  const match = pattern.exec(text)
  return match === null ? null : { ops: Number(match[1]), rate: Number(match[2]) }
}

/** bytes/sec is printed with two digits, so the bandwidth is operations times their size. */
function io({ ops, rate }: OpsAndRate, io_bytes: number, latency_avg_us: number | null): BenchmarkIo {
  const kib = (rate * io_bytes) / 1024
  return { ...UNKNOWN_IO, bandwidth_kbps: kib, bandwidth_mbps: kib / 1024, iops: rate, latency_avg_us, total_ios: ops }
}

function unmeasured(name: 'read' | 'write'): Figures['unavailable'] {
  const missing = (['latency_p50_us', 'latency_p99_us', 'latency_p999_us'] as const).map((field) => ({
    field: `${name}.${field}`,
    reason: 'the image benchmark prints no latencies',
  }))
  return [
    { field: `${name}.latency_avg_us`, reason: 'not measured but derived: threads divided by operations a second' },
    ...missing,
  ]
}
