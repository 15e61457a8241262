// PUT /tenants/{id}/account-mode: whether users of a tenant share one account.
import type { tenants } from '#src/contract/tenants.ts'
import type { Input } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordChange } from '#src/store/app-events.ts'
import { changeTenant } from '#src/store/tenants.ts'
import type { TenantDeps } from './deps.ts'
import { requireLiveTenant } from './lookup.ts'

const MODE_SENTENCES = {
  flat: 'All users stand in one account.',
  departmental: 'Every department gets an account of its own; accounts that exist stay as they are.',
} as const

/** A setting of this service alone: accounts that exist are left as they are. */
export function tenantAccountModeSet(deps: TenantDeps) {
  return async ({ params, body }: Input<(typeof tenants.routes)['tenantAccountModeSet']>, ctx: RequestContext) => {
    const { account_mode } = body
    const tenant = await requireLiveTenant(deps.database, params.id, ctx.caller)
    const about = {
      resource_type: 'TENANT',
      resource_uuid: tenant.id,
      tenant_id: tenant.id,
      description: `Setting account mode of tenant ${tenant.name} to ${account_mode}.`,
    }
    return recordChange(deps, ctx, about, async () => {
      await changeTenant(deps.database.db, tenant.id, { account_mode })
      return { tenant_id: tenant.id, account_mode, message: MODE_SENTENCES[account_mode] }
    })
  }
}
