// The operations of the area `timeline`.
import type { Handlers } from '#src/contract/route.ts'
import type { timeline } from '#src/contract/timeline.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { findEach } from '#src/drivers/cloudstack/find-one.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import { listTimeline } from '#src/jobs/timeline.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Database } from '#src/store/database.ts'

interface TimelineDeps {
  database: Database
  cloudstack: CloudStack
}

export function timelineHandlers({
  database,
  cloudstack,
}: TimelineDeps): Handlers<typeof timeline.routes, RequestContext> {
  return {
    timelineList({ query }, ctx) {
      if (query.resource_id === undefined && query.correlation_id === undefined) {
        throw invalidField('query.resource_id', 'is required unless correlation_id is given')
      }
      return listTimeline(database.db, query, ctx.caller)
    },
    async vmHistory({ params: { virtual_machine_id: id }, query }, ctx) {
      const page = await listTimeline(database.db, { ...query, resource_id: id, source: 'operation' }, ctx.caller)
      // A machine that is gone has a history; one that nobody ever did anything to must at least be there.
      if (page.count === 0) await requireMachine(cloudstack, id, ctx)
      return page
    },
  }
}

async function requireMachine(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<void> {
  const [found] = await findEach(
    cloudstack,
    'listVirtualMachines',
    'virtualmachine',
    [id],
    scopeOf(ctx.caller.tenant_id),
    ctx,
  )
  if (found === undefined) throw new ApiError('VM_NOT_FOUND', `Virtual machine ${id} not found.`)
}
