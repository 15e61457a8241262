// Storage of one node: its disks, its local pools, its part of the cluster store, and what to worry about (Part 3, 4.10).
import { type Static, Type } from 'typebox'
import {
  Closed,
  Nullable,
  NullableFlag,
  NullableInteger,
  NullableNumber,
  NullableText,
  OneOf,
  Time,
  Unavailable,
} from '../common.ts'
import { defineArea } from '../route.ts'

export const HostHealth = OneOf(['HEALTHY', 'NEEDS_ATTENTION', 'DEGRADED', 'CRITICAL'], {
  description: 'Health of the storage of a host.',
})
export type HostHealth = Static<typeof HostHealth>

const DiskIoMetrics = Type.Object(
  {
    device: Type.String({ description: 'Path of the device.' }),
    read_iops: Type.Number({ description: 'Reads a second over the last minute.' }),
    write_iops: Type.Number({ description: 'Writes a second over the last minute.' }),
    read_throughput_mb_s: Type.Number({ description: 'Megabytes (10^6) read a second.' }),
    write_throughput_mb_s: Type.Number({ description: 'Megabytes (10^6) written a second.' }),
    avg_read_latency_ms: NullableNumber('Mean milliseconds of a read; null when nothing was read in that minute.'),
    avg_write_latency_ms: NullableNumber('Mean milliseconds of a write; null when nothing was written in that minute.'),
    wait_time_ms: NullableNumber('Mean milliseconds of a read or write; null when there was none.'),
    avg_queue_length: Type.Number({ description: 'Mean number of requests waiting or under way.' }),
    utilization_percent: Type.Number({ description: 'Share of the time with a request under way, 0 to 100.' }),
  },
  { title: 'DiskIoMetrics' },
)
export type DiskIoMetrics = Static<typeof DiskIoMetrics>

const DiskSmartInfo = Type.Object(
  {
    device: Type.String({ description: 'Path of the device.' }),
    model: NullableText('Model.'),
    serial: NullableText('Serial number.'),
    status: Nullable(
      OneOf(['OK', 'Warning', 'Critical'], { description: 'Verdict; null when nothing is known of it.' }),
    ),
    status_reason: Type.Array(Type.String(), { description: 'What led to the verdict, or why there is none.' }),
    has_failure: NullableFlag(
      'Genuine failure: failed self-test, attribute failing now, pending or uncorrectable sectors, NVMe critical warning. Not wear.',
    ),
    error_count: NullableInteger('Entries in the error log of the device.'),
    pending_sectors: NullableInteger('Sectors waiting to be remapped.'),
    reallocated_sectors: NullableInteger('Sectors remapped, or grown defects.'),
    uncorrectable_sectors: NullableInteger('Sectors (NVMe: media errors) that could not be corrected.'),
    power_on_hours: NullableInteger('Hours under power.'),
    temperature: NullableInteger('Degrees Celsius.'),
    wear_level_percent: NullableNumber(
      'Endurance used up, 0 to 100 (more is possible); null for disks that do not wear.',
    ),
    dwpd: NullableNumber('Drive writes per day over its life; null under 24 hours of power.'),
  },
  { title: 'DiskSmartInfo' },
)
export type DiskSmartInfo = Static<typeof DiskSmartInfo>

export const Disk = Type.Object(
  {
    device: Type.String({ description: 'Path of the device; names change between boots, serial numbers do not.' }),
    model: NullableText('Model.'),
    serial: NullableText('Serial number.'),
    type: OneOf(['ssd', 'nvme', 'hdd'], { description: 'Kind of disk.' }),
    size_mb: Type.Integer({ description: 'Size in MiB.' }),
    mount_point: NullableText('First mount point of the disk or of a part of it; null when nothing is mounted.'),
    allocated_to: Nullable(OneOf(['localpool', 'clusterstore', 'unallocated'], { description: 'What uses it.' })),
    clusterstore_osd_path: NullableText('Folder of the storage daemon that owns it; null when none does.'),
    is_healthy: NullableFlag(
      'No failure known to the disk, its pool or its storage daemon; null when none of them can tell.',
    ),
    last_health_check_time: Nullable(Type.String({ format: 'date-time', description: 'When SMART was last read.' })),
    io_metrics: Nullable(DiskIoMetrics),
    smart_info: Nullable(DiskSmartInfo),
    unavailable: Type.Array(Unavailable, { description: 'Why fields of this disk are null.', 'x-extension': true }),
  },
  { title: 'Disk' },
)
export type Disk = Static<typeof Disk>

