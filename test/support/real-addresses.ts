// Kea and PowerDNS in private folders, with drivers of ours, a client on the wire and what else tests of both need.
import { readFile } from 'node:fs/promises'
import { createKea, type KeaOptions } from '#src/drivers/kea/client.ts'
import { createKeaTransport } from '#src/drivers/kea/transport.ts'
import { createPowerDns } from '#src/drivers/powerdns/client.ts'
import type { PowerDnsOptions } from '#src/drivers/powerdns/zone-changes.ts'
import { createLog } from '#src/kernel/log.ts'
import { type AddressService, startAddressService } from './address-service.ts'
import type { AddressBench } from './address-steps.ts'
import { type DhcpClient, openDhcpClient } from './dhcp-client.ts'
import { type KeaServer, type KeaServerOptions, keaMissing, startKea } from './kea-server.ts'
import { type PowerDnsServer, powerDnsMissing, startPowerDns } from './powerdns-server.ts'

export function realServersMissing(): string | false {
  return keaMissing() || powerDnsMissing()
}

/** Of proxies before the servers, where there are some. */
interface Addresses {
  dns_url?: string
  kea_socket?: string
}

export interface RealServers {
  kea: KeaServer
  dns: PowerDnsServer
  /** Drivers of their own for each replica; ended by `close`. */
  connect(at?: Addresses): Parameters<typeof startAddressService>[0]
  resolve: AddressBench['resolve']
  /** Kea's own words. */
  ask(command: string, args?: unknown): Promise<unknown>
  /** As somebody does who changes Kea's configuration by hand: all subnets, or that of one scope. */
  editAll(edit: (subnets: Subnet[]) => Subnet[]): Promise<void>
  editScope(scope: string, edit: (subnet: Subnet) => void): Promise<void>
  close(): Promise<void>
}

const options: Omit<PowerDnsOptions, 'log'> = {
  name_servers: ['ns1.suite.example'],
  hostmaster: 'hostmaster.suite.example',
  transfer_networks: [],
}

export async function startRealServers(
  wanted: Pick<KeaServerOptions, 'databases'> & Pick<KeaOptions, 'hosts_database'> = {},
  startDns: () => Promise<PowerDnsServer> = startPowerDns,
): Promise<RealServers> {
  const { hosts_database, ...kea_options } = wanted
  const [kea, dns] = await Promise.all([startKea(kea_options), startDns()])
  const log = createLog({ level: 'error', destination: { write: () => {} } })
  const ends: (() => Promise<void>)[] = []
  const raw = createKeaTransport(kea.config)
  const ask = async (command: string, args?: unknown): Promise<unknown> => {
    const answer = await raw.send(command, args)
    if (answer.result !== 0 && answer.result !== 3) throw new Error(`${command}: ${answer.text}`)
    return answer.arguments
  }
  const editAll = async (edit: (subnets: Subnet[]) => Subnet[]): Promise<void> => {
    const { Dhcp4 } = (await ask('config-get')) as { Dhcp4: { subnet4: Subnet[] } }
    await ask('config-set', { Dhcp4: { ...Dhcp4, subnet4: edit(Dhcp4.subnet4) } })
    await ask('config-write')
  }
  return {
    kea,
    dns,
    ask,
    connect({ dns_url = dns.config.url, kea_socket = kea.config.socket } = {}) {
      const servers = {
        dhcp: createKea({ ...kea.config, socket: kea_socket }, { log, hosts_database }),
        dns: createPowerDns({ ...dns.config, url: dns_url }, { ...options, log }),
      }
      ends.push(servers.dhcp.close, servers.dns.close)
      return servers
    },
    async resolve(name, type) {
      try {
        if (type === 'TXT') {
          const texts = await dns.resolver.resolveTxt(name)
          // The resolver shows each byte as a character.
          return texts.map((parts) => Buffer.from(parts.join(''), 'latin1').toString('utf8'))
        }
        return type === 'A' ? await dns.resolver.resolve4(name) : await dns.resolver.resolvePtr(name)
      } catch {
        return undefined
      }
    },
    editAll,
    editScope: (scope, edit) =>
      editAll((subnets) => {
        subnets.filter((subnet) => subnet['user-context']?.name === scope).forEach(edit)
        return subnets
      }),
    async close() {
      for (const end of ends) await end()
      await kea.close()
      await dns.close()
    },
  }
}

