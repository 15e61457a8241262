// Address management on Kea and PowerDNS: over HTTP on our side, DHCP and DNS on the wire on the other.
import { describeAddresses } from '../support/address-suite.ts'
import { realServersMissing, startRealAddresses, startRealServers } from '../support/real-addresses.ts'

describeAddresses('Kea and PowerDNS', {
  skip: realServersMissing(),
  start: async () => startRealAddresses(await startRealServers(), '127.0.0.45'),
})
