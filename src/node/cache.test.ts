import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cacheKey, createCache } from './cache.ts'

function counted() {
  let clock_ms = 0
  const cache = createCache({ monotonic: () => clock_ms })
  const pass = (milliseconds: number): void => {
    clock_ms += milliseconds
  }
  return { cache, pass }
}

const key = cacheKey<number>('load', 1)

test('callers during a load share it, and later ones within the time get the same value', async () => {
  const { cache, pass } = counted()
  let loads = 0
  const { promise, resolve } = Promise.withResolvers<number>()
  const load = () => {
    loads += 1
    return promise
  }
  const both = Promise.all([cache.get(key, 1_000, load), cache.get(key, 1_000, load)])
  pass(60_000)
  const third = cache.get(key, 1_000, load)
  resolve(7)
  assert.deepEqual([...(await both), await third], [7, 7, 7])
  pass(999)
  assert.equal(await cache.get(key, 1_000, load), 7)
  assert.equal(loads, 1)
  pass(1)
  await cache.get(key, 1_000, load)
  assert.equal(loads, 2)
})

test('a failure is not cached', async () => {
  const { cache } = counted()
  await assert.rejects(
    cache.get(key, 1_000, () => Promise.reject(new Error('gone'))),
    /gone/,
  )
  assert.equal(await cache.get(key, 1_000, () => Promise.resolve(3)), 3)
})

test('parts of a key cannot run into each other', () => {
  assert.notEqual(cacheKey('a', 'b').name, cacheKey('a","b').name)
})
