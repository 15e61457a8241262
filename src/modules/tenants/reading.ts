// Reading tenants from the local database, and the dedicated range with what the platform says of it.
import { pageOf } from '#src/contract/common.ts'
import type { tenants } from '#src/contract/tenants.ts'
import type { Input } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { countTenants, listTenants } from '#src/store/tenants.ts'
import type { TenantDeps } from './deps.ts'
import { requireTenant, tenantOf } from './lookup.ts'

type Routes = typeof tenants.routes

export function readingHandlers({ database }: Pick<TenantDeps, 'database'>) {
  return {
    async tenantList({ query }: Input<Routes['tenantList']>, ctx: RequestContext) {
      const page = pageOf(query)
      const { rows, count } = await listTenants(database.db, query, page, ctx.caller.tenant_id)
      return { tenants: rows.map(tenantOf), count, ...page }
    },
    tenantGet: async ({ params }: Input<Routes['tenantGet']>, ctx: RequestContext) =>
      tenantOf(await requireTenant(database, params.id, ctx.caller)),
    tenantStats: () => countTenants(database.db),
    async tenantIsMulti() {
      const { total } = await countTenants(database.db)
      return total > 0
    },
  }
}
