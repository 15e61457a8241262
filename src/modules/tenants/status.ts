// PUT /admin/tenants/{id}/status: one job that locks, disables or enables the accounts, and its answer.
import type { tenants } from '#src/contract/tenants.ts'
import type { Input } from '#src/contract/route.ts'
import { throwIfFailed } from '#src/jobs/engine.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { TenantDeps } from './deps.ts'
import { requireLiveTenant, requireTenant } from './lookup.ts'
import { statusSentence, tenantStatusJob } from './status.job.ts'

type In = Input<(typeof tenants.routes)['tenantStatusSet']>

const WAIT_MS = 110_000

export function tenantStatusSet(deps: TenantDeps) {
  return async ({ params, body }: In, ctx: RequestContext) => {
    const { is_active, stop_instances = false } = body
    if (is_active && stop_instances) throw invalidField('body.stop_instances', 'goes with is_active false')
    const tenant = await requireLiveTenant(deps.database, params.id, ctx.caller)
    await deps.jobs.admit(tenantStatusJob, {
      id: ctx.operation_id,
      input: { id: tenant.id, name: tenant.name, is_active, stop_instances },
      caller: ctx.caller,
      action: ctx.operation,
      description: `${is_active ? 'Activating' : 'Deactivating'} tenant ${tenant.name}.`,
      resource_id: tenant.id,
      resource_name: tenant.name,
      tenant_id: tenant.id,
      metadata: { is_active, stop_instances },
    })
    const job = await deps.jobs.wait(ctx.operation_id, { timeout_ms: WAIT_MS, signal: ctx.signal })
    throwIfFailed(job)
    if (job.job_status === 'running') {
      throw new ApiError('WAIT_TIMEOUT', `The accounts are still being changed; follow the job ${job.id}.`)
    }
    const now = await requireTenant(deps.database, tenant.id, ctx.caller)
    // What an activation restored stands in the row as it was before.
    const stopped = (is_active ? tenant.stopped_vm_ids : now.stopped_vm_ids) ?? []
    const accounts = (is_active ? tenant.locked_account_ids : now.locked_account_ids)?.length ?? null
    return {
      is_active: now.is_active,
      message: statusSentence({ is_active, stop_instances }, accounts, stopped.length),
      tenant_id: tenant.id,
      stopped_virtual_machine_ids: stopped,
    }
  }
}
