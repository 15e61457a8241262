// A real one-node cluster store: what the storage routes tell of it, of a storage daemon that goes, of monitors that hang.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Compile } from 'typebox/compile'
import { ClusterStoreStatus, DiskList, StorageHealth } from '#src/contract/storage/host.ts'
import { linuxHost } from '#src/kernel/host.ts'
import { storageHandlers } from '#src/node/storage/index.ts'
import { createStorageMonitor, type StorageMonitor } from '#src/node/storage/monitor.ts'
import { type CephCluster, cephRefused, ON_DISK, startCeph } from '../support/ceph-cluster.ts'
import { until } from '../support/until.ts'

const INPUT = { params: undefined, query: undefined, body: undefined }
const DEADLINE_MS = 40_000

describe('a real cluster store on this machine', { skip: cephRefused() ?? false, timeout: 300_000 }, () => {
  let cluster: CephCluster
  let monitor: StorageMonitor
  const handlers = () => storageHandlers({ monitor })
  const status = async () => Compile(ClusterStoreStatus).Parse(await handlers().clusterstoreStatus(INPUT, undefined))
  const health = async () => Compile(StorageHealth).Parse(await handlers().hostStorageHealth(INPUT, undefined))
  const disks = async () =>
    Compile(DiskList).Parse(await handlers().clusterstoreDiskList({ ...INPUT, query: {} }, undefined)).disks ?? []

  before(async () => {
    cluster = await startCeph('vm-images', ON_DISK)
    monitor = createStorageMonitor(linuxHost(), { cluster_args: cluster.args })
  })
  after(async () => {
    await monitor?.stop()
    await cluster?.stop()
  })

  test('its pools, its storage daemon and the disk of that daemon are reported', async () => {
    await until(
      'the cluster store is settled',
      async () => {
        await monitor.refresh()
        assert.equal((await health()).clusterstore_health, 'HEALTHY', (await status()).message)
        return true
      },
      DEADLINE_MS,
    )
    const now = await status()
    assert.deepEqual([now.has_storage, now.osd_count, now.pool_count], [true, 1, 1])
    assert.equal(now.device_classes?.length, 1)
    const [disk] = await disks()
    assert.equal(disk?.clusterstore_osd_path, join(cluster.dir, 'osd'))
    const osds = monitor.snapshot().cluster.value?.osds
    assert.deepEqual(
      osds?.map((osd) => [osd.id, osd.up, osd.in, (osd.size_mb ?? 0) > 4_000]),
      [[0, true, true, true]],
    )
  })

  test('monitors that hang leave the last answer, marked old, and delay no request', async () => {
    const pid = await cluster.pid('mon')
    process.kill(pid, 'SIGSTOP')
    try {
      const reading = monitor.refresh()
      const started = performance.now()
      assert.equal((await status()).osd_count, 1)
      assert.ok(performance.now() - started < 500)
      await reading
      const now = await status()
      assert.deepEqual([now.osd_count, now.readings[0]?.stale], [1, true])
      assert.equal(now.readings[0]?.failure, 'the cluster store does not answer')
      assert.ok((await health()).overall_status_reasons.some((reason) => reason.includes('cluster store')))
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await until(
      'it answers again',
      async () => {
        await monitor.refresh()
        return (await status()).readings[0]?.stale === false
      },
      DEADLINE_MS,
    )
  })

  test('a storage daemon that ends is down, takes the storage with it, and fails its disk', async () => {
    process.kill(await cluster.pid('osd'), 'SIGTERM')
    await until(
      'the storage daemon counts as down',
      async () => {
        await monitor.refresh()
        return (await status()).osd_count === 0
      },
      DEADLINE_MS,
    )
    assert.equal((await status()).has_storage, false)
    const now = await until(
      'the storage daemon is down in the usage table too',
      async () => {
        await monitor.refresh()
        const verdict = await health()
        return (verdict.failed_disks ?? []).length > 0 ? verdict : undefined
      },
      DEADLINE_MS,
    )
    assert.deepEqual([now.clusterstore_health, now.overall_status], ['DEGRADED', 'DEGRADED'])
    assert.ok(now.critical_alerts.some((text) => text.startsWith('Storage daemon 0 on ')))
    assert.equal((await disks())[0]?.is_healthy, false)
  })
})
