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
  PageFields,
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
    device: Type.String({
      description: 'Path of the device. Source: /proc/diskstats over a minute → path of the disk.',
    }),
    read_iops: Type.Number({
      description: 'Reads a second over the last minute. Source: /proc/diskstats over a minute → column 1.',
    }),
    write_iops: Type.Number({
      description: 'Writes a second over the last minute. Source: /proc/diskstats over a minute → column 5.',
    }),
    read_throughput_mb_s: Type.Number({
      description: 'Megabytes (10^6) read a second. Source: /proc/diskstats over a minute → column 3.',
    }),
    write_throughput_mb_s: Type.Number({
      description: 'Megabytes (10^6) written a second. Source: /proc/diskstats over a minute → column 7.',
    }),
    avg_read_latency_ms: NullableNumber(
      'Mean milliseconds of a read; null when nothing was read in that minute. Source: /proc/diskstats over a minute → columns 4 and 1.',
    ),
    avg_write_latency_ms: NullableNumber(
      'Mean milliseconds of a write; null when nothing was written in that minute. Source: /proc/diskstats over a minute → columns 8 and 5.',
    ),
    wait_time_ms: NullableNumber(
      'Mean milliseconds of a read or write; null when there was none. Source: /proc/diskstats over a minute → columns 4, 8, 1 and 5.',
    ),
    avg_queue_length: Type.Number({
      description: 'Mean number of requests waiting or under way. Source: /proc/diskstats over a minute → column 11.',
    }),
    utilization_percent: Type.Number({
      description:
        'Share of the time with a request under way, 0 to 100. Source: /proc/diskstats over a minute → column 10.',
    }),
  },
  { title: 'DiskIoMetrics' },
)
export type DiskIoMetrics = Static<typeof DiskIoMetrics>

const DiskSmartInfo = Type.Object(
  {
    device: Type.String({
      description: 'Path of the device. Source: smartctl --json=c -x -n standby,0 → path of the disk.',
    }),
    model: NullableText('Model. Source: lsblk, else /sys/block/NAME/device → model.'),
    serial: NullableText('Serial number. Source: lsblk, else /sys/block/NAME/device → serial, wwid.'),
    status: Nullable(
      OneOf(['OK', 'Warning', 'Critical'], {
        description:
          'Verdict; null when it is unknown. Source: smartctl --json=c -x -n standby,0 → Critical with a failure, Warning beyond a limit, else OK.',
      }),
    ),
    status_reason: Type.Array(Type.String(), {
      description:
        'What led to the verdict, or why there is none. Source: smartctl --json=c -x -n standby,0 → what led to the status.',
    }),
    has_failure: NullableFlag(
      'Genuine failure: failed self-test, attribute failing now, pending or uncorrectable sectors, NVMe critical warning. Not wear. Source: smartctl --json=c -x -n standby,0 → smart_status, last self-test, when_failed now, 197, 198, uncorrected errors, critical_warning.',
    ),
    error_count: NullableInteger(
      'Entries in the error log of the device. Source: smartctl --json=c -x -n standby,0 → ata_smart_error_log, num_err_log_entries, uncorrected errors.',
    ),
    pending_sectors: NullableInteger(
      'Sectors waiting to be remapped. Source: smartctl --json=c -x -n standby,0 → attribute 197.',
    ),
    reallocated_sectors: NullableInteger(
      'Sectors remapped, or grown defects. Source: smartctl --json=c -x -n standby,0 → attribute 5, scsi_grown_defect_list.',
    ),
    uncorrectable_sectors: NullableInteger(
      'Sectors (NVMe: media errors) that could not be corrected. Source: smartctl --json=c -x -n standby,0 → attribute 198 or 187, media_errors, uncorrected errors.',
    ),
    power_on_hours: NullableInteger(
      'Hours under power. Source: smartctl --json=c -x -n standby,0 → power_on_time, power_on_hours.',
    ),
    temperature: NullableInteger('Degrees Celsius. Source: smartctl --json=c -x -n standby,0 → temperature.current.'),
    wear_level_percent: NullableNumber(
      'Endurance used up, 0 to 100 (more is possible); null for disks that do not wear. Source: smartctl --json=c -x -n standby,0 → percentage_used, device statistics page 7, 100 less the value of 231, 233, 202, 177, 173.',
    ),
    dwpd: NullableNumber(
      'Drive writes per day over its life; null under 24 hours of power. Source: smartctl --json=c -x -n standby,0 → bytes written / size / days under power.',
    ),
  },
  { title: 'DiskSmartInfo' },
)
export type DiskSmartInfo = Static<typeof DiskSmartInfo>

