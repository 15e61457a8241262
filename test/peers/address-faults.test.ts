// What becomes of addresses and names when Kea is killed or changed by hand, and when PowerDNS fails in the middle of a change.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { mac, ok, RECORDS, refused, RESERVATIONS, SCOPES, suite_scope, ZONE, ZONES } from '../support/address-steps.ts'
import { dhcpAgrees, dnsAgrees } from '../support/address-views.ts'
import type { Caller, Reply } from '../support/http.ts'
import { type HttpProxy, startHttpProxy } from '../support/http-proxy.ts'
import { type KeaProxy, startKeaProxy } from '../support/kea-proxy.ts'
import {
  type RealAddresses,
  realServersMissing,
  startRealAddresses,
  startRealServers,
  type Subnet,
} from '../support/real-addresses.ts'

const RELAY = '127.0.0.58'
const CLIENTS = [1, 2, 3]
const RESERVED = [11, 12, 13, 14]

describe('faults of address servers', { skip: realServersMissing() }, () => {
  let bench: RealAddresses
  let proxy: HttpProxy
  let kea_proxy: KeaProxy
  const call: Caller = (...args) => bench.call(...args)
  const held = new Map<string, string>()
  const reserve = (number: number, more: object = {}): Promise<Reply> =>
    call('POST', RESERVATIONS, { scope_name: 'suite', mac: mac(number), hostname: `web-${number}`, ...more })
  before(async () => {
    const servers = await startRealServers()
    proxy = await startHttpProxy(servers.dns.config.url ?? '')
    kea_proxy = await startKeaProxy(servers.kea.config.socket ?? '')
    bench = await startRealAddresses(servers, RELAY, { dns_url: proxy.url, kea_socket: kea_proxy.socket })
    const reverse = { create_reverse_zone: true, reverse_zone_cidr: '10.88.0.0/24' }
    ok(await call('POST', ZONES, { name: ZONE, type: 'Primary', ...reverse }), 201)
    ok(await call('POST', SCOPES, { ...suite_scope, end_address: '10.88.0.99' }), 201)
    await bench.connect('suite')
    for (const number of CLIENTS) held.set(mac(number), (await bench.obtain('suite', mac(number))) ?? 'none')
    for (const number of RESERVED) held.set(mac(number), ok(await reserve(number), 201).ip)
  })
  after(async () => {
    await bench?.close()
    await proxy?.close()
    await kea_proxy?.close()
  })

  /** Every client keeps its address, every reservation is there, on all sides. */
  async function nothingLost(): Promise<void> {
    await dhcpAgrees(bench)
    for (const number of CLIENTS) assert.equal(await bench.renew('suite', mac(number), held.get(mac(number)) ?? ''), held.get(mac(number))) // biome-ignore format: one question
    const { reservations } = ok(await call('GET', `${RESERVATIONS}?scope_name=suite&page_size=500`)).data
    const there = new Map(reservations.map((row: { mac: string; ip: string }) => [row.mac, row.ip]))
    for (const number of RESERVED) assert.equal(there.get(mac(number)), held.get(mac(number)))
  }

  async function drift(): Promise<{ id: string; kind: string; subject: string; repair: string }[]> {
    ok(await call('POST', '/ddi/drift/check'))
    return ok(await call('GET', '/ddi/drift?page_size=500')).data.drift
  }

  async function mendAll(): Promise<void> {
    for (const { id, repair } of await drift())
      if (repair === 'restore') mended(await call('POST', `/ddi/drift/${id}/repair`))
  }

  /** One repair may mend what another one names: an address and the way back to it. */
  function mended(reply: Reply): void {
    if (reply.body.code !== 'DRIFT_NOT_FOUND') ok(reply)
  }

  test('a restart and a kill of Kea lose no reservation and no lease', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await bench.servers.kea.restart(signal)
      await nothingLost()
      assert.deepEqual(await drift(), [])
    }
  })

  test('what is changed by hand in Kea is reported, survives our next change, and is mended on request', async () => {
    const by_hand = { 'hw-address': '52:54:00:cc:00:01', 'ip-address': '10.88.0.200', hostname: 'by-hand' }
    await bench.servers.editScope('suite', (subnet) => {
      subnet.reservations = [...(subnet.reservations ?? []).slice(1), by_hand]
      subnet['valid-lifetime'] = 1234
      for (const bound of ['min-valid-lifetime', 'max-valid-lifetime'] as const) delete subnet[bound]
    })
    const kinds = (await drift()).map((one) => one.kind)
    assert.deepEqual(kinds.toSorted(), ['reservation_missing', 'reservation_unknown', 'scope_differs'])
    ok(await reserve(50), 201)
    const { reservations } = ok(await call('GET', `${RESERVATIONS}?scope_name=suite&page_size=500`)).data
    assert.ok(reservations.some((row: { mac: string }) => row.mac === by_hand['hw-address']))
    await mendAll()
    assert.deepEqual(
      (await drift()).map((one) => [one.kind, one.subject]),
      [['reservation_unknown', by_hand['hw-address']]],
    )
    ok(await call('DELETE', `${RESERVATIONS}/${by_hand['hw-address']}?scope_name=suite`))
    assert.deepEqual(await drift(), [])
    await nothingLost()
  })

  test('a scope that was removed by hand comes back with its reservations, and its clients keep their leases', async () => {
    let relay: Subnet['relay']
    await bench.servers.editAll((subnets) => {
      relay = subnets.find((subnet) => subnet['user-context']?.name === 'suite')?.relay
      return []
    })
    assert.deepEqual((await drift()).map((one) => one.kind), ['scope_missing']) // biome-ignore format: one line
    await mendAll()
    assert.ok((await drift()).every((one) => one.kind === 'reservation_missing'))
    await mendAll()
    assert.deepEqual(await drift(), [])
    await bench.servers.editScope('suite', (subnet) => (subnet.relay = relay))
    await nothingLost()
  })

  test('a kill of Kea amid twenty orders leaves each of them done or refused, and none half-made', async () => {
    const numbers = Array.from({ length: 20 }, (_, index) => 20 + index)
    let first: () => void
    const one_done = new Promise<void>((resolve) => (first = resolve))
    const orders = numbers.map(async (number) => {
      const reply = await reserve(number, number % 4 === 0 ? { create_dns: true, dns_zone: ZONE } : {})
      first()
      return reply
    })
    await one_done
    await bench.servers.kea.restart('SIGKILL')
    const replies = await Promise.all(orders)
    const { reservations } = ok(await call('GET', `${RESERVATIONS}?scope_name=suite&page_size=500`)).data
    const there = new Map(reservations.map((row: { mac: string; ip: string }) => [row.mac, row.ip]))
    for (const [index, reply] of replies.entries()) {
      const number = numbers[index] ?? 0
      if (reply.status === 201) assert.equal(there.get(mac(number)), reply.body.ip)
      else assert.match(reply.body.code, /^DHCP_/, reply.text)
      if (reply.status !== 201) assert.equal(there.get(mac(number)), undefined)
    }
    assert.ok(replies.some((reply) => reply.status === 201))
    await nothingLost()
    await dnsAgrees(bench)
    assert.deepEqual(await drift(), [])
  })

  /** Once, at the next time that it writes its configuration; it starts again at once. */
  function killAtWrite(when: 'before' | 'after'): Promise<void> {
    return new Promise((killed) => {
      let first = true
      kea_proxy.behave(async (command, moment) => {
        if (command !== 'config-write' || moment !== when || !first) return false
        first = false
        await bench.servers.kea.restart('SIGKILL')
        killed()
        return true
      })
    })
  }

  for (const [index, when] of (['before', 'after'] as const).entries()) {
    test(`a kill of Kea right ${when} it writes its configuration leaves reservation and names both or neither`, async () => {
      const number = 70 + index
      const killed = killAtWrite(when)
      const names = { create_dns: true, dns_zone: ZONE }
      const reply = await reserve(number, names)
      await killed
      const { total_count } = ok(await call('GET', `${RESERVATIONS}?scope_name=suite&search=${mac(number)}`)).data
      if (reply.status !== 201) assert.match(reply.body.code, /^DHCP_/, reply.text)
      const ip = reply.status === 201 ? [reply.body.ip] : undefined
      assert.deepEqual([total_count, await bench.resolve(`web-${number}.${ZONE}`, 'A')], [ip?.length ?? 0, ip])
      await nothingLost()
      await dnsAgrees(bench)
      assert.deepEqual(await drift(), [])
      if (ip === undefined) ok(await reserve(number, names), 201)
    })
  }

  test('a scope whose change Kea was killed with is reported, and mended on request', async () => {
    const killed = killAtWrite('before')
    refused(await call('PUT', `${SCOPES}/suite`, { name: 'suite', lease_time: '3h' }), 500, 'DHCP_UNAVAILABLE')
    await killed
    assert.deepEqual((await drift()).map((one) => one.kind), ['scope_differs']) // biome-ignore format: one line
    await mendAll()
    assert.deepEqual(await drift(), [])
    assert.equal(ok(await call('GET', `${SCOPES}/suite`)).data.scope.lease_time, '3h')
    await nothingLost()
  })

  test('a bulk in whose middle PowerDNS fails says of each operation what became of it', async () => {
    const operations = ['a', 'b', 'c', 'd', 'e'].map((name) => ({
      action: 'ADD',
      record: { zone: ZONE, name, type: 'A', value: '10.88.0.70' },
    }))
    let answered_late = 0
    proxy.behave((method, _path, body) => {
      if (method !== 'PATCH') return 'pass'
      if (body.includes(`"c.${ZONE}.`)) return 'refuse'
      if (body.includes(`"d.${ZONE}.`)) return (answered_late += 1) === 1 ? 'lost' : 'pass'
      if (body.includes(`"e.${ZONE}.`)) return (answered_late += 1) === 3 ? 'cut' : 'pass'
      return 'pass'
    })
    const reply = await call('POST', `${RECORDS}/bulk`, { zone: ZONE, operations })
    proxy.behave(() => 'pass')
    assert.deepEqual([reply.status, reply.body.total, reply.body.succeeded, reply.body.failed], [200, 5, 4, 1], reply.text) // biome-ignore format: one line
    const codes = reply.body.results.map((one: { code: string | null; status: string }) => one.code ?? one.status)
    assert.deepEqual(codes, ['succeeded', 'succeeded', 'DNS_ERROR', 'succeeded', 'succeeded'])
    assert.equal(answered_late, 4, 'both lost answers were asked for again')
    for (const name of ['a', 'b', 'd', 'e']) assert.deepEqual(await bench.resolve(`${name}.${ZONE}`, 'A'), ['10.88.0.70']) // biome-ignore format: one line
    assert.equal(await bench.resolve(`c.${ZONE}`, 'A'), undefined)
    await dnsAgrees(bench)
  })

  test('a name that PowerDNS cannot take leaves no reservation, and one that is lost is reported and mended', async () => {
    proxy.behave((method) => (method === 'PATCH' ? 'refuse' : 'pass'))
    refused(await reserve(60, { create_dns: true, dns_zone: ZONE }), 500, 'DNS_ERROR')
    proxy.behave(() => 'pass')
    assert.equal(ok(await call('GET', `${RESERVATIONS}?scope_name=suite&search=${mac(60)}`)).data.total_count, 0)
    const { ip } = ok(await reserve(60, { create_dns: true, dns_zone: ZONE }), 201)
    const { records } = ok(await call('GET', `${RECORDS}?zone_name=${ZONE}&search=web-60`)).data
    ok(await call('DELETE', `${RECORDS}/${ZONE}/${records[0].id}?delete_ptr=true`))
    assert.deepEqual((await drift()).map((one) => one.kind).toSorted(), ['ptr_missing', 'record_missing'])
    await mendAll()
    assert.deepEqual(await bench.resolve(`web-60.${ZONE}`, 'A'), [ip])
    assert.deepEqual(await drift(), [])
  })
})
