// The DHCP and the DNS server that the configuration names; undefined where it names none.
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { DnsServer } from '#src/drivers/ddi/dns-server.ts'
import { createKea } from '#src/drivers/kea/client.ts'
import { createPowerDns } from '#src/drivers/powerdns/client.ts'
import { createTechnitiumDhcp } from '#src/drivers/technitium/dhcp.ts'
import { createTechnitiumDns } from '#src/drivers/technitium/dns.ts'
import type { Config } from '#src/kernel/config.ts'
import type { Log } from '#src/kernel/log.ts'

interface Closable {
  close(): Promise<void>
}

export interface AddressServers extends Closable {
  dhcp: DhcpServer | undefined
  dns: DnsServer | undefined
}

export function createAddressServers(config: Pick<Config, 'dhcp' | 'dns' | 'technitium'>, log: Log): AddressServers {
  const dhcp = dhcpOf(config, log)
  const dns = dnsOf(config, log)
  return { dhcp, dns, close: async () => void (await Promise.all([dhcp?.close(), dns?.close()])) }
}

function dhcpOf(
  { dhcp, technitium }: Pick<Config, 'dhcp' | 'technitium'>,
  log: Log,
): (DhcpServer & Closable) | undefined {
  const { server, timeout_ms } = dhcp
  if (server === undefined) return undefined
  if (server === 'technitium') return createTechnitiumDhcp({ ...technitium, timeout_ms }, { log })
  const { socket, url, username, password, peers, hosts_database } = dhcp.kea
  return createKea(
    { socket, url, username, password, timeout_ms },
    { log, hosts_database, peers: peers.map((peer) => ({ url: peer, username, password, timeout_ms })) },
  )
}

function dnsOf({ dns, technitium }: Pick<Config, 'dns' | 'technitium'>, log: Log): (DnsServer & Closable) | undefined {
  const { server, timeout_ms, powerdns, name_servers, hostmaster, transfer_networks, also_notify } = dns
  if (server === undefined) return undefined
  const options = { name_servers, hostmaster, transfer_networks, also_notify }
  if (server === 'technitium') return createTechnitiumDns({ ...technitium, timeout_ms }, { ...options, log })
  return createPowerDns({ ...powerdns, timeout_ms }, options)
}
