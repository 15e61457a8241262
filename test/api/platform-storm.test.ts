// Every kind of change while the line to the platform breaks at every moment: each order is done once or not at all, and
// has one end. The long storm, with kills of the service, stands in test/peers.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { storm } from '../support/platform-storm.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

const SEED = 20_261_121

let lab: Lab
let proxy: PlatformProxy
before(async () => {
  lab = await startLab({
    time: 'step',
    between: async (platform_url) => {
      proxy = await startPlatformProxy(platform_url)
      return proxy.url
    },
    config: { compute: { timeout_ms: 500, read_timeout_ms: 2000 } },
  })
})
after(async () => {
  await lab?.close()
  await proxy?.close()
})

test('each order is done once or not at all, and has one end', { timeout: 400_000 }, async (t) => {
  const { orders, succeeded } = await storm({
    platform: lab.platform,
    proxy,
    caller: () => lab.call,
    seed: SEED,
    rounds: 2,
  })
  t.diagnostic(`seed ${SEED}: ${succeeded} of ${orders} orders succeeded`)
  assert.ok(succeeded > orders / 2, `${succeeded} of ${orders}`)
})
