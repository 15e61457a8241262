// Address management on the lab's address server: over HTTP on our side, DNS on the wire and DHCP clients on the other.
import { Resolver } from 'node:dns/promises'
import type { AddressBench } from '../support/address-steps.ts'
import { describeAddresses } from '../support/address-suite.ts'
import { startAddressService } from '../support/address-service.ts'
import type { LeaseAnswer } from '../../lab/technitium/dhcp-leases.ts'
import { startTechnitium } from '../../lab/technitium/server.ts'
import { createTechnitiumDhcp } from '#src/drivers/technitium/dhcp.ts'
import { createTechnitiumDns } from '#src/drivers/technitium/dns.ts'
import { createLog } from '#src/kernel/log.ts'

describeAddresses('Technitium', { start })

async function start(): Promise<AddressBench> {
  const lab = await startTechnitium()
  const log = createLog({ level: 'silent' })
  const config = { url: lab.url, token: lab.token, timeout_ms: 15_000 }
  const options = { name_servers: ['ns1.suite.example'], hostmaster: 'hostmaster.suite.example', transfer_networks: [] }
  const dhcp = createTechnitiumDhcp(config, { log })
  const dns = createTechnitiumDns(config, { ...options, log })
  const service = await startAddressService({ dhcp, dns })
  const resolver = new Resolver({ timeout: 10_000, tries: 3 })
  resolver.setServers([`127.0.0.1:${lab.dns_port}`])
  const addressIn = (answer: LeaseAnswer): string | undefined => (answer?.type === 'ACK' ? answer.ip : undefined)
  let away = false
  return {
    call: service.call,
    lease_step_seconds: 60,
    obtain: async (scope, mac) => addressIn(lab.clients.obtain(scope, mac)),
    renew: async (scope, mac) => addressIn(lab.clients.renew(scope, mac)),
    async resolve(name, type) {
      try {
        if (type === 'TXT') {
          const texts = await resolver.resolveTxt(name)
          // The resolver shows each byte as a character.
          return texts.map((parts) => Buffer.from(parts.join(''), 'latin1').toString('utf8'))
        }
        return type === 'A' ? await resolver.resolve4(name) : await resolver.resolvePtr(name)
      } catch {
        return undefined
      }
    },
    connect: async () => {},
    // It is the last thing that is asked of it.
    async away(work) {
      away = true
      await lab.close()
      return work()
    },
    // It judges all that we do, so it is told to refuse.
    async unforeseen() {
      for (const command of ['dhcp/scopes/addReservedLease', 'zones/records/add']) {
        const body = JSON.stringify({ command, text: 'No.' })
        await fetch(`${lab.control_url}/fail`, { method: 'POST', body })
      }
      return { reservation: {}, record: { type: 'TXT', value: 'x' } }
    },
    collect: () => service.collect(),
    async close() {
      await service.close()
      await dhcp.close()
      await dns.close()
      if (!away) await lab.close()
    },
  }
}