export const Disk = Type.Object(
  {
    device: Type.String({
      description: 'Path of the device; names change between boots, serial numbers do not. Source: lsblk -J -b → path.',
    }),
    model: NullableText('Model. Source: smartctl --json=c -x -n standby,0 → model_name, scsi_model_name.'),
    serial: NullableText('Serial number. Source: smartctl --json=c -x -n standby,0 → serial_number.'),
    type: OneOf(['ssd', 'nvme', 'hdd'], { description: 'Kind of disk. Source: lsblk -J -b → name and rota.' }),
    size_mb: Type.Integer({ description: 'Size in MiB. Source: lsblk -J -b → size.' }),
    mount_point: NullableText(
      'First mount point of the disk or of a part of it; null when nothing is mounted. Source: lsblk -J -b → mountpoints.',
    ),
    allocated_to: Nullable(
      OneOf(['localpool', 'clusterstore', 'unallocated'], {
        description:
          'What uses it. Source: members of zpool status, devices of ceph osd metadata, else marks that lsblk, lvs and the OSD folders show.',
      }),
    ),
    clusterstore_osd_path: NullableText(
      'Folder of the storage daemon that owns it; null when none does. Source: ceph osd metadata → osd_data, else volume tags or /var/lib/ceph/osd.',
    ),
    is_healthy: NullableFlag(
      'No failure known to the disk, its pool or its storage daemon; null when none of them can tell. Source: has_failure, state in the pool, state of the storage daemon: none of those known is bad.',
    ),
    last_health_check_time: Nullable(
      Type.String({ format: 'date-time', description: 'When SMART was last read. Source: time of the SMART reading.' }),
    ),
    io_metrics: Nullable(DiskIoMetrics),
    smart_info: Nullable(DiskSmartInfo),
    unavailable: Type.Array(Unavailable, { description: 'Why fields of this disk are null.', 'x-extension': true }),
  },
  { title: 'Disk' },
)
export type Disk = Static<typeof Disk>

const ArcStats = Type.Object(
  {
    size_bytes: NullableInteger(
      'Size of the read cache in memory; 0 without a local pool. Source: /proc/spl/kstat/zfs/arcstats → size.',
    ),
    max_bytes: NullableInteger('Size it may grow to. Source: /proc/spl/kstat/zfs/arcstats → c_max.'),
    hits_count: NullableInteger('Hits since boot. Source: /proc/spl/kstat/zfs/arcstats → hits.'),
    misses_count: NullableInteger('Misses since boot. Source: /proc/spl/kstat/zfs/arcstats → misses.'),
    hit_ratio_percent: NullableNumber(
      'Hits of all, 0 to 100; null when there was no access. Source: /proc/spl/kstat/zfs/arcstats → hits / (hits + misses).',
    ),
    evictions_count: NullableInteger('Entries dropped since boot. Source: /proc/spl/kstat/zfs/arcstats → deleted.'),
    l2arc_present: NullableFlag(
      'Whether a cache device is used. Source: /proc/spl/kstat/zfs/arcstats → a cache device in zpool status, or l2_size.',
    ),
    l2arc_size_bytes: NullableInteger(
      'Size of what is on the cache devices. Source: /proc/spl/kstat/zfs/arcstats → l2_size.',
    ),
    l2arc_hit_ratio_percent: NullableNumber(
      'Hits of all on the cache devices; null when there was no access. Source: /proc/spl/kstat/zfs/arcstats → l2_hits / (l2_hits + l2_misses).',
    ),
  },
  { title: 'LocalpoolArcStats' },
)
export type ArcStats = Static<typeof ArcStats>

