// What earlier runs can leave behind, from a stale pid to a half-made cluster, does not stop the next start.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { startEmbeddedPostgres } from '#src/store/embedded/postgres.ts'
import { killHard, query, serverPids, startProgram, testFolders, until } from './state-folders.ts'

const makeFolder = testFolders()

test('a recorded pid that now belongs to another program is ignored, and that program lives on', async (t) => {
  const state_dir = await stoppedDatabase()
  const { pid } = startOther(t, state_dir, ['sleep', '600'])
  recordPid(state_dir, pid)
  await startsAgain(t, state_dir)
  process.kill(pid, 0)
})

test('a recorded pid of a zombie does not hold up the start', async (t) => {
  const state_dir = await stoppedDatabase()
  const { pid: parent } = startOther(t, state_dir, ['sh', '-c', 'sleep 0 & exec sleep 600'])
  const children = `/proc/${parent}/task/${parent}/children`
  const zombie = () => Number(fs.readFileSync(children, 'utf8').trim())
  await until('the child is a zombie', () => zombie() > 0 && stateOf(zombie()) === 'Z')
  recordPid(state_dir, zombie())
  // PostgreSQL itself would wait for it for ever.
  await startsAgain(t, state_dir)
})

test('a recorded pid of a process that is gone does not hold up the start', async (t) => {
  const state_dir = await stoppedDatabase()
  const other = startOther(t, state_dir, ['true'])
  await other.ended
  recordPid(state_dir, other.pid)
  await startsAgain(t, state_dir)
})

test('a server without a supervisor is stopped in order before a new one starts', async (t) => {
  const state_dir = await stoppedDatabase()
  const tree = fs.readdirSync(state_dir).find((name) => name.startsWith('pgsql-')) ?? ''
  const data_dir = path.join(state_dir, 'data')
  const orphan = startOther(t, state_dir, [
    path.join(state_dir, tree, 'bin/postgres'),
    '-D',
    data_dir,
    '-k',
    data_dir,
    '-c',
    'listen_addresses=',
  ])
  await until('the orphan is ready', () => recordedState(state_dir) === 'ready')
  await startsAgain(t, state_dir)
  const [code] = await orphan.ended
  assert.equal(code, 0)
})

test('a crash while the cluster is being made leaves nothing that the next start trusts', async (t) => {
  let state_dir: string
  const unfinished = () => names(state_dir).find((name) => name.startsWith('data-unfinished-'))
  const is_made = () => fs.existsSync(path.join(state_dir, 'data'))
  // Where this process was too late, on a busy machine, another cluster is made.
  do {
    state_dir = path.join(makeFolder(), 'state')
    const program = startProgram(t, { state_dir })
    const is_begun = () => fs.existsSync(path.join(state_dir, unfinished() ?? '-', 'PG_VERSION'))
    await until('initdb is at work', () => is_begun() || is_made())
    await killHard(program)
  } while (is_made())
  await startsAgain(t, state_dir)
  assert.equal(unfinished(), undefined)
})

test('a half-made runtime tree of an earlier run is made again', async (t) => {
  const state_dir = path.join(makeFolder(), 'state')
  fs.mkdirSync(path.join(state_dir, 'pgsql-unfinished/bin'), { recursive: true })
  fs.writeFileSync(path.join(state_dir, 'pgsql-unfinished/bin/postgres'), 'half a file')
  await startsAgain(t, state_dir)
  assert.deepEqual(
    names(state_dir).filter((name) => name.includes('unfinished')),
    [],
  )
})

test('data of another major version is refused and left alone', async () => {
  const state_dir = await stoppedDatabase()
  fs.writeFileSync(path.join(state_dir, 'data/PG_VERSION'), '9.6\n')
  await assert.rejects(startEmbeddedPostgres({ state_dir, log: () => undefined }), /version 9\.6.*DATABASE_URL/)
  assert.ok(names(path.join(state_dir, 'data')).includes('base'))
})

async function stoppedDatabase(): Promise<string> {
  const state_dir = path.join(makeFolder(), 'state')
  const postgres = await startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false })
  await postgres.stop()
  return state_dir
}

async function startsAgain(t: TestContext, state_dir: string): Promise<void> {
  const postgres = await startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false })
  t.after(() => postgres.stop())
  assert.deepEqual(await query(postgres.connection, 'select 1 as one'), [{ one: 1 }])
  assert.ok(serverPids(state_dir).length > 0)
}

/** As the account of the server: PostgreSQL itself sees through the pid of any other. */
function startOther(t: TestContext, state_dir: string, argv: readonly [string, ...string[]]) {
  const { uid, gid } = fs.statSync(path.join(state_dir, 'data'))
  const account = process.geteuid?.() === 0 ? { uid, gid } : {}
  const [command, ...args] = argv
  const child = spawn(command, args, { ...account, cwd: '/', stdio: 'ignore' })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  assert.ok(child.pid !== undefined)
  return { pid: child.pid, ended }
}

function recordPid(state_dir: string, pid: number): void {
  const data_dir = path.join(state_dir, 'data')
  const lines = [pid, data_dir, Math.floor(Date.now() / 1000), 5432, '/tmp', '', '', 'ready']
  fs.writeFileSync(path.join(data_dir, 'postmaster.pid'), `${lines.join('\n')}\n`)
}

function recordedState(state_dir: string): string {
  const file = path.join(state_dir, 'data/postmaster.pid')
  return fs.existsSync(file) ? (fs.readFileSync(file, 'utf8').split('\n')[7] ?? '').trim() : ''
}

function stateOf(pid: number): string | undefined {
  return /^State:\s+(\w)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
}

function names(folder: string): string[] {
  return fs.existsSync(folder) ? fs.readdirSync(folder) : []
}
