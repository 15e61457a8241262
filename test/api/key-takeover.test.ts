// A request that is held up so long that a repeat of it begins: one of the two does the work, whatever it is about.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { wellKnown } from '../../lab/site.ts'
import { createLog } from '#src/kernel/log.ts'
import { failAbandonedEvents } from '#src/store/app-events.ts'
import { openDatabase } from '#src/store/database.ts'
import { DEAD_AFTER_S } from '#src/store/replicas.ts'
import { type Fate, type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

let lab: Lab
let proxy: PlatformProxy
let client: pg.Client
before(async () => {
  lab = await startLab({
    between: async (url) => {
      proxy = await startPlatformProxy(url)
      return proxy.url
    },
  })
  client = new pg.Client(lab.database.connection)
  await client.connect()
})
after(async () => {
  await client.end()
  await lab.close()
  await proxy.close()
})

const { vms, templates, service_offerings, networks, disk_offerings } = wellKnown

/** What is ordered, and a question to the platform that the checks before it ask. */
const ORDERS: readonly [what: string, path: string, body: () => object, asks: (ask: URLSearchParams) => boolean][] = [
  [
    'a machine',
    '/compute/vms/provision',
    () => ({
      name: 'held-01',
      zone_id: wellKnown.zone,
      template_id: templates['Debian 12'],
      service_offering_id: service_offerings.small,
      network_ids: [networks['office-shared']],
    }),
    // Nobody else asks for a cluster.
    (ask) => ask.get('command') === 'listCapacity' && ask.has('clusterid'),
  ],
  [
    'a disk',
    '/compute/vms/create-and-attach-disk',
    () => ({ virtual_machine_id: vms['db-01'], name: 'held', disk_offering_id: disk_offerings['ssd-20'] }),
    (ask) => ask.get('command') === 'listDiskOfferings',
  ],
  [
    'a tenant',
    '/admin/tenants',
    () => ({ name: 'held' }),
    (ask) => ask.get('command') === 'listDomains' && [...ask.values()].includes('held'),
  ],
  [
    'a public IP',
    '/ddi/public-ips',
    () => ({ zone_id: wellKnown.zone, network_id: networks['acme-net'] }),
    (ask) => ask.get('command') === 'listNetworks' && ask.get('id') === networks['acme-net'],
  ],
  [
    'a snapshot',
    '/compute/vms/snapshots/create',
    () => ({ virtual_machine_id: vms['shop-api'], name: 'held' }),
    (ask) => ask.get('command') === 'listVirtualMachines' && ask.get('id') === vms['shop-api'],
  ],
]

for (const [what, path, body, asks] of ORDERS) {
  test(`${what} whose checks took too long is made by the repeat alone`, async () => {
    const key = randomUUID()
    const ask = () => lab.call('POST', path, body(), { headers: { 'idempotency-key': key } })
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    let holds = 0
    proxy.behave(async (_command, params): Promise<Fate> => {
      if (holds === 0 && asks(params)) {
        holds += 1
        await held
      }
      return 'pass'
    })
    const jobs = async (): Promise<number> => (await lab.call('GET', '/jobs')).body.count
    const before_both = await jobs()
    const first = ask()
    await until('the checks are held up', () => holds === 1)
    // As after a freeze: the process of the first request is taken for dead.
    await client.query('update idempotency set replica_id = $2 where key = $1', [key, randomUUID()])
    const operation = async () =>
      (await client.query('select operation_id from idempotency where key = $1', [key])).rows[0].operation_id
    const own = await operation()
    const repeat = ask()
    await until('the repeat has taken the key', async () => (await operation()) !== own)
    release()
    const late = await first
    const second = await repeat
    assert.ok(second.status < 300, second.text)
    assert.deepEqual([late.status, late.body.code], [409, 'IDEMPOTENCY_KEY_IN_USE'], late.text)
    assert.equal(await jobs(), before_both + 1)
    assert.equal((await ask()).headers.get('x-correlation-id'), second.headers.get('x-correlation-id'))
  })
}

test('an event that was given up while its process was frozen says in the end what became of the change', async () => {
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  let holds = 0
  proxy.behave(async (command): Promise<Fate> => {
    if (command !== 'updateVirtualMachine') return 'pass'
    holds += 1
    await held
    return 'pass'
  })
  const change = lab.call('POST', '/compute/vms/update', { virtual_machine_id: vms['shop-api'], display_name: 'Late' })
  await until('the change is under way', () => holds > 0)
  const { rows } = await client.query(
    `update app_event set replica_id = $1 where action = 'vmUpdate' returning correlation_id`,
    [randomUUID()],
  )
  const log = createLog({ level: 'error' })
  const database = openDatabase({ connection: lab.database.connection, pool_size: 1, log })
  // Unless the service itself, which looks now and then, came first.
  await failAbandonedEvents(database, DEAD_AFTER_S)
  await database.close()
  const [{ correlation_id }] = rows
  const given_up = await client.query('select status from app_event where correlation_id = $1', [correlation_id])
  assert.deepEqual(given_up.rows, [{ status: 'FAILED' }])
  release()
  assert.equal((await change).status, 200)
  const found = await lab.call('POST', '/events/app-events', { action: 'vmUpdate' })
  const event = found.body.app_events.find((one: { correlation_id: string }) => one.correlation_id === correlation_id)
  assert.deepEqual([event.status, event.level, event.error_message], ['SUCCESS', 'INFO', ''])
  const audit = await lab.call('GET', `/auth/audit?correlation_id=${correlation_id}`)
  assert.equal(audit.body.count, 2, audit.text)
})
