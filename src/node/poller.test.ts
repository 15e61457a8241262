import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPoller, type PollResult } from './poller.ts'

function clock() {
  let elapsed = 0
  return { now: () => 1_000_000 + elapsed, monotonic: () => elapsed, pass: (ms: number) => (elapsed += ms) }
}

test('nothing read yet is neither a value nor stale', () => {
  const poller = createPoller({ interval_ms: 1_000, clock: clock(), read: () => Promise.resolve({ value: 1 }) })
  assert.deepEqual(poller.last(), { value: undefined, read_at: null, age_ms: null, stale: false, failure: null })
})

test('a failure keeps the last good value with its time, and says so until a read ends well', async () => {
  const time = clock()
  const results: PollResult<number>[] = [{ value: 1 }, { failure: 'gone' }, { value: 2 }]
  const poller = createPoller({
    interval_ms: 1_000,
    clock: time,
    read: () => Promise.resolve(results.shift() ?? { failure: 'no more' }),
  })
  await poller.refresh()
  time.pass(500)
  await poller.refresh()
  assert.deepEqual(poller.last(), { value: 1, read_at: 1_000_000, age_ms: 500, stale: true, failure: 'gone' })
  await poller.refresh()
  assert.deepEqual(poller.last(), { value: 2, read_at: 1_000_500, age_ms: 0, stale: false, failure: null })
})

test('a value three intervals old is stale', async () => {
  const time = clock()
  const poller = createPoller({ interval_ms: 1_000, clock: time, read: () => Promise.resolve({ value: 1 }) })
  await poller.refresh()
  time.pass(3_000)
  assert.equal(poller.last().stale, false)
  time.pass(1)
  assert.equal(poller.last().stale, true)
})

test('refreshes at the same time share one read', async () => {
  let reads = 0
  const poller = createPoller({
    interval_ms: 1_000,
    clock: clock(),
    read: async () => {
      await new Promise(setImmediate)
      return { value: ++reads }
    },
  })
  await Promise.all([poller.refresh(), poller.refresh()])
  assert.equal(reads, 1)
})

test('a defect in a read is reported and the poller lives on', async () => {
  const defects: unknown[] = []
  let broken = true
  const poller = createPoller({
    interval_ms: 1_000,
    clock: clock(),
    onDefect: (error) => defects.push(error),
    read: () => (broken ? Promise.reject(new Error('defect')) : Promise.resolve({ value: 1 })),
  })
  await poller.refresh()
  assert.deepEqual([defects.length, poller.last().stale], [1, true])
  broken = false
  await poller.refresh()
  assert.equal(poller.last().value, 1)
})

test('a started poller reads again by itself until it is stopped', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let reads = 0
  const poller = createPoller({ interval_ms: 1_000, clock: clock(), read: () => Promise.resolve({ value: ++reads }) })
  const settle = () => new Promise(setImmediate)
  poller.start()
  t.mock.timers.tick(0)
  await settle()
  t.mock.timers.tick(1_000)
  await settle()
  assert.equal(reads, 2)
  await poller.stop()
  t.mock.timers.tick(5_000)
  await settle()
  assert.equal(reads, 2)
})
