// Lists projects.
import { pageOf } from '#src/contract/common.ts'
import type { Project, projects } from '#src/contract/compute/projects.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, rowsOf, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import { scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { optionsOf } from './vm-list.ts'

type Routes = typeof projects.routes

export function projectHandlers(cloudstack: CloudStack): Handlers<Routes, RequestContext> {
  return {
    projectList: async ({ body }: Input<Routes['projectList']>, ctx) => {
      const { id, name, state, keyword, ...rest } = body ?? {}
      const page = pageOf(rest)
      // A project is in no project, so the scope is that of one thing.
      const args = { id, name, state, keyword, ...scopeOfOne(ctx.caller.tenant_id) }
      const list = { key: 'project', read: projectOf }
      const { rows, count } = await cloudstack.listPage('listProjects', args, list, page, optionsOf(ctx))
      return { projects: rows, count, ...page }
    },
  }
}

function projectOf(raw: Raw): Project {
  return {
    id: textOf(raw, 'id') ?? '',
    name: textOf(raw, 'name') ?? '',
    display_text: textOf(raw, 'displaytext'),
    state: textOf(raw, 'state') ?? 'Unknown',
    tenant_id: textOf(raw, 'domainid'),
    tenant_name: textOf(raw, 'domain'),
    owners: rowsOf(raw, 'owner').flatMap((one) => textOf(one, 'account') ?? []),
    created_at: timeOf(raw, 'created'),
  }
}
