// Where each field of the storage answers comes from. A field is named with its record: `Disk.size_mb`.
import type { FieldSource } from '../field-source.ts'

function rows(record: string, from: string, members: Record<string, string>, when?: string): FieldSource[] {
  return Object.entries(members).map(([member, path]) => ({
    field: `${record}.${member}`,
    source: path === '' ? from : `${from} → ${path}`,
    ...(when === undefined ? {} : { unavailable_when: when }),
  }))
}

const NOT_READ = 'it has not been read yet'
const NO_SMART = 'SMART cannot be read, or the disk does not tell'
const NO_POOL = 'it has not been read yet, or the node has no local pool'
const NO_CLUSTER = 'the cluster store has not answered yet, or none is configured on this node'

const DISK: FieldSource[] = [
  ...rows('Disk', 'lsblk -J -b', {
    device: 'path',
    type: 'name and rota',
    size_mb: 'size',
    mount_point: 'mountpoints',
  }),
  ...rows('Disk', 'lsblk, else /sys/block/NAME/device', { model: 'model', serial: 'serial, wwid' }, 'neither tells it'),
  {
    field: 'Disk.allocated_to',
    source:
      'members of zpool status, devices of ceph osd metadata, else marks that lsblk, lvs and the OSD folders show',
    unavailable_when: 'the pools have not been read yet',
  },
  {
    field: 'Disk.clusterstore_osd_path',
    source: 'ceph osd metadata → osd_data, else volume tags or /var/lib/ceph/osd',
    unavailable_when: 'no storage daemon owns the disk',
  },
  {
    field: 'Disk.is_healthy',
    source: 'has_failure, state in the pool, state of the storage daemon: none of those known is bad',
    unavailable_when: 'none of them is known',
  },
  { field: 'Disk.last_health_check_time', source: 'time of the SMART reading', unavailable_when: NO_SMART },
  ...rows(
    'Disk.io_metrics',
    '/proc/diskstats over a minute',
    {
      device: 'path of the disk',
      read_iops: 'column 1',
      write_iops: 'column 5',
      read_throughput_mb_s: 'column 3',
      write_throughput_mb_s: 'column 7',
      avg_read_latency_ms: 'columns 4 and 1',
      avg_write_latency_ms: 'columns 8 and 5',
      wait_time_ms: 'columns 4, 8, 1 and 5',
      avg_queue_length: 'column 11',
      utilization_percent: 'column 10',
    },
    'there are fewer than two samples; latencies: no request in that minute',
  ),
  ...rows(
    'Disk.smart_info',
    'smartctl --json=c -x -n standby,0',
    {
      device: 'path of the disk',
      model: 'model_name, scsi_model_name',
      serial: 'serial_number',
      status: 'Critical with a failure, Warning beyond a limit, else OK',
      'status_reason[]': 'what led to the status',
      has_failure: 'smart_status, last self-test, when_failed now, 197, 198, uncorrected errors, critical_warning',
      error_count: 'ata_smart_error_log, num_err_log_entries, uncorrected errors',
      pending_sectors: 'attribute 197',
      reallocated_sectors: 'attribute 5, scsi_grown_defect_list',
      uncorrectable_sectors: 'attribute 198 or 187, media_errors, uncorrected errors',
      power_on_hours: 'power_on_time, power_on_hours',
      temperature: 'temperature.current',
      wear_level_percent: 'percentage_used, device statistics page 7, 100 less the value of 231, 233, 202, 177, 173',
      dwpd: 'bytes written / size / days under power',
    },
    NO_SMART,
  ),
  { field: 'Disk.unavailable[].field', source: 'this table' },
  { field: 'Disk.unavailable[].reason', source: 'this table' },
]

const LOCALPOOL: FieldSource[] = [
  ...rows(
    'LocalpoolSubsystem',
    'states, data errors and devices of all pools',
    { health_status: '', is_healthy: 'health_status is HEALTHY' },
    NO_POOL,
  ),
  ...rows(
    'LocalpoolSubsystem.arc_stats',
    '/proc/spl/kstat/zfs/arcstats',
    {
      size_bytes: 'size',
      max_bytes: 'c_max',
      hits_count: 'hits',
      misses_count: 'misses',
      hit_ratio_percent: 'hits / (hits + misses)',
      evictions_count: 'deleted',
      l2arc_present: 'a cache device in zpool status, or l2_size',
      l2arc_size_bytes: 'l2_size',
      l2arc_hit_ratio_percent: 'l2_hits / (l2_hits + l2_misses)',
    },
    'the pools have not been read yet, or there is none; ratios: there was no access',
  ),
  ...rows('LocalpoolSubsystem.pools[]', 'zpool list -Hp', { pool_name: 'name', health: 'health' }),
  ...rows(
    'LocalpoolSubsystem.pools[]',
    'zpool list -Hp',
    { allocated_mb: 'allocated', fragmentation_percent: 'fragmentation', read_only_status: 'readonly' },
    'the pool is suspended',
  ),
  ...rows(
    'LocalpoolSubsystem.pools[]',
    'zfs list -Hp -d 0',
    { used_space_mb: 'used', available_space_mb: 'avail', total_space_mb: 'used + avail' },
    'the pool is suspended',
  ),
  ...rows('LocalpoolSubsystem.pools[]', 'zpool status -pPL', { state: 'state, or the kernel state file' }),
  ...rows(
    'LocalpoolSubsystem.pools[]',
    'zpool status -pPL',
    { has_known_data_errors: 'errors', errors_count: 'errors and counters of the devices' },
    'the pool is suspended',
  ),
  { field: 'LocalpoolSubsystem.pools[].last_status_check_time', source: 'time of the reading' },
  ...rows(
    'LocalpoolSubsystem.pools[].io_stats',
    'zpool iostat -Hpl -y 5 1',
    {
      operations_read: 'reads',
      operations_write: 'writes',
      total_read_mbs: 'bytes read',
      total_write_mbs: 'bytes written',
      read_latency_ms: 'total wait of reads',
      write_latency_ms: 'total wait of writes',
    },
    'it has not been read yet, or there was no sample',
  ),
  ...rows('LocalpoolSubsystem.pools[].vdevs[]', 'zpool status -pPL, rows below the pool', {
    name: 'NAME',
    state: 'STATE',
    read_errors: 'READ',
    write_errors: 'WRITE',
    checksum_errors: 'CKSUM',
    total_errors: 'READ + WRITE + CKSUM',
    resilver_errors: 'scan of the pool',
  }),
]

