// The tests of DHCP and DNS over HTTP that hold for every pair of servers behind them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  type AddressBench,
  SCOPES,
  RESERVATIONS,
  LEASES,
  RECORDS,
  ZONES,
  suite_scope,
  ZONE,
  mac,
  ok,
  refused,
} from './address-steps.ts'
import { leaseTests, reservationTests, scopeTests } from './address-suite-dhcp.ts'
import { dnsTests } from './address-suite-dns.ts'
import { hostileTests } from './address-suite-hostile.ts'
import type { Caller } from './http.ts'

export interface AddressSuite {
  skip?: string | false
  start(): Promise<AddressBench>
}

/** One file has one of these; the tests build on each other in their order. */
export function describeAddresses(title: string, { skip = false, start }: AddressSuite): void {
  describe(title, { skip }, () => {
    let bench: AddressBench
    const call: Caller = (...args) => bench.call(...args)
    before(async () => {
      bench = await start()
    })
    after(() => bench?.close())

    describe('scopes', () => scopeTests(call, () => bench))
    describe('reservations', () => reservationTests(call, () => bench))
    describe('leases', () => leaseTests(call, () => bench))
    describe('zones and records', () => dnsTests(call, () => bench))
    describe('hostile values', () => hostileTests(call, () => bench))
    describe('reservations with names', () => nameTests(call, () => bench))
    describe('servers that are away', () => outageTests(call, () => bench))
  })
}

function nameTests(call: Caller, bench: () => AddressBench): void {
  const named = { scope_name: 'suite', hostname: 'db', mac: mac(60), create_dns: true, dns_zone: ZONE }

  test('reservation, A and PTR are made together, follow a move, and go together', async () => {
    const made = ok(await call('POST', RESERVATIONS, named), 201)
    assert.deepEqual([made.dns_created, made.fqdn], [true, `db.${ZONE}`])
    assert.deepEqual(await bench().resolve(`db.${ZONE}`, 'A'), [made.ip])
    const reverse = (ip: string): string => `${ip.split('.').reverse().join('.')}.in-addr.arpa`
    assert.deepEqual(await bench().resolve(reverse(made.ip), 'PTR'), [`db.${ZONE}`])
    const listed = ok(await call('GET', `${RESERVATIONS}?scope_name=suite&search=${mac(60)}&include_dns=true`)).data
    assert.equal(listed.reservations[0].dns_records[0].name, `db.${ZONE}`)
    ok(
      await call('PUT', `${RESERVATIONS}/${mac(60)}`, {
        mac: mac(60),
        scope_name: 'suite',
        new_ip: '10.88.0.90',
        update_dns: true,
      }),
    )
    assert.deepEqual(await bench().resolve(`db.${ZONE}`, 'A'), ['10.88.0.90'])
    assert.equal(await bench().resolve(reverse(made.ip), 'PTR'), undefined)
    assert.deepEqual(await bench().resolve(reverse('10.88.0.90'), 'PTR'), [`db.${ZONE}`])
    ok(await call('DELETE', `${RESERVATIONS}/${mac(60)}?scope_name=suite&delete_dns=true`))
    assert.equal(await bench().resolve(`db.${ZONE}`, 'A'), undefined)
    assert.equal(await bench().resolve(reverse('10.88.0.90'), 'PTR'), undefined)
  })

  test('a name that is taken leaves no reservation behind', async () => {
    ok(await call('POST', RECORDS, { zone: ZONE, name: 'taken', type: 'A', value: '10.88.0.99' }), 201)
    refused(
      await call('POST', RESERVATIONS, { ...named, hostname: 'taken', mac: mac(61) }),
      400,
      'DNS_RECORD_EXISTS',
      '10.88.0.99',
    )
    assert.equal(ok(await call('GET', `${RESERVATIONS}?scope_name=suite&search=${mac(61)}`)).data.total_count, 0)
    assert.deepEqual(await bench().resolve(`taken.${ZONE}`, 'A'), ['10.88.0.99'])
    refused(
      await call('POST', RESERVATIONS, { ...named, dns_zone: 'nowhere.example', mac: mac(61) }),
      400,
      'DNS_ZONE_NOT_FOUND',
    )
    assert.equal(ok(await call('GET', `${RESERVATIONS}?scope_name=suite&search=${mac(61)}`)).data.total_count, 0)
  })

  test('a reservation keeps its name when its zone is renamed, and has none when the zone is deleted', async () => {
    const [zone, new_name] = ['moving.example', 'moved.example']
    ok(await call('POST', ZONES, { name: zone, type: 'Primary' }), 201)
    const { ip } = ok(await call('POST', RESERVATIONS, { ...named, dns_zone: 'Moving.Example.', mac: mac(63) }), 201)
    ok(await call('PUT', `${ZONES}/${zone}`, { name: zone, new_name }))
    const about = async (): Promise<{ id: string; kind: string; subject: string }[]> => {
      ok(await call('POST', '/ddi/drift/check'))
      const { drift } = ok(await call('GET', '/ddi/drift?page_size=500')).data
      return drift.filter((one: { subject: string; expected: string | null }) =>
        [one.subject, one.expected].some((text) => text?.endsWith(zone) === true || text?.endsWith(new_name) === true),
      )
    }
    const [ptr, ...others] = await about()
    assert.deepEqual([ptr?.kind, ptr?.subject, others], ['ptr_differs', ip, []])
    ok(await call('POST', `/ddi/drift/${ptr?.id}/repair`))
    assert.deepEqual(await about(), [])
    const change = { mac: mac(63), scope_name: 'suite', hostname: 'db-2', update_dns: true }
    ok(await call('PUT', `${RESERVATIONS}/${mac(63)}`, change))
    assert.deepEqual(await bench().resolve(`db-2.${new_name}`, 'A'), [ip])
    ok(await call('DELETE', `${ZONES}/${new_name}?confirm=${new_name}`))
    assert.deepEqual(await about(), [])
    ok(await call('PUT', `${RESERVATIONS}/${mac(63)}`, { ...change, hostname: 'db-3' }))
    ok(await call('DELETE', `${RESERVATIONS}/${mac(63)}?scope_name=suite&delete_dns=true`))
  })

  test('what only the server knows to be wrong is refused in its words, and nothing changes', async () => {
    const counts = async () => [
      ok(await call('GET', `${RESERVATIONS}?scope_name=suite`)).data.total_count,
      ok(await call('GET', `${RECORDS}?zone_name=${ZONE}`)).data.total_count,
    ]
    const { reservation, record } = await bench().unforeseen()
    const before = await counts()
    const body = { scope_name: 'suite', hostname: 'unforeseen', mac: mac(62), ...reservation }
    refused(await call('POST', RESERVATIONS, body), 400, 'DHCP_REJECTED', 'refused the request: ')
    const wrong = { zone: ZONE, name: 'unforeseen', ...record }
    refused(await call('POST', RECORDS, wrong), 400, 'DNS_REJECTED', 'refused the request: ')
    assert.deepEqual(await counts(), before)
  })

  test('a scope with reservations and leases is deleted only when that is meant', async () => {
    refused(await call('DELETE', `${SCOPES}/suite`), 409, 'DHCP_SCOPE_IN_USE', 'force')
    ok(await call('DELETE', `${SCOPES}/suite?force=true`))
    refused(await call('DELETE', `${SCOPES}/suite`), 404, 'DHCP_SCOPE_NOT_FOUND')
  })
}

