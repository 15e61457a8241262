import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { createHandshakeLimiter } from './handshake-limiter.ts'

test('handshakes are begun a few at a time, and a node that does not answer holds up nobody for long', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.after(() => mock.timers.reset())
  const handshakes = createHandshakeLimiter()
  const given: (() => void)[] = []
  const settled = () => new Promise(setImmediate)
  for (let call = 0; call < 70; call += 1) void handshakes.take().then((release) => given.push(release))
  await settled()
  assert.equal(given.length, 32)
  given[0]?.()
  given[0]?.()
  await settled()
  assert.equal(given.length, 33, 'one that ended makes room for one')
  mock.timers.tick(200)
  await settled()
  assert.equal(given.length, 65, 'those that wait for their nodes count no more')
})
