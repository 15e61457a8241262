// Databases of Kea and of PowerDNS in one PostgreSQL, made by the schemas of their packages.
import { readFile } from 'node:fs/promises'
import { numberOf } from '#src/kernel/ipv4.ts'
import { onDatabase } from './test-database.ts'

const KEA_SCHEMA = '/usr/share/kea/scripts/pgsql/dhcpdb_create.pgsql'
const POWERDNS_SCHEMA = '/usr/share/pdns-backend-pgsql/schema/schema.pgsql.sql'

async function createDatabase(server: string, name: string, schema: string): Promise<URL> {
  await onDatabase({ connectionString: server }, (client) => client.query(`create database ${name}`))
  const url = new URL(server)
  url.pathname = `/${name}`
  const sql = await readFile(schema, 'utf8')
  await onDatabase({ connectionString: url.href }, (client) => client.query(sql))
  return url
}

/** What Kea and its driver need to keep reservations there. */
export async function keaDatabase(server: string) {
  const url = await createDatabase(server, 'kea', KEA_SCHEMA)
  const { hostname: host, port, username: user, password } = url
  const database = { type: 'postgresql', name: 'kea', host, port: Number(port), user, password }
  return {
    databases: { 'hosts-database': database },
    hosts_database: url.href,
    /** As somebody does by hand: for a client that is known by another mark than its MAC. */
    reserveByClientId: (ip: string) =>
      onDatabase({ connectionString: url.href }, (client) =>
        client.query(
          `insert into hosts (dhcp_identifier, dhcp_identifier_type, dhcp4_subnet_id, ipv4_address)
           values ('\\x01020304', 3, 1, $1)`,
          [numberOf(ip)],
        ),
      ),
  }
}

/** Its backend, in the words of pdns.conf. */
export async function powerDnsDatabase(server: string): Promise<Record<string, string>> {
  const { hostname, port, username, password } = await createDatabase(server, 'pdns', POWERDNS_SCHEMA)
  return {
    launch: 'gpgsql',
    'gpgsql-host': hostname,
    'gpgsql-port': port,
    'gpgsql-dbname': 'pdns',
    'gpgsql-user': username,
    'gpgsql-password': password,
  }
}
