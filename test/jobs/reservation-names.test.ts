// Reservations with names through every crash, failure and repetition: afterwards reservation, A and PTR are all as before or
// all as ordered, and names that others gave the same address are untouched.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTechnitium, type TechnitiumLab } from '../../lab/technitium/server.ts'
import { createTechnitiumDhcp } from '#src/drivers/technitium/dhcp.ts'
import { createTechnitiumDns } from '#src/drivers/technitium/dns.ts'
import { bindJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { CrashForTest } from '#src/jobs/runner.ts'
import { createLog } from '#src/kernel/log.ts'
import { dhcpReservationCreateJob, type ReservationWish } from '#src/modules/ddi/dhcp/reservation.job.ts'
import { createAddressNames } from '#src/modules/ddi/dns/address-names.ts'
import { createZoneContents } from '#src/modules/ddi/dns/zone-contents.ts'
import { createServerLock } from '#src/modules/ddi/server-lock.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { reservationOrders, saveReservation } from '#src/store/dhcp-orders.ts'
import {
  crashEverywhere,
  ended,
  failEverywhere,
  repeatEverywhere,
  type Walk,
  withSentPoints,
} from '../support/job-harness.ts'
import { admit, startJobProcess, testKeyring } from '../support/job-process.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const ZONE = 'walk.example'
const REVERSE = '93.10.in-addr.arpa'

let lab: TechnitiumLab
let test_database: TestDatabase
let database: Database
let deps: ReturnType<typeof depsOf>
/** Each run has a scope of its own in the one server. */
let runs = 0

before(async () => {
  lab = await startTechnitium()
  test_database = await createTestDatabase()
  database = openDatabase({ connection: test_database.connection, pool_size: 4, log: createLog({ level: 'silent' }) })
  deps = depsOf()
  for (const name of [ZONE, REVERSE]) await deps.name_server.createZone({ name, type: 'Primary' })
})
after(async () => {
  await deps?.server.close()
  await deps?.name_server.close()
  await database?.close()
  await test_database?.drop()
  await lab?.close()
})

function depsOf() {
  const log = createLog({ level: 'silent' })
  const config = { url: lab.url, token: lab.token, timeout_ms: 10_000 }
  const options = { name_servers: ['ns1.walk.example'], hostmaster: 'hostmaster.walk.example', transfer_networks: [] }
  const changes = (method: string) => (/^(change|release)/.test(method) ? method : undefined)
  const server = withSentPoints(createTechnitiumDhcp(config, { log }), changes)
  const name_server = withSentPoints(createTechnitiumDns(config, { ...options, log }), changes)
  const lock = createServerLock(database, 'DNS')
  const names = { database, replica_id: 'test', server: name_server, lock, contents: createZoneContents(name_server) }
  const dns = createAddressNames(names)
  return { server, name_server, database, lock: createServerLock(database, 'DHCP'), dns }
}

interface Fixture {
  scope: string
  mac: string
  /** Number of the run: the third octet of every address. */
  run: number
}

type Change = (run: number) => { before: ReservationWish | null; after: ReservationWish | null }

const wish = (ip: string | null, hostname: string): ReservationWish => ({
  ip,
  hostname,
  comment: '',
  enabled: true,
  names: { dns_zone: ZONE, ptr: true },
})

/** With what stood before, and a name that somebody else gave each of the addresses. */
async function makeFixture(change: Change) {
  runs += 1
  const fixture: Fixture = {
    scope: `walk-${runs}`,
    mac: `52:54:00:93:00:${runs.toString(16).padStart(2, '0')}`,
    run: runs,
  }
  const { scope, mac, run } = fixture
  const range = { first: `10.93.${run}.10`, last: `10.93.${run}.99` }
  await deps.server.createScope({
    name: scope, network: `10.93.${run}.0/24`, range, excluded: [], gateway: '', dns_servers: [], lease_seconds: 3600, enabled: true,
  }) // biome-ignore format: one scope
  const input = { scope, mac, ...change(run), change_names: true }
  for (const host of [10, 20])
    await deps.name_server.changeRecords(ZONE, [{ action: 'add', record: byHand(run, `10.93.${run}.${host}`) }])
  const old = input.before
  if (old !== null) {
    const reservation = { mac, ip: old.ip ?? '', hostname: old.hostname, comment: '' }
    const fqdn = `${old.hostname}.${ZONE}`
    await saveReservation(database.db, { scope, ...reservation, fqdn, dns_zone: ZONE, ptr: true })
    await deps.server.changeReservations(scope, { put: [reservation] })
    const name = {
      ip_address: reservation.ip,
      hostname: old.hostname,
      dns_zone: ZONE,
      ttl: undefined,
      create_ptr: true,
    }
    await deps.dns.publish(name)
  }
  return { fixture, bound: bindJob(dhcpReservationCreateJob, deps), input, connection: test_database.connection }
}

function byHand(run: number, value: string) {
  const none = { priority: null, weight: null, port: null, comment: '' }
  return { fqdn: `hand-${run}.${ZONE}`, type: 'A', ttl: 60, value, ...none }
}

/** All that there is of a run: on the DHCP server, in the orders, in both zones. */
async function stateOf({ scope, run }: Fixture): Promise<Record<string, string[]>> {
  const of_run = (name: string): boolean => name.endsWith(`-${run}.${ZONE}`)
  const [reserved, orders, names, reverse] = [
    await deps.server.reservations(scope),
    await reservationOrders(database.db, { scope }),
    await deps.name_server.records(ZONE),
    await deps.name_server.records(REVERSE),
  ]
  return {
    reserved: reserved.map(({ ip, hostname }) => `${ip} ${hostname}`),
    ordered: orders.map(({ ip, hostname }) => `${ip} ${hostname}`),
    names: names.filter((row) => row.type === 'A' && of_run(row.fqdn)).map((row) => `${row.fqdn} ${row.value}`).sort(),
    reverse: reverse.filter((row) => row.type === 'PTR' && of_run(row.value)).map((row) => `${row.fqdn} ${row.value}`),
  } // biome-ignore format: one line a place
}

/** As it must be with this reservation, or with none. */
function expected(run: number, held: { host: number; hostname: string } | null): Record<string, string[]> {
  const hand = [10, 20].map((host) => `hand-${run}.${ZONE} 10.93.${run}.${host}`)
  if (held === null) return { reserved: [], ordered: [], names: hand, reverse: [] }
  const { host, hostname } = held
  const line = [`10.93.${run}.${host} ${hostname}`]
  return {
    reserved: line,
    ordered: line,
    names: [...hand, `${hostname}.${ZONE} 10.93.${run}.${host}`].sort(),
    reverse: [`${host}.${run}.${REVERSE} ${hostname}.${ZONE}`],
  }
}

interface Case {
  title: string
  change: Change
  was(run: number): Parameters<typeof expected>[1]
  will(run: number): Parameters<typeof expected>[1]
}

const cases: Case[] = [
  {
    title: 'a new reservation',
    change: (run) => ({ before: null, after: wish(null, `new-${run}`) }),
    was: () => null,
    will: (run) => ({ host: 10, hostname: `new-${run}` }),
  },
  {
    title: 'a reservation that is moved and renamed',
    change: (run) => ({ before: wish(`10.93.${run}.10`, `old-${run}`), after: wish(`10.93.${run}.20`, `new-${run}`) }),
    was: (run) => ({ host: 10, hostname: `old-${run}` }),
    will: (run) => ({ host: 20, hostname: `new-${run}` }),
  },
  {
    title: 'a reservation that is taken away',
    change: (run) => ({ before: wish(`10.93.${run}.10`, `old-${run}`), after: null }),
    was: (run) => ({ host: 10, hostname: `old-${run}` }),
    will: () => null,
  },
]

for (const { title, change, was, will } of cases) {
  describe(title, { timeout: 300_000 }, () => {
    const completed = async (fixture: Fixture, job: JobRow, where: string): Promise<void> => {
      assert.equal(job.job_status, 'completed', `${where}: ${job.failure_reason}`)
      assert.deepEqual(await stateOf(fixture), expected(fixture.run, will(fixture.run)), where)
    }
    const failed = async (fixture: Fixture, job: JobRow, where: string): Promise<void> => {
      assert.equal(job.job_status, 'failed', where)
      assert.deepEqual(await stateOf(fixture), expected(fixture.run, was(fixture.run)), where)
    }
    const walk: Walk<Fixture> = { make: () => makeFixture(change), completed, failed }

    test('is made with its names after a crash at any point', async () => {
      const points = await crashEverywhere(walk)
      for (const point of [/Reservations?:sent/, /Records:sent/]) assert.match(points.join(' '), point)
    })
    test('is as before, with its names, after a failure of any step', async () => {
      assert.equal(await failEverywhere(walk), 2)
    })
    test('is made once when every step runs twice', () => repeatEverywhere(walk))
  })
}

test('an address that was chosen before a crash and given to another meanwhile is not given twice', async () => {
  const { fixture, input, connection } = await makeFixture(cases[0]?.change ?? assert.fail())
  let reads = 0
  const dying = Object.create(database, {
    db: {
      get: () => {
        reads += 1
        // The first reads what is taken; the second would write the order.
        if (reads === 2) throw new CrashForTest('before the order')
        return database.db
      },
    },
  }) as Database
  const bound = bindJob(dhcpReservationCreateJob, { ...deps, database: dying })
  const first = await startJobProcess({ connection, keyring: testKeyring(), bound: [bound] })
  const { id } = await admit(first, bound, input)
  await until('the planted crash', () => reads === 2 && first.engine.running() === 0)
  await first.die()
  const other = { mac: '52:54:00:93:ff:01', ip: `10.93.${fixture.run}.10`, hostname: 'other', comment: '' }
  await saveReservation(database.db, { scope: fixture.scope, ...other })
  await deps.server.changeReservations(fixture.scope, { put: [other] })
  const healthy = bindJob(dhcpReservationCreateJob, deps)
  const second = await startJobProcess({ connection, keyring: testKeyring(), bound: [healthy] })
  const job = await ended(second, id)
  await second.stop()
  assert.equal(job.job_status, 'completed', job.failure_reason ?? '')
  const { reserved } = await stateOf(fixture)
  const { run } = fixture
  assert.deepEqual(reserved, [`10.93.${run}.10 other`, `10.93.${run}.11 new-${run}`])
})
