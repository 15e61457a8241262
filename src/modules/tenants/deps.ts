// What the operations of the area `tenants` are made of.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import type { SecretBox } from '#src/kernel/secrets.ts'
import type { ChangeDeps } from '#src/store/app-events.ts'

export interface TenantDeps extends ChangeDeps {
  cloudstack: CloudStack
  jobs: Jobs
  secrets: SecretBox
  /** Whether this service signs users of tenants in by itself (auth.oidc with a tenant claim). */
  oidc_ready: boolean
}