export interface Subnet {
  relay?: unknown
  reservations?: object[]
  'valid-lifetime'?: number
  'min-valid-lifetime'?: number
  'max-valid-lifetime'?: number
  'user-context'?: { name?: string }
}

/** Kea's settings in force and in its file, and every other zone as it is. */
async function storedBeside({ kea, dns, ask }: RealServers, zone: string): Promise<unknown> {
  const written = JSON.parse(await readFile(kea.file, 'utf8')) as Configuration
  const in_force = (await ask('config-get')) as Configuration
  const settings = [written, in_force].map(({ Dhcp4: { subnet4, ...others } }) => ({
    ...others,
    subnets: subnet4.map(({ reservations = [], ...subnet }) => ({
      ...subnet,
      'user-context': {},
      count: reservations.length,
    })),
  }))
  const zones = (await dns.raw('/zones')) as { id: string; name: string }[]
  const others = byName(
    zones.filter(({ name }) => name !== `${zone}.`),
    ({ name }) => name,
  )
  const whole = others.map(async ({ id }) => {
    const { rrsets, ...rest } = (await dns.raw(`/zones/${id}`)) as { rrsets: { name: string; type: string }[] }
    // When the secondaries were told of it is the server's own doing, and so is the order of what PostgreSQL keeps for it.
    return { ...rest, notified_serial: 0, rrsets: byName(rrsets, ({ name, type }) => `${name} ${type}`) }
  })
  return { settings, zones: await Promise.all(whole) }
}

function byName<T>(rows: readonly T[], nameOf: (row: T) => string): T[] {
  return rows.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}

interface Configuration {
  Dhcp4: { subnet4: Subnet[] }
}

export interface RealAddresses extends AddressBench {
  servers: RealServers
  service: AddressService
  client: DhcpClient
}

/** One service in front of them, with a client behind the relay. */
export async function startRealAddresses(servers: RealServers, relay: string, at?: Addresses): Promise<RealAddresses> {
  const service = await startAddressService(servers.connect(at))
  const client = await openDhcpClient(relay, servers.kea.port)
  return {
    servers,
    service,
    client,
    call: service.call,
    lease_step_seconds: 1,
    obtain: async (_scope, mac, answer_ms) => (await client.obtain(mac, answer_ms))?.ip,
    renew: async (_scope, mac, ip) => {
      const answer = await client.renew(mac, ip)
      return answer?.type === 'ACK' ? answer.ip : undefined
    },
    resolve: servers.resolve,
    connect: (scope) => servers.editScope(scope, (subnet) => (subnet.relay = { 'ip-addresses': [relay] })),
    async unforeseen() {
      // Of a client that is known by another mark than its MAC: made by hand, and no reservation of ours.
      const strange = { 'client-id': '01:02:03:04', 'ip-address': '10.88.0.95' }
      await servers.editScope('suite', (subnet) => subnet.reservations?.push(strange))
      return { reservation: { ip: '10.88.0.95' }, record: { type: 'NAPTR', value: 'nonsense' } }
    },
    async away(work) {
      await servers.kea.pause()
      await servers.dns.pause()
      try {
        return await work()
      } finally {
        await servers.kea.resume()
        await servers.dns.resume()
      }
    },
    stored: (zone) => storedBeside(servers, zone),
    async restart() {
      await servers.kea.restart('SIGTERM')
      await servers.dns.pause()
      await servers.dns.resume()
    },
    collect: () => service.collect(),
    async close() {
      client.close()
      await service.close()
      await servers.close()
    },
  }
}
