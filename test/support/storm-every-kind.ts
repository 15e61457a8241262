// A storm on the line to the platform: every kind of change is ordered while answers are lost, cut, late, or come for calls
// that arrive late, and afterwards the books must balance: each order once or not at all, each with one end.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { CloudStackLab } from '../../lab/cloudstack/server.ts'
import { areas } from '#src/contract/index.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import type { Caller, Reply } from './http.ts'
import type { Fate, PlatformProxy } from './platform-proxy.ts'
import { randomOf } from './platform-storm.ts'
import { balance, contentsOf, type Ended, eventsOf, openEntry, type Order, type Send } from './storm-books.ts'
import { machineLines } from './storm-machines.ts'
import { prepareSite, siteLines } from './storm-site.ts'
import { until } from './until.ts'

export interface StormOptions {
  platform: CloudStackLab
  proxy: PlatformProxy
  /** Of a control plane that lives; one that is killed is another one afterwards. */
  caller: () => Caller
  seed: number
  /** When all orders have ended, and before the books are looked at. */
  before_balance?: () => Promise<void>
}

const ORDINARY: readonly [Fate, number][] = [
  ['lost', 0.12],
  ['cut', 0.12],
  ['late', 0.1],
  ['refuse', 0.06],
  ['delayed', 0.08],
]
const READ = /^(list|get|query|find)/
/** A kind that fails as often as this one after the other does not fail by chance. */
const ATTEMPTS = 8
const DEADLINE_MS = 120_000

/** Orders everything, and checks what came of it. Answers the orders, and how many of each kind succeeded. */
export async function storm(options: StormOptions): Promise<{ orders: number; done: number; kinds: Set<string> }> {
  const { platform, proxy, seed } = options
  const random = randomOf(seed)
  prepareSite(platform)
  const before = contentsOf(platform)
  proxy.behave((command) => {
    if (command === 'queryAsyncJobResult') return random() < 0.1 ? 'refuse' : 'pass'
    return READ.test(command) ? 'pass' : fateOf(random())
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
    await balance(platform, options.caller(), before, ended)
  } finally {
    proxy.behave(() => 'pass')
    clearInterval(ticking)
  }
  const done = ended.filter(({ outcome }) => outcome === 'done')
  return { orders: ended.length, done: done.length, kinds: new Set(done.map(({ kind }) => kind)) }
}

const ROUTES: ReadonlyMap<string, RouteSpec> = new Map(areas.flatMap(({ routes }) => Object.entries(routes)))

/** Sends until somebody answers, and waits for the end of what was admitted. */
async function sendOnce(options: StormOptions, kind: string, order: Order): Promise<Ended> {
  const route = ROUTES.get(kind)
  assert.ok(route !== undefined, `${kind} is in the contract`)
  const { body, params = {}, confirm, ...effect } = order
  const query = confirm === undefined ? '' : `?confirm=${confirm}`
  const place = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const path = `${place}${query}`
  const close = openEntry(options.platform, effect)
  const key = randomUUID()
  const reply = await until(`${kind} is answered`, () => answerOf(options, route.method, path, body, key), DEADLINE_MS)
  const id = correlationOf(reply)
  if (wasInterrupted(reply)) {
    await quiet(options)
    return close({ kind, id, outcome: 'interrupted', resource_id: null, reason: reply.text, effect })
  }
  assert.ok(reply.status < 400 || (await isAdmitted(options, id)), `${kind}: ${reply.text}`)
  const event = await until(`${kind} ${id} ends (${reply.text})`, () => endOf(options, id), DEADLINE_MS)
  return close({
    kind,
    id,
    outcome: event.status === 'SUCCESS' ? 'done' : 'failed',
    resource_id: event.resource_uuid,
    reason: `${event.error_message ?? ''} ${reply.text.slice(0, 200)}`,
    effect,
  })
}

async function answerOf(options: StormOptions, method: string, path: string, body: unknown, key: string) {
  let reply: Reply
  try {
    reply = await options.caller()(method, path, body, { headers: { 'idempotency-key': key } })
  } catch {
    // The control plane was killed before it answered.
    await pause(200)
    return undefined
  }
  if (wasInterrupted(reply)) return reply
  // Still being worked on, or nothing was admitted because the platform did not answer: the same request comes again.
  if (reply.status === 409 && /IDEMPOTENCY/.test(reply.text)) return undefined
  const refused_before = reply.status >= 500 && !(await isAdmitted(options, correlationOf(reply)))
  return refused_before ? undefined : reply
}

/** Its process was killed after it had begun: nobody knows what became of it, and the service says so. */
function wasInterrupted({ status, text }: Reply): boolean {
  return status === 409 && /IDEMPOTENCY_KEY_IN_USE/.test(text) && /was interrupted; read the resource/.test(text)
}

/** A call that is on its way may arrive after its process has died. */
async function quiet({ proxy }: StormOptions): Promise<void> {
  await until('no call is on its way', () => proxy.underway() === 0)
}

function correlationOf(reply: Reply): string {
  return reply.headers.get('x-correlation-id') ?? ''
}

async function isAdmitted(options: StormOptions, correlation_id: string): Promise<boolean> {
  return (await eventsOf(options.caller(), { correlation_id })).length > 0
}

async function endOf(options: StormOptions, correlation_id: string) {
  const events = await eventsOf(options.caller(), { correlation_id }).catch(() => [])
  return events.find((one) => one.status !== 'IN_PROGRESS')
}

function fateOf(drawn: number): Fate {
  let sum = 0
  for (const [fate, share] of ORDINARY) {
    sum += share
    if (drawn < sum) return fate
  }
  return 'pass'
}
