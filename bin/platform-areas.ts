// The areas that speak to the compute platform about more than virtual machines: offerings, discovery, alerts, networks.
import { alerts } from '#src/contract/alerts.ts'
import { discovery } from '#src/contract/discovery.ts'
import { diskOfferings } from '#src/contract/disk-offerings.ts'
import { portForwarding } from '#src/contract/network/port-forwarding.ts'
import { serviceProviders } from '#src/contract/network/providers.ts'
import { networkStats } from '#src/contract/network/stats.ts'
import { mountArea, type MountServices } from '#src/kernel/http/mount.ts'
import type { Server } from '#src/kernel/http/serve.ts'
import { alertHandlers } from '#src/modules/alerts/index.ts'
import { discoveryHandlers } from '#src/modules/discovery/index.ts'
import { diskOfferingHandlers } from '#src/modules/disk-offerings/index.ts'
import { portForwardingHandlers } from '#src/modules/network/port-forwarding.ts'
import { serviceProviderHandlers } from '#src/modules/network/providers.ts'
import { networkStatsHandlers } from '#src/modules/network/stats.ts'
import type { Parts } from './areas.ts'

export function mountPlatform(server: Server, services: MountServices, parts: Parts): void {
  const { database, engine, cloudstack, replica } = parts
  const deps = { cloudstack, database, jobs: engine, replica_id: replica.id }
  mountArea(server, diskOfferings, diskOfferingHandlers(deps), services)
  mountArea(server, discovery, discoveryHandlers(deps), services)
  mountArea(server, alerts, alertHandlers(deps), services)
  mountArea(server, serviceProviders, serviceProviderHandlers(deps), services)
  mountArea(server, portForwarding, portForwardingHandlers(deps), services)
  mountArea(server, networkStats, networkStatsHandlers(deps), services)
}
