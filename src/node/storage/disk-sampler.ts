// Rates of each disk over the last minute, from the counters in /proc/diskstats: a sample every 5 s into a ring, requests
// only read the ring.
import type { DiskIoMetrics } from '#src/contract/storage/host.ts'
import type { Host } from '#src/kernel/host.ts'

export interface DiskSampler {
  start(): void
  stop(): void
  /** Takes one sample now. */
  tick(): Promise<void>
  /** Null while fewer than two samples of the disk exist. */
  metrics(name: string, device: string): DiskIoMetrics | null
  /** When the newest sample was taken; null before the first. */
  sampled_at(): { wall: number; monotonic: number } | null
}

export interface DiskCounters {
  reads: number
  sectors_read: number
  ms_reading: number
  writes: number
  sectors_written: number
  ms_writing: number
  ms_busy: number
  ms_weighted: number
}

interface Sample {
  at: number
  wall: number
  disks: Map<string, DiskCounters>
}

const INTERVAL_MS = 5_000
/** 13 samples span 60 s. */
const SLOTS = 13
/** The kernel counts sectors of 512 bytes whatever the disk's own size is. */
const SECTOR_BYTES = 512

export function createDiskSampler(host: Host): DiskSampler {
  const ring: Sample[] = []
  let timer: NodeJS.Timeout | undefined
  const tick = async (): Promise<void> => {
    const text = await host.read('/proc/diskstats')
    if (text === null) return
    ring.push({ at: host.monotonic(), wall: host.now(), disks: parseDiskstats(text) })
    if (ring.length > SLOTS) ring.shift()
  }
  return {
    tick,
    start() {
      void tick()
      timer ??= setInterval(() => void tick(), INTERVAL_MS).unref()
    },
    stop() {
      clearInterval(timer)
      timer = undefined
    },
    metrics: (name, device) => windowOf(ring, name, device),
    sampled_at() {
      const newest = ring.at(-1)
      return newest === undefined ? null : { wall: newest.wall, monotonic: newest.at }
    },
  }
}

export function parseDiskstats(text: string): Map<string, DiskCounters> {
  const disks = new Map<string, DiskCounters>()
  for (const line of text.split('\n')) {
    const [, , name, ...columns] = line.trim().split(/\s+/)
    const [reads, , sectors_read, ms_reading, writes, , sectors_written, ms_writing, , ms_busy, ms_weighted] =
      columns.map(Number)
    if (name === undefined || ms_weighted === undefined) continue
    disks.set(name, {
      reads: reads ?? 0,
      sectors_read: sectors_read ?? 0,
      ms_reading: ms_reading ?? 0,
      writes: writes ?? 0,
      sectors_written: sectors_written ?? 0,
      ms_writing: ms_writing ?? 0,
      ms_busy: ms_busy ?? 0,
      ms_weighted,
    })
  }
  return disks
}

/** A counter that runs backwards is another disk under the same name: the window starts after it. */
function windowOf(ring: readonly Sample[], name: string, device: string): DiskIoMetrics | null {
  const newest = ring.at(-1)
  const last = newest?.disks.get(name)
  if (newest === undefined || last === undefined) return null
  let oldest = newest
  let first = last
  for (const sample of ring.slice(0, -1).reverse()) {
    const counters = sample.disks.get(name)
    if (counters === undefined || counters.reads > first.reads || counters.writes > first.writes) break
    oldest = sample
    first = counters
  }
  return oldest === newest ? null : rates(device, first, last, newest.at - oldest.at)
}

export function rates(device: string, first: DiskCounters, last: DiskCounters, window_ms: number): DiskIoMetrics {
  const seconds = window_ms / 1000
  const reads = last.reads - first.reads
  const writes = last.writes - first.writes
  const ms_reading = last.ms_reading - first.ms_reading
  const ms_writing = last.ms_writing - first.ms_writing
  const megabytes = (sectors: number): number => (sectors * SECTOR_BYTES) / 1e6
  return {
    device,
    read_iops: rounded(reads / seconds),
    write_iops: rounded(writes / seconds),
    read_throughput_mb_s: rounded(megabytes(last.sectors_read - first.sectors_read) / seconds),
    write_throughput_mb_s: rounded(megabytes(last.sectors_written - first.sectors_written) / seconds),
    avg_read_latency_ms: reads === 0 ? null : rounded(ms_reading / reads),
    avg_write_latency_ms: writes === 0 ? null : rounded(ms_writing / writes),
    wait_time_ms: reads + writes === 0 ? null : rounded((ms_reading + ms_writing) / (reads + writes)),
    avg_queue_length: rounded((last.ms_weighted - first.ms_weighted) / window_ms),
    utilization_percent: rounded(Math.min(100, ((last.ms_busy - first.ms_busy) / window_ms) * 100)),
  }
}

function rounded(number: number): number {
  return Math.round(number * 1000) / 1000
}