const Vdev = Type.Object(
  {
    name: Type.String({
      description:
        'Path of the device, name of the group, or number of a device that is gone. Source: zpool status -pPL, rows below the pool → NAME.',
    }),
    state: Type.String({
      description:
        'ONLINE, DEGRADED, FAULTED, OFFLINE, REMOVED, UNAVAIL; spares AVAIL or INUSE. Source: zpool status -pPL, rows below the pool → STATE.',
    }),
    read_errors: NullableInteger(
      'Read errors since the pool was imported or cleared. Source: zpool status -pPL, rows below the pool → READ.',
    ),
    write_errors: NullableInteger('Write errors. Source: zpool status -pPL, rows below the pool → WRITE.'),
    checksum_errors: NullableInteger('Checksum errors. Source: zpool status -pPL, rows below the pool → CKSUM.'),
    resilver_errors: NullableInteger(
      'Errors of the resilver that the pool reports; the pool tells them as a whole. Source: zpool status -pPL, rows below the pool → scan of the pool.',
    ),
    total_errors: NullableInteger(
      'Read, write and checksum errors. Source: zpool status -pPL, rows below the pool → READ + WRITE + CKSUM.',
    ),
  },
  { title: 'LocalpoolVdev' },
)

const PoolIo = Type.Object(
  {
    operations_read: Type.Integer({
      description: 'Reads a second over some seconds. Source: zpool iostat -Hpl -y 5 1 → reads.',
    }),
    operations_write: Type.Integer({ description: 'Writes a second. Source: zpool iostat -Hpl -y 5 1 → writes.' }),
    total_read_mbs: Type.Integer({
      description: 'Megabytes (10^6) read a second. Source: zpool iostat -Hpl -y 5 1 → bytes read.',
    }),
    total_write_mbs: Type.Integer({
      description: 'Megabytes (10^6) written a second. Source: zpool iostat -Hpl -y 5 1 → bytes written.',
    }),
    read_latency_ms: NullableNumber(
      'Mean milliseconds of a read; null when there was none. Source: zpool iostat -Hpl -y 5 1 → total wait of reads.',
    ),
    write_latency_ms: NullableNumber(
      'Mean milliseconds of a write; null when there was none. Source: zpool iostat -Hpl -y 5 1 → total wait of writes.',
    ),
  },
  { title: 'LocalpoolIo' },
)

export const Pool = Type.Object(
  {
    pool_name: Type.String({ description: 'Name. Source: zpool list -Hp → name.' }),
    state: Type.String({
      description:
        'State as the pool tells it; SUSPENDED pools are not asked for more. Source: zpool status -pPL → state, or the kernel state file.',
    }),
    health: OneOf(['ONLINE', 'DEGRADED', 'FAULTED', 'OFFLINE', 'REMOVED', 'UNAVAIL'], {
      description: 'Health. Source: zpool list -Hp → health.',
    }),
    last_status_check_time: Nullable(
      Type.String({ format: 'date-time', description: 'When it was last read. Source: time of the reading.' }),
    ),
    total_space_mb: NullableInteger(
      'Usable space, redundancy taken off, in MiB. Source: zfs list -Hp -d 0 → used + avail.',
    ),
    used_space_mb: NullableInteger('Used of the usable space, in MiB. Source: zfs list -Hp -d 0 → used.'),
    available_space_mb: NullableInteger('Free of the usable space, in MiB. Source: zfs list -Hp -d 0 → avail.'),
    allocated_mb: NullableInteger(
      'Space taken on the devices, redundancy included, in MiB. Source: zpool list -Hp → allocated.',
    ),
    fragmentation_percent: NullableNumber('Fragmentation of the free space. Source: zpool list -Hp → fragmentation.'),
    read_only_status: NullableFlag('Whether it is imported read-only. Source: zpool list -Hp → readonly.'),
    has_known_data_errors: NullableFlag('Whether data is known to be damaged. Source: zpool status -pPL → errors.'),
    errors_count: NullableInteger(
      'Damaged objects and all errors of its devices. Source: zpool status -pPL → errors and counters of the devices.',
    ),
    io_stats: Nullable(PoolIo),
    vdevs: Type.Array(Vdev, { description: 'Devices and groups below the pool.' }),
  },
  { title: 'LocalpoolPool' },
)
export type Pool = Static<typeof Pool>

const LocalpoolHealth = OneOf(['HEALTHY', 'DEGRADED', 'CRITICAL'], {
  description: 'A node without pools is HEALTHY. Source: states, data errors and devices of all pools.',
})