const ArcStats = Type.Object(
  {
    size_bytes: NullableInteger('Size of the read cache in memory; 0 without a local pool.'),
    max_bytes: NullableInteger('Size it may grow to.'),
    hits_count: NullableInteger('Hits since boot.'),
    misses_count: NullableInteger('Misses since boot.'),
    hit_ratio_percent: NullableNumber('Hits of all, 0 to 100; null when there was no access.'),
    evictions_count: NullableInteger('Entries dropped since boot.'),
    l2arc_present: NullableFlag('Whether a cache device is used.'),
    l2arc_size_bytes: NullableInteger('Size of what is on the cache devices.'),
    l2arc_hit_ratio_percent: NullableNumber('Hits of all on the cache devices; null when there was no access.'),
  },
  { title: 'LocalpoolArcStats' },
)
export type ArcStats = Static<typeof ArcStats>

const Vdev = Type.Object(
  {
    name: Type.String({ description: 'Path of the device, name of the group, or number of a device that is gone.' }),
    state: Type.String({ description: 'ONLINE, DEGRADED, FAULTED, OFFLINE, REMOVED, UNAVAIL; spares AVAIL or INUSE.' }),
    read_errors: NullableInteger('Read errors since the pool was imported or cleared.'),
    write_errors: NullableInteger('Write errors.'),
    checksum_errors: NullableInteger('Checksum errors.'),
    resilver_errors: NullableInteger('Errors of the resilver that the pool reports; the pool tells them as a whole.'),
    total_errors: NullableInteger('Read, write and checksum errors.'),
  },
  { title: 'LocalpoolVdev' },
)

const PoolIo = Type.Object(
  {
    operations_read: Type.Integer({ description: 'Reads a second over some seconds.' }),
    operations_write: Type.Integer({ description: 'Writes a second.' }),
    total_read_mbs: Type.Integer({ description: 'Megabytes (10^6) read a second.' }),
    total_write_mbs: Type.Integer({ description: 'Megabytes (10^6) written a second.' }),
    read_latency_ms: NullableNumber('Mean milliseconds of a read; null when there was none.'),
    write_latency_ms: NullableNumber('Mean milliseconds of a write; null when there was none.'),
  },
  { title: 'LocalpoolIo' },
)

export const Pool = Type.Object(
  {
    pool_name: Type.String({ description: 'Name.' }),
    state: Type.String({ description: 'State as the pool tells it; SUSPENDED pools are not asked for more.' }),
    health: OneOf(['ONLINE', 'DEGRADED', 'FAULTED', 'OFFLINE', 'REMOVED', 'UNAVAIL'], { description: 'Health.' }),
    last_status_check_time: Nullable(Type.String({ format: 'date-time', description: 'When it was last read.' })),
    total_space_mb: NullableInteger('Usable space, redundancy taken off, in MiB.'),
    used_space_mb: NullableInteger('Used of the usable space, in MiB.'),
    available_space_mb: NullableInteger('Free of the usable space, in MiB.'),
    allocated_mb: NullableInteger('Space taken on the devices, redundancy included, in MiB.'),
    fragmentation_percent: NullableNumber('Fragmentation of the free space.'),
    read_only_status: NullableFlag('Whether it is imported read-only.'),
    has_known_data_errors: NullableFlag('Whether data is known to be damaged.'),
    errors_count: NullableInteger('Damaged objects and all errors of its devices.'),
    io_stats: Nullable(PoolIo),
    vdevs: Type.Array(Vdev, { description: 'Devices and groups below the pool.' }),
  },
  { title: 'LocalpoolPool' },
)
export type Pool = Static<typeof Pool>

const LocalpoolHealth = OneOf(['HEALTHY', 'DEGRADED', 'CRITICAL'], { description: 'A node without pools is HEALTHY.' })

export const LocalpoolSubsystem = Type.Object(
  {
    health_status: Nullable(LocalpoolHealth),
    is_healthy: NullableFlag('Whether health_status is HEALTHY.'),
    arc_stats: ArcStats,
    pools: Nullable(Type.Array(Pool)),
  },
  { title: 'LocalpoolSubsystem' },
)
export type LocalpoolSubsystem = Static<typeof LocalpoolSubsystem>

/** The answers tell what was last read in the background, and how old that is. */
export const StorageReading = Type.Object(
  {
    name: OneOf(['disks', 'smart', 'io', 'localpool', 'localpool_io', 'clusterstore'], {
      description: 'What was read.',
    }),
    read_at: Nullable(Type.String({ format: 'date-time', description: 'When it was last read well; null: never.' })),
    age_seconds: NullableInteger('Seconds since then.'),
    stale: Type.Boolean({ description: 'Older than it should be, or the last attempt failed.' }),
    failure: NullableText('Why the last attempt failed.'),
  },
  { title: 'StorageReading' },
)
export type StorageReading = Static<typeof StorageReading>

const common = {
  readings: Type.Array(StorageReading, { description: 'When each source was last read.', 'x-extension': true }),
  unavailable: Type.Array(Unavailable, { description: 'Why fields are null.', 'x-extension': true }),
}
const host_name = NullableText('Name of the node.')

