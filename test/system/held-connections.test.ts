// Connections that stand for something: the lock of work that one replica at a time does, and the ear for notices.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, afterEach, before, test } from 'node:test'
import { createBackground } from '#src/kernel/background.ts'
import { createLog } from '#src/kernel/log.ts'
import { createMetrics } from '#src/kernel/metrics.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { createLeader, type Leader } from '#src/store/leader.ts'
import { createListener } from '#src/store/listener.ts'
import { createReplica } from '#src/store/replicas.ts'
import { startWire } from '../support/database-wire.ts'
import { createTestDatabase, onDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const LOCK = 4711
const timing = { retry_ms: 20, check_ms: 20, answer_ms: 15_000, settle_ms: 100 }
/** Of who is to notice a silence: long enough that a busy machine is none. */
const NOTICED_MS = 1500
const log = createLog({ level: 'error', destination: { write: () => {} } })
const background = createBackground(log, createMetrics())

let server: TestDatabase
let database: Database
const leaders: Leader[] = []
/** Who begins and who ends to act, in the order in which it happens. */
let acts: string[]

before(async () => {
  server = await createTestDatabase()
  database = openDatabase({ connection: server.connection, pool_size: 2, log })
})
afterEach(async () => {
  for (const leader of leaders.splice(0)) await leader.stop()
})
after(async () => {
  await database?.close()
  await server?.drop()
})

function candidate(name: string, over = database, answer_ms = timing.answer_ms): Leader {
  const within = { ...timing, answer_ms }
  const leader = createLeader({ database: over, lock: LOCK, name, log, background, timing: within }, async (held) => {
    acts.push(`${name} begins`)
    if (!held.aborted) await once(held, 'abort')
    acts.push(`${name} ends`)
  })
  leaders.push(leader)
  leader.start()
  return leader
}

async function leads(name: string): Promise<void> {
  await until(`${name} leads`, () => acts.at(-1) === `${name} begins`)
}

test('whoever stops leaves the work to another, who did nothing before', async () => {
  acts = []
  const first = candidate('first')
  await leads('first')
  candidate('second')
  await first.stop()
  await leads('second')
  assert.deepEqual(acts, ['first begins', 'first ends', 'second begins'])
})

test('whose connection the database ends has stopped before another begins', async () => {
  acts = []
  candidate('first')
  await leads('first')
  candidate('second')
  await onDatabase(server.connection, (client) =>
    client.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'groundplane first'`),
  )
  await until('it is taken over', () => acts.length >= 3)
  assert.deepEqual(acts.slice(0, 2), ['first begins', 'first ends'])
})

test('whose connection falls silent stops while the database still keeps the lock for it', async () => {
  acts = []
  const wire = await startWire(server.connection)
  const cut_off = openDatabase({ connection: wire.connection, pool_size: 2, log })
  const first = candidate('first', cut_off, NOTICED_MS)
  await leads('first')
  candidate('second')
  wire.silence()
  await until('it has noticed', () => acts.includes('first ends'))
  assert.deepEqual(acts, ['first begins', 'first ends'], 'the database knows of nothing yet')
  wire.end()
  await leads('second')
  await first.stop()
  await cut_off.close()
})

test('work that fails is begun again, and is named as failing', async () => {
  let begun = 0
  const leader = createLeader({ database, lock: LOCK, name: 'failing', log, background, timing }, () => {
    begun += 1
    return Promise.reject(new Error('planned'))
  })
  leaders.push(leader)
  leader.start()
  await until('it has begun three times', () => begun >= 3)
  assert.deepEqual(
    background.failing().map(({ task }) => task),
    ['leader-failing'],
  )
})

test('a heartbeat that is under way when a replica stops does not make it alive again', async () => {
  const gate = Promise.withResolvers<void>()
  const rounds: Promise<void>[] = []
  const round = (_task: string, work: () => Promise<unknown>): Promise<void> => {
    rounds.push(gate.promise.then(async () => void (await work())))
    return rounds.at(-1) ?? assert.fail()
  }
  const replica = createReplica(database, { ...background, round })
  await replica.start()
  await until('a heartbeat is under way', () => rounds.length > 0)
  const stopped = replica.stop()
  gate.resolve()
  await Promise.all([stopped, ...rounds])
  const { rows } = await database.pool.query('select from replica where id = $1', [replica.id])
  assert.equal(rows.length, 0)
})

test('a listener whose connection falls silent says so, connects again, and has its readers catch up', async () => {
  const wire = await startWire(server.connection)
  const listener = createListener(wire.connection, log, { check_ms: 20, answer_ms: NOTICED_MS })
  const heard: string[] = []
  let connected = 0
  listener.on(
    'test_notices',
    (payload) => heard.push(payload),
    () => {
      connected += 1
    },
  )
  await listener.start()
  const tell = (payload: string) => database.pool.query(`select pg_notify('test_notices', $1)`, [payload])
  await tell('first')
  await until('it is heard', () => heard.includes('first'))
  wire.silence()
  await until('it is known to be deaf', () => listener.deaf_since() !== undefined)
  await tell('lost')
  wire.restore()
  await until('it listens again', () => connected >= 2 && listener.deaf_since() === undefined)
  await tell('second')
  await until('it is heard again', () => heard.includes('second'))
  assert.deepEqual(heard, ['first', 'second'])
  await listener.close()
  wire.end()
})
