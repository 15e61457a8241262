// Addresses and names: DHCP, DNS, IPAM, public addresses, and where servers differ from what was ordered.
import { isIP } from 'node:net'
import { dhcp } from '#src/contract/ddi/dhcp.ts'
import { dns } from '#src/contract/ddi/dns.ts'
import { ddiDrift } from '#src/contract/ddi/drift.ts'
import { ipam } from '#src/contract/ddi/ipam.ts'
import { publicIps } from '#src/contract/ddi/public-ips.ts'
import { unconfiguredDhcp, unconfiguredDns } from '#src/drivers/ddi/unconfigured.ts'
import { bindJob } from '#src/jobs/define.ts'
import { type Module, type Parts, serve, type Watcher } from '../module.ts'
import { platformSource, tableSource } from '../search-source.ts'
import { dhcpHandlers } from './dhcp/index.ts'
import { dhcpReservationCreateJob } from './dhcp/reservation.job.ts'
import { createAddressNames } from './dns/address-names.ts'
import { dnsHandlers } from './dns/index.ts'
import { dnsSearch } from './dns/search.ts'
import { createZoneContents } from './dns/zone-contents.ts'
import { ddiDriftHandlers } from './drift/index.ts'
import { builtInStore } from './ipam/built-in.ts'
import { ipamHandlers } from './ipam/index.ts'
import { notingStore } from './ipam/lost-addresses.ts'
import { publicIpAcquireJob } from './public-ips-acquire.job.ts'
import { publicIpHandlers } from './public-ips.ts'
import { createServerLock } from './server-lock.ts'
import { createAddressWatcher } from './watcher.ts'

export function ddiModule(parts: Parts): Module {
  const { config, database, dhcp_server, dns_server, ipam_store, log } = parts
  const server = dns_server ?? unconfiguredDns()
  const dns_deps = { ...parts, server, lock: createServerLock(database, 'DNS'), contents: createZoneContents(server) }
  // Without a place for names of addresses every name is unknown and none is published.
  const names = dns_server === undefined ? undefined : createAddressNames(dns_deps)
  const lock = createServerLock(database, 'DHCP')
  const dhcp_deps = { ...parts, server: dhcp_server ?? unconfiguredDhcp(), lock, dns: names }
  const drift_deps = {
    ...parts,
    dhcp: dhcp_server === undefined ? undefined : { server: dhcp_server, lock },
    dns: dns_server === undefined ? undefined : dns_deps,
    names,
  }
  const store = ipam_store === undefined ? builtInStore(database) : notingStore(ipam_store, database)
  const public_deps = { ...parts, dns: names }
  const { poll_ms, compare_ms } = config.dhcp
  const watchers: Watcher[] =
    dhcp_server === undefined && dns_server === undefined && ipam_store === undefined
      ? []
      : [createAddressWatcher({ ...drift_deps, dhcp_server, ipam_store, poll_ms, compare_ms, log })]
  return {
    areas: [
      serve(publicIps, publicIpHandlers(public_deps)),
      serve(dhcp, dhcpHandlers(dhcp_deps)),
      serve(dns, dnsHandlers(dns_deps)),
      serve(ipam, ipamHandlers({ ...parts, store, lock: createServerLock(database, 'IPAM') })),
      serve(ddiDrift, ddiDriftHandlers(drift_deps)),
    ],
    jobs: [bindJob(publicIpAcquireJob, public_deps), bindJob(dhcpReservationCreateJob, dhcp_deps)],
    watchers,
    search: [
      platformSource(
        parts.cloudstack,
        'public_ip',
        publicIps,
        'publicIpGet',
        {
          command: 'listPublicIpAddresses',
          key: 'publicipaddress',
          args: { forvirtualnetwork: true },
          name: 'ipaddress',
          takes: (text) => isIP(text) !== 0,
          words: ['ipaddress', 'id'],
        },
        (ip_id) => ({ params: { ip_id } }),
      ),
      tableSource(database, 'dhcp_scope', dhcp, 'dhcpScopeGet', (scope_name) => ({ params: { scope_name } })),
      tableSource(database, 'dhcp_reservation', dhcp, 'dhcpReservationList', (search) => ({ query: { search } })),
      ...(dns_server === undefined ? [] : dnsSearch(dns_deps)),
    ],
  }
}
