// A storm on the line to the platform: every kind of change is ordered while answers are lost, cut, late, or come for calls
// that arrive late, and afterwards the books must balance: each order once or not at all, each with one end.
import assert from 'node:assert/strict'
import { randomOf } from './seeded-random.ts'
import { balance, contentsOf, type Ended, eventsOf, type Send } from './storm-books.ts'
import { machineLines } from './storm-machines.ts'
import { fateOf } from './storm-fates.ts'
import { type OrderDeps, sendOnce } from './storm-order.ts'
import { prepareSite, siteLines } from './storm-site.ts'
import { until } from './until.ts'

export interface StormOptions extends OrderDeps {
  seed: number
  /** When all orders have ended, and before the books are looked at. */
  before_balance?: () => Promise<void>
}

/** Of a line that stays broken for longer than a caller waits nobody can tell what became of a change. */
const MOST_IN_A_ROW = 2
/** Their answers are waited for so long, minutes, that here the connection breaks instead of staying silent. */
const WAITED_FOR = new Set([
  'discoverGpuDevices',
  'recoverVirtualMachine',
  'resetUserDataForVirtualMachine',
  'updateVirtualMachine',
])
/** A kind that fails as often as this one after the other does not fail by chance. */
const ATTEMPTS = 8

/** Orders everything, and checks what came of it. Answers the orders, and how many of each kind succeeded. */
export async function storm(options: StormOptions): Promise<{ orders: number; done: number; kinds: Set<string> }> {
  const { platform, proxy, seed } = options
  const random = randomOf(seed)
  prepareSite(platform)
  const before = contentsOf(platform)
  const events_before = await until('events are listed', () => eventsOf(options.caller()))
  const broken = new Map<string, number>()
  proxy.behave((command) => {
    const drawn = fateOf(command, random)
    const fate = drawn === 'late' && WAITED_FOR.has(command) ? 'lost' : drawn
    const in_a_row = fate === 'pass' ? 0 : (broken.get(command) ?? 0) + 1
    broken.set(command, in_a_row % (MOST_IN_A_ROW + 1))
    return in_a_row > MOST_IN_A_ROW ? 'pass' : fate
  })
  const ticking = setInterval(() => platform.step(), 40)
  const ended: Ended[] = []
  const failures: unknown[] = []
  const send: Send = async (kind, order) => {
    for (let attempt = 1; ; attempt += 1) {
      assert.equal(failures.length, 0, 'another line has failed')
      const one = await sendOnce(options, kind, order)
      ended.push(one)
      if (one.outcome === 'done') return one.resource_id ?? ''
      assert.ok(attempt < ATTEMPTS, `${kind} failed ${attempt} times: ${one.reason}`)
    }
  }
  try {
    const parts = { platform, send, tag: `${seed}` }
    const lines = [...machineLines(parts), ...siteLines(parts)]
    await Promise.all(lines.map((line) => line().catch((error: unknown) => failures.push(error))))
    if (failures.length > 0) throw failures[0]
    proxy.behave(() => 'pass')
    await options.before_balance?.()
    await balance(platform, options.caller(), before, events_before, ended)
  } finally {
    proxy.behave(() => 'pass')
    clearInterval(ticking)
  }
  const done = ended.filter(({ outcome }) => outcome === 'done')
  return { orders: ended.length, done: done.length, kinds: new Set(done.map(({ kind }) => kind)) }
}
