// The driver of Kea against the real server, seen from its clients.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { DhcpScope } from '#src/drivers/ddi/dhcp-server.ts'
import { createKea, type Kea } from '#src/drivers/kea/client.ts'
import { createKeaTransport } from '#src/drivers/kea/transport.ts'
import { createLog } from '#src/kernel/log.ts'
import { type DhcpClient, openDhcpClient, SILENCE_MS } from '../support/dhcp-client.ts'
import { type KeaServer, keaMissing, startKea } from '../support/kea-server.ts'

const RELAY = '127.0.0.44'
const MACS = ['52:54:00:00:00:01', '52:54:00:00:00:02', '52:54:00:00:00:03'] as const

const office: DhcpScope = {
  name: 'office',
  network: '10.77.0.0/24',
  range: { first: '10.77.0.1', last: '10.77.0.12' },
  excluded: [{ first: '10.77.0.2', last: '10.77.0.9' }],
  gateway: '10.77.0.1',
  dns_servers: ['10.77.0.2', '10.77.0.3'],
  lease_seconds: 600,
  enabled: true,
}

describe('Kea', { skip: keaMissing() }, () => {
  let server: KeaServer
  let kea: Kea
  let client: DhcpClient
  before(async () => {
    server = await startKea()
    kea = createKea(server.config, { log: createLog({ level: 'error', hide: [] }) })
    client = await openDhcpClient(RELAY, server.port)
  })
  after(async () => {
    client?.close()
    await kea?.close()
    await server?.close()
  })

  /** Subnets of tests are found by the address of their relay, which is the network's own business. */
  async function relayed(scope: string): Promise<void> {
    const raw = createKeaTransport(server.config)
    const { arguments: answer } = await raw.send('config-get')
    const { Dhcp4 } = answer as { Dhcp4: { subnet4: { relay?: unknown; 'user-context'?: { name?: string } }[] } }
    const subnet = Dhcp4.subnet4.find((one) => one['user-context']?.name === scope)
    assert.ok(subnet)
    subnet.relay = { 'ip-addresses': [RELAY] }
    assert.equal((await raw.send('config-set', { Dhcp4 })).result, 0)
    assert.equal((await raw.send('config-write')).result, 0)
  }

  test('a scope is read back as it was ordered, also after a kill of the server', async () => {
    await kea.check()
    await kea.createScope(office)
    await relayed('office')
    assert.deepEqual(await kea.scopes(), [office])
    await server.restart('SIGKILL')
    assert.deepEqual(await kea.scopes(), [office])
  })

  test('gateway, excluded, network and broadcast addresses are never handed out', async () => {
    const answers = [await client.obtain(MACS[0]), await client.obtain(MACS[1]), await client.obtain(MACS[2])]
    const given = new Set(answers.map((answer) => answer?.ip))
    assert.deepEqual(given, new Set(['10.77.0.10', '10.77.0.11', '10.77.0.12']))
    assert.equal(await client.obtain('52:54:00:00:00:04', SILENCE_MS), undefined)
    const leases = await kea.leases({ scope: 'office' })
    assert.deepEqual(
      leases.map((lease) => lease.ip),
      ['10.77.0.10', '10.77.0.11', '10.77.0.12'],
    )
    assert.equal((await kea.leases({ mac: MACS[0] }))[0]?.ip, answers[0]?.ip)
    assert.equal((await kea.counters('office')).assigned_addresses, 3)
  })

  test('a client keeps its address when its lease becomes a reservation, and when it stops being one', async () => {
    const [held] = await kea.leases({ mac: MACS[0] })
    assert.ok(held)
    const reservation = { mac: MACS[0], ip: held.ip, hostname: 'printer', comment: 'second "floor", 2% of ü' }
    assert.equal(await kea.reserveLease('office', reservation), true)
    assert.deepEqual(await kea.reservations('office'), [{ ...reservation, scope: 'office' }])
    const renewed = await client.renew(MACS[0], held.ip)
    assert.deepEqual([renewed?.type, renewed?.ip, renewed?.hostname], ['ACK', held.ip, 'printer'])
    await kea.releaseReservation('office', MACS[0])
    assert.deepEqual(await kea.reservations('office'), [])
    assert.equal((await client.renew(MACS[0], held.ip))?.type, 'ACK')
  })

  test('a reservation of a lease that is gone is refused', async () => {
    const reservation = { mac: '52:54:00:00:00:77', ip: '10.77.0.12', hostname: 'nobody', comment: '' }
    assert.equal(await kea.reserveLease('office', reservation), false)
    assert.deepEqual(await kea.reservations('office'), [])
  })

  test('a client whose reservation moves gets the new address, also outside the range', async () => {
    const [held] = await kea.leases({ mac: MACS[1] })
    assert.ok(held)
    await kea.changeReservations('office', { put: [{ mac: MACS[1], ip: '10.77.0.99', hostname: 'web', comment: '' }] })
    assert.equal((await client.renew(MACS[1], held.ip))?.type, 'NAK')
    assert.equal((await client.obtain(MACS[1]))?.ip, '10.77.0.99')
    await kea.releaseReservation('office', MACS[1])
    assert.deepEqual(await kea.leases({ mac: MACS[1] }), [])
    assert.equal((await client.obtain(MACS[1]))?.ip, held.ip)
  })

  test('a disabled scope falls silent, keeps its leases, and serves again', async () => {
    await kea.updateScope('office', { ...office, enabled: false })
    assert.equal(await client.obtain(MACS[2], SILENCE_MS), undefined)
    assert.equal((await kea.scopes())[0]?.enabled, false)
    assert.ok((await kea.leases({ scope: 'office' })).length > 0)
    await kea.updateScope('office', office)
    assert.equal((await client.obtain(MACS[2]))?.type, 'ACK')
  })

  test('what the server refuses changes nothing, and carries its words', async () => {
    const before = await kea.scopes()
    const bad = { ...office, name: 'bad', range: { first: '10.99.0.1', last: '10.99.0.9' } }
    await assert.rejects(kea.createScope(bad), { name: 'UpstreamError', failure: 'error', status: 1 })
    const twice = { put: [{ mac: MACS[0], ip: '10.77.0.50', hostname: 'a', comment: '' }, { mac: MACS[1], ip: '10.77.0.50', hostname: 'b', comment: '' }] } // biome-ignore format: one change
    await assert.rejects(kea.changeReservations('office', twice), { name: 'UpstreamError', failure: 'error' })
    assert.deepEqual(await kea.scopes(), before)
    assert.deepEqual(await kea.reservations('office'), [])
  })

  test('a deleted scope takes its leases with it, and its number is never used again', async () => {
    await kea.deleteScope('office')
    assert.deepEqual(await kea.scopes(), [])
    await kea.createScope(office)
    assert.deepEqual(await kea.leases({ scope: 'office' }), [])
    const { arguments: answer } = await createKeaTransport(server.config).send('config-get')
    const { Dhcp4 } = answer as { Dhcp4: { subnet4: { id: number }[] } }
    assert.equal(Dhcp4.subnet4[0]?.id, 2)
  })

  test('a server that is away is reported as unavailable', async () => {
    const away = createKea(
      { socket: '/nowhere/kea.sock', timeout_ms: 1000 },
      { log: createLog({ level: 'error', hide: [] }) },
    )
    await assert.rejects(away.scopes(), { name: 'UpstreamError', failure: 'unavailable', upstream: 'DHCP' })
    await away.close()
  })
})
