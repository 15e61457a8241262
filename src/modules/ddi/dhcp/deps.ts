// What the DHCP handlers and jobs are made of.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import type { ChangeDeps } from '#src/store/app-events.ts'
import type { AddressDns } from '../address-dns.ts'
import type { ServerLock } from '../server-lock.ts'

export interface DhcpDeps extends ChangeDeps {
  server: DhcpServer
  /** Held by whoever changes the server. */
  lock: ServerLock
  jobs: Jobs
  /** Where names of reservations are published; undefined while no DNS server is configured. */
  dns: AddressDns | undefined
  /** For the filters by virtual machine, guest network and zone. */
  cloudstack: CloudStack
}
