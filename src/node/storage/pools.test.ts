// Recorded outputs of OpenZFS 2.1.11 in many states (test/fixtures/linux/zfs).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linuxFixture, linuxFixtureNames } from '../../../test/support/linux-fixture.ts'
import { fixture, poolList, recordedStorage } from '../../../test/support/recorded-storage.ts'
import { parseArcStats } from './arc-stats.ts'
import { parsePoolIo } from './pool-io.ts'
import { parsePoolStatus } from './pool-status.ts'
import { goneMembers, poolsHealth, readPools } from './pools.ts'

const NONE = new Set<string>()

async function read(state: string) {
  const host = recordedStorage({
    commands: {
      'zpool list': { stdout: poolList(state) },
      'zpool status': fixture('zfs', `${state}-zpool-status-pPL.txt`),
    },
  })
  const result = await readPools(host)
  assert.ok('value' in result)
  return result.value
}

test('a healthy pool is read with usable space, groups, log, cache and spare', async () => {
  const { pools } = await read('ok')
  const tank = pools.find(({ pool }) => pool.pool_name === 'tank')
  assert.ok(tank)
  const { vdevs, ...pool } = tank.pool
  assert.deepEqual(pool, {
    pool_name: 'tank',
    state: 'ONLINE',
    health: 'ONLINE',
    total_space_mb: 832,
    used_space_mb: 188,
    available_space_mb: 643,
    allocated_mb: 120,
    fragmentation_percent: 1,
    read_only_status: false,
    has_known_data_errors: false,
    errors_count: 0,
  })
  assert.deepEqual(
    vdevs.map((one) => [one.name, one.state, one.total_errors]),
    [
      ['mirror-0', 'ONLINE', 0],
      ['/dev/sda1', 'ONLINE', 0],
      ['/dev/sdb1', 'ONLINE', 0],
      ['mirror-1', 'ONLINE', 0],
      ['/dev/sdc1', 'ONLINE', 0],
      ['/dev/sdd1', 'ONLINE', 0],
      ['/dev/nvme1n1p1', 'ONLINE', 0],
      ['/dev/nvme0n1p1', 'ONLINE', 0],
      ['/dev/sdf1', 'AVAIL', null],
    ],
  )
  assert.deepEqual(
    tank.vdevs.map((one) => one.section),
    ['data', 'data', 'data', 'data', 'data', 'data', 'logs', 'cache', 'spares'],
  )
  assert.ok(!tank.vdevs.some((one) => one.unprotected))
  assert.equal(poolsHealth(pools, NONE), 'HEALTHY')
})

test('an offline side of a mirror degrades the pool', async () => {
  const { pools } = await read('offline')
  assert.equal(pools.find(({ pool }) => pool.pool_name === 'tank')?.pool.health, 'DEGRADED')
  assert.equal(poolsHealth(pools, NONE), 'DEGRADED')
})

test('checksum errors of a pool that says ONLINE are counted once, at the device', async () => {
  const { pools } = await read('cksum')
  const rz = pools.find(({ pool }) => pool.pool_name === 'rz')?.pool
  assert.deepEqual([rz?.health, rz?.errors_count, rz?.has_known_data_errors], ['ONLINE', 434, false])
})

test('data errors are known, counted, and degrade', async () => {
  const { pools } = await read('dataerr')
  const rz = pools.find(({ pool }) => pool.pool_name === 'rz')
  assert.deepEqual([rz?.pool.has_known_data_errors, rz?.pool.errors_count], [true, 13 + 180 + 194])
  assert.deepEqual(
    rz?.vdevs.filter((one) => one.was !== null).map((one) => [one.vdev.name, one.was]),
    [['2290423104913282561', '/tmp/z2']],
  )
  assert.equal(poolsHealth(pools, NONE), 'DEGRADED')
})

test('every recorded status names its pools and devices, with and without -v, -p and -x', () => {
  const files = linuxFixtureNames('zfs').filter((name) => /-zpool-status(-v|-pPL)?\.txt$/.test(name))
  assert.ok(files.length > 15)
  for (const file of files) {
    const pools = parsePoolStatus(linuxFixture('zfs', file))
    assert.ok(pools.length > 0, file)
    for (const { name, vdevs, data_errors, state } of pools) {
      assert.match(name, /^(rz|tank|m1|solo)$/, file)
      assert.match(state, /^(ONLINE|DEGRADED)$/, file)
      assert.ok(vdevs.length > 0 && data_errors !== null, file)
    }
  }
})

