// Joins what is known of each disk: inventory, SMART, rates, the pool or storage daemon that uses it.
import type { Disk } from '#src/contract/storage/host.ts'
import type { Unavailable } from '#src/contract/common.ts'
import type { Poll } from '../poller.ts'
import type { ClusterReading } from './cluster.ts'
import type { InventoryDisk } from './inventory.ts'
import type { StorageSnapshot } from './monitor.ts'
import type { StatusVdev } from './pool-status.ts'
import { isFaulted, type PoolReading } from './pools.ts'
import { type SmartReading, smartKey } from './smart.ts'

export interface DiskView {
  disk: Disk
  /** Member of a pool, with the pool it belongs to. */
  member: { vdev: StatusVdev; pool: string } | null
  osd: { id: number; path: string; up: boolean | null } | null
}

/** Null until the disks were read. */
export function diskViews(snapshot: StorageSnapshot): DiskView[] | null {
  return snapshot.inventory.value?.disks.map((disk) => diskView(disk, snapshot)) ?? null
}

export function neverRead(poll: Poll<unknown>, what: string): string {
  return poll.failure ?? `${what} has not been read yet`
}

function diskView(disk: InventoryDisk, snapshot: StorageSnapshot): DiskView {
  const unavailable: Unavailable[] = []
  const missing = (field: string, reason: string): null => {
    unavailable.push({ field, reason })
    return null
  }
  const member = memberOf(disk, snapshot.pools.value?.pools ?? [])
  const osd = osdOf(disk, snapshot.cluster.value)
  const smart = snapshot.smart.value?.get(smartKey(disk))
  const allocated_to = allocation(disk, member, osd, snapshot)
  const is_healthy = healthOf(smart, member, osd)
  const io_metrics = snapshot.io.metrics(disk.name, disk.device)
  const view: Disk = {
    device: disk.device,
    model: disk.model ?? missing('model', 'neither the device database nor the kernel tells it'),
    serial: disk.serial ?? missing('serial', 'neither the device database nor the kernel tells it'),
    type: disk.type,
    size_mb: Math.floor(disk.size_bytes / 1_048_576),
    mount_point: disk.mount_point,
    allocated_to: allocated_to ?? missing('allocated_to', neverRead(snapshot.pools, 'the list of local pools')),
    clusterstore_osd_path: osd?.path ?? null,
    is_healthy: is_healthy ?? missing('is_healthy', 'neither SMART nor a pool nor a storage daemon tells'),
    last_health_check_time: timeOf(smart) ?? missing('last_health_check_time', whyNotRead(smart, snapshot)),
    io_metrics: io_metrics ?? missing('io_metrics', 'fewer than two samples of its counters so far'),
    smart_info: smart?.info ?? missing('smart_info', neverRead(snapshot.smart, 'SMART')),
    unavailable,
  }
  if (smart !== undefined) unavailable.push(...silentSmart(smart))
  return { disk: view, member, osd }
}

function memberOf(disk: InventoryDisk, pools: readonly PoolReading[]): DiskView['member'] {
  for (const { pool, vdevs } of pools) {
    // A member that is gone has a number for a name, and the path it had beside it.
    const vdev = vdevs.find((one) => one.leaf && disk.paths.includes(one.was ?? one.vdev.name))
    if (vdev !== undefined) return { vdev, pool: pool.pool_name }
  }
  return null
}

/** The cluster store knows its daemons best; without its answer the tags and folders of this machine tell. */
function osdOf(disk: InventoryDisk, cluster: ClusterReading | undefined): DiskView['osd'] {
  const osd_here = cluster?.osds?.find((osd) => osd.devices.includes(disk.name))
  if (osd_here !== undefined) return { id: osd_here.id, path: osd_here.path, up: osd_here.up }
  if (disk.osd === null) return null
  const known = cluster?.osds?.find((osd) => osd.id === disk.osd?.id)
  return { ...disk.osd, path: known?.path ?? disk.osd.path, up: known?.up ?? null }
}

function allocation(
  disk: InventoryDisk,
  member: DiskView['member'],
  osd: DiskView['osd'],
  snapshot: StorageSnapshot,
): Disk['allocated_to'] {
  if (member !== null || disk.holds.some((word) => word === 'zfs_member' || word.startsWith('zfs-'))) return 'localpool'
  if (osd !== null || disk.holds.includes('ceph_bluestore')) return 'clusterstore'
  // A spare shows no sign on itself: only the pools' own list can say that a disk is free.
  return snapshot.pools.value === undefined ? null : 'unallocated'
}

/** One judge is enough for a verdict; each of them can find it faulty. */
function healthOf(smart: SmartReading | undefined, member: DiskView['member'], osd: DiskView['osd']): boolean | null {
  const verdicts = [
    smart === undefined || smart.info.has_failure === null ? null : !smart.info.has_failure,
    member === null ? null : !isFaulted(member.vdev),
    osd?.up ?? null,
  ].filter((verdict) => verdict !== null)
  return verdicts.length === 0 ? null : verdicts.every(Boolean)
}

function timeOf(smart: SmartReading | undefined): string | null {
  return smart === undefined || smart.read_at === null ? null : new Date(smart.read_at).toISOString()
}

function whyNotRead(smart: SmartReading | undefined, snapshot: StorageSnapshot): string {
  return smart === undefined
    ? neverRead(snapshot.smart, 'SMART')
    : (smart.info.status_reason[0] ?? 'SMART was not read')
}

const SMART_NUMBERS = [
  'error_count',
  'pending_sectors',
  'reallocated_sectors',
  'uncorrectable_sectors',
  'power_on_hours',
  'temperature',
  'wear_level_percent',
  'dwpd',
] as const

function silentSmart(smart: SmartReading): Unavailable[] {
  const { info } = smart
  const reason = info.has_failure === null ? (info.status_reason[0] ?? 'SMART was not read') : 'the disk does not tell'
  const verdicts = (['status', 'has_failure'] as const).filter((field) => info[field] === null)
  const silent = SMART_NUMBERS.filter((field) => info[field] === null)
  return [...verdicts, ...silent].map((field) => ({ field: `smart_info.${field}`, reason }))
}
