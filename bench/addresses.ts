// Addresses at scale, on real Kea and PowerDNS: lists and searches are held against what the server itself takes to say the same
// in the same run; then what one new reservation and one new record cost.
import { keaDatabase } from '../test/support/address-databases.ts'
import { startAddressService } from '../test/support/address-service.ts'
import { debianPostgresMissing, startDebianPostgres } from '../test/support/debian-postgres.ts'
import type { Caller } from '../test/support/http.ts'
import { realServersMissing, type RealServers, startRealServers } from '../test/support/real-addresses.ts'
import { createTestDatabase } from '../test/support/test-database.ts'
import { addressAt, fillScope, fillZone, macOf, made, RESERVATIONS, SCOPE, ZONE } from './address-stock.ts'
import { type BenchResult, median } from './result.ts'

const ROUNDS = 7
const CREATES = 5
const RECORD_CREATES = 40

export async function run(): Promise<BenchResult[]> {
  const missing = realServersMissing() || debianPostgresMissing()
  if (missing !== false) throw new Error(`this benchmark ${missing}`)
  return [...(await onConfiguration()), ...(await onHostsStore())]
}

async function onConfiguration(): Promise<BenchResult[]> {
  const servers = await startRealServers()
  const database = await createTestDatabase()
  const service = await startAddressService(servers.connect(), database.connection)
  try {
    const { call } = service
    await fillScope({ call, servers, database })
    await fillZone({ call, servers, database })
    return [
      ...(await lists(call, servers)),
      ...(await searches(call, servers)),
      await reservations(call, servers, "20,000 in Kea's configuration", 4000),
      await records(call),
    ]
  } finally {
    await service.close()
    await servers.close()
    await database.drop()
  }
}

async function onHostsStore(): Promise<BenchResult[]> {
  const postgres = await startDebianPostgres()
  const kea = await keaDatabase(postgres.url)
  const servers = await startRealServers(kea)
  const database = await createTestDatabase()
  const service = await startAddressService(servers.connect(), database.connection)
  try {
    await fillScope({ call: service.call, servers, database }, kea.hosts_database)
    return [await reservations(service.call, servers, "20,000 in Kea's hosts store", 1000)]
  } finally {
    await service.close()
    await servers.close()
    await database.drop()
    await postgres.close()
  }
}

async function lists(call: Caller, { dns, ask }: RealServers): Promise<BenchResult[]> {
  const anyPage = (path: string): Promise<void> => read(call, `${path}&page=${1 + Math.floor(Math.random() * 50)}`)
  const leases = async (): Promise<void> => {
    await ask('config-get')
    await ask('lease4-get-all', { subnets: [1] })
  }
  const [by_scope, of_zone] = [`scope_name=${SCOPE}`, `zone_name=${ZONE}`]
  return [
    await against('page of 20,000 reservations', () => ask('config-get'), () => anyPage(`/ddi/dhcp/reservations?${by_scope}`)),
    await against('page of 20,000 reservations by host name', () => ask('config-get'), () =>
      anyPage(`/ddi/dhcp/reservations?${by_scope}&sort_by=hostname&sort_order=desc`)),
    await against('page of 5,000 leases', leases, () => anyPage(`/ddi/dhcp/leases?${by_scope}&state=active`)),
    await against('page of 100,000 records', () => dns.raw(`/zones/${ZONE}.`), () => anyPage(`/ddi/dns/records?${of_zone}`)),
    await against('page of 100,000 records by value', () => dns.raw(`/zones/${ZONE}.`), () =>
      anyPage(`/ddi/dns/records?${of_zone}&sort_by=value`)),
  ] // biome-ignore format: one list a line
}

async function searches(call: Caller, { dns, ask }: RealServers): Promise<BenchResult[]> {
  const search = (text: string): Promise<unknown> =>
    dns.raw(`/search-data?q=*${text}*&max=${RESERVATIONS}&object_type=record`)
  const records_with = (text: string): Promise<void> => read(call, `/ddi/dns/records?zone_name=${ZONE}&search=${text}`)
  const reservations_with = (text: string): Promise<void> =>
    read(call, `/ddi/dhcp/reservations?scope_name=${SCOPE}&search=${text}`)
  let turn = 0
  const touch = async (): Promise<void> => {
    turn += 1
    const record = { zone: ZONE, name: `touch-${turn}`, type: 'A', value: addressAt(turn) }
    made(await call('POST', '/ddi/dns/records', record))
  }
  return [
    await against('search of 20,000 reservations', () => ask('config-get'), () => reservations_with('host-19')),
    await against('search of 100,000 records', () => search('host-91'), () => records_with('host-91')),
    await against('search of 100,000 records right after a change', () => search('host-77'), () => records_with('host-77'), touch),
  ] // biome-ignore format: one search a line
}

async function read(call: Caller, path: string): Promise<void> {
  const reply = await call('GET', path)
  if (reply.status !== 200 || reply.body.data.total_count < 1) throw new Error(`${path}: ${reply.text.slice(0, 300)}`)
}

/** Turn by turn, so that both see the same machine. */
async function against(
  name: string,
  theirs: () => Promise<unknown>,
  ours: () => Promise<unknown>,
  before: () => Promise<void> = async () => {},
): Promise<BenchResult> {
  const [direct, through]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    await before()
    direct.push(await timed(theirs))
    through.push(await timed(ours))
  }
  const [own_ms, our_ms] = [median(direct), median(through)]
  return {
    name: `${name}, median latency`,
    value: our_ms / own_ms,
    unit: "× the server's own time",
    limit: 1.5,
    against: `server ${own_ms.toFixed(0)} ms, ours ${our_ms.toFixed(0)} ms`,
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

async function reservations(call: Caller, { ask }: RealServers, beside: string, limit: number): Promise<BenchResult> {
  const taken: number[] = []
  // What Kea itself takes for the least that a change of its configuration needs.
  const own_ms = await timed(async () => {
    await ask('config-set', await ask('config-get'))
    await ask('config-write')
  })
  for (let number = 0; number < CREATES; number += 1) {
    const wish = { scope_name: SCOPE, mac: macOf(1_000_000 + number), hostname: `new-${number}` }
    taken.push(await timed(async () => made(await call('POST', '/ddi/dhcp/reservations', wish))))
  }
  return duration(
    `reservation beside ${beside}`,
    taken,
    limit,
    `; one cycle of its configuration ${own_ms.toFixed(0)} ms`,
  )
}

async function records(call: Caller): Promise<BenchResult> {
  const taken: number[] = []
  for (let number = 0; number < RECORD_CREATES; number += 1) {
    const record = { zone: ZONE, name: `new-${number}`, type: 'A', value: '10.64.0.9' }
    taken.push(await timed(async () => made(await call('POST', '/ddi/dns/records', record))))
  }
  return duration('record beside 100,000 in a zone of PowerDNS', taken, 50)
}

function duration(name: string, values: readonly number[], limit: number, more = ''): BenchResult {
  const against_text = `slowest ${Math.max(...values).toFixed(0)} ms of ${values.length}${more}`
  return { name: `create of a ${name}, median`, value: median(values), unit: 'ms', limit, against: against_text }
}
