// DELETE /admin/tenants/{id}: says what would go, or admits the job that deletes it.
import type { tenants } from '#src/contract/tenants.ts'
import type { Input } from '#src/contract/route.ts'
import { acceptedJob } from '#src/jobs/answer.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { leftOnServers, requireNothingOnServers } from './address-records.ts'
import { contentsOf } from './contents.ts'
import { tenantDeleteJob } from './delete.job.ts'
import type { TenantDeps } from './deps.ts'
import { flagOf, requireTenant } from './lookup.ts'

type In = Input<(typeof tenants.routes)['tenantDelete']>

export function tenantDelete(deps: TenantDeps) {
  const submit = acceptedJob(deps.jobs, {
    admit: async ({ params, query }: In, ctx) => {
      const tenant = await deletable(deps, params.id, ctx)
      if (query.confirm !== tenant.name)
        throw invalidField('query.confirm', `must be ${tenant.name}: everything in the tenant is lost`)
      // What the platform would refuse half-way is refused here.
      requireNothingOnServers(tenant.name, await contentsOf(deps, tenant, ctx))
      await deps.jobs.admit(tenantDeleteJob, {
        operation: ctx,
        input: { id: tenant.id, name: tenant.name, range_id: tenant.vlan_range_id },
        description: `Deleting tenant ${tenant.name} and everything in it.`,
        resource_id: tenant.id,
        resource_name: tenant.name,
        tenant_id: tenant.id,
      })
    },
  })
  return async (input: In, ctx: RequestContext) => {
    if (!ctx.dry_run) return submit(input, ctx)
    const tenant = await deletable(deps, input.params.id, ctx)
    const things = await contentsOf(deps, tenant, ctx)
    const words = things.map(({ kind, count }) => `${count} ${kind}${count === 1 ? '' : 's'}`.replaceAll('_', ' '))
    const left = leftOnServers(things)
    const way = left === undefined ? '' : ` Refused until these are deleted: ${left}.`
    const message = `Would delete tenant ${tenant.name} with ${words.join(', ') || 'nothing in it'}.${way}`
    return { dry_run: true as const, message, things }
  }
}

/** One whose domain is gone is forgotten; one that is being made ends by itself. */
async function deletable(deps: TenantDeps, id: string, ctx: RequestContext) {
  const tenant = await requireTenant(deps.database, id, ctx.caller)
  if (flagOf(tenant) === 'CREATING')
    throw new ApiError('TENANT_STATE', `Tenant ${tenant.name} is being created; wait until that has ended.`)
  return tenant
}
