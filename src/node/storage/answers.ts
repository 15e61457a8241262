// The answers of the storage routes, made of the last results of the background reads.
import type {
  ArcStats,
  ClusterStoreStatus,
  Disk,
  LocalpoolSubsystem,
  StorageHealth,
  StorageMetrics,
} from '#src/contract/storage/host.ts'
import { userPools } from './cluster.ts'
import { diskViews, neverRead } from './disks.ts'
import { judgeStorage } from './health.ts'
import type { StorageSnapshot } from './monitor.ts'
import { unavailableFields, type UnavailableFields } from '../unavailable.ts'

export function clusterStatusAnswer(snapshot: StorageSnapshot): ClusterStoreStatus {
  const cluster = snapshot.cluster.value
  const common = { timestamp: new Date(snapshot.now).toISOString(), readings: readings(snapshot, ['clusterstore']) }
  if (cluster === undefined) {
    const reason = neverRead(snapshot.cluster, 'the cluster store')
    const fields = ['has_storage', 'osd_count', 'pool_count', 'device_classes']
    const unavailable = fields.map((field) => ({ field, reason }))
    const nothing = { has_storage: null, osd_count: null, pool_count: null, device_classes: null }
    return { ...nothing, message: `Nothing is known: ${reason}.`, ...common, unavailable }
  }
  const { status, layout } = cluster
  if (!cluster.configured || status === null || layout === null) {
    const reason = 'no cluster store is configured on this node'
    const unavailable = ['osd_count', 'pool_count', 'device_classes'].map((field) => ({ field, reason }))
    const none = { has_storage: false, osd_count: null, pool_count: null, device_classes: null }
    return { ...none, message: 'No cluster store is configured on this node.', ...common, unavailable }
  }
  const pool_count = userPools(layout.pools).length
  return {
    has_storage: status.osds_up === null ? null : pool_count > 0 && status.osds_up > 0,
    osd_count: status.osds_up,
    pool_count,
    device_classes: layout.device_classes,
    message: clusterMessage(snapshot),
    ...common,
    unavailable: status.osds_up === null ? [{ field: 'osd_count', reason: 'the cluster store does not tell' }] : [],
  }
}

export function healthAnswer(snapshot: StorageSnapshot): StorageHealth {
  const verdict = judgeStorage(snapshot)
  const unavailable = unavailableFields()
  return {
    host_name: unavailable.orNull('host_name', snapshot.host_name, 'the kernel was not asked yet'),
    overall_status: unavailable.orNull('overall_status', verdict.overall, verdict.meaning),
    overall_status_meaning: verdict.meaning,
    overall_status_reasons: verdict.reasons,
    localpool_health: unavailable.orNull('localpool_health', verdict.localpool, noPoolReason(snapshot)),
    clusterstore_health: unavailable.orNull(
      'clusterstore_health',
      verdict.clusterstore,
      neverRead(snapshot.cluster, 'the cluster store'),
    ),
    critical_alerts: verdict.critical_alerts,
    failed_disks: unavailable.orNull(
      'failed_disks',
      verdict.failed_disks,
      neverRead(snapshot.inventory, 'the list of disks'),
    ),
    timestamp: new Date(snapshot.now).toISOString(),
    readings: snapshot.readings,
    unavailable: unavailable.list,
  }
}

export function metricsAnswer(snapshot: StorageSnapshot): StorageMetrics {
  const verdict = judgeStorage(snapshot)
  const unavailable = unavailableFields()
  const reason = neverRead(snapshot.inventory, 'the list of disks')
  const disks = unavailable.orNull('disks', diskViews(snapshot)?.map((view) => view.disk) ?? null, reason)
  const used_by = (user: Disk['allocated_to']): Disk[] | null =>
    unavailable.orNull(`${user}_disks`, disks?.filter((disk) => disk.allocated_to === user) ?? null, reason)
  const space = spaceOf(snapshot)
  return {
    host_name: unavailable.orNull('host_name', snapshot.host_name, 'the kernel was not asked yet'),
    overall_health_status: unavailable.orNull('overall_health_status', verdict.overall, verdict.meaning),
    overall_health_meaning: verdict.meaning,
    critical_alerts: verdict.critical_alerts,
    total_storage_capacity_mb: unavailable.orNull('total_storage_capacity_mb', space.capacity_mb, space.reason),
    total_storage_used_mb: unavailable.orNull('total_storage_used_mb', space.used_mb, space.reason),
    disks,
    localpool_disks: used_by('localpool'),
    clusterstore_disks: used_by('clusterstore'),
    unallocated_disks: used_by('unallocated'),
    localpool_subsystem: localpool(snapshot, verdict.localpool, unavailable),
    timestamp: new Date(snapshot.now).toISOString(),
    readings: snapshot.readings,
    unavailable: unavailable.list,
  }
}

