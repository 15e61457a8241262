// `groundplane control rotate-key`, run as an operator runs it, while replicas use the old key.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { type ControlPlane, startControlPlane } from '../../bin/control-plane.ts'
import type { KeyedCertificate } from '#src/kernel/certificates.ts'
import { createLog } from '#src/kernel/log.ts'
import { openKeyring, type Keyring } from '#src/kernel/keyring.ts'
import { createCaStore } from '#src/store/ca.ts'
import { openDatabase } from '#src/store/database.ts'
import { callerFor } from '../support/http.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { tempFolder } from '../support/temp-folder.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/cli.ts')

let lab: Lab
let other: ControlPlane
let database: pg.Client
let config_file: string
before(async () => {
  lab = await startLab({ time: 'step' })
  const log = createLog({ level: 'error' })
  other = await startControlPlane(lab.config, { connection: lab.database.connection, log, admin_token: 'first-start' })
  database = new pg.Client(lab.database.connection)
  await database.connect()
  const { host, port, user, database: name } = lab.database.connection
  const url = `postgres://${user}@localhost/${name}?host=${encodeURIComponent(host)}&port=${port}`
  config_file = join(lab.data_dir, 'control.json')
  writeFileSync(config_file, JSON.stringify({ data_dir: lab.data_dir, database: { url } }), { mode: 0o600 })
})
after(async () => {
  await database.end()
  await other.close()
  await lab.close()
})

const keyring = () => openKeyring(join(lab.data_dir, 'keys'))

async function caOf(keyring: Keyring): Promise<KeyedCertificate> {
  const store = openDatabase({ connection: lab.database.connection, pool_size: 2, log: lab.control.log })
  try {
    return await createCaStore(store, keyring).get()
  } finally {
    await store.close()
  }
}

async function rotate(): Promise<{ code: number; output: string; errors: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath, [PROGRAM, 'control', 'rotate-key', '--config', config_file],
    ) // biome-ignore format: one command
    return { code: 0, output: stdout, errors: stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, output: stdout, errors: stderr }
  }
}

const ENCRYPTED = `
  select 'job.input' as place, input as encrypted from job union all select 'job.state', state from job
  union all select 'idempotency.body', body from idempotency union all select 'oidc_login.sealed', sealed from oidc_login
  union all select 'tenant.admin_password', admin_password from tenant
  union all select 'tenant.auth_secret', auth_secret from tenant
  union all select 'authority', value ->> 'sealed_key' from setting where name = 'node-authority'`

/** Places that hold encrypted text, each with how much of it the newest key encrypted. */
async function encryptedBy(prefix: string): Promise<Record<string, { of_key: number; all: number }>> {
  const { rows } = await database.query<{ place: string; of_key: number; all: number }>(
    `select place, count(*) filter (where starts_with(encrypted, $1))::int as of_key, count(*)::int as all
     from (${ENCRYPTED}) as texts where encrypted is not null group by place`,
    [prefix],
  )
  return Object.fromEntries(rows.map(({ place, of_key, all }) => [place, { of_key, all }]))
}

const createToken = (call: Lab['call']) =>
  call('POST', '/auth/tokens', { name: 'kept', role: 'viewer' }, { headers: { 'idempotency-key': 'before-rotation' } })

