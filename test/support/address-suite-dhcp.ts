// Scopes, reservations and leases over HTTP.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AddressBench, SCOPES, RESERVATIONS, LEASES, suite_scope, mac, ok, refused } from './address-steps.ts'
import type { Caller } from './http.ts'
import { SILENCE_MS } from './dhcp-client.ts'

export function scopeTests(call: Caller, bench: () => AddressBench): void {
  test('a scope is made, read back and listed as it was ordered', async () => {
    const made = ok(await call('POST', SCOPES, suite_scope), 201)
    assert.deepEqual(
      [made.scope_name, made.network, made.start_address, made.end_address],
      ['suite', '10.88.0.0/24', '10.88.0.10', '10.88.0.29'],
    )
    await bench().connect('suite')
    const { scope, statistics } = ok(await call('GET', `${SCOPES}/suite`)).data
    assert.equal(scope.description, 'Second floor')
    assert.deepEqual(scope.excluded_ranges, ['10.88.0.10-10.88.0.14'])
    assert.deepEqual([scope.lease_time, scope.gateway, scope.dns_servers], ['1h', '10.88.0.1', ['10.88.0.2']])
    assert.equal(statistics.total_addresses, 15)
    const listed = ok(await call('GET', `${SCOPES}?include_stats=true&page_size=500`)).data.scopes
    assert.equal(listed.find((one: { name: string }) => one.name === 'suite').available_count, 15)
    const plain = ok(await call('GET', `${SCOPES}?enabled=true&page_size=500`)).data.scopes
    assert.equal(plain.find((one: { name: string }) => one.name === 'suite').available_count, null)
  })

  test('a scope that cannot be is refused with the field and the reason, and nothing is made', async () => {
    const before = ok(await call('GET', `${SCOPES}?page_size=500`)).data.total_count
    const cases: [Record<string, unknown>, string, string][] = [
      [{ name: 'suite' }, 'DHCP_SCOPE_EXISTS', 'suite'],
      [
        {
          network_cidr: '10.88.0.128/25',
          start_address: '10.88.0.130',
          end_address: '10.88.0.140',
          gateway: '10.88.0.129',
        },
        'DHCP_SCOPE_OVERLAP',
        'suite',
      ],
      [{ network_cidr: '10.88.0.1/24' }, 'INVALID_REQUEST', 'network_cidr'],
      [{ network_cidr: '10.89.0.0/31' }, 'INVALID_REQUEST', 'network_cidr'],
      [{ start_address: '10.90.0.10' }, 'INVALID_REQUEST', 'start_address'],
      [{ start_address: '10.89.0.0' }, 'INVALID_REQUEST', 'network address'],
      [{ end_address: '10.89.0.255' }, 'INVALID_REQUEST', 'broadcast'],
      [{ start_address: '10.89.0.30' }, 'INVALID_REQUEST', 'end_address'],
      [{ gateway: '10.88.0.1' }, 'INVALID_REQUEST', 'gateway'],
      [{ excluded_ranges: ['10.89.0.5'] }, 'INVALID_REQUEST', 'excluded_ranges'],
      [{ excluded_ranges: ['10.89.0.20-10.89.0.15'] }, 'INVALID_REQUEST', 'excluded_ranges'],
      [{ lease_time: '0s' }, 'INVALID_REQUEST', 'lease_time'],
      [{ lease_time: '366d' }, 'INVALID_REQUEST', 'lease_time'],
      [{ lease_time: 'soon' }, 'INVALID_REQUEST', 'lease_time'],
      [{ name: '../etc/passwd' }, 'INVALID_REQUEST', 'name'],
      [{ description: 'two\nlines' }, 'INVALID_REQUEST', 'description'],
      [{ dns_servers: ['nameserver'] }, 'INVALID_REQUEST', 'dns_servers'],
      [{ colour: 'blue' }, 'INVALID_REQUEST', 'colour'],
    ]
    const other = { ...suite_scope, name: 'other', network_cidr: '10.89.0.0/24', start_address: '10.89.0.10', end_address: '10.89.0.29', gateway: '10.89.0.1', excluded_ranges: [] } // biome-ignore format: one scope
    for (const [change, code, word] of cases)
      refused(await call('POST', SCOPES, { ...other, ...change }), 400, code, word)
    assert.equal(ok(await call('GET', `${SCOPES}?page_size=500`)).data.total_count, before)
  })

  test('exclusions are added and taken away, and the rest stays', async () => {
    ok(
      await call('PUT', `${SCOPES}/suite`, {
        name: 'suite',
        exclude_range: '10.88.0.20-10.88.0.21',
        description: 'Third floor',
      }),
    )
    let { scope } = ok(await call('GET', `${SCOPES}/suite`)).data
    assert.deepEqual(scope.excluded_ranges, ['10.88.0.10-10.88.0.14', '10.88.0.20-10.88.0.21'])
    assert.deepEqual([scope.description, scope.lease_time], ['Third floor', '1h'])
    ok(await call('PUT', `${SCOPES}/suite`, { name: 'suite', include_range: '10.88.0.21', lease_time: '2h' }))
    ;({ scope } = ok(await call('GET', `${SCOPES}/suite`)).data)
    assert.deepEqual(scope.excluded_ranges, ['10.88.0.10-10.88.0.14', '10.88.0.20'])
    assert.equal(scope.lease_time, '2h')
    refused(await call('PUT', `${SCOPES}/suite`, { name: 'other' }), 400, 'INVALID_REQUEST', 'name')
    refused(await call('PUT', `${SCOPES}/nowhere`, { name: 'nowhere' }), 400, 'DHCP_SCOPE_NOT_FOUND', 'nowhere')
    refused(await call('GET', `${SCOPES}/nowhere`), 404, 'DHCP_SCOPE_NOT_FOUND', 'nowhere')
    refused(await call('GET', `${SCOPES}/nowhere/statistics`), 404, 'DHCP_SCOPE_NOT_FOUND')
  })

  test('a disabled scope serves nobody until it is enabled again', async () => {
    ok(await call('POST', `${SCOPES}/suite/disable`))
    ok(await call('POST', `${SCOPES}/suite/disable`))
    assert.equal(await bench().obtain('suite', mac(1), SILENCE_MS), undefined)
    assert.equal(ok(await call('GET', `${SCOPES}/suite`)).data.scope.enabled, false)
    ok(await call('POST', `${SCOPES}/suite/enable`))
    const ip = await bench().obtain('suite', mac(1))
    assert.ok(ip !== undefined && !['10.88.0.10', '10.88.0.14', '10.88.0.20'].includes(ip))
    refused(await call('POST', `${SCOPES}/nowhere/enable`), 400, 'DHCP_SCOPE_NOT_FOUND')
    const statistics = ok(await call('GET', `${SCOPES}/suite/statistics`)).data
    assert.equal(statistics.active_leases, 1)
    assert.equal(statistics.recent_leases[0].mac, mac(1))
  })
}

