// Guest networks: the list.
import { pageOf } from '#src/contract/common.ts'
import type { GuestNetwork, guestNetworks } from '#src/contract/network/guest-networks.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, numberOf, type Raw, rowsOf, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import { collected } from '#src/drivers/cloudstack/lists.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { refusing } from '../forward.ts'

type Body = Input<typeof guestNetworks.routes.guestNetworkList>['body']

export function guestNetworkHandlers({
  cloudstack,
}: {
  cloudstack: CloudStack
}): Handlers<typeof guestNetworks.routes, RequestContext> {
  return refusing({ guestNetworkList: guestNetworkList(cloudstack) })
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
    // Before 4.22 the platform ignores the name, so the filter is ours.
    const all = await collected(cloudstack.listAll('listNetworks', args, ITEM, options))
    const named = all.filter((network) => network.name === filter.name)
    const first = (page.page - 1) * page.page_size
    return { guest_networks: named.slice(first, first + page.page_size), count: named.length, ...page }
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
    ...ownerOf(body, ctx),
  }
}

function ownerOf(body: NonNullable<Body>, ctx: RequestContext): Args {
  const { tenant_id } = ctx.caller
  if (tenant_id !== null) {
    const foreign = (body.domain_id !== undefined && body.domain_id !== tenant_id) || body.project_id !== undefined
    if (foreign)
      throw new ApiError('TENANT_SCOPE', 'A caller narrowed to a tenant cannot ask for another tenant or a project.')
    return { ...scopeOf(tenant_id), account: body.account }
  }
  if (body.project_id !== undefined) return { listall: true, projectid: body.project_id }
  if (body.account !== undefined) return { listall: true, account: body.account, domainid: body.domain_id }
  return scopeOf(body.domain_id ?? null)
}

export function networkOf(row: Raw): GuestNetwork {
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    display_text: textOf(row, 'displaytext'),
    type: textOf(row, 'type') ?? '',
    state: textOf(row, 'state') ?? '',
    zone_id: textOf(row, 'zoneid'),
    zone_name: textOf(row, 'zonename'),
    cidr: textOf(row, 'cidr'),
    gateway: textOf(row, 'gateway'),
    netmask: textOf(row, 'netmask'),
    vlan: textOf(row, 'vlan'),
    network_offering_id: textOf(row, 'networkofferingid'),
    network_offering_name: textOf(row, 'networkofferingname'),
    restart_required: flagOf(row, 'restartrequired'),
    vpc_id: textOf(row, 'vpcid'),
    tenant_id: textOf(row, 'domainid'),
    account: textOf(row, 'account'),
    project_id: textOf(row, 'projectid'),
    services: rowsOf(row, 'service').map((service) => textOf(service, 'name') ?? ''),
    public_mtu: numberOf(row, 'publicmtu'),
    private_mtu: numberOf(row, 'privatemtu'),
    dns1: textOf(row, 'dns1'),
    dns2: textOf(row, 'dns2'),
    network_domain: textOf(row, 'networkdomain'),
    received_bytes: numberOf(row, 'receivedbytes'),
    sent_bytes: numberOf(row, 'sentbytes'),
    created_at: timeOf(row, 'created'),
  }
}
