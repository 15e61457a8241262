// How often the platform is polled, with and without its webhook: real database and simulated platform, a clock of the test.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type CloudStackLab, startCloudStack } from '../../lab/cloudstack/server.ts'
import { wellKnown } from '../../lab/site.ts'
import { type CloudStack, createCloudStack } from '#src/drivers/cloudstack/client.ts'
import { rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { createBackground } from '#src/kernel/background.ts'
import { createLog } from '#src/kernel/log.ts'
import { createMetrics } from '#src/kernel/metrics.ts'
import { createStateWatcher, type StateWatcher } from '#src/modules/compute/state-watcher.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const [EVENTS_MS, STATES_MS] = [3000, 15_000]
const log = createLog({ level: 'silent' })
const background = createBackground(log, createMetrics())

let platform: CloudStackLab
let cloudstack: CloudStack
let own_database: TestDatabase
let database: Database
let watcher: StateWatcher

/** Loops that wait, by how long they want to. */
const waiting: { wait_ms: number; go: () => void }[] = []
function wait(wait_ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    waiting.push({ wait_ms, go: resolve })
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Lets the loop that waits so long go on. */
async function pass(wait_ms: number): Promise<void> {
  const index = await until(`a loop waits ${wait_ms} ms`, () => {
    const found = waiting.findIndex((one) => one.wait_ms === wait_ms)
    return found < 0 ? undefined : { found }
  })
  waiting.splice(index.found, 1)[0]?.go()
}

/** Ends when the loop that was let go waits again, for one of these. */
async function nextOf(...candidates: number[]): Promise<number> {
  const { wait_ms } = await until('the loop waits again', () => waiting.find((one) => candidates.includes(one.wait_ms)))
  return wait_ms
}

let changes = 0
/** An event in the platform's log; `delivered`: told by the webhook, too. */
async function happens(delivered: boolean): Promise<void> {
  changes += 1
  await cloudstack.call('updateVirtualMachine', { id: wellKnown.vms['web-01'], displayname: `web ${changes}` })
  if (!delivered) return
  const content = await cloudstack.call('listEvents', { listall: true, page: 1, pagesize: 50 })
  const rows = rowsOf(content, 'event').map((row) => ({ id: textOf(row, 'id') ?? '' }))
  await database.db
    .insertInto('hook_delivery')
    .values(rows)
    .onConflict((on) => on.doNothing())
    .execute()
}

before(async () => {
  own_database = await createTestDatabase()
  database = openDatabase({ connection: own_database.connection, pool_size: 4, log })
  platform = await startCloudStack({ time: 'step' })
  const { url, api_key, secret_key } = platform
  const timeouts = { timeout_ms: 30_000, read_timeout_ms: 30_000 }
  cloudstack = createCloudStack({ url, api_key, secret_key, algorithm: 'auto', ...timeouts }, { log })
  const hook = { public_url: undefined, hook_secret: undefined }
  const polls = { events_poll_ms: EVENTS_MS, states_poll_ms: STATES_MS }
  watcher = createStateWatcher({ cloudstack, database, ...polls, hook, log, wait, background })
  watcher.start()
})
after(async () => {
  await watcher?.stop()
  await cloudstack?.close()
  await platform?.close()
  await database?.close()
  await own_database?.drop()
})

test('events are polled every 60 and states every 90 seconds while the webhook delivers, and as configured without', async () => {
  await happens(false)
  await pass(EVENTS_MS)
  assert.equal(await nextOf(EVENTS_MS, 60_000), EVENTS_MS)
  await happens(true)
  await pass(EVENTS_MS)
  assert.equal(await nextOf(EVENTS_MS, 60_000), 60_000)
  await pass(STATES_MS)
  assert.equal(await nextOf(STATES_MS, 90_000), 90_000)

  // A quiet platform delivers nothing, which says nothing about the webhook.
  await pass(60_000)
  assert.equal(await nextOf(EVENTS_MS, 60_000), 60_000)

  // Late is asked again soon, and forgiven when the delivery came after all.
  await happens(false)
  await pass(60_000)
  assert.equal(await nextOf(EVENTS_MS, 60_000), EVENTS_MS)
  await happens(true)
  await pass(EVENTS_MS)
  assert.equal(await nextOf(EVENTS_MS, 60_000), 60_000)

  // Deliveries stop.
  await happens(false)
  await pass(60_000)
  assert.equal(await nextOf(EVENTS_MS, 60_000), EVENTS_MS)
  await pass(EVENTS_MS)
  assert.equal(await nextOf(EVENTS_MS, 60_000), EVENTS_MS)
  await pass(90_000)
  assert.equal(await nextOf(STATES_MS, 90_000), STATES_MS)

  // They come again.
  await happens(true)
  await pass(EVENTS_MS)
  assert.equal(await nextOf(EVENTS_MS, 60_000), 60_000)
})

test('a poll that comes rarely keeps every event since the one before, however many pages they fill', async () => {
  const { events } = platform.state.tables
  const [first] = events.filter(() => true).slice(-1)
  assert.ok(first !== undefined)
  const created = Date.now()
  for (let number = 0; number < 700; number += 1) {
    const id = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
    events.put({ ...first, id, created, number: 1_000_000 + number })
  }
  await pass(60_000)
  await nextOf(EVENTS_MS, 60_000)
  const { count } = await database.db
    .selectFrom('platform_event')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('id', 'like', '00000000-0000-4000-8000-%')
    .executeTakeFirstOrThrow()
  assert.equal(Number(count), 700)
})

test('events that were read but could not be stored are read again', async () => {
  const { events } = platform.state.tables
  const [first] = events.filter(() => true).slice(-1)
  assert.ok(first !== undefined)
  const ids = ['11111111-0000-4000-8000-000000000001', '11111111-0000-4000-8000-000000000002']
  for (const [index, id] of ids.entries())
    events.put({ ...first, id, created: Date.now() + (index + 1) * 60_000, number: 2_000_000 + index })
  const { db } = database
  await db.schema.alterTable('platform_event').renameTo('platform_event_away').execute()
  await pass(await nextOf(EVENTS_MS, 60_000))
  const next = await nextOf(EVENTS_MS, 60_000)
  await db.schema.alterTable('platform_event_away').renameTo('platform_event').execute()
  await pass(next)
  await nextOf(EVENTS_MS, 60_000)
  const stored = await db.selectFrom('platform_event').select('id').where('id', 'in', ids).orderBy('id').execute()
  assert.deepEqual(
    stored.map(({ id }) => id),
    ids,
  )
})

test('a state that was read before another one was written does not replace it', async () => {
  const id = wellKnown.vms['web-01']
  const { vms } = platform.state.tables
  const states = async () => {
    const rows = database.db
      .selectFrom('stream_event')
      .select('data')
      .where('type', '=', 'vm-state')
      .orderBy('position')
    const all = (await rows.execute()).map(({ data }) => data as { id: string; new_state: string })
    return all.filter((one) => one.id === id).map(({ new_state }) => new_state)
  }
  const earlier = (await states()).length
  const gate = Promise.withResolvers<void>()
  let read = 0
  const held: CloudStack = {
    ...cloudstack,
    async call(...args) {
      const answer = await cloudstack.call(...args)
      read += 1
      if (read === 1) await gate.promise
      return answer
    },
  }
  const hook = { public_url: undefined, hook_secret: undefined }
  const polls = { events_poll_ms: EVENTS_MS, states_poll_ms: STATES_MS }
  const slow = createStateWatcher({ cloudstack: held, database, ...polls, hook, log, wait, background })
  const poll = slow.poll([id])
  await until('it has read the old state', () => read === 1)
  const vm = vms.get(id)
  assert.equal(vm?.state, 'Running')
  vms.put({ ...vm, state: 'Stopped' })
  await watcher.poll([id])
  gate.resolve()
  await poll
  const row = await database.db.selectFrom('vm_state').select('state').where('id', '=', id).executeTakeFirst()
  assert.deepEqual([row?.state, (await states()).slice(earlier)], ['Stopped', ['Stopped']])
})
