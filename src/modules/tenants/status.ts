// PUT /admin/tenants/{id}/status: one job that locks, disables or enables the accounts, and its answer.
import type { tenants } from '#src/contract/tenants.ts'
import type { Input } from '#src/contract/route.ts'
import { completedJob } from '#src/jobs/answer.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { TenantDeps } from './deps.ts'
import { requireLiveTenant } from './lookup.ts'
import { tenantStatusSetJob } from './status.job.ts'

type In = Input<(typeof tenants.routes)['tenantStatusSet']>

export function tenantStatusSet(deps: TenantDeps) {
  const admit = async ({ params, body }: In, ctx: RequestContext) => {
    const { is_active, stop_instances = false } = body
    if (is_active && stop_instances) throw invalidField('body.stop_instances', 'goes with is_active false')
    const tenant = await requireLiveTenant(deps.database, params.id, ctx.caller)
    await deps.jobs.admit(tenantStatusSetJob, {
      operation: ctx,
      input: { id: tenant.id, name: tenant.name, is_active, stop_instances },
      description: `${is_active ? 'Activating' : 'Deactivating'} tenant ${tenant.name}.`,
      resource_id: tenant.id,
      resource_name: tenant.name,
      tenant_id: tenant.id,
      metadata: { is_active, stop_instances },
    })
  }
  return completedJob(deps.jobs, {
    admit,
    completed(job) {
      const result = deps.jobs.result(tenantStatusSetJob, job)
      if (result === undefined) throw new Error(`the job ${job.id} has no result`)
      return result
    },
  })
}
