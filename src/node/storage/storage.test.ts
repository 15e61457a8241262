// The storage answers of a node, from recorded outputs of lsblk, zpool, smartctl, ceph and /proc/diskstats.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { ClusterStoreStatus, DiskList, StorageHealth, StorageMetrics } from '#src/contract/storage/host.ts'
import { linuxFixture } from '../../../test/support/linux-fixture.ts'
import { fixture, poolList, recordedStorage, type RecordedStorage } from '../../../test/support/recorded-storage.ts'
import { readCluster } from './cluster.ts'
import { createDiskSampler, parseDiskstats, rates } from './disk-sampler.ts'
import { storageHandlers } from './index.ts'
import { createStorageMonitor } from './monitor.ts'

const INPUT = { params: undefined, query: undefined, body: undefined }
const ALL = { params: undefined, query: {}, body: undefined }
const CEPH = 'ceph --connect-timeout 5'
const LVM = { lsblk: fixture('lsblk', 'lsblk-lvm.json') }
const NO_POOLS = { 'zpool list': { stdout: '' } }

async function node(recorded: RecordedStorage = {}) {
  const host = recordedStorage(recorded)
  const monitor = createStorageMonitor(host)
  const handlers = storageHandlers({ monitor })
  return {
    host,
    monitor,
    disks: async () => Compile(DiskList).Parse(await handlers.hostDiskList(ALL, undefined)),
    osds: async () => Compile(DiskList).Parse(await handlers.clusterstoreDiskList(ALL, undefined)),
    cluster: async () => Compile(ClusterStoreStatus).Parse(await handlers.clusterstoreStatus(INPUT, undefined)),
    health: async () => Compile(StorageHealth).Parse(await handlers.hostStorageHealth(INPUT, undefined)),
    metrics: async () => Compile(StorageMetrics).Parse(await handlers.hostStorageMetrics(INPUT, undefined)),
    page: async (page: number, page_size: number) =>
      Compile(DiskList).Parse(await handlers.hostDiskList({ ...ALL, query: { page, page_size } }, undefined)),
  }
}

test('before the first reading nothing is known, and each answer says so', async () => {
  const { disks, health, metrics, cluster, host } = await node()
  assert.deepEqual([(await disks()).disks, (await disks()).count], [null, null])
  const verdict = await health()
  assert.deepEqual(
    [verdict.overall_status, verdict.localpool_health, verdict.clusterstore_health, verdict.failed_disks],
    [null, null, null, null],
  )
  assert.ok(verdict.unavailable.some((one) => one.field === 'overall_status'))
  const all = await metrics()
  assert.deepEqual([all.localpool_subsystem.health_status, all.localpool_subsystem.arc_stats.size_bytes], [null, null])
  assert.deepEqual([all.total_storage_capacity_mb, all.unallocated_disks], [null, null])
  assert.deepEqual([(await cluster()).has_storage, (await cluster()).osd_count], [null, null])
  assert.deepEqual(host.ran, [], 'a request reads nothing')
})

test('each disk is told with what uses it, also a spare that shows no sign of it', async () => {
  const { monitor, disks } = await node()
  await monitor.refresh()
  const list = (await disks()).disks ?? []
  assert.deepEqual(
    list.map((disk) => [disk.device, disk.type, disk.allocated_to, disk.mount_point]),
    [
      ['/dev/nvme0n1', 'nvme', 'localpool', null],
      ['/dev/nvme1n1', 'nvme', 'localpool', null],
      ['/dev/sda', 'hdd', 'localpool', null],
      ['/dev/sdb', 'ssd', 'localpool', null],
      ['/dev/sdc', 'ssd', 'localpool', null],
      ['/dev/sdd', 'ssd', 'localpool', null],
      ['/dev/sde', 'hdd', 'localpool', null],
      ['/dev/sdf', 'hdd', 'localpool', null],
      ['/dev/vda', 'hdd', 'clusterstore', '/'],
      ['/dev/vdb', 'hdd', 'unallocated', null],
    ],
  )
  const ssd = list.find((disk) => disk.device === '/dev/sdb')
  assert.deepEqual([ssd?.serial, ssd?.size_mb, ssd?.smart_info?.status, ssd?.is_healthy], ['SATA0001', 512, 'OK', true])
  assert.equal(ssd?.last_health_check_time, new Date(monitor.snapshot().now).toISOString())
})

