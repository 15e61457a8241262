// What the operations of the area `tenants` are made of.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import type { Keyring } from '#src/kernel/keyring.ts'
import type { ChangeDeps } from '#src/store/app-events.ts'
import type { AddressServers } from './address-records.ts'

export interface TenantDeps extends ChangeDeps, AddressServers {
  cloudstack: CloudStack
  jobs: Jobs
  keyring: Keyring
  /** Whether this service signs users of tenants in by itself (auth.oidc with a tenant claim). */
  oidc_ready: boolean
}
