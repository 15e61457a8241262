// Reads the storage of this node in the background and keeps the last results; requests only look at them.
import type { StorageReading } from '#src/contract/storage/host.ts'
import type { Host } from '#src/kernel/host.ts'
import { textOf } from '../untrusted-json.ts'
import { createPoller, type Poll, type Poller } from '../poller.ts'
import { type ClusterReading, readCluster } from './cluster.ts'
import { createDiskSampler, type DiskSampler } from './disk-sampler.ts'
import { type Inventory, readInventory } from './inventory.ts'
import { type PoolIo, readPoolIo } from './pool-io.ts'
import { type PoolsReading, readPools } from './pools.ts'
import { readSmart, type SmartReadings } from './smart.ts'

export interface StorageMonitorConfig {
  disks_interval_ms?: number
  smart_interval_ms?: number
  pools_interval_ms?: number
  cluster_interval_ms?: number
  /** Arguments that point the cluster-store client at another configuration than the installed one. */
  cluster_args?: readonly string[]
  onDefect?: (error: unknown) => void
}

export interface StorageMonitor {
  start(): void
  stop(): Promise<void>
  /** Reads everything once, in the order that one needs the other. */
  refresh(): Promise<void>
  snapshot(): StorageSnapshot
}

/** Everything a request answers from: last values with their age. */
export interface StorageSnapshot {
  now: number
  host_name: string | null
  inventory: Poll<Inventory>
  smart: Poll<SmartReadings>
  pools: Poll<PoolsReading>
  pool_io: Poll<PoolIo>
  cluster: Poll<ClusterReading>
  io: Pick<DiskSampler, 'metrics'>
  readings: StorageReading[]
}

const SAMPLE_STALE_MS = 15_000

export function createStorageMonitor(host: Host, config: StorageMonitorConfig = {}): StorageMonitor {
  const poller = <T>(interval_ms: number, read: Parameters<typeof createPoller<T>>[0]['read']): Poller<T> =>
    createPoller<T>({
      interval_ms,
      clock: host,
      read,
      ...(config.onDefect === undefined ? {} : { onDefect: config.onDefect }),
    })
  let host_name: string | null = null
  const readName = async (): Promise<string | null> => {
    host_name ??= textOf(await host.read('/proc/sys/kernel/hostname'))
    return host_name
  }
  const inventory = poller(config.disks_interval_ms ?? 30_000, async () => {
    await readName()
    return readInventory(host)
  })
  const smart = poller<SmartReadings>(config.smart_interval_ms ?? 600_000, async (previous) => {
    if (inventory.last().value === undefined) await inventory.refresh()
    const disks = inventory.last().value?.disks
    return disks === undefined ? { failure: 'the disks of this node are not known' } : readSmart(host, disks, previous)
  })
  const pools = poller(config.pools_interval_ms ?? 30_000, () => readPools(host))
  const pool_io = poller<PoolIo>(config.pools_interval_ms ?? 30_000, async () => {
    if (pools.last().value === undefined) await pools.refresh()
    const known = pools.last().value?.pools
    if (known === undefined) return { failure: 'the pools of this node are not known' }
    return readPoolIo(
      host,
      known.filter(({ pool }) => pool.state !== 'SUSPENDED').map(({ pool }) => pool.pool_name),
    )
  })
  const cluster = poller<ClusterReading>(config.cluster_interval_ms ?? 15_000, async (previous) =>
    readCluster(
      host,
      {
        hostname: await readName(),
        ...(config.cluster_args === undefined ? {} : { cluster_args: config.cluster_args }),
      },
      previous,
    ),
  )
  const sampler = createDiskSampler(host)
  const pollers = [inventory, smart, pools, pool_io, cluster]
  return {
    start() {
      sampler.start()
      for (const one of pollers) one.start()
    },
    async stop() {
      sampler.stop()
      await Promise.all(pollers.map((one) => one.stop()))
    },
    async refresh() {
      await Promise.all([sampler.tick(), inventory.refresh(), pools.refresh(), cluster.refresh()])
      await Promise.all([smart.refresh(), pool_io.refresh()])
    },
    snapshot: () => ({
      now: host.now(),
      host_name,
      inventory: inventory.last(),
      smart: smart.last(),
      pools: pools.last(),
      pool_io: pool_io.last(),
      cluster: cluster.last(),
      io: sampler,
      readings: [
        readingOf('disks', inventory.last()),
        readingOf('smart', smart.last()),
        sampleReading(sampler, host),
        readingOf('localpool', pools.last()),
        readingOf('localpool_io', pool_io.last()),
        readingOf('clusterstore', cluster.last()),
      ],
    }),
  }
}

function readingOf(name: StorageReading['name'], poll: Poll<unknown>): StorageReading {
  return {
    name,
    read_at: poll.read_at === null ? null : new Date(poll.read_at).toISOString(),
    age_seconds: poll.age_ms === null ? null : Math.floor(poll.age_ms / 1000),
    stale: poll.stale,
    failure: poll.failure,
  }
}

function sampleReading(sampler: DiskSampler, host: Host): StorageReading {
  const sampled = sampler.sampled_at()
  if (sampled === null) return { name: 'io', read_at: null, age_seconds: null, stale: false, failure: null }
  const age_ms = host.monotonic() - sampled.monotonic
  return {
    name: 'io',
    read_at: new Date(sampled.wall).toISOString(),
    age_seconds: Math.floor(age_ms / 1000),
    stale: age_ms > SAMPLE_STALE_MS,
    failure: null,
  }
}
