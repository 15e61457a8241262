// Many callers at once at several replicas on one database: each address is given once, and who gets none is told so.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AddressService, startAddressService } from './address-service.ts'
import { ok, RECORDS, refused, RESERVATIONS, SCOPES, ZONES } from './address-steps.ts'
import type { Caller, Reply } from './http.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'

const CALLERS = 200
const ROOM = 150
const ZONE = 'storm.example'

export interface Replicas {
  call: Caller
  close(): Promise<void>
}

/** Each call goes to the next replica; every replica has drivers of its own. */
export async function startReplicas(
  count: number,
  connect: () => Parameters<typeof startAddressService>[0],
): Promise<Replicas> {
  const database: TestDatabase = await createTestDatabase()
  const services: AddressService[] = []
  for (let left = count; left > 0; left -= 1) services.push(await startAddressService(connect(), database.connection))
  let turn = 0
  return {
    call: (...args) => {
      turn = (turn + 1) % services.length
      const service = services[turn]
      assert.ok(service)
      return service.call(...args)
    },
    async close() {
      for (const service of services) await service.close()
      await database.drop()
    },
  }
}

const macOf = (number: number): string => `52:54:00:bb:00:${number.toString(16).padStart(2, '0')}`
const nameOf = (number: number): string => `storm-${number}`

/** One in five publishes its name, too. */
export function reservationStorm(call: Caller, resolve: (name: string) => Promise<string[] | undefined>): void {
  test('two hundred callers at once get every address of a scope once, and the others a clear answer', async () => {
    ok(await call('POST', ZONES, { name: ZONE, type: 'Primary', create_reverse_zone: true, reverse_zone_cidr: '10.87.0.0/24' }), 201) // biome-ignore format: one call
    const scope = { name: 'storm', network_cidr: '10.87.0.0/24', start_address: '10.87.0.10', end_address: '10.87.0.159', gateway: '10.87.0.1' } // biome-ignore format: one scope
    ok(await call('POST', SCOPES, scope), 201)
    const reserve = (number: number): Promise<Reply> => {
      const names = number % 5 === 0 ? { create_dns: true, dns_zone: ZONE } : {}
      const wish = { scope_name: 'storm', mac: macOf(number), hostname: nameOf(number), ...names }
      return call('POST', RESERVATIONS, wish)
    }
    const replies = await Promise.all(Array.from({ length: CALLERS }, (_, number) => reserve(number)))
    const given = new Map<string, number>()
    for (const [number, reply] of replies.entries()) {
      if (reply.status === 201) given.set(reply.body.ip, number)
      else refused(reply, 400, 'DHCP_SCOPE_FULL', 'storm')
    }
    assert.equal(replies.filter((reply) => reply.status === 201).length, ROOM)
    assert.equal(given.size, ROOM, 'no address was given twice')
    const held = ok(await call('GET', `${RESERVATIONS}?scope_name=storm&page_size=500`)).data.reservations
    assert.deepEqual(
      new Map(held.map((row: { ip: string; mac: string }) => [row.ip, row.mac])),
      new Map([...given].map(([ip, number]): [string, string] => [ip, macOf(number)]).sort(byAddress)),
    )
    const named = [...given].filter(([, number]) => number % 5 === 0)
    const names = ok(await call('GET', `${RECORDS}?zone_name=${ZONE}&record_type=A&page_size=500`)).data.records
    assert.deepEqual(
      names.map((row: { name: string; value: string }) => `${row.name} ${row.value}`).toSorted(),
      named.map(([ip, number]) => `${nameOf(number)} ${ip}`).toSorted(),
    )
    const reverse = ok(await call('GET', `${RECORDS}?zone_name=0.87.10.in-addr.arpa&record_type=PTR&page_size=500`))
    assert.equal(reverse.data.total_count, named.length)
    const [[ip, number] = ['', 0]] = named
    assert.deepEqual(await resolve(`${nameOf(number)}.${ZONE}`), [ip])
    ok(await call('POST', '/ddi/drift/check'))
    assert.deepEqual(ok(await call('GET', '/ddi/drift?scope_name=storm')).data.drift, [])
  })
}

function byAddress([a]: [string, string], [b]: [string, string]): number {
  return Number(a.split('.')[3]) - Number(b.split('.')[3])
}
