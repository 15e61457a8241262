// Guest networks: the list, and the handlers of the area.
import { pageOf } from '#src/contract/common.ts'
import { guestNetworks } from '#src/contract/network/guest-networks.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { ownerScope } from '#src/drivers/cloudstack/tenant-scope.ts'
import { onePage } from '#src/drivers/cloudstack/page.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type PlatformDeps, platformRows } from '../platform-rows.ts'
import { guestNetworkRows } from './guest-network-rows.ts'
import { networkOf } from './guest-network-view.ts'

type Body = Input<typeof guestNetworks.routes.guestNetworkList>['body']

export function guestNetworkHandlers(deps: PlatformDeps): Handlers<typeof guestNetworks.routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...platformRows(guestNetworks, deps, guestNetworkRows(cloudstack)),
    guestNetworkList: guestNetworkList(cloudstack),
  }
}

const ITEM = { key: 'network', read: networkOf }

function guestNetworkList(cloudstack: CloudStack) {
  return async ({ body }: { body: Body }, ctx: RequestContext) => {
    const page = pageOf(body)
    const filter = body ?? {}
    const args = argsOf(filter, ctx)
    const options = { signal: ctx.signal, traceparent: ctx.traceparent }
    if (filter.name === undefined || (await cloudstack.lookups.supports('listNetworks', 'name'))) {
      const { rows, count } = await cloudstack.listPage(
        'listNetworks',
        { ...args, name: filter.name },
        ITEM,
        page,
        options,
      )
      return { guest_networks: rows, count, ...page }
    }
    // Before 4.22 the platform ignores the name, so this service filters.
    const named = await onePage(
      cloudstack.listAll('listNetworks', args, ITEM, options),
      page,
      (network) => network.name === filter.name,
    )
    return { guest_networks: named.rows, count: named.count, ...page }
  }
}

function argsOf(body: NonNullable<Body>, ctx: RequestContext): Args {
  return {
    traffictype: 'Guest',
    id: body.id,
    zoneid: body.zone_id,
    type: body.type,
    vpcid: body.vpc_id,
    physicalnetworkid: body.physical_network_id,
    networkofferingid: body.network_offering_id,
    restartrequired: body.restart_required,
    canusefordeploy: body.can_use_for_deploy,
    networkfilter: body.network_filter,
    keyword: body.keyword,
    ...ownerScope(body, ctx.caller.tenant_id),
  }
}
