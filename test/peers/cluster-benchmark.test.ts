// Pool and image benchmarks on a real storage cluster: figures, rejections, and nothing left in the pool.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { linuxHost } from '#src/kernel/host.ts'
import { createFileHistory } from '#src/node/benchmark/history.ts'
import { type Benchmarks, createBenchmarks } from '#src/node/benchmark/index.ts'
import { type CephCluster, cephRefused, startCeph } from '../support/ceph-cluster.ts'
import { until } from '../support/until.ts'
import { tempFolder } from '../support/temp-folder.ts'

const POOL = 'bench'

describe('cluster benchmark', { skip: cephRefused() ?? false, timeout: 400_000 }, () => {
  let cluster: CephCluster
  let folder: string
  let node: Benchmarks
  before(async () => {
    folder = tempFolder('gp-cluster-')
    cluster = await startCeph(POOL)
    for (const image of ['bench-1', 'vm-root']) await cluster.run('rbd', 'create', `${POOL}/${image}`, '--size', '256M')
    const store = await createFileHistory(join(folder, 'history'))
    node = createBenchmarks({ host: linuxHost(), store, temp_folder: folder, cluster_args: cluster.args })
  })
  after(async () => {
    await cluster?.stop()
  })

  it('measures writes and reads of a pool and removes every object it wrote', async () => {
    for (const mode of ['write', 'rand', 'seq'] as const) {
      const result = await node.handlers.benchmarkPoolRun(
        { ...NONE, body: { pool_name: POOL, mode, duration_sec: 2 } },
        context(),
      )
      assert.equal(result.status, 'completed', result.error)
      const [busy, idle] = mode === 'write' ? [result.write, result.read] : [result.read, result.write]
      assert.ok((busy.total_ios ?? 0) > 0 && (busy.bandwidth_mbps ?? 0) > 0 && (busy.latency_avg_us ?? 0) > 0, mode)
      assert.equal(idle.total_ios, 0)
      assert.equal(busy.latency_p99_us, null)
      assert.deepEqual(await benchmarkObjects(), [])
    }
  })

  it('removes the objects of a cancelled run, and lets one run use a pool at a time', async () => {
    const body = { pool_name: POOL, mode: 'write', duration_sec: 60 } as const
    const running = await node.handlers.benchmarkPoolRun({ ...NONE, body }, { ...context(), prefer_async: true })
    await until('objects are written', async () => (await benchmarkObjects()).length > 0)
    await assert.rejects(
      async () => node.handlers.benchmarkPoolRun({ ...NONE, body }, context()),
      /is using pool bench/,
    )
    const ended = await node.handlers.benchmarkCancel({ ...NONE, params: { id: running.id } }, context())
    assert.equal(ended.status, 'failed')
    assert.deepEqual(await benchmarkObjects(), [])
  })

  it('measures an image for the asked time, both directions apart', async () => {
    const body = {
      pool_name: POOL,
      image_name: 'bench-1',
      io_type: 'readwrite',
      io_pattern: 'rand',
      io_total: '64G',
      duration_sec: 2,
    } as const
    const result = await node.handlers.benchmarkBlockImageRun({ ...NONE, body }, context())
    assert.equal(result.status, 'completed', result.error)
    assert.ok((result.read.iops ?? 0) > 0 && (result.write.iops ?? 0) > 0)
    assert.ok(result.duration_seconds >= 1.5, `${result.duration_seconds} s`)
  })

  it('overwrites only images that are named twice and that nobody uses', async () => {
    const image = (change: Record<string, string>) => async () =>
      await node.handlers.benchmarkBlockImageRun(
        {
          ...NONE,
          body: {
            pool_name: POOL,
            image_name: 'vm-root',
            io_type: 'write',
            io_total: '1M',
            duration_sec: 1,
            ...change,
          },
        },
        context(),
      )
    await assert.rejects(image({}), /confirm_image/)
    await assert.rejects(image({ image_name: 'nope' }), /no such image/)
    await assert.rejects(image({ pool_name: 'nope' }), /no such pool/)
    await assert.rejects(image({ confirm_image: 'vm-root', io_size: '300M' }), /io_size/)
    assert.equal((await image({ confirm_image: 'vm-root' })()).status, 'completed')
  })

  async function benchmarkObjects(): Promise<string[]> {
    const names = (await cluster.run('rados', '-p', POOL, 'ls')).split('\n')
    return names.filter((name) => name.startsWith('benchmark_'))
  }
})

const NONE = { params: undefined, query: undefined, body: undefined }

function context(): { signal: AbortSignal; prefer_async: boolean } {
  return { signal: new AbortController().signal, prefer_async: false }
}