/** Members that several answers have. */
function common(record: string): FieldSource[] {
  return [
    ...['name', 'read_at', 'age_seconds', 'stale', 'failure'].map((member) => ({
      field: `${record}.readings[].${member}`,
      source: 'the background reads',
    })),
    { field: `${record}.unavailable[].field`, source: 'this table' },
    { field: `${record}.unavailable[].reason`, source: 'this table' },
  ]
}

const HOST_NAME = { source: '/proc/sys/kernel/hostname', unavailable_when: NOT_READ }

export const sources: FieldSource[] = [
  ...DISK,
  ...LOCALPOOL,
  ...rows('ClusterStoreStatus', 'ceph status', { osd_count: 'osdmap.num_up_osds' }, NO_CLUSTER),
  ...rows(
    'ClusterStoreStatus',
    'ceph osd pool ls, ceph osd crush class ls',
    {
      pool_count: 'pools without its own',
      'device_classes[]': 'classes',
      has_storage: 'pool_count > 0, osd_count > 0',
    },
    NO_CLUSTER,
  ),
  { field: 'ClusterStoreStatus.message', source: 'health checks of ceph status' },
  { field: 'ClusterStoreStatus.timestamp', source: 'time of the answer' },
  ...common('ClusterStoreStatus'),
  { field: 'StorageHealth.host_name', ...HOST_NAME },
  {
    field: 'StorageHealth.overall_status',
    source: 'worst finding about pools, disks, cluster store and age of the readings',
    unavailable_when: 'nothing bad is known, and a source was never read or no disk tells its health',
  },
  { field: 'StorageHealth.overall_status_meaning', source: 'one sentence for each status' },
  { field: 'StorageHealth.overall_status_reasons[]', source: 'all findings' },
  { field: 'StorageHealth.localpool_health', source: 'LocalpoolSubsystem.health_status', unavailable_when: NO_POOL },
  { field: 'StorageHealth.clusterstore_health', source: 'ceph status → health', unavailable_when: NO_CLUSTER },
  { field: 'StorageHealth.critical_alerts[]', source: 'findings that are DEGRADED or CRITICAL' },
  {
    field: 'StorageHealth.failed_disks[]',
    source: 'disks with has_failure, a faulted pool member or a storage daemon that is down; members that are gone',
    unavailable_when: 'the disks have not been read yet',
  },
  { field: 'StorageHealth.timestamp', source: 'time of the answer' },
  ...common('StorageHealth'),
  { field: 'StorageMetrics.host_name', ...HOST_NAME },
  {
    field: 'StorageMetrics.overall_health_status',
    source: 'StorageHealth.overall_status',
    unavailable_when: 'nothing bad is known, and a source was never read or no disk tells its health',
  },
  { field: 'StorageMetrics.overall_health_meaning', source: 'one sentence for each status' },
  { field: 'StorageMetrics.critical_alerts[]', source: 'StorageHealth.critical_alerts' },
  ...rows(
    'StorageMetrics',
    'pools (zfs list) and storage daemons of this host (ceph osd df)',
    { total_storage_capacity_mb: 'sum of usable space', total_storage_used_mb: 'sum of used space' },
    'a part of it is not known, or there is neither a pool nor a daemon',
  ),
  ...['disks', 'localpool_disks', 'clusterstore_disks', 'unallocated_disks'].map((list) => ({
    field: `StorageMetrics.${list}[]`,
    source: list === 'disks' ? 'Disk' : 'Disk, by allocated_to',
    unavailable_when: 'the disks have not been read yet',
  })),
  { field: 'StorageMetrics.localpool_subsystem', source: 'LocalpoolSubsystem' },
  { field: 'StorageMetrics.timestamp', source: 'time of the answer' },
  ...common('StorageMetrics'),
  { field: 'DiskList.disks[]', source: 'Disk', unavailable_when: 'the disks have not been read yet' },
  { field: 'DiskList.count', source: 'number of disks', unavailable_when: 'the disks have not been read yet' },
  { field: 'DiskList.page', source: 'the request' },
  { field: 'DiskList.page_size', source: 'the request' },
  ...common('DiskList'),
]
