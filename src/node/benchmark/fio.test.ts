// Recorded with fio 3.33 (test/fixtures/linux/fio).
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fioArgs, parseFio, parseFioEta } from './fio.ts'
import { resolveProfile } from './profiles.ts'

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../test/fixtures/linux/fio/${name}`, import.meta.url), 'utf8')

test('a mixed run gives both directions in KiB, MiB and microseconds', () => {
  const outcome = parseFio(fixture('randrw70-4k-product-options.json'))
  assert.equal(outcome?.error, 0)
  const { read, write, unavailable } = outcome?.figures ?? assert.fail('no figures')
  assert.deepEqual(read, {
    bandwidth_kbps: 213_202,
    bandwidth_mbps: 213_202 / 1024,
    iops: 53_300.566478,
    latency_avg_us: 392_705.70241 / 1000,
    latency_p50_us: 342.016,
    latency_p99_us: 2277.376,
    latency_p999_us: 3948.544,
    total_ios: 159_955,
  })
  assert.equal(write.latency_p999_us, 4947.968)
  assert.deepEqual(unavailable, [])
})

test('a direction without operations is measured zero with unknown latencies', () => {
  const { write, unavailable } = parseFio(fixture('seq-read-1m.json'))?.figures ?? assert.fail('no figures')
  assert.deepEqual([write.total_ios, write.iops, write.bandwidth_kbps, write.latency_avg_us], [0, 0, 0, null])
  assert.ok(unavailable.some(({ field }) => field === 'write.latency_p99_us'))
})

test('prose before the document, a stopped run and an I/O error are read; a bad engine gives nothing', () => {
  assert.equal(parseFio(fixture('sigterm-partial.txt'))?.figures.read.total_ios, 1796)
  assert.equal(parseFio(fixture('error-enospc.txt'))?.error, 28)
  assert.equal(parseFio(fixture('error-noengine.txt')), null)
  assert.equal(parseFio(''), null)
})

test('the line of the last second gives the live rates of each direction', () => {
  const line = 'Jobs: 2 (f=2): [m(2)][33.3%][r=267MiB/s,w=1.5GiB/s][r=68.4k,w=29 IOPS][eta 00m:02s]\r'
  assert.deepEqual(parseFioEta(line), {
    read: { bandwidth_mbps: 267, iops: 68_400 },
    write: { bandwidth_mbps: 1536, iops: 29 },
  })
  assert.equal(parseFioEta('Jobs: 2 (f=2)\r'), null)
})

test('a profile that only reads runs in the read-only mode of the tool and never by a path of the caller', () => {
  const args = (id: string) =>
    fioArgs({ profile: resolveProfile({ profile_id: id }), direct: 1, target_fd: 3, output_fd: 4 })
  assert.ok(args('rand-read-4k').includes('--readonly'))
  assert.ok(!args('randrw-70-30-4k').includes('--readonly'))
  assert.deepEqual(
    args('latency-4k').filter((arg) => arg.startsWith('--filename')),
    ['--filename=/proc/self/fd/3'],
  )
})
