// The embedded database starts, stops, and never outlives the program that started it.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { startEmbeddedPostgres } from '#src/store/embedded/postgres.ts'
import { killHard, query, serverPids, startProgram, testFolders, until } from './state-folders.ts'

const makeFolder = testFolders()

const NO_SETPRIV = '/nonexistent/setpriv'

test('a started database answers, keeps rows over a restart, and leaves no process after its stop', async (t) => {
  const state_dir = path.join(makeFolder(), 'state')
  const first = await startEmbeddedPostgres({ state_dir, log: () => undefined })
  await query(first.connection, 'create table kept (n int); insert into kept values (7)')
  await first.stop()
  await first.stop()
  assert.deepEqual(await first.exited, { code: 0, signal: null })
  assert.deepEqual(serverPids(state_dir), [])
  assert.equal(fs.existsSync(first.connection.host), false)

  const second = await startEmbeddedPostgres({ state_dir, log: () => undefined })
  t.after(() => second.stop())
  assert.deepEqual(await query(second.connection, 'select n from kept'), [{ n: 7 }])
})

test('the URL leads to the same database as the connection', async (t) => {
  const { default: pg } = await import('pg')
  const state_dir = path.join(makeFolder(), 'state')
  const postgres = await startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false })
  t.after(() => postgres.stop())
  const client = new pg.Client(postgres.url)
  await client.connect()
  const { rows } = await client.query('select current_database() as database, current_user as user')
  await client.end()
  const { database, user } = postgres.connection
  assert.deepEqual(rows, [{ database, user }])
})

test('the database cannot be reached over the network', async (t) => {
  const state_dir = path.join(makeFolder(), 'state')
  const postgres = await startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false })
  t.after(() => postgres.stop())
  assert.deepEqual(await query(postgres.connection, 'show listen_addresses'), [{ listen_addresses: '' }])
  assert.equal(fs.statSync(postgres.connection.host).mode & 0o777, 0o700)
})

for (const [way, setpriv] of [
  ['setpriv', undefined],
  ['the pipe watchdog', NO_SETPRIV],
] as const) {
  test(`a program killed with SIGKILL takes its database along, by ${way}, and no acknowledged row is lost`, async (t) => {
    const state_dir = path.join(makeFolder(), 'state')
    const program = startProgram(t, { state_dir, ...(setpriv === undefined ? {} : { setpriv }) })
    const connection = await program.connection()
    await query(connection, 'create table kept (n int); insert into kept values (7)')
    await killHard(program)
    await until('no server process is left', () => serverPids(state_dir).length === 0)

    const log: string[] = []
    const next = await startEmbeddedPostgres({ state_dir, log: (line) => log.push(line) })
    t.after(() => next.stop())
    assert.deepEqual(await query(next.connection, 'select n from kept'), [{ n: 7 }])
    assert.ok(!log.some((line) => line.includes('not properly shut down')), log.join('\n'))
  })

  test(`a stop by ${way} is orderly while a client is connected`, async () => {
    const { default: pg } = await import('pg')
    const state_dir = path.join(makeFolder(), 'state')
    const log: string[] = []
    const postgres = await startEmbeddedPostgres({
      state_dir,
      log: (line) => log.push(line),
      fsync: false,
      ...(setpriv === undefined ? {} : { setpriv }),
    })
    const client = new pg.Client(postgres.connection)
    client.on('error', () => undefined)
    await client.connect()
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    await postgres.stop()
    await ended
    assert.deepEqual(await postgres.exited, { code: 0, signal: null })
    assert.ok(
      log.some((line) => line.includes('database system is shut down')),
      log.join('\n'),
    )
  })
}

test('a start right after the kill waits for the old server instead of failing', async (t) => {
  const state_dir = path.join(makeFolder(), 'state')
  const program = startProgram(t, { state_dir })
  await program.connection()
  await killHard(program)
  const next = await startEmbeddedPostgres({ state_dir, log: () => undefined })
  t.after(() => next.stop())
  assert.deepEqual(await query(next.connection, 'select 1 as one'), [{ one: 1 }])
})

test('a server that dies by itself is reported', async (t) => {
  const state_dir = path.join(makeFolder(), 'state')
  const postgres = await startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false })
  t.after(() => postgres.stop())
  const [first_line = ''] = fs.readFileSync(path.join(state_dir, 'data/postmaster.pid'), 'utf8').split('\n')
  process.kill(Number(first_line), 'SIGQUIT')
  assert.deepEqual(await postgres.exited, { code: 0, signal: null })
})

test('the second supervisor of a state folder is refused and the first keeps working', async (t) => {
  const state_dir = path.join(makeFolder(), 'state')
  const program = startProgram(t, { state_dir })
  const connection = await program.connection()
  await assert.rejects(
    startEmbeddedPostgres({ state_dir, log: () => undefined }),
    new RegExp(`another program \\(pid ${program.child.pid}\\) runs the database in .*DATABASE_URL`),
  )
  assert.deepEqual(await query(connection, 'select 1 as one'), [{ one: 1 }])
})

test('of two that start at once on an empty folder exactly one runs', async (t) => {
  const state_dir = path.join(makeFolder(), 'state')
  const start = () => startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false })
  const outcomes = await Promise.allSettled([start(), start()])
  const running = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  t.after(() => Promise.all(running.map((postgres) => postgres.stop())))
  assert.equal(running.length, 1)
})