test('pages of the disk list keep the count of all', async () => {
  const { monitor, page } = await node()
  await monitor.refresh()
  const second = await page(2, 4)
  assert.deepEqual([second.disks?.length, second.count, second.page, second.page_size], [4, 10, 2, 4])
})

test('a virtual disk that nothing judges is neither healthy nor broken', async () => {
  const { monitor, disks } = await node({ commands: { smartctl: fixture('smartctl', 'virtio-disk-a.json', 1) } })
  await monitor.refresh()
  const unjudged = (await disks()).disks?.find((one) => one.device === '/dev/vdb')
  assert.equal(unjudged?.smart_info?.status, null)
  assert.equal(unjudged?.is_healthy, null)
  assert.ok(unjudged?.unavailable.some((one) => one.field === 'is_healthy'))
})

test('a node on which nothing can be judged has no verdict, rather than a good one', async () => {
  const { monitor, health } = await node({
    commands: {
      lsblk: { stdout: JSON.stringify({ blockdevices: [{ name: 'vda', type: 'disk', size: 512 }] }) },
      smartctl: fixture('smartctl', 'virtio-disk-a.json', 1),
      'zpool list': null,
      [`${CEPH} status`]: null,
    },
  })
  await monitor.refresh()
  const verdict = await health()
  assert.deepEqual([verdict.overall_status, verdict.critical_alerts, verdict.failed_disks], [null, [], []])
  assert.match(verdict.overall_status_meaning, /no disk of this node tells its health/)
})

test('rates need two samples, and are then those of the window', async () => {
  const files: Record<string, string> = { '/proc/diskstats': ' 8 0 sda 100 0 1000 200 50 0 500 100 0 300 400\n' }
  const { monitor, disks, host } = await node({ commands: LVM })
  host.read = (path) => Promise.resolve(files[path] ?? null)
  await monitor.refresh()
  const rates_of_sda = async () => (await disks()).disks?.find((disk) => disk.device === '/dev/sda')?.io_metrics
  assert.equal(await rates_of_sda(), null)
  host.pass(5_000)
  files['/proc/diskstats'] = ' 8 0 sda 200 0 21000 700 50 0 500 100 0 2300 1400\n'
  await monitor.refresh()
  assert.deepEqual(await rates_of_sda(), {
    device: '/dev/sda',
    read_iops: 20,
    write_iops: 0,
    read_throughput_mb_s: 2.048,
    write_throughput_mb_s: 0,
    avg_read_latency_ms: 5,
    avg_write_latency_ms: null,
    wait_time_ms: 5,
    avg_queue_length: 0.2,
    utilization_percent: 40,
  })
})

test('a counter that runs backwards starts a new window instead of a negative rate', async () => {
  const files: Record<string, string> = { '/proc/diskstats': ' 8 0 sda 900 0 9000 900 0 0 0 0 0 900 900\n' }
  const host = recordedStorage({})
  const sampler = createDiskSampler({ ...host, read: (path) => Promise.resolve(files[path] ?? null) })
  await sampler.tick()
  host.pass(5_000)
  files['/proc/diskstats'] = ' 8 0 sda 10 0 100 10 0 0 0 0 0 10 10\n'
  await sampler.tick()
  assert.equal(sampler.metrics('sda', '/dev/sda'), null)
  host.pass(5_000)
  files['/proc/diskstats'] = ' 8 0 sda 20 0 200 20 0 0 0 0 0 20 20\n'
  await sampler.tick()
  assert.equal(sampler.metrics('sda', '/dev/sda')?.read_iops, 2)
})