function localpool(
  snapshot: StorageSnapshot,
  health_status: LocalpoolSubsystem['health_status'],
  unavailable: UnavailableFields,
): LocalpoolSubsystem {
  const field = (name: string): string => `localpool_subsystem.${name}`
  const { value, read_at } = snapshot.pools
  const reason = noPoolReason(snapshot)
  const io = snapshot.pool_io.value
  const last_status_check_time = read_at === null ? null : new Date(read_at).toISOString()
  const pools = value?.pools.map(({ pool }) => {
    const path = field(`pools[${pool.pool_name}]`)
    const io_stats = unavailable.orNull(
      `${path}.io_stats`,
      io?.get(pool.pool_name) ?? null,
      neverRead(snapshot.pool_io, 'its throughput'),
    )
    if (pool.state === 'SUSPENDED') unavailable.none(path, 'a suspended pool is not asked: the question would hang')
    else if (pool.total_space_mb === null)
      unavailable.none(`${path}.total_space_mb`, 'its root dataset could not be read')
    return { ...pool, io_stats, last_status_check_time }
  })
  return {
    health_status: unavailable.orNull(field('health_status'), health_status, reason),
    is_healthy: unavailable.orNull(
      field('is_healthy'),
      health_status === null ? null : health_status === 'HEALTHY',
      reason,
    ),
    arc_stats:
      unavailable.orNull(
        field('arc_stats'),
        value?.arc ?? null,
        (value?.pools ?? []).length === 0 ? reason : 'the counters of the read cache cannot be read',
      ) ?? UNKNOWN_ARC,
    pools: unavailable.orNull(field('pools'), pools ?? null, reason),
  }
}

function noPoolReason({ pools }: StorageSnapshot): string {
  return pools.value === undefined ? neverRead(pools, 'the list of local pools') : 'the node has no local pool'
}

const UNKNOWN_ARC: ArcStats = {
  size_bytes: null,
  max_bytes: null,
  hits_count: null,
  misses_count: null,
  hit_ratio_percent: null,
  evictions_count: null,
  l2arc_present: null,
  l2arc_size_bytes: null,
  l2arc_hit_ratio_percent: null,
}

/** Usable space of the pools and of the storage daemons here. One unknown part makes the sum unknown. */
function spaceOf(snapshot: StorageSnapshot): { capacity_mb: number | null; used_mb: number | null; reason: string } {
  const pools = snapshot.pools.value?.pools
  const cluster = snapshot.cluster.value
  if (pools === undefined)
    return { capacity_mb: null, used_mb: null, reason: neverRead(snapshot.pools, 'the list of local pools') }
  if (cluster === undefined)
    return { capacity_mb: null, used_mb: null, reason: neverRead(snapshot.cluster, 'the cluster store') }
  const parts = [
    ...pools.map(({ pool }) => [pool.total_space_mb, pool.used_space_mb] as const),
    ...(cluster.osds ?? []).map((osd) => [osd.size_mb, osd.used_mb] as const),
  ]
  if (parts.length === 0)
    return { capacity_mb: null, used_mb: null, reason: 'the node has neither a local pool nor a storage daemon' }
  const sum = (numbers: (number | null)[]): number | null =>
    numbers.reduce<number | null>((total, one) => (total === null || one === null ? null : total + one), 0)
  return {
    capacity_mb: sum(parts.map(([size]) => size)),
    used_mb: sum(parts.map(([, used]) => used)),
    reason: 'a pool or storage daemon does not tell its size',
  }
}

function clusterMessage(snapshot: StorageSnapshot): string {
  const status = snapshot.cluster.value?.status
  const problems = status?.checks.map((check) => check.message).join('; ') ?? ''
  const now = problems === '' ? 'The cluster store is healthy.' : `The cluster store reports: ${problems}.`
  return snapshot.cluster.failure === null ? now : `Last known state: ${now} It does not answer at the moment.`
}

export function readings(snapshot: StorageSnapshot, names: readonly string[]): StorageSnapshot['readings'] {
  return snapshot.readings.filter((one) => names.includes(one.name))
}
