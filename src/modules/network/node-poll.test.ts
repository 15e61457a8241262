import assert from 'node:assert/strict'
import { mock, test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { UpstreamError } from '#src/kernel/errors.ts'
import type { Log } from '#src/kernel/log.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import { createNodePoll, type Question } from './node-poll.ts'

interface Reported {
  reported: string
}

const row = (id: string): NodeRow => ({ id, bmc_ip: id, agent_address: 'a', agent_port: 1, boot_id: 'b' }) as NodeRow // the poll looks at nothing else

function startPoll(t: TestContext, read: Question<Reported, string>['read'], no_cache = false) {
  mock.timers.enable({ apis: ['Date'] })
  const poll = createNodePoll({ log: { debug: () => {} } as unknown as Log, retry_ms: 10_000 }) // it logs nothing else
  t.after(() => {
    mock.timers.reset()
    poll.close()
  })
  return poll.question<Reported, string>({
    name: 'test',
    read,
    fits: (value): value is Reported => typeof value === 'object' && value !== null && 'reported' in value,
    digest: ({ reported }) => reported,
    no_cache,
  })
}

const answer = (reported: string): Buffer => Buffer.from(JSON.stringify({ reported }))
/** Background work that is under way ends first. */
async function pass(ms: number): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
  mock.timers.tick(ms)
}

test('a thousand nodes that take their time are waited for together', async (t) => {
  const all_asked = Promise.withResolvers<void>()
  let asked = 0
  const view = startPoll(t, async (node) => {
    asked += 1
    if (asked === 1000) all_asked.resolve()
    // None answers before the last one was asked.
    await all_asked.promise
    return answer(node.id)
  })
  const seen = await view.poll(Array.from({ length: 1000 }, (_none, at) => row(`n${at}`)))
  assert.deepEqual(
    seen.slice(0, 2).map((one) => 'value' in one && one.value),
    ['n0', 'n1'],
  )
})

test('polls at the same time ask a node once, and soon after not at all', async (t) => {
  let asked = 0
  const view = startPoll(t, async () => answer(`${(asked += 1)}`))
  await Promise.all([view.poll([row('a')]), view.poll([row('a')])])
  await pass(1000)
  await view.poll([row('a')])
  assert.equal(asked, 1)
})

test('who asks again waits for nobody, and the poll after that shows what changed', async (t) => {
  let reported = 'before'
  let release = Promise.resolve()
  const view = startPoll(t, async () => {
    await release
    return answer(reported)
  })
  const poll = async () => (await view.poll([row('a')])).map((one) => 'value' in one && one.value)
  assert.deepEqual(await poll(), ['before'])
  await pass(3000)
  reported = 'after'
  const gate = Promise.withResolvers<void>()
  release = gate.promise
  assert.deepEqual(await poll(), ['before'])
  const second = poll()
  const page = await view.poll([row('a')], { continuation: true })
  assert.deepEqual(page[0] !== undefined && 'value' in page[0] && page[0].value, 'before')
  gate.resolve()
  assert.deepEqual(await second, ['after'])
})

test('what is old is not shown', async (t) => {
  let asked = 0
  const view = startPoll(t, async () => answer(`${(asked += 1)}`))
  await view.poll([row('a')])
  await pass(20_000)
  assert.deepEqual(await view.poll([row('a')]), [{ node: row('a'), value: '2' }])
})

test('what must be of this moment is asked again each time', async (t) => {
  let asked = 0
  const view = startPoll(t, async () => answer(`${(asked += 1)}`), true)
  await view.poll([row('a')])
  await view.poll([row('a')])
  assert.equal(asked, 2)
})

test('what must be of this moment is not taken from a question that is under way', async (t) => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let reported = 'before'
  let asked = 0
  const read = async (): Promise<Buffer> => {
    const [gate, now] = [gates[asked], answer(reported)]
    asked += 1
    await gate?.promise
    return now
  }
  const view = startPoll(t, read, true)
  gates[0]?.resolve()
  await view.poll([row('a')])
  const earlier = view.poll([row('a')])
  await pass(0)
  reported = 'after'
  const later = view.poll([row('a')])
  for (const gate of gates) gate.resolve()
  const value = async (poll: typeof later) => (await poll).map((one) => 'value' in one && one.value)
  assert.deepEqual([await value(earlier), await value(later)], [['before'], ['after']])
})

test('a node that broke is asked again at the next poll; one that was silent is left alone', async (t) => {
  const asked = { broken: 0, silent: 0 }
  const view = startPoll(t, async ({ id }) => {
    asked[id as 'broken' | 'silent'] += 1
    if (id === 'broken') return Buffer.from('<html>')
    await delay(1100)
    throw new UpstreamError({ upstream: 'AGENT', operation: id, failure: 'timeout' })
  })
  const rows = [row('broken'), row('silent')]
  for (let poll = 0; poll < 3; poll += 1) {
    const seen = await view.poll(rows)
    assert.deepEqual(
      seen.map((one) => 'error' in one && one.error),
      ['The agent of the node failed.', 'The node did not answer in time.'],
    )
    await pass(4000)
  }
  assert.deepEqual(asked, { broken: 3, silent: 1 })
  await view.poll(rows)
  await pass(0)
  assert.equal(asked.silent, 2)
})

test('whole answers are kept up to a bound; those of a page that were not are asked for', async (t) => {
  const large = 'x'.repeat(1024 * 1024)
  let asked = 0
  const view = startPoll(t, async () => {
    asked += 1
    return answer(large)
  })
  const rows = Array.from({ length: 80 }, (_none, at) => row(`n${at}`))
  await view.poll(rows)
  const seen = await view.poll(rows)
  const [shown] = await view.whole(seen.slice(0, 1))
  assert.deepEqual(shown, { node: rows[0], value: { reported: large } })
  assert.equal(asked, 81)
  await view.whole(seen)
  const whole = rows.length - (asked - 81)
  assert.ok(whole < 32 && whole > 20, String(whole))
})

test('a whole answer is freed as soon as a newer one takes its place', async (t) => {
  const given: Buffer[] = []
  const view = startPoll(
    t,
    async () => {
      const bytes = Buffer.concat([answer(`${given.length}`), Buffer.alloc(64 * 1024, ' ')])
      given.push(bytes)
      return bytes
    },
    true,
  )
  await view.poll([row('a')])
  const seen = await view.poll([row('a')])
  assert.deepEqual(
    given.map(({ length }) => length > 0),
    [false, true],
  )
  assert.deepEqual(await view.whole(seen), [{ node: row('a'), value: { reported: '1' } }])
})
