// The captured hosts of the lab, read by the real collectors: what the lab shows of storage and routing.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { FrrNode } from '#src/contract/network/frr.ts'
import { StorageHealth, StorageMetrics } from '#src/contract/storage/host.ts'
import { capturedHost } from '../../lab/captured-host/host.ts'
import { frrNode } from '#src/node/frr/node.ts'
import { storageHandlers } from '#src/node/storage/index.ts'
import { createStorageMonitor } from '#src/node/storage/monitor.ts'

async function node(name: string) {
  const host = capturedHost(join(import.meta.dirname, '..', '..', 'lab', 'hosts', name))
  const monitor = createStorageMonitor(host)
  await monitor.refresh()
  const handlers = storageHandlers({ monitor })
  const input = { params: undefined, query: undefined, body: undefined }
  return {
    health: Compile(StorageHealth).Parse(await handlers.hostStorageHealth(input, undefined)),
    metrics: Compile(StorageMetrics).Parse(await handlers.hostStorageMetrics(input, undefined)),
    router: Compile(FrrNode).Parse(await frrNode(host, { fqdn: `${name}.example.internal` })),
  }
}

test('kvm-01 has healthy storage and is a whole member of the fabric', async () => {
  const { health, metrics, router } = await node('kvm-01')
  assert.deepEqual([health.overall_status, health.overall_status_reasons], ['HEALTHY', []])
  assert.deepEqual(
    [metrics.localpool_disks?.length, metrics.clusterstore_disks?.length, metrics.unallocated_disks?.length],
    [3, 2, 1],
  )
  assert.deepEqual([router.status, router.name, router.as, router.bgp?.sessions.length], ['online', 'kvm-01', 65000, 2])
  assert.ok(router.vnis?.every((vni) => vni.state === 'Up' && vni.remote_vtep_info.every((one) => one.state === 'up')))
})

test('kvm-02 shows a failing disk, a degraded pool, and a dead BGP daemon', async () => {
  const { health, router } = await node('kvm-02')
  assert.deepEqual([health.overall_status, health.localpool_health], ['DEGRADED', 'DEGRADED'])
  assert.deepEqual(health.failed_disks, ['/dev/sdb', '/dev/sdc1'])
  assert.deepEqual([router.status, router.error, router.bgp], ['offline', 'bgpd is not running', null])
  assert.equal(router.vnis?.length, 3)
})

test('mgmt-01 has neither pool nor cluster store nor routing daemons, and says so', async () => {
  const { health, metrics, router } = await node('mgmt-01')
  assert.deepEqual([health.overall_status, health.clusterstore_health], ['HEALTHY', 'NOT_CONFIGURED'])
  assert.deepEqual([metrics.localpool_subsystem.pools, metrics.total_storage_capacity_mb], [[], null])
  assert.deepEqual([health.localpool_health, metrics.localpool_subsystem.is_healthy], [null, null])
  const why = (rows: readonly { field: string; reason: string }[], field: string) =>
    rows.find((row) => row.field === field)?.reason
  assert.equal(why(health.unavailable, 'localpool_health'), 'the node has no local pool')
  assert.equal(why(metrics.unavailable, 'localpool_subsystem.arc_stats'), 'the node has no local pool')
  assert.equal(router.error, 'routing daemon not installed')
})
