// Address management on Kea with its reservations in PostgreSQL, and PowerDNS with its zones there.
import { describeAddresses } from '../support/address-suite.ts'
import { keaDatabase, powerDnsDatabase } from '../support/address-databases.ts'
import { debianPostgresMissing, startDebianPostgres } from '../support/debian-postgres.ts'
import { powerDnsPostgresMissing, startPowerDns } from '../support/powerdns-server.ts'
import { realServersMissing, startRealAddresses, startRealServers } from '../support/real-addresses.ts'

describeAddresses('Kea and PowerDNS on PostgreSQL', {
  skip: realServersMissing() || debianPostgresMissing() || powerDnsPostgresMissing(),
  async start() {
    const postgres = await startDebianPostgres()
    const kea = await keaDatabase(postgres.url)
    const settings = await powerDnsDatabase(postgres.url)
    const servers = await startRealServers(kea, () => startPowerDns(settings))
    const bench = await startRealAddresses(servers, '127.0.0.46')
    return {
      ...bench,
      async unforeseen() {
        await kea.reserveByClientId('10.88.0.95')
        return { reservation: { ip: '10.88.0.95' }, record: { type: 'NAPTR', value: 'nonsense' } }
      },
      async close() {
        await bench.close()
        await postgres.close()
      },
    }
  },
})
