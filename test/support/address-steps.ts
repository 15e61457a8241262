// What the tests of DHCP and DNS over HTTP share: the servers behind them, paths, and what an answer must be.
import assert from 'node:assert/strict'
import type { Caller, Reply } from './http.ts'

export interface AddressBench {
  call: Caller
  /** A client of the scope gets an address; undefined when it is offered none. */
  obtain(scope: string, mac: string, answer_ms?: number): Promise<string | undefined>
  /** Asks to keep it; undefined when it is refused. */
  renew(scope: string, mac: string, ip: string): Promise<string | undefined>
  /** What the name server answers over the wire; undefined for no such name, and for a rejection. */
  resolve(name: string, type: 'A' | 'PTR' | 'TXT'): Promise<string[] | undefined>
  /** Makes what a new scope needs to reach its clients: a relay. */
  connect(scope: string): Promise<void>
  /** Both servers are away meanwhile. */
  away<T>(work: () => Promise<T>): Promise<T>
  /** Lets the collector look at the leases now. */
  collect(): Promise<void>
  /** A new reservation of the scope and a new record of the zone that nobody but their server can know to be wrong. */
  unforeseen(): Promise<{ reservation: object; record: object }>
  /** What the servers keep beside this zone, and beside the values of reservations: left out where the API alone can tell. */
  stored?(zone: string): Promise<unknown>
  /** Both servers start again on what they have written. */
  restart?(): Promise<void>
  /** Smallest step of a lease time. */
  lease_step_seconds: number
  close(): Promise<void>
}

export const SCOPES = '/ddi/dhcp/scopes'
export const RESERVATIONS = '/ddi/dhcp/reservations'
export const LEASES = '/ddi/dhcp/leases'
export const RECORDS = '/ddi/dns/records'
export const ZONES = '/ddi/dns/zones'

export const suite_scope = {
  name: 'suite',
  network_cidr: '10.88.0.0/24',
  start_address: '10.88.0.10',
  end_address: '10.88.0.29',
  gateway: '10.88.0.1',
  dns_servers: ['10.88.0.2'],
  lease_time: '1h',
  excluded_ranges: ['10.88.0.10-10.88.0.14'],
  description: 'Second floor',
}
export const ZONE = 'suite.example'
export const mac = (number: number): string => `52:54:00:aa:00:${number.toString(16).padStart(2, '0')}`

export function ok(reply: Reply, status = 200): Reply['body'] {
  assert.equal(reply.status, status, reply.text)
  assert.equal(reply.body.success, true)
  assert.equal(typeof reply.body.message, 'string')
  return reply.body
}

export function refused(reply: Reply, status: number, code: string, ...words: string[]): void {
  assert.equal(reply.status, status, reply.text)
  assert.equal(reply.body.success, false)
  assert.equal(reply.body.code, code, reply.text)
  for (const word of words) assert.ok(reply.text.includes(word), `${word} in ${reply.text}`)
}
