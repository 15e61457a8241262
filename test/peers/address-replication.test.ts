// Two of each server, seen through the API: DHCP fails over and back without a client losing its address, and a zone is copied
// from its primary to its secondary and follows it.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { unconfiguredDhcp, unconfiguredDns } from '#src/drivers/ddi/unconfigured.ts'
import { createKea, type Kea } from '#src/drivers/kea/client.ts'
import { createKeaTransport } from '#src/drivers/kea/transport.ts'
import { createPowerDns, type PowerDns } from '#src/drivers/powerdns/client.ts'
import { createLog } from '#src/kernel/log.ts'
import { type AddressService, startAddressService } from '../support/address-service.ts'
import {
  LEASES,
  mac,
  ok,
  RECORDS,
  refused,
  RESERVATIONS,
  SCOPES,
  suite_scope,
  ZONE,
  ZONES,
} from '../support/address-steps.ts'
import { type DhcpClient, openDhcpClient, SILENCE_MS } from '../support/dhcp-client.ts'
import { type KeaServer, keaMissing } from '../support/kea-server.ts'
import { type KeaPair, startKeaPair } from '../support/kea-pair.ts'
import { type PowerDnsServer, powerDnsMissing, startPowerDns } from '../support/powerdns-server.ts'
import { until } from '../support/until.ts'

const RELAY = '127.0.0.64'
const run = promisify(execFile)
const log = createLog({ level: 'error', destination: { write: () => {} } })

interface Subnet {
  relay?: unknown
}

describe('two DHCP servers', { skip: keaMissing() }, () => {
  let pair: KeaPair
  let kea: Kea
  let service: AddressService
  const clients: DhcpClient[] = []
  const call: AddressService['call'] = (...args) => service.call(...args)
  before(async () => {
    pair = await startKeaPair()
    kea = createKea(pair.primary.config, { log, peers: [pair.standby.config] })
    service = await startAddressService({ dhcp: kea, dns: unconfiguredDns() })
    for (const server of [pair.primary, pair.standby]) clients.push(await openDhcpClient(RELAY, server.port))
  })
  after(async () => {
    for (const client of clients) client.close()
    await service?.close()
    await kea?.close()
    await pair?.close()
  })

  const inState = (server: KeaServer, state: string): Promise<unknown> =>
    until(`the server is ${state}`, async () => (await pair.stateOf(server)) === state)
  const bothReady = async (): Promise<void> => {
    for (const server of [pair.primary, pair.standby]) await inState(server, 'hot-standby')
  }
  const subnetsOf = async ({ config }: KeaServer): Promise<Subnet[]> => {
    const { arguments: answer } = await createKeaTransport(config).send('config-get')
    return (answer as { Dhcp4: { subnet4: Subnet[] } }).Dhcp4.subnet4
  }
  /** While one takes over, neither may answer. */
  const obtain = async (client: DhcpClient | undefined, number: number): Promise<string> => {
    let ip: string | undefined
    await until('a client gets an address', async () => {
      ip = (await client?.obtain(mac(number), SILENCE_MS))?.ip
      return ip !== undefined
    })
    return ip ?? ''
  }
  const shown = async (number: number): Promise<string> => ok(await call('GET', `${LEASES}/${mac(number)}`)).data.ip

  test('a client keeps its address when its server is gone and when it is back, and the API shows it all along', async () => {
    const { primary, standby } = pair
    const [first, second] = clients
    ok(await call('POST', SCOPES, suite_scope), 201)
    await relayed(primary)
    const reserved = ok(
      await call('POST', RESERVATIONS, { scope_name: 'suite', mac: mac(9), hostname: 'kept' }),
      201,
    ).ip
    assert.deepEqual(await subnetsOf(standby), await subnetsOf(primary))
    await bothReady()
    const ip = await obtain(first, 1)
    assert.equal(await shown(1), ip)

    await primary.pause('SIGKILL')
    await inState(standby, 'partner-down')
    assert.equal(await shown(1), ip)
    const renewed = await second?.renew(mac(1), ip)
    assert.deepEqual([renewed?.type, renewed?.ip], ['ACK', ip])
    assert.equal(await obtain(second, 9), reserved)
    const meanwhile = await obtain(second, 2)
    assert.equal(await shown(2), meanwhile)
    const [held] = ok(await call('GET', `${RESERVATIONS}?scope_name=suite`)).data.reservations
    assert.equal(held.ip, reserved)
    // What is changed meanwhile would be lost when the first server comes back with what it knew.
    const wish = { scope_name: 'suite', mac: mac(10), hostname: 'late' }
    refused(await call('POST', RESERVATIONS, wish), 500, 'DHCP_UNAVAILABLE')

    await primary.resume()
    await bothReady()
    assert.equal(await shown(2), meanwhile)
    for (const [number, address] of [[1, ip], [2, meanwhile], [9, reserved]] as const) {
      const answer = await first?.renew(mac(number), address)
      assert.deepEqual([answer?.type, answer?.ip], ['ACK', address])
    } // biome-ignore format: one list
    ok(await call('POST', RESERVATIONS, wish), 201)
    assert.deepEqual(await subnetsOf(standby), await subnetsOf(primary))
  })

  /** How the server reaches clients is the network's own business; the next change of ours gives it to the peer, too. */
  async function relayed({ config }: KeaServer): Promise<void> {
    const raw = createKeaTransport(config)
    const { arguments: answer } = await raw.send('config-get')
    const { Dhcp4 } = answer as { Dhcp4: { subnet4: Subnet[] } }
    for (const subnet of Dhcp4.subnet4) subnet.relay = { 'ip-addresses': [RELAY] }
    for (const [command, args] of [['config-set', { Dhcp4 }], ['config-write']] as const)
      assert.equal((await raw.send(command, args)).result, 0)
  }
})