export const LocalpoolSubsystem = Type.Object(
  {
    health_status: Nullable(LocalpoolHealth),
    is_healthy: NullableFlag(
      'Whether health_status is HEALTHY. Source: states, data errors and devices of all pools → health_status is HEALTHY.',
    ),
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
      description: 'What was read. Source: the background reads.',
    }),
    read_at: Nullable(
      Type.String({
        format: 'date-time',
        description: 'When it was last read well; null: never. Source: the background reads.',
      }),
    ),
    age_seconds: NullableInteger('Seconds since then. Source: the background reads.'),
    stale: Type.Boolean({
      description: 'Older than it should be, or the last attempt failed. Source: the background reads.',
    }),
    failure: NullableText('Why the last attempt failed. Source: the background reads.'),
  },
  { title: 'StorageReading' },
)
export type StorageReading = Static<typeof StorageReading>

const common = {
  readings: Type.Array(StorageReading, { description: 'When each source was last read.', 'x-extension': true }),
  unavailable: Type.Array(Unavailable, { description: 'Why fields are null.', 'x-extension': true }),
}
const host_name = NullableText('Name of the node. Source: /proc/sys/kernel/hostname.')

export const DiskList = Type.Object(
  {
    disks: Nullable(Type.Array(Disk)),
    count: NullableInteger('Disks, over all pages. Source: number of disks.'),
    page: Type.Integer({ minimum: 1 }),
    page_size: Type.Integer({ minimum: 1 }),
    ...common,
  },
  { title: 'DiskList' },
)

export const ClusterStoreStatus = Type.Object(
  {
    has_storage: NullableFlag(
      'At least one pool exists and a storage daemon (OSD) is up. Source: ceph osd pool ls, ceph osd crush class ls → pool_count > 0, osd_count > 0.',
    ),
    osd_count: NullableInteger(
      'Storage daemons that are up now, in the whole cluster store. Source: ceph status → osdmap.num_up_osds.',
    ),
    pool_count: NullableInteger(
      'Pools, without the ones the cluster store keeps for itself. Source: ceph osd pool ls, ceph osd crush class ls → pools without its own.',
    ),
    device_classes: Nullable(
      Type.Array(Type.String(), {
        description: 'Classes of devices: hdd, ssd, nvme. Source: ceph osd pool ls, ceph osd crush class ls → classes.',
      }),
    ),
    message: Type.String({ description: 'One sentence about now. Source: health checks of ceph status.' }),
    timestamp: Time,
    ...common,
  },
  { title: 'ClusterStoreStatus' },
)
export type ClusterStoreStatus = Static<typeof ClusterStoreStatus>

const critical_alerts = Type.Array(Type.String(), {
  description: 'What makes it DEGRADED or CRITICAL, worst first. Source: findings that are DEGRADED or CRITICAL.',
})

export const StorageHealth = Type.Object(
  {
    host_name,
    overall_status: Nullable(HostHealth),
    overall_status_meaning: Type.String({
      description: 'What that status means. Source: one sentence for each status.',
    }),
    overall_status_reasons: Type.Array(Type.String(), {
      description: 'Everything that led to it. Source: all findings.',
      'x-extension': true,
    }),
    localpool_health: NullableText(
      'HEALTHY, DEGRADED or CRITICAL; null on a node without pools. Source: LocalpoolSubsystem.health_status.',
    ),
    clusterstore_health: NullableText(
      'HEALTHY, NEEDS_ATTENTION, DEGRADED, CRITICAL, or NOT_CONFIGURED on this node. Source: ceph status → health.',
    ),
    critical_alerts,
    failed_disks: Nullable(
      Type.Array(Type.String(), {
        description:
          'Devices with a failure of their own or in use. Source: disks with has_failure, a faulted pool member or a storage daemon that is down; members that are gone.',
      }),
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
    overall_health_meaning: Type.String({
      description: 'What that status means. Source: one sentence for each status.',
    }),
    critical_alerts,
    total_storage_capacity_mb: NullableInteger(
      'Usable space of the local pools and of the storage daemons here, in MiB. Source: pools (zfs list) and storage daemons of this host (ceph osd df) → sum of usable space.',
    ),
    total_storage_used_mb: NullableInteger(
      'Used of that, in MiB. Source: pools (zfs list) and storage daemons of this host (ceph osd df) → sum of used space.',
    ),
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
  page: Type.Optional(Type.Integer({ ...PageFields.page, 'x-extension': true })),
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
