// Recorded with Ceph 16.2.15 (test/fixtures/linux/ceph).
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parsePoolRoom } from './cluster-run.ts'
import { parseRados, parseRadosLive } from './rados.ts'
import { parseRbd, parseRbdLive } from './rbd.ts'

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../test/fixtures/linux/ceph/${name}`, import.meta.url), 'utf8')

test('a pool write is read from its text values, with exact operations a second', () => {
  const { read, write, unavailable } =
    parseRados(fixture('rados-bench-write-format-json.txt'), 'write') ?? assert.fail()
  assert.equal(write.bandwidth_mbps, 307.829833)
  assert.equal(write.bandwidth_kbps, 307.829833 * 1024)
  assert.equal(write.total_ios, 313)
  assert.equal(write.iops, 313 / 4.067182)
  assert.equal(write.latency_avg_us, 207_701)
  assert.equal(write.latency_p99_us, null)
  assert.equal(read.total_ios, 0)
  assert.ok(unavailable.some(({ field }) => field === 'write.latency_p99_us'))
})

test('pool reads count as reads, and a run without a result gives none', () => {
  assert.equal(parseRados(fixture('rados-bench-rand-format-json.txt'), 'rand')?.read.total_ios, 411)
  assert.equal(parseRados(fixture('rados-bench-seq-noobjects.txt'), 'seq'), null)
  assert.equal(parseRados(fixture('rados-bench-nopool.txt'), 'write'), null)
  assert.deepEqual(parseRadosLive('{"sec":"3","cur_bw":"12.5",', 'rand'), {
    read: { bandwidth_mbps: 12.5, iops: 3.125 },
  })
})

test('an image run is read from its end line, also when it was stopped by its duration', () => {
  const call = { io_bytes: 4096, io_threads: 16 }
  const write = parseRbd(fixture('rbd-bench-interrupted.txt'), { ...call, io_type: 'write' })?.write ?? assert.fail()
  assert.deepEqual([write.total_ios, write.iops], [35_186, 8649.46])
  assert.equal(write.bandwidth_kbps, 8649.46 * 4)
  assert.equal(write.latency_avg_us, (16 / 8649.46) * 1e6)
  const mixed = parseRbd(fixture('rbd-bench-readwrite-rand-4k.txt'), { ...call, io_type: 'readwrite' }) ?? assert.fail()
  assert.deepEqual([mixed.read.total_ios, mixed.write.total_ios], [11_501, 4883])
  assert.ok(mixed.unavailable.some(({ field, reason }) => field === 'read.latency_avg_us' && /derived/.test(reason)))
  assert.equal(parseRbd(fixture('rbd-bench-noimage.txt'), { ...call, io_type: 'read' }), null)
  const live = parseRbdLive(fixture('rbd-bench-read-rand-4k.txt'), { io_type: 'read', io_bytes: 4096 })
  assert.equal(live?.read?.iops, 4669.78)
})

test('the room of a pool is found by its name', () => {
  assert.equal(parsePoolRoom(fixture('df-detail.json'), 'device_health_metrics')?.free_bytes, 9_491_324_928)
  assert.equal(parsePoolRoom(fixture('df-detail.json'), 'nope'), null)
})
