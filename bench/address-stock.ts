// What the benchmark of addresses finds: 20,000 reservations and 5,000 leases in one scope, 100,000 records in one zone, put there
// by the servers' own means.
import { addressOf, numberOf } from '#src/kernel/ipv4.ts'
import { createLog } from '#src/kernel/log.ts'
import { openDatabase } from '#src/store/database.ts'
import type { Caller } from '../test/support/http.ts'
import type { RealServers } from '../test/support/real-addresses.ts'
import { onDatabase, type TestDatabase } from '../test/support/test-database.ts'

export const RESERVATIONS = 20_000
const LEASES = 5000
const RECORDS = 100_000
const BATCH = 5000
export const SCOPE = 'large'
export const ZONE = 'large.example'
const FIRST = numberOf('10.64.0.10')
const DAY_S = 86_400

export const addressAt = (index: number): string => addressOf(FIRST + index)

export const macOf = (number: number): string =>
  `52:54:${[24, 16, 8, 0].map((bits) => ((number >> bits) & 255).toString(16).padStart(2, '0')).join(':')}`

interface Stocked {
  call: Caller
  servers: RealServers
  database: TestDatabase
}

interface Row {
  mac: string
  ip: string
  hostname: string
}

/** `hosts_database`: of Kea's hosts store, where it has one; reservations go into its configuration otherwise. */
export async function fillScope({ call, servers, database }: Stocked, hosts_database?: string): Promise<void> {
  const scope = { name: SCOPE, network_cidr: '10.64.0.0/15', start_address: '10.64.0.10', end_address: '10.65.255.200', gateway: '10.64.0.1' } // biome-ignore format: one scope
  made(await call('POST', '/ddi/dhcp/scopes', scope))
  const rows = Array.from({ length: RESERVATIONS }, (_, index) => ({
    mac: macOf(index),
    ip: addressAt(index),
    hostname: `host-${index}`,
  }))
  if (hosts_database === undefined) await intoConfiguration(servers, rows)
  else await intoHosts(hosts_database, rows)
  await order(database, rows)
  for (const { ip, mac } of rows.slice(0, LEASES))
    await servers.ask('lease4-add', { 'ip-address': ip, 'hw-address': mac, 'subnet-id': 1, 'valid-lft': DAY_S })
}

function intoConfiguration(servers: RealServers, rows: readonly Row[]): Promise<void> {
  return servers.editScope(SCOPE, (subnet) => {
    subnet.reservations = rows.map((row) => ({ 'hw-address': row.mac, 'ip-address': row.ip, hostname: row.hostname }))
  })
}

async function intoHosts(url: string, rows: readonly Row[]): Promise<void> {
  const hosts = rows.map(({ mac, ip, hostname }) => ({ mac: mac.replaceAll(':', ''), ip: numberOf(ip), hostname }))
  await onDatabase({ connectionString: url }, (client) =>
    client.query(
      `insert into hosts (dhcp_identifier, dhcp_identifier_type, dhcp4_subnet_id, ipv4_address, hostname)
       select decode(mac, 'hex'), 0, 1, ip, hostname
         from jsonb_to_recordset($1::jsonb) as host(mac text, ip bigint, hostname text)`,
      [JSON.stringify(hosts)],
    ),
  )
}

async function order({ connection }: TestDatabase, rows: readonly Row[]): Promise<void> {
  const database = openDatabase({ connection, pool_size: 2, log: createLog({ level: 'error' }) })
  for (let from = 0; from < rows.length; from += BATCH) {
    const orders = rows.slice(from, from + BATCH).map((row) => ({ scope: SCOPE, ...row }))
    await database.db.insertInto('dhcp_reservation').values(orders).execute()
  }
  await database.close()
}

export async function fillZone({ call, servers }: Stocked): Promise<void> {
  made(await call('POST', '/ddi/dns/zones', { name: ZONE, type: 'Primary' }))
  for (let from = 0; from < RECORDS; from += BATCH) {
    const rrsets = Array.from({ length: BATCH }, (_, index) => ({
      name: `host-${from + index}.${ZONE}.`,
      type: 'A',
      ttl: 300,
      changetype: 'REPLACE',
      records: [{ content: addressAt(from + index), disabled: false }],
    }))
    const put = (): Promise<unknown> => servers.dns.raw(`/zones/${ZONE}.`, 'PATCH', { rrsets })
    // Its SQLite refuses a write now and then while the machine is busy; a set written twice is the same set.
    await put().catch(put)
  }
}

export function made(reply: Awaited<ReturnType<Caller>>): void {
  if (reply.status > 201) throw new Error(reply.text)
}