export function reservationTests(call: Caller, bench: () => AddressBench): void {
  const create = (fields: Record<string, unknown>) =>
    call('POST', RESERVATIONS, { scope_name: 'suite', hostname: 'web-01', ...fields })

  test('an address is found for a reservation, and its client gets it', async () => {
    const made = ok(await create({ mac: mac(10).toUpperCase().replaceAll(':', '-'), comment: 'rack 4, "ü"' }), 201)
    assert.deepEqual([made.mac, made.scope, made.dns_created, made.fqdn], [mac(10), 'suite', false, null])
    assert.equal(await bench().obtain('suite', mac(10)), made.ip)
    const listed = ok(await call('GET', `${RESERVATIONS}?scope_name=suite`)).data
    assert.deepEqual([listed.total_count, listed.reservations[0].comment], [1, 'rack 4, "ü"'])
    assert.ok(listed.reservations[0].created_at !== null)
    assert.equal(ok(await call('GET', `${RESERVATIONS}?scope_name=suite&lease_type=reserved`)).data.total_count, 1)
    assert.equal(ok(await call('GET', `${RESERVATIONS}?scope_name=suite&search=RACK`)).data.total_count, 1)
    assert.equal(ok(await call('GET', `${RESERVATIONS}?scope_name=suite&search=nobody`)).data.total_count, 0)
  })

  test('what another has is refused, and nothing is half-made', async () => {
    const taken = ok(await call('GET', `${RESERVATIONS}?scope_name=suite`)).data.reservations[0].ip
    const [held] = ok(await call('GET', `${LEASES}?scope_name=suite&state=active`)).data.leases.filter(
      (lease: { mac: string }) => lease.mac === mac(1),
    )
    refused(await create({ mac: mac(10) }), 400, 'DHCP_RESERVATION_EXISTS', mac(10))
    refused(await create({ mac: mac(11), ip: taken }), 400, 'DHCP_ADDRESS_TAKEN', mac(10))
    refused(await create({ mac: mac(11), ip: held.ip }), 400, 'DHCP_ADDRESS_TAKEN', mac(1))
    refused(await create({ mac: mac(11), ip: '10.88.0.1' }), 400, 'INVALID_REQUEST', 'gateway')
    refused(await create({ mac: mac(11), ip: '10.88.0.255' }), 400, 'INVALID_REQUEST', 'broadcast')
    refused(await create({ mac: mac(11), ip: '10.99.0.5' }), 400, 'INVALID_REQUEST', 'body.ip')
    refused(await create({ mac: 'no mac' }), 400, 'INVALID_REQUEST', 'mac')
    refused(await create({ mac: mac(11), hostname: 'under_score' }), 400, 'INVALID_REQUEST', 'hostname')
    refused(await create({ mac: mac(11), create_dns: true }), 400, 'INVALID_REQUEST', 'dns_zone')
    refused(await create({ mac: mac(11), scope_name: 'nowhere' }), 400, 'DHCP_SCOPE_NOT_FOUND', 'nowhere')
    for (const [gateway, owner] of [
      [taken, mac(10)],
      [held.ip, mac(1)],
    ])
      refused(await call('PUT', `${SCOPES}/suite`, { name: 'suite', gateway }), 400, 'DHCP_ADDRESS_TAKEN', owner)
    assert.equal(ok(await call('GET', `${SCOPES}/suite`)).data.scope.gateway, '10.88.0.1')
    assert.equal(ok(await call('GET', `${RESERVATIONS}?scope_name=suite`)).data.total_count, 1)
    refused(await call('GET', `${RESERVATIONS}?scope_name=nowhere`), 400, 'DHCP_SCOPE_NOT_FOUND')
  })

  test('a reservation is moved, renamed, disabled and enabled again', async () => {
    const path = `${RESERVATIONS}/${mac(10)}`
    const change = { mac: mac(10), scope_name: 'suite' }
    const moved = ok(await call('PUT', path, { ...change, new_ip: '10.88.0.77', hostname: 'web-02' }))
    assert.deepEqual([moved.ip, moved.hostname], ['10.88.0.77', 'web-02'])
    assert.equal(await bench().obtain('suite', mac(10)), '10.88.0.77')
    ok(await call('PUT', path, { ...change, enabled: false }))
    const [off] = ok(await call('GET', `${RESERVATIONS}?scope_name=suite`)).data.reservations
    assert.deepEqual([off.enabled, off.ip, off.hostname, off.comment], [false, '10.88.0.77', 'web-02', 'rack 4, "ü"'])
    refused(await create({ mac: mac(11), ip: '10.88.0.77' }), 400, 'DHCP_ADDRESS_TAKEN', mac(10))
    ok(await call('PUT', path, { ...change, enabled: true }))
    assert.equal(await bench().obtain('suite', mac(10)), '10.88.0.77')
    refused(
      await call('PUT', `${RESERVATIONS}/${mac(12)}`, { mac: mac(12), scope_name: 'suite' }),
      400,
      'DHCP_RESERVATION_NOT_FOUND',
    )
    refused(await call('PUT', path, { ...change, mac: mac(12) }), 400, 'INVALID_REQUEST', 'body.mac')
  })

  test('a full scope says so', async () => {
    for (let number = 30; ; number += 1) {
      const reply = await create({ mac: mac(number), hostname: `fill-${number}` })
      if (reply.status === 201) continue
      refused(reply, 400, 'DHCP_SCOPE_FULL', 'suite')
      assert.equal(number, 30 + 13)
      break
    }
    for (let number = 30; number < 43; number += 1)
      ok(await call('DELETE', `${RESERVATIONS}/${mac(number)}?scope_name=suite`))
    refused(await call('DELETE', `${RESERVATIONS}/${mac(30)}?scope_name=suite`), 404, 'DHCP_RESERVATION_NOT_FOUND')
  })
}

