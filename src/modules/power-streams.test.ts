import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import type { SseClient } from '#src/contract/answers.ts'
import type { Log } from '#src/kernel/log.ts'
import { createPowerStreams, type PowerReading } from './power-streams.ts'

const WATCH_MS = 1000

/** Everything that is under way goes on as far as it can. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
}

test('a reading from before a change does not come after the one that shows it', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.after(() => mock.timers.reset())
  const slow = Promise.withResolvers<PowerReading>()
  let reads = 0
  const read = async (): Promise<PowerReading> => ((reads += 1) === 1 ? slow.promise : { power_state: 'Off' })
  const log = { warn: () => {}, error: () => {} } as unknown as Log // it logs nothing else
  const streams = createPowerStreams({ device: 'BMC', open: async () => read, watch_ms: WATCH_MS, log })
  const shown: string[] = []
  const send = (frame: Buffer | string): boolean => {
    const [, state = ''] = /"power_state":"(\w+)"/.exec(String(frame)) ?? []
    shown.push(state)
    return true
  }
  const client: SseClient = { closed: false, send, drained: async () => {}, end: () => {} }
  const source = await streams.watch({ bmc_ip: '192.0.2.1', by: 'test' })
  const leave = source.open(client)
  mock.timers.tick(0)
  await settle()
  // The order to power off is given while the first reading is under way.
  streams.hurry('192.0.2.1')
  mock.timers.tick(WATCH_MS)
  await settle()
  slow.resolve({ power_state: 'On' })
  await settle()
  mock.timers.tick(2 * WATCH_MS)
  await settle()
  assert.deepEqual(shown, ['On', 'Off'])
  leave()
  streams.stop()
})
