// DHCP, DNS, IPAM and drift served over real HTTP in front of given servers, with jobs, and nothing else around them.
import { Agent } from 'undici'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { createCloudStack } from '#src/drivers/cloudstack/client.ts'
import { ddiDrift } from '#src/contract/ddi/drift.ts'
import { dhcp } from '#src/contract/ddi/dhcp.ts'
import { dns } from '#src/contract/ddi/dns.ts'
import { ipam } from '#src/contract/ddi/ipam.ts'
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { DnsServer } from '#src/drivers/ddi/dns-server.ts'
import { bindJob } from '#src/jobs/define.ts'
import { SYSTEM } from '#src/kernel/http/context.ts'
import { mountArea } from '#src/kernel/http/mount.ts'
import { createRateLimiter } from '#src/kernel/http/rate-limit.ts'
import { createServer } from '#src/kernel/http/serve.ts'
import { createLog } from '#src/kernel/log.ts'
import { createMetrics } from '#src/kernel/metrics.ts'
import { collectLeases } from '#src/modules/ddi/dhcp/collector.ts'
import { dhcpHandlers } from '#src/modules/ddi/dhcp/index.ts'
import { dhcpReservationCreateJob } from '#src/modules/ddi/dhcp/reservation.job.ts'
import { createAddressNames } from '#src/modules/ddi/dns/address-names.ts'
import { dnsHandlers } from '#src/modules/ddi/dns/index.ts'
import { createZoneContents } from '#src/modules/ddi/dns/zone-contents.ts'
import { ddiDriftHandlers } from '#src/modules/ddi/drift/index.ts'
import { builtInStore } from '#src/modules/ddi/ipam/built-in.ts'
import { ipamHandlers } from '#src/modules/ddi/ipam/index.ts'
import { createServerLock } from '#src/modules/ddi/server-lock.ts'
import { openDatabase } from '#src/store/database.ts'
import { type Caller, callerFor } from './http.ts'
import { startJobProcess, testKeyring } from './job-process.ts'
import { type Connection, createTestDatabase, type TestDatabase } from './test-database.ts'

export interface AddressService {
  call: Caller
  collect(): Promise<void>
  close(): Promise<void>
}

/** Of the requests, and of the jobs: what a process has for both together in production is as many. */
const POOL = 16
/** Long enough for a server to start again between the tries of a job. */
const WAIT_FACTOR = 0.3

/** With a connection it is one replica of several on that database. */
export async function startAddressService(
  servers: { dhcp: DhcpServer; dns: DnsServer },
  connection?: Connection,
): Promise<AddressService> {
  const test_database = await databaseOf(connection)
  const log = createLog({ level: 'error', destination: { write: () => {} } })
  const database = openDatabase({ connection: test_database.connection, pool_size: POOL, log })
  const dns_deps = {
    database,
    replica_id: 'test',
    server: servers.dns,
    lock: createServerLock(database, 'DNS'),
    contents: createZoneContents(servers.dns),
  }
  const lock = createServerLock(database, 'DHCP')
  const names = createAddressNames(dns_deps)
  const job_deps = { server: servers.dhcp, lock, database, dns: names }
  const bound = [bindJob(dhcpReservationCreateJob, job_deps)]
  const jobs = await startJobProcess({
    connection: test_database.connection,
    keyring: testKeyring(),
    bound,
    pool_size: POOL,
    wait_factor: WAIT_FACTOR,
  })
  const cloudstack = noPlatform(log)
  const change = { database, replica_id: jobs.replica_id }
  const server = createServer({ log, metrics: createMetrics(), validate_answers: true })
  const services = {
    authenticator: { authenticate: () => ({ caller: SYSTEM }) },
    limiter: createRateLimiter(10_000, 10_000),
    login_limiter: createRateLimiter(10_000, 10_000),
  }
  const dhcp_deps = { ...change, server: servers.dhcp, lock, jobs: jobs.engine, dns: names, cloudstack }
  mountArea(server, dhcp, dhcpHandlers(dhcp_deps), services)
  mountArea(server, dns, dnsHandlers({ ...dns_deps, ...change }), services)
  const ipam_deps = { ...change, store: builtInStore(database), lock: createServerLock(database, 'IPAM') }
  mountArea(server, ipam, ipamHandlers(ipam_deps), services)
  const drift_deps = { ...change, dhcp: { server: servers.dhcp, lock }, dns: dns_deps, names }
  mountArea(server, ddiDrift, ddiDriftHandlers(drift_deps), services)
  const url = await server.listen('127.0.0.1', 0)
  return {
    call: callerFor(url, 'none'),
    collect: () => collectLeases({ server: servers.dhcp, database }),
    async close() {
      await server.close()
      await jobs.stop()
      await cloudstack.close()
      await database.close()
      await test_database.drop()
    },
  }
}

async function databaseOf(connection: Connection | undefined): Promise<TestDatabase> {
  return connection === undefined ? createTestDatabase() : { connection, drop: () => Promise.resolve() }
}

function noPlatform(log: ReturnType<typeof createLog>): CloudStack {
  return createCloudStack({ algorithm: 'auto', timeout_ms: 1000, read_timeout_ms: 1000 }, { log, agent: new Agent() })
}
