// The DHCP and the DNS server and the address store that the configuration names; undefined where it names none.
import { readFileSync } from 'node:fs'
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { DnsServer } from '#src/drivers/ddi/dns-server.ts'
import type { IpamStore } from '#src/drivers/ddi/ipam-store.ts'
import { createKea } from '#src/drivers/kea/client.ts'
import { createNetBox } from '#src/drivers/netbox/client.ts'
import { createPowerDns } from '#src/drivers/powerdns/client.ts'
import { createTechnitiumDhcp } from '#src/drivers/technitium/dhcp.ts'
import { createTechnitiumDns } from '#src/drivers/technitium/dns.ts'
import { type Config, ConfigError } from '#src/kernel/config.ts'
import type { Log } from '#src/kernel/log.ts'

interface Closable {
  close(): Promise<void>
}

export interface AddressServers extends Closable {
  dhcp: DhcpServer | undefined
  dns: DnsServer | undefined
  ipam: IpamStore | undefined
}

type AddressConfig = Pick<Config, 'dhcp' | 'dns' | 'technitium' | 'ipam'>

export function createAddressServers(config: AddressConfig, log: Log): AddressServers {
  const dhcp = dhcpOf(config, log)
  const dns = dnsOf(config, log)
  const ipam = ipamOf(config)
  return { dhcp, dns, ipam, close: async () => void (await Promise.all([dhcp?.close(), dns?.close(), ipam?.close()])) }
}

function ipamOf({ ipam: { netbox, timeout_ms } }: AddressConfig): (IpamStore & Closable) | undefined {
  const { url, token, role_slugs, ca } = netbox
  if (url === undefined) return undefined
  return createNetBox({ url, token, ca: ca === undefined ? undefined : certificateIn(ca), timeout_ms }, role_slugs)
}

function certificateIn(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    throw new ConfigError([`ipam.netbox.ca: ${file} cannot be read`])
  }
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
  return createPowerDns({ ...powerdns, timeout_ms }, { ...options, log })
}