test('a rotation encrypts everything again, and running replicas, jobs and replays go on', async () => {
  const old = keyring()
  const first = await createToken(lab.call)
  const stopped = (await lab.call('POST', '/compute/vms/list', { state: 'Stopped' })).body.virtual_machines[0].id
  const started = await lab.call('POST', '/compute/vms/start', { virtual_machine_id: stopped })
  assert.equal(started.status, 200, started.text)
  const tenant_id = randomUUID()
  await database.query(
    `insert into tenant (id, name, source, created_by, admin_password, auth_secret) values ($1, 'rotated', 'service', 'admin', $2, $3)`,
    [
      tenant_id,
      old.encrypt('of the admin', `tenant:${tenant_id}`),
      old.encrypt('of the directory', `tenant:${tenant_id}`),
    ],
  )
  await database.query(
    "insert into oidc_login (state_hash, sealed, expires_at) values ($1, $2, now() + interval '1 hour')",
    [randomBytes(32), old.encrypt('pending', 'oidc_login')],
  )
  const authority = await caOf(old)

  const { code, output, errors } = await rotate()
  assert.equal(code, 0, errors)
  assert.match(output, /A new key encrypts from now on; \d+ older texts were encrypted again/)

  const prefix = keyring().prefix()
  const places = await encryptedBy(prefix)
  assert.deepEqual(Object.keys(places).sort(), [
    'authority', 'idempotency.body', 'job.input', 'job.state', 'oidc_login.sealed', 'tenant.admin_password', 'tenant.auth_secret',
  ]) // biome-ignore format: one list
  for (const [place, { of_key, all }] of Object.entries(places)) assert.equal(of_key, all, place)
  const { rows } = await database.query<{ admin_password: string; auth_secret: string }>(
    'select admin_password, auth_secret from tenant where id = $1',
    [tenant_id],
  )
  assert.equal(keyring().decrypt(rows[0]?.admin_password ?? '', `tenant:${tenant_id}`), 'of the admin')
  assert.equal(keyring().decrypt(rows[0]?.auth_secret ?? '', `tenant:${tenant_id}`), 'of the directory')

  assert.deepEqual(await caOf(keyring()), authority)

  for (const call of [lab.call, callerFor(other.url, lab.token)]) {
    const replayed = await createToken(call)
    assert.deepEqual([replayed.status, replayed.body], [first.status, first.body])
  }
  // The replica that ran the job goes; the other takes it over with what the new key encrypted.
  await lab.restart()
  await until('the job is done', async () => {
    lab.platform.step()
    return (await lab.call('GET', `/jobs/${started.body.job_id}`)).body.job_status === 'completed'
  })
})

test('a second rotation works like the first', async () => {
  const before_it = keyring().prefix()
  assert.equal((await rotate()).code, 0)
  const prefix = keyring().prefix()
  assert.notEqual(prefix, before_it)
  for (const [place, { of_key, all }] of Object.entries(await encryptedBy(prefix))) assert.equal(of_key, all, place)
})

test('two rotations at once: one is refused and changes nothing, so no key is lost', async () => {
  // Held up in the middle of its work: two that only start together may follow one another on a busy machine.
  await database.query('begin')
  await database.query('lock table oidc_login')
  const first = rotate()
  await until('the first is at work', () =>
    onDatabase(lab.database.connection, async (client) => {
      const waiting = "where datname = current_database() and wait_event_type = 'Lock' and query like '%oidc_login%'"
      return (await client.query(`select from pg_stat_activity ${waiting}`)).rowCount === 1
    }),
  )
  const second = await rotate()
  await database.query('commit')
  assert.deepEqual([(await first).code, second.code], [0, 1])
  assert.match(second.errors, /Another rotation is under way/)
  for (const [place, { of_key, all }] of Object.entries(await encryptedBy(keyring().prefix())))
    assert.equal(of_key, all, place)
})

test('a text whose key was lost is named and left alone, and the rest is encrypted again', async () => {
  const folder = tempFolder('gp-stranger-')
  const stranger = openKeyring(join(folder, 'keys')).encrypt('lost', 'oidc_login')
  await database.query(
    "insert into oidc_login (state_hash, sealed, expires_at) values ($1, $2, now() + interval '1 hour')",
    [Buffer.from('ab'.repeat(32), 'hex'), stranger],
  )
  const { code, errors } = await rotate()
  assert.equal(code, 2)
  assert.match(errors, /oidc_login abababab/)
  const places = await encryptedBy(keyring().prefix())
  assert.deepEqual(places['oidc_login.sealed'], { of_key: 1, all: 2 })
  assert.equal(places['job.input']?.of_key, places['job.input']?.all)
})
