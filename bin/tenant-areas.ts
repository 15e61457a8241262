// The areas about tenants and their public addresses, and the reconciler that keeps tenants in step with the platform.
import { publicIps } from '#src/contract/ddi/public-ips.ts'
import { tenants } from '#src/contract/tenants.ts'
import { bindJob } from '#src/jobs/define.ts'
import { mountArea, type MountServices } from '#src/kernel/http/mount.ts'
import type { Server } from '#src/kernel/http/serve.ts'
import type { AddressDns } from '#src/modules/ddi/address-dns.ts'
import { publicIpAcquireJob } from '#src/modules/ddi/public-ips-acquire.job.ts'
import { publicIpHandlers } from '#src/modules/ddi/public-ips.ts'
import { tenantCreateJob } from '#src/modules/tenants/create.job.ts'
import { tenantHandlers } from '#src/modules/tenants/index.ts'
import { createTenantReconciler } from '#src/modules/tenants/reconciler.ts'
import { tenantStatusJob } from '#src/modules/tenants/status.job.ts'
import type { Parts, Watcher } from './areas.ts'

/** `dns`: where names of public addresses are kept; without it every name is unknown and none is published. */
export function mountTenants(server: Server, services: MountServices, parts: Parts, dns?: AddressDns): Watcher[] {
  const { config, database, engine, cloudstack, replica, keyring, log } = parts
  engine.register(bindJob(tenantCreateJob, { cloudstack, database }))
  engine.register(bindJob(tenantStatusJob, { cloudstack, database }))
  engine.register(bindJob(publicIpAcquireJob, { cloudstack, dns }))
  const deps = { cloudstack, database, jobs: engine, replica_id: replica.id }
  const oidc_ready = config.auth.oidc?.tenant_claim !== undefined
  mountArea(server, tenants, tenantHandlers({ ...deps, keyring, oidc_ready }), services)
  mountArea(server, publicIps, publicIpHandlers({ ...deps, dns }), services)
  return [createTenantReconciler({ cloudstack, database, poll_ms: config.compute.tenants_poll_ms, log })]
}
