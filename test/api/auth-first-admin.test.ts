// The first admin token: one, in a private file, working after every start.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { ensureFirstAdminToken, readOrCreateAdminToken } from '#src/modules/auth/first-admin.ts'
import { findLiveToken, insertToken } from '#src/store/api-tokens.ts'
import { credentialHash } from '#src/store/credentials.ts'
import { type AuthDatabase, startAuthDatabase } from '../support/auth-service.ts'

let db: AuthDatabase
before(async () => {
  db = await startAuthDatabase()
})
after(() => db.stop())
beforeEach(async () => {
  rmSync(db.data_dir, { recursive: true, force: true })
  await db.database.db.deleteFrom('api_token').execute()
  await db.database.db.deleteFrom('user_account').execute()
})

const file = (): string => join(db.data_dir, 'admin-token')
const inFile = (): string => readFileSync(file(), 'utf8').trim()
const works = async (token: string): Promise<boolean> =>
  typeof (await findLiveToken(db.database.db, credentialHash(token))) !== 'string'
const tokens = async (): Promise<number> => (await db.database.db.selectFrom('api_token').select('id').execute()).length

test('the first start makes one admin token in a file that only its owner reads; the second makes none', async () => {
  const token = (await ensureFirstAdminToken(db, db.data_dir)) ?? ''
  assert.equal(inFile(), token)
  assert.equal(statSync(file()).mode & 0o777, 0o600)
  assert.ok(await works(token))
  assert.equal(await ensureFirstAdminToken(db, db.data_dir), undefined)
  assert.deepEqual([await tokens(), inFile()], [1, token])
})

test('two replicas that start together make one token', async () => {
  const made = await Promise.all([1, 2, 3].map((n) => ensureFirstAdminToken(db, join(db.data_dir, String(n)))))
  assert.equal(made.filter((token) => token !== undefined).length, 1)
  assert.equal(await tokens(), 1)
})

test('after a crash between file and commit the next start leaves exactly one working token in the file', async () => {
  mkdirSync(db.data_dir, { recursive: true })
  writeFileSync(file(), `gp_${'x'.repeat(43)}\n`)
  const token = await ensureFirstAdminToken(db, db.data_dir)
  assert.equal(inFile(), token)
  assert.ok(await works(inFile()))
  assert.equal(await tokens(), 1)
})

test('a token that cannot be written to its file is not made', async () => {
  writeFileSync(db.data_dir, 'in the way')
  await assert.rejects(ensureFirstAdminToken(db, db.data_dir))
  assert.equal(await tokens(), 0)
})

test('the lab finds a working admin token in the file at every start', async () => {
  const first = await readOrCreateAdminToken(db, db.data_dir)
  assert.equal(await readOrCreateAdminToken(db, db.data_dir), first)
  await db.database.db.updateTable('api_token').set({ revoked_at: new Date() }).execute()
  const second = await readOrCreateAdminToken(db, db.data_dir)
  assert.notEqual(second, first)
  assert.ok(await works(second))
  assert.equal(inFile(), second)
  rmSync(file())
  assert.ok(await works(await readOrCreateAdminToken(db, db.data_dir)))
  const weak = { name: 'w', role: 'viewer', tenant_id: null, user_id: null, created_by: 't', expires_at: null } as const
  const { token } = await db.database.transact((trx) => insertToken(trx, weak))
  writeFileSync(file(), token)
  assert.notEqual(await readOrCreateAdminToken(db, db.data_dir), token)
})
