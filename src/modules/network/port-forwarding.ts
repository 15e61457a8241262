// Port forwarding: the list, and the handlers of the area.
import { pageOf } from '#src/contract/common.ts'
import { portForwarding } from '#src/contract/network/port-forwarding.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type PlatformDeps, platformRows } from '../platform-rows.ts'
import { readAddress, RULE_ITEM } from './forwarding-lookup.ts'
import { forwardingRows } from './forwarding-rows.ts'

export function portForwardingHandlers(deps: PlatformDeps): Handlers<typeof portForwarding.routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...platformRows(portForwarding, deps, forwardingRows(cloudstack)),
    portForwardingList: portForwardingList(cloudstack),
  }
}

function portForwardingList(cloudstack: CloudStack) {
  return async ({ body }: Input<typeof portForwarding.routes.portForwardingList>, ctx: RequestContext) => {
    await readAddress(cloudstack, body.public_ip_id, ctx)
    const page = pageOf(body)
    const args = { ipaddressid: body.public_ip_id, ...scopeOf(ctx.caller.tenant_id) }
    const options = { signal: ctx.signal, traceparent: ctx.traceparent }
    const { rows, count } = await cloudstack.listPage('listPortForwardingRules', args, RULE_ITEM, page, options)
    return { port_forwarding_rules: rows, count, ...page }
  }
}