export function leaseTests(call: Caller, bench: () => AddressBench): void {
  test('a client keeps its address when its lease is converted, there and back', async () => {
    const ip = await bench().obtain('suite', mac(20))
    assert.ok(ip !== undefined)
    const path = `${LEASES}/${mac(20)}`
    const convert = (fields: Record<string, unknown>) =>
      call('POST', `${path}/convert`, { mac: mac(20), scope_name: 'suite', ...fields })
    refused(await convert({ mode: 'reserved' }), 400, 'INVALID_REQUEST', 'hostname')
    ok(await convert({ mode: 'reserved', hostname: 'printer', comment: 'by the door' }))
    refused(await convert({ mode: 'reserved', hostname: 'printer' }), 400, 'DHCP_RESERVATION_EXISTS')
    assert.equal(await bench().renew('suite', mac(20), ip), ip)
    const lease = ok(await call('GET', path)).data
    assert.deepEqual([lease.ip, lease.lease_type, lease.state, lease.scope], [ip, 'reserved', 'active', 'suite'])
    ok(await convert({ mode: 'dynamic' }))
    assert.equal(await bench().renew('suite', mac(20), ip), ip)
    assert.equal(ok(await call('GET', path)).data.lease_type, 'dynamic')
    refused(await convert({ mode: 'dynamic' }), 400, 'DHCP_RESERVATION_NOT_FOUND')
    refused(await call('POST', `${LEASES}/${mac(99)}/convert`, { mac: mac(99), scope_name: 'suite', mode: 'reserved', hostname: 'x' }), 400, 'DHCP_LEASE_NOT_FOUND') // biome-ignore format: one call
    refused(await call('GET', `${LEASES}/${mac(99)}`), 404, 'DHCP_LEASE_NOT_FOUND', mac(99))
  })

  test('leases are listed by scope and state, with when they were first seen', async () => {
    await bench().collect()
    const active = ok(await call('GET', `${LEASES}?scope_name=suite&state=active`)).data
    assert.ok(active.total_count >= 2)
    assert.ok(active.leases.every((lease: { first_seen: string | null }) => lease.first_seen !== null))
    const page = ok(await call('GET', `${LEASES}?scope_name=suite&page=2&page_size=1`)).data
    assert.deepEqual([page.leases.length, page.page], [1, 2])
    refused(await call('GET', `${LEASES}?state=sleeping`), 400, 'INVALID_REQUEST', 'state')
    refused(await call('GET', `${LEASES}?scope_name=nowhere`), 400, 'DHCP_SCOPE_NOT_FOUND')
  })
}
