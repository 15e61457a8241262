// A process that dies between reading a machine's settings and writing them: killed with SIGKILL, it leaves the old map and
// no lock behind.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { type Production, startProduction } from '../support/control-process.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
let production: Production
before(async () => {
  database = await createTestDatabase()
  const { host, port, user, database: name } = database.connection
  production = await startProduction({
    database_url: `postgres://${user}@localhost:${port}/${name}?host=${encodeURIComponent(host)}`,
  })
})
after(async () => {
  await production.close()
  await database.drop()
})

const ID = wellKnown.vms['legacy-crm']
const OLD = { keyboard: 'us', 'vendor.id': '42' }
const EDIT = { virtual_machine_id: ID, settings: { nic_adapter: 'virtio' } }

test('a crash between reading and writing leaves the old map, and the next change goes through', async () => {
  const { platform } = production
  const control = (path: string, body?: object) =>
    fetch(`${platform.control_url}/${path}`, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) })
  await control('mutate', { kind: 'vms', id: ID, set: { details: OLD } })
  const first = await production.startReplica()
  // The write is on its way and the platform has not looked at it when the process dies.
  await control('silent', { command: 'updateVirtualMachine', times: 1 })
  const pending = first.call('POST', '/compute/vms/settings/update', EDIT).catch(() => undefined)
  await until('the write is under way', async () => {
    const { calls } = (await (await control('calls')).json()) as { calls: { command: string }[] }
    return calls.some((call) => call.command === 'updateVirtualMachine')
  })
  await first.end('SIGKILL')
  await pending
  assert.deepEqual(platform.state.tables.vms.get(ID)?.details, OLD)
  const second = await production.startReplica()
  const reply = await second.call('POST', '/compute/vms/settings/update', EDIT)
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(platform.state.tables.vms.get(ID)?.details, { ...OLD, nicAdapter: 'virtio' })
})