function outageTests(call: Caller, bench: () => AddressBench): void {
  test('every route says that its server is away', async () => {
    const dhcp: [string, string, unknown?][] = [
      ['GET', SCOPES], ['POST', SCOPES, suite_scope], ['GET', `${SCOPES}/suite`], ['PUT', `${SCOPES}/suite`, { name: 'suite' }],
      ['POST', `${SCOPES}/suite/enable`], ['POST', `${SCOPES}/suite/disable`], ['GET', `${SCOPES}/suite/statistics`], ['DELETE', `${SCOPES}/suite`],
      ['GET', LEASES], ['GET', `${LEASES}/${mac(1)}`], ['GET', RESERVATIONS], ['DELETE', `${RESERVATIONS}/${mac(1)}?scope_name=suite`],
      ['POST', `${LEASES}/${mac(1)}/convert`, { mac: mac(1), mode: 'dynamic', scope_name: 'suite' }],
      ['POST', RESERVATIONS, { mac: mac(1), hostname: 'x', scope_name: 'suite' }],
      ['PUT', `${RESERVATIONS}/${mac(1)}`, { mac: mac(1), scope_name: 'suite' }],
    ] // biome-ignore format: one route a place
    const dns: [string, string, unknown?][] = [
      ['GET', ZONES], ['POST', ZONES, { name: ZONE, type: 'Primary' }], ['GET', `${ZONES}/${ZONE}`], ['PUT', `${ZONES}/${ZONE}`, { name: ZONE }],
      ['DELETE', `${ZONES}/${ZONE}?confirm=${ZONE}`], ['POST', `${ZONES}/${ZONE}/transfer`], ['POST', `${ZONES}/${ZONE}/notify`],
      ['GET', `${ZONES}/${ZONE}/export`], ['POST', `${ZONES}/${ZONE}/import`, { zone_file: 'a A 10.0.0.1' }], ['GET', RECORDS],
      ['POST', RECORDS, { zone: ZONE, name: 'x', type: 'A', value: '10.0.0.1' }], ['POST', `${RECORDS}/bulk`, { zone: ZONE, operations: [] }],
      ['GET', `${RECORDS}/${ZONE}/x`], ['PUT', `${RECORDS}/${ZONE}/x`, { zone: ZONE, record_id: 'x' }], ['DELETE', `${RECORDS}/${ZONE}/x`],
    ] // biome-ignore format: one route a place
    await bench().away(async () => {
      for (const [method, path, body] of dhcp) refused(await call(method, path, body), 500, 'DHCP_UNAVAILABLE')
      for (const [method, path, body] of dns) refused(await call(method, path, body), 500, 'DNS_UNAVAILABLE')
    })
  })
}
