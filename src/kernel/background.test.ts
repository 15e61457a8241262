// What keeps failing in the background is seen.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Writable } from 'node:stream'
import { createBackground } from './background.ts'
import { createLog } from './log.ts'
import { createMetrics } from './metrics.ts'

test('a background task that fails twice in a row is an error in the log, in the metrics and by name until it works', async () => {
  const lines: { level: string; msg: string }[] = []
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  const metrics = createMetrics()
  const background = createBackground(createLog({ level: 'info', destination }), metrics)
  const fail = () => Promise.reject(new Error('planted'))
  await background.round('sweep', fail)
  assert.deepEqual(background.failing(), [])
  await background.round('sweep', fail)
  await background.round('sweep', fail)
  assert.deepEqual(background.failing(), [{ task: 'sweep', failures: 3 }])
  assert.match(await metrics.text(), /groundplane_background_failures\{task="sweep"\} 3/)
  assert.equal(lines.filter(({ msg }) => msg === 'background task keeps failing').length, 1)
  await background.round('sweep', () => Promise.resolve())
  assert.deepEqual(background.failing(), [])
  assert.match(await metrics.text(), /groundplane_background_failures\{task="sweep"\} 0/)
})
