// A standby on a real PostgreSQL of Debian: copied through its slot, streaming, copied again after a crash, and removed; a database
// of others, another primary, and a standby that was promoted are never touched.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { DatabaseDocument } from '#src/contract/nodes/desired-documents.ts'
import { documentHash } from '#src/kernel/document-hash.ts'
import { linuxHost } from '#src/kernel/host.ts'
import { createDatabaseArea } from '#src/node/desired/database.ts'
import { type DebianPostgres, debianPostgresMissing, startDebianPostgres } from '../support/debian-postgres.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const missing = process.geteuid?.() === 0 ? debianPostgresMissing() : 'needs root to run programs as postgres'

suite('standby of a database', { skip: missing }, () => {
  const root = tempFolder('gp-standby-')
  const data_dir = join(root, 'var/lib/postgresql/15/main')
  const mark = `${data_dir}.groundplane`
  let primary: DebianPostgres
  let document: DatabaseDocument
  let systemctl: string

  before(async () => {
    chmodSync(root, 0o755)
    mkdirSync(join(root, 'etc/postgresql/15/main'), { recursive: true })
    mkdirSync(join(root, 'var/lib/postgresql/15'), { recursive: true })
    primary = await startDebianPostgres()
    systemctl = serviceManager(root, data_dir)
    const url = new URL(primary.url)
    const [row] = await query(`select system_identifier::text as id from pg_control_system()`)
    await query(`select pg_create_physical_replication_slot('mgmt_2')`)
    await query('create table seen (n int)')
    document = {
      version: '15',
      cluster: 'main',
      primary: { host: url.hostname, port: Number(url.port), user: url.username, password: url.password },
      slot: 'mgmt_2',
      system_identifier: String(row?.id),
      job_id: 'job-1',
    }
  })
  after(async () => {
    if (existsSync(join(data_dir, 'postmaster.pid'))) spawnSync(systemctl, ['stop', 'postgresql@15-main'])
    await primary?.close()
  })

  const area = () => createDatabaseArea({ host: linuxHost({ root, tools: { systemctl } }), root }, join(root, 'state'))
  const apply = (given: DatabaseDocument) => area().apply(given, { hash: documentHash(given) })
  const query = (text: string, on_standby = false): Promise<Record<string, unknown>[]> => {
    const { hostname, port, username: user, password } = new URL(primary.url)
    // The standby listens on a socket in its folder alone.
    const server = on_standby ? { host: data_dir } : { host: hostname, port: Number(port) }
    return onDatabase(
      { ...server, user, password, database: 'service' },
      async (client) => (await client.query(text)).rows,
    )
  }

  test('it is copied through its slot, streams, and the same order again changes nothing', async () => {
    assert.equal(await apply(document), 'Applied.')
    await until('the primary sees it stream', async () => {
      const [row] = await query(`select state from pg_stat_replication where application_name = 'mgmt_2'`)
      return row?.state === 'streaming'
    })
    assert.equal((await query(`select active from pg_replication_slots where slot_name = 'mgmt_2'`))[0]?.active, true)
    await query('insert into seen values (7)')
    await until('the row has arrived', async () => (await query('select * from seen', true)).length === 1)
    const state = await area().state()
    assert.deepEqual([state.differences, state.hash], [[], documentHash(document)])
    assert.equal(statSync(`${data_dir}.pgpass`).mode & 0o777, 0o600)
    assert.equal(await apply(document), 'Everything is so already.')
  })

  test('a copy that a crash interrupted begins again from nothing', async () => {
    spawnSync(systemctl, ['stop', 'postgresql@15-main'])
    writeFileSync(mark, readFileSync(mark, 'utf8').replace('"copied":true', '"copied":false'))
    rmSync(join(data_dir, 'global'), { recursive: true })
    writeFileSync(join(data_dir, 'half'), '')
    assert.match((await area().state()).differences.join(), /the copy of the primary is not complete/)
    assert.equal(await apply(document), 'Applied.')
    assert.equal(existsSync(join(data_dir, 'half')), false)
  })

  test('another primary than the one meant, and another folder, are refused with everything left as it is', async () => {
    const before_it = readdirSync(data_dir)
    const elsewhere = { ...document, data_dir: '/var/lib/postgresql/15/other' }
    await assert.rejects(apply(elsewhere), { code: 'DESIRED_CONFLICT', message: /remove it first/ })
    assert.deepEqual(readdirSync(data_dir), before_it)
  })

  test('a standby that was promoted is neither copied over nor removed', async () => {
    rmSync(join(data_dir, 'standby.signal'))
    await assert.rejects(area().remove({}), { code: 'DESIRED_CONFLICT', message: /is a primary now/ })
    await assert.rejects(apply({ ...document, job_id: 'job-2' }), { code: 'DESIRED_CONFLICT' })
    assert.ok(existsSync(join(data_dir, 'PG_VERSION')))
    writeFileSync(join(data_dir, 'standby.signal'), '')
  })

  test('its removal leaves an empty folder, no password and a slot that nobody uses', async () => {
    assert.equal(await area().remove({}), 'Removed.')
    assert.deepEqual(readdirSync(data_dir), [])
    assert.deepEqual([existsSync(mark), existsSync(`${data_dir}.pgpass`)], [false, false])
    await until('the slot is free', async () => {
      const [row] = await query(`select active from pg_replication_slots where slot_name = 'mgmt_2'`)
      return row?.active === false
    })
    assert.equal(await area().remove({}), 'Nothing is applied.')
  })

  test('a database that was not made here is never touched, nor is one copied from a primary of another name', async () => {
    const wrong = { ...document, system_identifier: '7000000000000000001' }
    await assert.rejects(apply(wrong), {
      code: 'DESIRED_CONFLICT',
      message: /has the system identifier \d+, not 7000000000000000001/,
    })
    assert.deepEqual(readdirSync(data_dir), [])
    await area().remove({})
    writeFileSync(join(data_dir, 'PG_VERSION'), '15\n')
    await assert.rejects(apply(document), { code: 'DESIRED_CONFLICT', message: /was not made here/ })
    assert.deepEqual(readdirSync(data_dir), ['PG_VERSION'])
  })
})

/** What the service manager of Debian does with postgresql@15-main, without one. */
function serviceManager(root: string, data_dir: string): string {
  const path = join(root, 'systemctl')
  const control = `runuser -u postgres -- /usr/lib/postgresql/15/bin/pg_ctl -s -D ${data_dir}`
  const options = `-c listen_addresses= -c unix_socket_directories=${data_dir}`
  const script = `#!/bin/sh
case "$1" in
  is-enabled) echo enabled ;;
  is-active) ${control} status >/dev/null && echo active || { echo inactive; exit 3; } ;;
  stop) [ ! -f ${data_dir}/postmaster.pid ] || ${control} -m fast -w stop ;;
  restart) ${control} -w -l ${data_dir}/server.log -o "${options}" start >/dev/null ;;
esac
`
  writeFileSync(path, script)
  chmodSync(path, 0o755)
  return path
}
