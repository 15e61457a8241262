// What a poll of the fleet waits for, by a clock of the test: as little as possible, and never shows what is old twice.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createLog } from '#src/kernel/log.ts'
import { createNodePoll } from '#src/modules/network/node-poll.ts'
import type { NodeRow } from '#src/store/nodes.ts'

let clock_ms = 1_000_000
const poll = createNodePoll({ log: createLog({ level: 'silent' }), now: () => clock_ms })
after(() => poll.close())

const node = { id: 'kvm-01', agent_address: '10.0.0.1', agent_port: 1, boot_id: 'one' } as NodeRow
let links_down = 1
let held = Promise.resolve()
let asked = 0
const view = poll.question({
  name: 'links',
  async read() {
    asked += 1
    await held
    return Buffer.from(JSON.stringify(links_down))
  },
  fits: (value): value is number => typeof value === 'number',
  digest: (value) => value,
})
async function shown(): Promise<number | undefined> {
  const [seen] = await view.poll([node])
  return seen !== undefined && 'value' in seen ? seen.value : undefined
}

test('a change of a node is shown by the second poll, and the first waits for nobody', async () => {
  assert.equal(await shown(), 1)
  links_down = 6
  clock_ms += 1999
  assert.deepEqual([await shown(), asked], [1, 1], 'a fresh answer is used again')
  clock_ms += 1
  const { promise, resolve: answer } = Promise.withResolvers<void>()
  held = promise
  // It would never end if it waited.
  assert.equal(await shown(), 1)
  const second = shown()
  answer()
  assert.deepEqual([await second, asked], [6, 2])
})

test('what is too old to be shown is waited for', async () => {
  links_down = 7
  clock_ms += 15_001
  assert.deepEqual([await shown(), asked], [7, 3])
})
