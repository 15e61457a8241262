// Readings that several preflights share.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createShare } from './shared-reading.ts'

test('all who ask while a reading is under way share it, also its failure; whoever asks later reads again', async () => {
  const share = createShare(60_000)
  const begun: PromiseWithResolvers<string>[] = []
  const read = (): Promise<string> => {
    const reading = Promise.withResolvers<string>()
    begun.push(reading)
    return reading.promise
  }
  const first = Array.from({ length: 100 }, () => share('hosts', read))
  const other = share('offerings', read)
  assert.equal(begun.length, 2)
  begun[0]?.resolve('one')
  begun[1]?.resolve('other')
  assert.deepEqual(new Set(await Promise.all(first)), new Set(['one']))
  assert.equal(await other, 'other')

  const second = [share('hosts', read), share('hosts', read)]
  assert.equal(begun.length, 3)
  begun[2]?.reject(new Error('away'))
  assert.deepEqual((await Promise.allSettled(second)).map(({ status }) => status), ['rejected', 'rejected']) // biome-ignore format: one check
  const third = share('hosts', read)
  begun[3]?.resolve('three')
  assert.equal(await third, 'three')
})