describe('two name servers', { skip: powerDnsMissing() }, () => {
  const servers: PowerDnsServer[] = []
  const drivers: PowerDns[] = []
  const services: AddressService[] = []
  before(async () => {
    servers.push(await startPowerDns(), await startPowerDns())
    const notified = [[`127.0.0.1:${servers[1]?.dns_port}`], []]
    for (const [index, server] of servers.entries()) {
      const options = {
        name_servers: [`ns1.${ZONE}`],
        hostmaster: `hostmaster.${ZONE}`,
        also_notify: notified[index] ?? [],
      }
      const driver = createPowerDns(server.config, { ...options, transfer_networks: ['127.0.0.0/8'], log })
      drivers.push(driver)
      services.push(await startAddressService({ dhcp: unconfiguredDhcp(), dns: driver }))
    }
  })
  after(async () => {
    for (const service of services) await service.close()
    for (const driver of drivers) await driver.close()
    for (const server of servers) await server.close()
  })

  test('a zone is copied by its secondary, follows a change by itself and on request, and is written at its primary alone', async () => {
    const [ours, theirs] = services
    assert.ok(ours !== undefined && theirs !== undefined)
    const answers = (name: string, ip: string): Promise<unknown> =>
      until(`the copy answers for ${name}`, async () => {
        const found = await servers[1]?.resolver.resolve4(`${name}.${ZONE}`).catch(() => [])
        return found?.[0] === ip
      })
    const serialAt = async (service: AddressService): Promise<string> =>
      ok(await service.call('GET', `${ZONES}/${ZONE}`)).data.statistics.soa_serial
    const add = (service: AddressService, name: string, value: string) =>
      service.call('POST', RECORDS, { zone: ZONE, name, type: 'A', value })
    ok(await ours.call('POST', ZONES, { name: ZONE, type: 'Primary', transfer_enabled: true }), 201)
    ok(await add(ours, 'web', '10.88.0.60'), 201)
    const masters = [`127.0.0.1:${servers[0]?.dns_port}`]
    ok(await theirs.call('POST', ZONES, { name: ZONE, type: 'Secondary', masters }), 201)
    await answers('web', '10.88.0.60')
    assert.equal(await serialAt(theirs), await serialAt(ours))
    const [copied] = ok(await theirs.call('GET', `${RECORDS}?zone_name=${ZONE}&record_type=A`)).data.records
    assert.deepEqual([copied.name, copied.value], ['web', '10.88.0.60'])
    refused(await add(theirs, 'here', '10.88.0.62'), 400, 'DNS_ZONE_READ_ONLY', ZONE)

    ok(await add(ours, 'told', '10.88.0.61'), 201)
    await answers('told', '10.88.0.61')
    ok(await add(ours, 'asked', '10.88.0.63'), 201)
    ok(await ours.call('POST', `${ZONES}/${ZONE}/notify`))
    ok(await theirs.call('POST', `${ZONES}/${ZONE}/transfer`))
    await answers('asked', '10.88.0.63')
    await until('both have one serial', async () => (await serialAt(theirs)) === (await serialAt(ours)))
    assert.equal(ok(await theirs.call('GET', `${ZONES}/${ZONE}`)).data.statistics.transfer_count, 1)

    assert.match(await wholeZone(), /asked\.suite\.example\./)
    ok(await ours.call('PUT', `${ZONES}/${ZONE}`, { name: ZONE, transfer_enabled: false }))
    assert.match(await wholeZone(), /Transfer failed/)
  })

  /** As any other secondary would ask for it. */
  async function wholeZone(): Promise<string> {
    const { stdout } = await run('dig', ['@127.0.0.1', '-p', String(servers[0]?.dns_port), 'axfr', ZONE, '+tries=1'])
    return stdout
  }
})
