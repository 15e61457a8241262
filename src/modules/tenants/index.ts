// Tenants: their domains on the platform, limits, address ranges and sign-in.
import { tenants } from '#src/contract/tenants.ts'
import { bindJob } from '#src/jobs/define.ts'
import { createAddressPorts } from '../address-ports.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { tableSource } from '../search-source.ts'
import { tenantAccountModeSet } from './account-mode.ts'
import { tenantAdminCredentialsReset } from './admin-credentials.ts'
import { tenantAuthSourceSet } from './auth-source.ts'
import { tenantCreateJob } from './create.job.ts'
import { tenantCreate } from './create.ts'
import { tenantDeleteJob } from './delete.job.ts'
import { tenantDelete } from './delete.ts'
import { limitHandlers } from './limits.ts'
import { networkHandlers } from './network.ts'
import { readingHandlers } from './reading.ts'
import { createTenantReconciler } from './reconciler.ts'
import { tenantStatusSetJob } from './status.job.ts'
import { tenantStatusSet } from './status.ts'

export function tenantsModule(parts: Parts): Module {
  const { config } = parts
  const { store: ipam } = createAddressPorts(parts)
  const deps = { ...parts, ipam, oidc_ready: config.auth.oidc?.tenant_claim !== undefined }
  return {
    areas: [
      serve(tenants, {
        ...readingHandlers(deps),
        ...limitHandlers(deps),
        ...networkHandlers(deps),
        tenantCreate: tenantCreate(deps),
        tenantDelete: tenantDelete(deps),
        tenantAdminCredentialsReset: tenantAdminCredentialsReset(deps),
        tenantStatusSet: tenantStatusSet(deps),
        tenantAccountModeSet: tenantAccountModeSet(deps),
        tenantAuthSourceSet: tenantAuthSourceSet(deps),
      }),
    ],
    jobs: [bindJob(tenantCreateJob, deps), bindJob(tenantDeleteJob, deps), bindJob(tenantStatusSetJob, deps)],
    search: [tableSource(parts.database, 'tenant', tenants, 'tenantGet', (id) => ({ params: { id } }))],
    watchers: [createTenantReconciler({ ...parts, poll_ms: config.compute.tenants_poll_ms })],
  }
}