test('the counters of old and new kernels are read alike', () => {
  const disks = parseDiskstats(linuxFixture('proc', 'diskstats.txt'))
  const vda = disks.get('vda')
  assert.ok(vda)
  assert.deepEqual(
    [vda.reads, vda.sectors_read, vda.writes, vda.ms_busy, vda.ms_weighted],
    [888, 86138, 70, 5208, 7249],
  )
  const same = rates('/dev/vda', vda, vda, 5_000)
  assert.deepEqual([same.read_iops, same.avg_read_latency_ms], [0, null])
})

test('the cluster store tells its daemons of this host and their disks', async () => {
  const { monitor, cluster, osds, health } = await node()
  await monitor.refresh()
  const status = await cluster()
  assert.deepEqual(
    [status.has_storage, status.osd_count, status.pool_count, status.device_classes],
    [true, 3, 1, ['hdd']],
  )
  const list = (await osds()).disks ?? []
  assert.deepEqual(
    list.map((disk) => disk.device),
    ['/dev/vda'],
  )
  assert.match(list[0]?.clusterstore_osd_path ?? '', /osd\.1$/)
  assert.equal((await health()).clusterstore_health, 'HEALTHY')
})

test('a fresh cluster store with only its own pool has no storage yet', async () => {
  const { monitor, cluster } = await node({
    commands: { [`${CEPH} osd pool ls`]: { stdout: '["device_health_metrics"]' } },
  })
  await monitor.refresh()
  assert.deepEqual([(await cluster()).has_storage, (await cluster()).pool_count], [false, 0])
})

test('a storage daemon that is down degrades the node and names the disk', async () => {
  const metadata = JSON.stringify([{ id: 2, hostname: 'vm', devices: 'sdf', osd_data: '/var/lib/ceph/osd/ceph-2' }])
  const { monitor, health, osds } = await node({
    commands: {
      ...LVM,
      ...NO_POOLS,
      [`${CEPH} status`]: fixture('ceph', 'fault-osd-down-status.json'),
      [`${CEPH} osd df`]: { stdout: linuxFixture('ceph', 'fault-osd-down-osd-df.json') },
      [`${CEPH} osd metadata`]: { stdout: metadata },
    },
  })
  await monitor.refresh()
  const verdict = await health()
  assert.deepEqual([verdict.overall_status, verdict.clusterstore_health], ['DEGRADED', 'DEGRADED'])
  assert.deepEqual(verdict.failed_disks, ['/dev/sdf'])
  assert.ok(verdict.critical_alerts.includes('Storage daemon 2 on /dev/sdf is down'))
  assert.equal((await osds()).disks?.[0]?.is_healthy, false)
})

test('a node without cluster-store configuration answers that, and is not unknown', async () => {
  const stderr =
    "Error initializing cluster client: ObjectNotFound('RADOS object not found (error calling conf_read_file)')"
  for (const answer of [null, { exit_code: 1, stderr }]) {
    const { monitor, cluster, health } = await node({ commands: { [`${CEPH} status`]: answer } })
    await monitor.refresh()
    assert.deepEqual([(await cluster()).has_storage, (await cluster()).osd_count], [false, null])
    assert.equal((await health()).clusterstore_health, 'NOT_CONFIGURED')
  }
})

test('the client is not started again and again on a node that has no cluster-store configuration', async () => {
  const calls: string[] = []
  const started = (files: Record<string, string>) => {
    const recorded = recordedStorage({ files, commands: { [`${CEPH} status`]: null } })
    const run: typeof recorded.run = (tool, args, options) => {
      calls.push(tool)
      return recorded.run(tool, args, options)
    }
    return { ...recorded, run }
  }
  const first = await readCluster(started({}), { hostname: 'vm' }, undefined)
  assert.ok('value' in first && !first.value.configured)
  assert.deepEqual(await readCluster(started({}), { hostname: 'vm' }, first.value), first)
  assert.deepEqual(calls, ['ceph'])
  await readCluster(started({ '/etc/ceph/ceph.conf': '[global]' }), { hostname: 'vm' }, first.value)
  await readCluster(started({}), { hostname: 'vm', cluster_args: ['--conf', '/srv/c.conf'] }, first.value)
  assert.deepEqual(calls, ['ceph', 'ceph', 'ceph'])
})

