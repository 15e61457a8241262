// Acquiring a public address with its name through every crash, failure and repetition: afterwards there is one address with
// one name that leads to it and back, or neither.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { startTechnitium, type TechnitiumLab } from '../../lab/technitium/server.ts'
import { encodeArgs } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { createTechnitiumDns } from '#src/drivers/technitium/dns.ts'
import { bindJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { createLog } from '#src/kernel/log.ts'
import { createAddressNames } from '#src/modules/ddi/dns/address-names.ts'
import { createZoneContents } from '#src/modules/ddi/dns/zone-contents.ts'
import { publicIpAcquireJob } from '#src/modules/ddi/public-ips-acquire.job.ts'
import { createServerLock } from '#src/modules/ddi/server-lock.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { crashEverywhere, failEverywhere, repeatEverywhere, type Walk, withSentPoints } from '../support/job-harness.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { startWalkPlatform, type WalkPlatform } from '../support/walk-platform.ts'

const ZONE = 'public.example'
const log = createLog({ level: 'silent' })

let site: WalkPlatform
let names_lab: TechnitiumLab
let test_database: TestDatabase
let database: Database
let name_server: ReturnType<typeof createTechnitiumDns>
let cloudstack: CloudStack
let deps: { cloudstack: typeof cloudstack; dns: ReturnType<typeof createAddressNames> }
let runs = 0

before(async () => {
  names_lab = await startTechnitium()
  site = await startWalkPlatform()
  cloudstack = site.cloudstack
  test_database = await createTestDatabase()
  database = openDatabase({ connection: test_database.connection, pool_size: 4, log })
  const config = { url: names_lab.url, token: names_lab.token, timeout_ms: 10_000 }
  const options = {
    name_servers: ['ns1.public.example'],
    hostmaster: 'hostmaster.public.example',
    transfer_networks: [],
  }
  name_server = withSentPoints(createTechnitiumDns(config, { ...options, log }), (method) =>
    method === 'changeRecords' ? method : undefined,
  )
  const lock = createServerLock(database, 'DNS')
  const parts = { database, replica_id: 'test', server: name_server, lock, contents: createZoneContents(name_server) }
  deps = { cloudstack, dns: createAddressNames(parts) }
  await name_server.createZone({ name: ZONE, type: 'Primary' })
})
after(async () => {
  await name_server?.close()
  await database?.close()
  await test_database?.drop()
  await site?.close()
  await names_lab?.close()
})

async function owned(): Promise<string[]> {
  const args = { listall: true, allocatedonly: true, page: 1, pagesize: 500 }
  const content = await cloudstack.call('listPublicIpAddresses', args, {})
  return rowsOf(content, 'publicipaddress').flatMap((row) => textOf(row, 'ipaddress') ?? []) // biome-ignore format: one list
}

interface Fixture {
  fqdn: string
  before: string[]
}

async function makeFixture() {
  runs += 1
  const hostname = `www-${runs}`
  const input = {
    args: encodeArgs({ zoneid: wellKnown.zone, networkid: wellKnown.networks['acme-net'] }),
    ip_address: null,
    nat: null,
    name: { hostname, dns_zone: ZONE, ttl: 300, create_ptr: true },
  }
  const fixture: Fixture = { fqdn: `${hostname}.${ZONE}`, before: await owned() }
  return { fixture, bound: bindJob(publicIpAcquireJob, deps), input, connection: test_database.connection }
}

async function stateOf({ fqdn, before: known }: Fixture) {
  const made = (await owned()).filter((ip) => !known.includes(ip))
  const values = (await name_server.records(ZONE, { fqdn })).filter((row) => row.fqdn === fqdn).map((row) => row.value)
  const zones = (await name_server.zones()).filter((zone) => zone.name.endsWith('.arpa'))
  const rows = (await Promise.all(zones.map((zone) => name_server.records(zone.name)))).flat()
  const reverse = rows.filter((row) => row.value === fqdn).map((row) => row.fqdn)
  return { made, values, reverse }
}

async function oneWithName(fixture: Fixture, job: JobRow, where: string): Promise<void> {
  assert.equal(job.job_status, 'completed', `${where}: ${job.failure_reason}`)
  const { made, values, reverse } = await stateOf(fixture)
  assert.equal(made.length, 1, where)
  assert.deepEqual(values, made, where)
  assert.deepEqual(reverse, [`${made[0]?.split('.').reverse().join('.')}.in-addr.arpa`], where)
}

async function neither(fixture: Fixture, job: JobRow, where: string): Promise<void> {
  assert.equal(job.job_status, 'failed', where)
  assert.deepEqual(await stateOf(fixture), { made: [], values: [], reverse: [] }, where)
}

const walk: Walk<Fixture> = { make: makeFixture, completed: oneWithName, failed: neither }

test('a crash at any point ends in one address with its name, or in neither', async () => {
  const unsent = 'killed before it sends, what was to be sent looks like what was lost, and must not be sent twice'
  const points = await crashEverywhere({ ...walk, may_fail: unsent })
  for (const point of ['associateIpAddress', 'changeRecords']) assert.ok(points.includes(`${point}:sent`), point)
})

test('a failure of any step leaves neither address nor name', async () => {
  assert.equal(await failEverywhere(walk), 3)
})

test('every step may run twice', () => repeatEverywhere(walk))
