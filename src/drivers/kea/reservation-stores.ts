// Where Kea keeps reservations: inside its configuration, or in its PostgreSQL hosts table, which needs no new
// configuration for each change.
import { Pool } from 'pg'
import { UpstreamError } from '#src/kernel/errors.ts'
import { addressOf, numberOf } from '#src/kernel/ipv4.ts'
import type { DhcpReservation, ReservationChange } from '../ddi/dhcp-server.ts'
import { RejectionError } from '../ddi/rejection.ts'
import type { KeaSubnet } from './config-form.ts'
import { reservationOf, writeReservation } from './scope-form.ts'

export interface ReservationStore {
  /** By subnet id. */
  list(subnets: readonly KeaSubnet[]): Promise<Map<number, DhcpReservation[]>>
  change(scope: string, change: ReservationChange): Promise<void>
  close(): Promise<void>
}

type Cycle = (edit: (subnet: KeaSubnet) => void) => Promise<void>

export function configStore(cycleOf: (scope: string) => Cycle): ReservationStore {
  return {
    async list(subnets) {
      return new Map(
        subnets.map((subnet) => [subnet.id, (subnet.reservations ?? []).flatMap((row) => reservationOf(row) ?? [])]),
      )
    },
    change: (scope, { put = [], remove = [] }) =>
      cycleOf(scope)((subnet) => {
        const gone = new Set(remove)
        const next = new Map(put.map((reservation) => [reservation.mac, reservation]))
        const others = (subnet.reservations ?? []).flatMap((row) => {
          const mac = row['hw-address']?.toLowerCase() ?? ''
          const written = next.get(mac)
          next.delete(mac)
          if (written !== undefined) return [writeReservation(row, written)]
          return gone.has(mac) ? [] : [row]
        })
        subnet.reservations = [...others, ...[...next.values()].map((reservation) => writeReservation({}, reservation))]
      }),
    close: async () => {},
  }
}

interface HostRow {
  subnet_id: string
  mac: string
  ip: string
  hostname: string | null
  comment: string | null
}

/** Kea's schema 13: one row a host. Its own keys forbid a second row of a MAC in a subnet, not of an address. */
export function databaseStore(
  url: string,
  timeout_ms: number,
  idOf: (scope: string) => Promise<number>,
): ReservationStore {
  const pool = new Pool({
    connectionString: url,
    max: 4,
    connectionTimeoutMillis: timeout_ms,
    query_timeout: timeout_ms,
  })
  // A connection that breaks while idle is replaced; without a listener it would end the process.
  pool.on('error', () => {})
  return {
    list: (subnets) =>
      guarded('hosts read', async () => {
        const { rows } = await pool.query<HostRow>(
          `select dhcp4_subnet_id::text as subnet_id, encode(dhcp_identifier, 'hex') as mac, ipv4_address::text as ip, hostname,
             (nullif(user_context, '')::jsonb)->>'comment' as comment
           from hosts where dhcp_identifier_type = 0 and dhcp4_subnet_id = any($1) and ipv4_address is not null
           order by dhcp4_subnet_id, ipv4_address`,
          [subnets.map((subnet) => subnet.id)],
        )
        const found = new Map<number, DhcpReservation[]>(subnets.map((subnet) => [subnet.id, []]))
        for (const row of rows) {
          found.get(Number(row.subnet_id))?.push({
            mac: row.mac.match(/../g)?.join(':') ?? '',
            ip: addressOf(Number(row.ip)),
            hostname: row.hostname ?? '',
            comment: row.comment ?? '',
          })
        }
        return found
      }),
    async change(scope, { put = [], remove = [] }) {
      const subnet_id = await idOf(scope)
      await guarded('hosts change', async () => {
        const client = await pool.connect()
        try {
          await client.query('begin')
          for (const mac of [...remove, ...put.map((reservation) => reservation.mac)]) {
            await client.query(
              'delete from hosts where dhcp4_subnet_id = $1 and dhcp_identifier_type = 0 and dhcp_identifier = $2',
              [subnet_id, bytesOf(mac)],
            )
          }
          for (const { mac, ip, hostname, comment } of put) {
            const sql = 'select from hosts where dhcp4_subnet_id = $1 and ipv4_address = $2'
            // The schema lets an address be reserved for two clients.
            if ((await client.query(sql, [subnet_id, numberOf(ip)])).rowCount !== 0)
              throw taken(`${ip} is reserved for another client of the subnet`, ip)
            await client.query(
              `insert into hosts (dhcp_identifier, dhcp_identifier_type, dhcp4_subnet_id, ipv4_address, hostname, user_context)
               values ($1, 0, $2, $3, $4, $5)`,
              [bytesOf(mac), subnet_id, numberOf(ip), hostname, JSON.stringify({ comment })],
            )
          }
          await client.query('commit')
        } catch (error) {
          await client.query('rollback').catch(() => {})
          throw error
        } finally {
          client.release()
        }
      })
    },
    close: () => pool.end(),
  }
}

function bytesOf(mac: string): Buffer {
  return Buffer.from(mac.replaceAll(':', ''), 'hex')
}

function taken(detail: string, sent: string): RejectionError {
  return new RejectionError({ upstream: 'DHCP', operation: 'hosts change', status: 1, detail, sent })
}

async function guarded<T>(operation: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RejectionError) throw error
    const detail = error instanceof Error ? error.message : 'the query failed'
    throw new UpstreamError({ upstream: 'DHCP', operation, failure: 'unavailable', detail, cause: error })
  }
}
