// How fio is called and what its output means (linux-node.md 8.1).
import type { BenchmarkIo } from '#src/contract/storage/benchmark.ts'
import { type Figures, IDLE_IO, idleReasons, LATENCIES, type LiveRates, UNKNOWN_IO } from './figures.ts'
import { at, numberOf, parseJson } from '../untrusted-json.ts'
import type { DiskProfile } from './profiles.ts'

export interface FioCall {
  profile: DiskProfile
  direct: number
  /** Descriptor numbers inside the tool: the thing under test, and where the JSON goes. */
  target_fd: number
  output_fd: number
}

/**
 * Target and output are descriptors, not paths: what was checked is what is used, and a file without a name is gone
 * with the tool. `--thread` keeps all jobs in the one process that dies with the agent.
 */
export function fioArgs({ profile, direct, target_fd, output_fd }: FioCall): string[] {
  return [
    '--output-format=json',
    `--output=/proc/self/fd/${output_fd}`,
    '--eta=always',
    '--eta-newline=1',
    '--thread',
    '--name=bench',
    `--filename=/proc/self/fd/${target_fd}`,
    `--size=${profile.test_bytes}`,
    `--rw=${profile.read_write}`,
    ...(profile.rw_mix_read === undefined ? [] : [`--rwmixread=${profile.rw_mix_read}`]),
    `--bs=${profile.block_bytes}`,
    `--ioengine=${profile.io_engine}`,
    `--direct=${direct}`,
    `--iodepth=${profile.io_depth}`,
    `--numjobs=${profile.num_jobs}`,
    '--group_reporting',
    '--time_based',
    `--runtime=${profile.runtime_sec}`,
    '--lat_percentiles=1',
    '--clat_percentiles=0',
    '--percentile_list=50:99:99.9',
    ...(profile.writes ? [] : ['--readonly']),
  ]
}

/** Fills the file with blocks that differ, so that the disk really stores them; writes nothing to `output`. */
export function layoutArgs(bytes: number, target_fd: number): string[] {
  return [
    '--thread',
    '--name=layout',
    `--filename=/proc/self/fd/${target_fd}`,
    `--size=${bytes}`,
    '--rw=write',
    '--bs=256k',
    '--ioengine=psync',
    '--refill_buffers',
    '--end_fsync=1',
  ]
}

export interface FioOutcome {
  /** errno of the first job that failed, 0 when none did. */
  error: number
  figures: Figures
}

/** Null when the text holds no result: a bad engine prints none, prose may stand before it. */
export function parseFio(text: string): FioOutcome | null {
  const start = text.startsWith('{') ? 0 : text.indexOf('\n{') + 1
  const parsed = start === 0 && !text.startsWith('{') ? null : parseJson(text.slice(start))
  const jobs = at(parsed, 'jobs')
  if (!Array.isArray(jobs) || jobs.length === 0) return null
  const job: unknown = jobs[0]
  const read = direction(at(job, 'read'))
  const write = direction(at(job, 'write'))
  const unavailable = [...reasons('read', read), ...reasons('write', write)]
  return { error: numberOf(at(job, 'error')) ?? 0, figures: { read, write, unavailable } }
}

/** `[r=267MiB/s,w=115MiB/s][r=68.4k,w=29.4k IOPS]` of the line fio renews every second. */
export function parseFioEta(line: string): LiveRates | null {
  const rates: LiveRates = {}
  for (const [letter, name] of [
    ['r', 'read'],
    ['w', 'write'],
  ] as const) {
    const bandwidth = new RegExp(`[[,]${letter}=([\\d.]+)([KMGT]?i?B)/s`).exec(line)
    const iops = new RegExp(`[[,]${letter}=([\\d.]+)([kM]?)(?=[,\\] ])[^\\]]*IOPS`).exec(line)
    if (bandwidth === null || iops === null) continue
    rates[name] = {
      bandwidth_mbps: Number(bandwidth[1]) * (MIB[bandwidth[2] ?? ''] ?? 0),
      iops: Number(iops[1]) * (iops[2] === 'k' ? 1e3 : iops[2] === 'M' ? 1e6 : 1),
    }
  }
  return rates.read === undefined && rates.write === undefined ? null : rates
}

const MIB: Record<string, number> = { B: 2 ** -20, KiB: 2 ** -10, MiB: 1, GiB: 2 ** 10, TiB: 2 ** 20 }
const PERCENTILES = { latency_p50_us: '50.000000', latency_p99_us: '99.000000', latency_p999_us: '99.900000' } as const

function direction(raw: unknown): BenchmarkIo {
  const total_ios = numberOf(at(raw, 'total_ios'))
  if (total_ios === 0) return IDLE_IO
  const kib = numberOf(at(raw, 'bw'))
  const latency = at(raw, 'lat_ns')
  // Without --lat_percentiles they stand under clat_ns, on another basis than the mean.
  const percentile = at(latency, 'percentile') ?? at(raw, 'clat_ns', 'percentile')
  const micro = (ns: number | null): number | null => (ns === null ? null : ns / 1000)
  return {
    ...UNKNOWN_IO,
    bandwidth_kbps: kib,
    bandwidth_mbps: kib === null ? null : kib / 1024,
    iops: numberOf(at(raw, 'iops')),
    latency_avg_us: micro(numberOf(at(latency, 'mean'))),
    latency_p50_us: micro(numberOf(at(percentile, PERCENTILES.latency_p50_us))),
    latency_p99_us: micro(numberOf(at(percentile, PERCENTILES.latency_p99_us))),
    latency_p999_us: micro(numberOf(at(percentile, PERCENTILES.latency_p999_us))),
    total_ios,
  }
}

function reasons(name: 'read' | 'write', io: BenchmarkIo): Figures['unavailable'] {
  if (io.total_ios === 0) return idleReasons(name)
  return LATENCIES.filter((field) => io[field] === null).map((field) => ({
    field: `${name}.${field}`,
    reason: 'the tool reported no such figure',
  }))
}
