// A control plane that cannot start leaves nothing open: the program ends at once instead of hanging.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { after, before, test } from 'node:test'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { startControlPlane } from '../../bin/control-plane.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
let occupied: Server
before(async () => {
  lab = await startLab()
  occupied = createServer().listen(0, '127.0.0.1')
})
after(async () => {
  occupied.close()
  await lab.close()
})

async function query<T extends pg.QueryResultRow>(text: string): Promise<T[]> {
  const client = new pg.Client({ ...lab.database.connection, application_name: 'looking on' })
  await client.connect()
  try {
    return (await client.query<T>(text)).rows
  } finally {
    await client.end()
  }
}

const SESSIONS = `select count(*)::int as count from pg_stat_activity
  where datname = current_database() and application_name like 'groundplane%'`
const sessions = async (): Promise<number> => (await query<{ count: number }>(SESSIONS))[0]?.count ?? 0
const replicas = async (): Promise<number> => (await query('select id from replica')).length

const startAgain = (port: number): Promise<unknown> =>
  startControlPlane(
    { ...lab.config, listen: { ...lab.config.listen, host: '127.0.0.1', port } },
    { connection: lab.database.connection, log: lab.control.log, admin_token: 'first-start' },
  )

test('a start that finds its port taken closes its database connections and removes its heartbeat', async () => {
  const signs = await replicas()
  const { port } = occupied.address() as AddressInfo
  await lab.control.close()
  await until('its connections are gone', async () => (await sessions()) === 0)
  await assert.rejects(startAgain(port), { code: 'EADDRINUSE' })
  await until('no connection is left', async () => (await sessions()) === 0)
  assert.equal(await replicas(), signs - 1)
  await lab.restart()
})

test('a start that fails at the schema closes its database connections', async () => {
  await lab.control.close()
  await query("insert into kysely_migration values ('9999-of-a-later-version', now()::text)")
  await assert.rejects(startAgain(0))
  await until('no connection is left', async () => (await sessions()) === 0)
})