test('a read-only pool says so', async () => {
  const { pools } = await read('readonly')
  assert.equal(pools.find(({ pool }) => pool.pool_name === 'rz')?.pool.read_only_status, true)
})

test('a pulled disk is found although its single-disk pool says ONLINE', () => {
  const pools = parsePoolStatus(linuxFixture('zfs', 'removed-zpool-status.txt')).map((status) => ({
    vdevs: status.vdevs,
  }))
  const readings = pools.map(({ vdevs }) => ({ vdevs, pool: HEALTHY_POOL }))
  const there = new Set(['/dev/sdc1'])
  assert.deepEqual([...goneMembers(readings, there)].sort(), ['/dev/sdd1', '/dev/sde1'])
  assert.equal(poolsHealth(readings.slice(1), new Set(['/dev/sde1'])), 'DEGRADED')
  assert.equal(pools[1]?.vdevs[0]?.unprotected, true)
})

test('no tool, no kernel module and no pool all mean: no local pool, and no word on its health', async () => {
  const nomodule = { exit_code: 1, stderr: linuxFixture('zfs', 'nomodule.stderr.txt') }
  for (const answer of [null, nomodule, { stdout: '' }]) {
    const result = await readPools(recordedStorage({ commands: { 'zpool list': answer } }))
    assert.ok('value' in result)
    assert.deepEqual(result.value.pools, [])
    assert.equal(result.value.arc, null)
    assert.equal(poolsHealth(result.value.pools, NONE), null)
  }
})

test('a suspended pool is critical and no command touches it', async () => {
  const host = recordedStorage({
    files: { '/proc/spl/kstat/zfs/rz/state': 'SUSPENDED\n', '/proc/spl/kstat/zfs/tank/state': 'ONLINE\n' },
    folders: { '/proc/spl/kstat/zfs': ['arcstats', 'rz', 'tank'] },
    commands: { 'zpool list': { stdout: poolList('ok').split('\n').slice(1).join('\n') } },
  })
  const result = await readPools(host)
  assert.ok('value' in result)
  assert.equal(poolsHealth(result.value.pools, NONE), 'CRITICAL')
  assert.equal(result.value.pools.find(({ pool }) => pool.pool_name === 'rz')?.pool.total_space_mb, null)
  assert.ok(host.ran.length === 3 && host.ran.every((line) => line.endsWith(' tank')), host.ran.join('\n'))
})

test('a tool that hangs is a failure and not an empty list', async () => {
  const result = await readPools(
    recordedStorage({ commands: { 'zpool list': { outcome: 'timeout', exit_code: null } } }),
  )
  assert.deepEqual(result, { failure: 'zpool list did not answer within 20 s' })
})

test('throughput has no latency where there was no sample', () => {
  const io = parsePoolIo(linuxFixture('zfs', 'ok-zpool-iostat-lHpy-2-1.txt'))
  assert.deepEqual(io.get('tank'), {
    operations_read: 0,
    operations_write: 314,
    total_read_mbs: 0,
    total_write_mbs: 34,
    read_latency_ms: null,
    write_latency_ms: 5.485,
  })
})

test('the read cache is read from the kernel table; a ratio of nothing is unknown', () => {
  const arc = parseArcStats(linuxFixture('zfs', 'arcstats.txt'), true)
  assert.deepEqual(
    [arc.size_bytes, arc.max_bytes, arc.hits_count, arc.misses_count, arc.hit_ratio_percent, arc.l2arc_present],
    [307622960, 1523126272, 9857, 0, 100, true],
  )
  assert.equal(parseArcStats('a\nb\nhits 4 0\nmisses 4 0\n', false).hit_ratio_percent, null)
})

const HEALTHY_POOL = {
  pool_name: 'p',
  state: 'ONLINE',
  health: 'ONLINE' as const,
  total_space_mb: 1,
  used_space_mb: 0,
  available_space_mb: 1,
  allocated_mb: 0,
  fragmentation_percent: 0,
  read_only_status: false,
  has_known_data_errors: false,
  errors_count: 0,
  vdevs: [],
}
