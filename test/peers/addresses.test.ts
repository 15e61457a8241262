// Address management on Kea and PowerDNS: over HTTP on our side, DHCP and DNS on the wire on the other.
import type { AddressBench } from '../support/address-steps.ts'
import { describeAddresses } from '../support/address-suite.ts'
import { startAddressService } from '../support/address-service.ts'
import { openDhcpClient } from '../support/dhcp-client.ts'
import { keaMissing, startKea } from '../support/kea-server.ts'
import { powerDnsMissing, startPowerDns } from '../support/powerdns-server.ts'
import { createKea } from '#src/drivers/kea/client.ts'
import { createKeaTransport } from '#src/drivers/kea/transport.ts'
import { createPowerDns } from '#src/drivers/powerdns/client.ts'
import { createLog } from '#src/kernel/log.ts'

const RELAY = '127.0.0.45'

describeAddresses('Kea and PowerDNS', { skip: keaMissing() || powerDnsMissing(), start })

async function start(): Promise<AddressBench> {
  const [kea_server, dns_server] = await Promise.all([startKea(), startPowerDns()])
  const log = createLog({ level: 'error', destination: { write: () => {} } })
  const kea = createKea(kea_server.config, { log })
  const options = { name_servers: ['ns1.suite.example'], hostmaster: 'hostmaster.suite.example', transfer_networks: [] }
  const dns = createPowerDns(dns_server.config, options)
  const service = await startAddressService({ dhcp: kea, dns })
  const client = await openDhcpClient(RELAY, kea_server.port)
  return {
    call: service.call,
    lease_step_seconds: 1,
    obtain: async (_scope, mac) => (await client.obtain(mac))?.ip,
    renew: async (_scope, mac, ip) => {
      const answer = await client.renew(mac, ip)
      return answer?.type === 'ACK' ? answer.ip : undefined
    },
    async resolve(name, type) {
      try {
        if (type === 'TXT') {
          const texts = await dns_server.resolver.resolveTxt(name)
          // The resolver shows each byte as a character.
          return texts.map((parts) => Buffer.from(parts.join(''), 'latin1').toString('utf8'))
        }
        return type === 'A' ? await dns_server.resolver.resolve4(name) : await dns_server.resolver.resolvePtr(name)
      } catch {
        return undefined
      }
    },
    async connect(scope) {
      const raw = createKeaTransport(kea_server.config)
      const { Dhcp4 } = (await raw.send('config-get')).arguments as { Dhcp4: { subnet4: Subnet[] } }
      for (const subnet of Dhcp4.subnet4)
        if (subnet['user-context']?.name === scope) subnet.relay = { 'ip-addresses': [RELAY] }
      await raw.send('config-set', { Dhcp4 })
      await raw.send('config-write')
    },
    async away(work) {
      await kea_server.pause()
      await dns_server.pause()
      try {
        return await work()
      } finally {
        await kea_server.resume()
        await dns_server.resume()
      }
    },
    async unforeseen() {
      const raw = createKeaTransport(kea_server.config)
      const { Dhcp4 } = (await raw.send('config-get')).arguments as { Dhcp4: { subnet4: Subnet[] } }
      const suite = Dhcp4.subnet4.find((subnet) => subnet['user-context']?.name === 'suite')
      // Of a client that is known by another mark than its MAC: made by hand, and no reservation of ours.
      suite?.reservations?.push({ 'client-id': '01:02:03:04', 'ip-address': '10.88.0.95' })
      await raw.send('config-set', { Dhcp4 })
      return { reservation: { ip: '10.88.0.95' }, record: { type: 'NAPTR', value: 'nonsense' } }
    },
    collect: () => service.collect(),
    async close() {
      client.close()
      await service.close()
      await kea.close()
      await dns.close()
      await kea_server.close()
      await dns_server.close()
    },
  }
}

interface Subnet {
  relay?: unknown
  reservations?: object[]
  'user-context'?: { name?: string }
}