export const DiskList = Type.Object(
  {
    disks: Nullable(Type.Array(Disk)),
    count: NullableInteger('Disks, over all pages.'),
    page: Type.Integer({ minimum: 1 }),
    page_size: Type.Integer({ minimum: 1 }),
    ...common,
  },
  { title: 'DiskList' },
)

export const ClusterStoreStatus = Type.Object(
  {
    has_storage: NullableFlag('At least one pool exists and a storage daemon (OSD) is up.'),
    osd_count: NullableInteger('Storage daemons that are up now, in the whole cluster store.'),
    pool_count: NullableInteger('Pools, without the ones the cluster store keeps for itself.'),
    device_classes: Nullable(Type.Array(Type.String(), { description: 'Classes of devices: hdd, ssd, nvme.' })),
    message: Type.String({ description: 'One sentence about now.' }),
    timestamp: Time,
    ...common,
  },
  { title: 'ClusterStoreStatus' },
)
export type ClusterStoreStatus = Static<typeof ClusterStoreStatus>

const critical_alerts = Type.Array(Type.String(), { description: 'What makes it DEGRADED or CRITICAL, worst first.' })

export const StorageHealth = Type.Object(
  {
    host_name,
    overall_status: Nullable(HostHealth),
    overall_status_meaning: Type.String({ description: 'What that status means.' }),
    overall_status_reasons: Type.Array(Type.String(), {
      description: 'Everything that led to it.',
      'x-extension': true,
    }),
    localpool_health: NullableText('HEALTHY, DEGRADED or CRITICAL; null on a node without pools.'),
    clusterstore_health: NullableText('HEALTHY, NEEDS_ATTENTION, DEGRADED, CRITICAL, or NOT_CONFIGURED on this node.'),
    critical_alerts,
    failed_disks: Nullable(
      Type.Array(Type.String(), { description: 'Devices with a failure of their own or in use.' }),
    ),
    timestamp: Time,
    ...common,
  },
  { title: 'StorageHealth' },
)
export type StorageHealth = Static<typeof StorageHealth>

const Disks = Nullable(Type.Array(Disk))

export const StorageMetrics = Type.Object(
  {
    host_name,
    overall_health_status: Nullable(HostHealth),
    overall_health_meaning: Type.String({ description: 'What that status means.' }),
    critical_alerts,
    total_storage_capacity_mb: NullableInteger(
      'Usable space of the local pools and of the storage daemons here, in MiB.',
    ),
    total_storage_used_mb: NullableInteger('Used of that, in MiB.'),
    disks: Disks,
    localpool_disks: Disks,
    clusterstore_disks: Disks,
    unallocated_disks: Disks,
    localpool_subsystem: LocalpoolSubsystem,
    timestamp: Time,
    ...common,
  },
  { title: 'StorageMetrics' },
)
export type StorageMetrics = Static<typeof StorageMetrics>

const read = { method: 'GET', access: 'viewer', tenant: 'none', runs_on: 'node', errors: [500] } as const
/** The documents show no paging here. */
const Paging = Closed({
  page: Type.Optional(
    Type.Integer({ minimum: 1, default: 1, description: 'Page number, from 1.', 'x-extension': true }),
  ),
  page_size: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 500,
      default: 50,
      description: 'Disks a page, 500 at most.',
      'x-extension': true,
    }),
  ),
})
const DESCRIPTION =
  'Answers what was last read in the background; readings says when. Nothing is read in the request, so a hanging disk or cluster store does not delay it.'

export const hostStorage = defineArea({
  name: 'host-storage',
  description: 'Disks, local pools and cluster store of one node',
  routes: {
    hostDiskList: {
      ...read,
      path: '/storage/host/disks',
      summary: 'List physical disks of host',
      description: DESCRIPTION,
      query: Paging,
      ok: { 200: DiskList },
      example: { query: { page_size: 50 } },
    },
    clusterstoreDiskList: {
      ...read,
      path: '/storage/host/clusterstore/disks',
      summary: 'List disks of cluster store on host',
      description: DESCRIPTION,
      query: Paging,
      ok: { 200: DiskList },
      example: { query: { page_size: 50 } },
    },
    clusterstoreStatus: {
      ...read,
      path: '/storage/host/cluster-status',
      summary: 'Read cluster-store status',
      description: DESCRIPTION,
      ok: { 200: ClusterStoreStatus },
      example: {},
    },
    hostStorageHealth: {
      ...read,
      path: '/storage/host/health',
      summary: 'Read storage health of host',
      description: DESCRIPTION,
      ok: { 200: StorageHealth },
      example: {},
    },
    hostStorageMetrics: {
      ...read,
      path: '/storage/host/metrics',
      summary: 'Read storage metrics of host',
      description: DESCRIPTION,
      ok: { 200: StorageMetrics },
      example: {},
    },
  },
})