test('an outage of the cluster store keeps the last answer, marks it old, and needs attention', async () => {
  const { monitor, cluster, health, host } = await node({ commands: { ...NO_POOLS, ...LVM } })
  await monitor.refresh()
  const run = host.run
  host.run = (tool, args, options) =>
    tool === 'ceph'
      ? Promise.resolve({ outcome: 'exited', exit_code: 1, stdout: '', stderr: 'timed out' })
      : run(tool, args, options)
  host.pass(60_000)
  await monitor.refresh()
  const status = await cluster()
  assert.equal(status.osd_count, 3)
  assert.deepEqual(
    status.readings.map((one) => [one.age_seconds, one.stale, one.failure]),
    [[60, true, 'the cluster store does not answer']],
  )
  assert.match(status.message, /^Last known state/)
  assert.equal((await health()).overall_status, 'NEEDS_ATTENTION')
})

test('an unreachable cluster store leaves daemons to the tags of the volumes', async () => {
  const { monitor, osds, health } = await node({
    commands: { ...LVM, ...NO_POOLS, [`${CEPH} status`]: { outcome: 'timeout', exit_code: null } },
  })
  await monitor.refresh()
  const [disk] = (await osds()).disks ?? []
  assert.deepEqual([disk?.device, disk?.clusterstore_osd_path], ['/dev/sdf', '/var/lib/ceph/osd/ceph-7'])
  assert.equal((await health()).clusterstore_health, null)
})

test('what changes only with the map of the cluster store is not asked again while the map is the same', async () => {
  const { monitor, host } = await node()
  await monitor.refresh()
  await monitor.refresh()
  assert.equal(host.ran.filter((line) => line.includes('osd metadata')).length, 1)
  assert.equal(host.ran.filter((line) => line.includes('osd df')).length, 2)
})

test('a failing disk in a mirror degrades; alone in its pool it is critical', async () => {
  const failing = fixture('smartctl', 'public-sata-hdd-failing-now.json', 216)
  const mirrored = await node({ commands: { 'smartctl --json=c -x -n standby,0 /dev/sda': failing } })
  await mirrored.monitor.refresh()
  const degraded = await mirrored.health()
  assert.equal(degraded.overall_status, 'DEGRADED')
  assert.deepEqual(degraded.failed_disks, ['/dev/sda'])
  const list = poolList('ok').split('\n')[1] ?? ''
  const alone = await node({
    commands: {
      'smartctl --json=c -x -n standby,0 /dev/sde': failing,
      'zpool list': { stdout: list.replace('tank', 'solo') },
      'zpool status': fixture('zfs', 'removed-zpool-status.txt'),
      'zfs list': { stdout: '' },
    },
  })
  await alone.monitor.refresh()
  const critical = await alone.health()
  assert.equal(critical.overall_status, 'CRITICAL')
  assert.match(critical.critical_alerts[0] ?? '', /only copy of local pool solo/)
})

test('everything healthy is HEALTHY, with nothing to say', async () => {
  const { monitor, health, metrics } = await node()
  await monitor.refresh()
  const verdict = await health()
  assert.deepEqual([verdict.overall_status, verdict.overall_status_reasons, verdict.failed_disks], ['HEALTHY', [], []])
  const all = await metrics()
  assert.equal(all.localpool_subsystem.is_healthy, true)
  assert.equal(all.localpool_disks?.length, 8)
  // Pools 255 + 832 MiB usable, storage daemons 2048 + 4096 + 4096 MiB.
  assert.deepEqual(
    [all.total_storage_capacity_mb, all.total_storage_used_mb],
    [255 + 832 + 10240, 60 + 188 + 290 + 290],
  )
  assert.deepEqual(
    all.localpool_subsystem.pools?.find((one) => one.pool_name === 'tank')?.io_stats?.operations_write,
    314,
  )
})

test('the pollers stop: nothing is read after stop()', async () => {
  const { monitor, host } = await node()
  monitor.start()
  await monitor.stop()
  const before = host.ran.length
  await new Promise(setImmediate)
  assert.equal(host.ran.length, before)
})
