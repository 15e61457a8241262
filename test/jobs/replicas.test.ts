// Jobs over several replicas: real processes, one of them killed.
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { openKeyring } from '#src/kernel/keyring.ts'
import { openDatabase } from '#src/store/database.ts'
import { createLog } from '#src/kernel/log.ts'
import { migrate } from '#src/store/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const JOBS = 200
const SLOTS = 10

let database: TestDatabase
let client: pg.Client
let folder: string
const workers: ChildProcess[] = []

before(async () => {
  database = await createTestDatabase()
  const opened = openDatabase({ connection: database.connection, pool_size: 1, log: createLog({ level: 'error' }) })
  await migrate(opened.db)
  await opened.close()
  client = new pg.Client(database.connection)
  await client.connect()
  await client.query('create table act (job_id uuid, step text, pid integer, running integer)')
  folder = mkdtempSync(join(tmpdir(), 'gp-spread-'))
  openKeyring(join(folder, 'keys'))
})
after(async () => {
  for (const worker of workers) worker.kill('SIGKILL')
  await client.end()
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

async function startWorker(): Promise<ChildProcess> {
  const options = JSON.stringify({ connection: database.connection, keys: join(folder, 'keys'), slots: SLOTS })
  const worker = fork(join(import.meta.dirname, '../support/job-worker.ts'), [options])
  workers.push(worker)
  await once(worker, 'message')
  return worker
}

const count = async (where: string): Promise<number> =>
  (await client.query(`select count(*)::int as n from job where ${where}`)).rows[0].n

test('200 jobs admitted at one of three replicas are run by all within their room; one is killed, and none is lost or done twice', async () => {
  const [first, second] = await Promise.all([startWorker(), startWorker(), startWorker()])
  first.send(JOBS)
  await until('some jobs have ended, and each replica has had one', async () => {
    const { rows } = await client.query('select count(distinct pid)::int as replicas from act')
    return rows[0].replicas === workers.length && (await count(`job_status = 'completed'`)) > JOBS / 4
  })
  second.kill('SIGKILL')
  await until('all jobs have ended', async () => (await count(`job_status = 'completed'`)) === JOBS)
  const { rows: acts } = await client.query('select pid, running from act')
  const { rows: twice } = await client.query('select from act group by job_id, step having count(*) > 1')
  assert.equal(twice.length, 0, 'an act was done twice')
  assert.equal(acts.length, JOBS * 3)
  assert.deepEqual(new Set(acts.map(({ pid }) => pid)), new Set(workers.map(({ pid }) => pid)))
  assert.ok(acts.every(({ running }) => running <= SLOTS))
})
