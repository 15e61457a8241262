// Offerings of guest networks, as many as the caller's tenant may use.
import { pageOf } from '#src/contract/common.ts'
import type { NetworkOffering, networkOfferings } from '#src/contract/network/offerings.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, numberOf, type Raw, rowsOf, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { readNetwork } from './guest-network-lookup.ts'
import { egressDefault } from './guest-network-view.ts'

const ITEM = { key: 'networkoffering', read: networkOfferingOf }
const TYPES = { isolated: 'Isolated', shared: 'Shared', l2: 'L2' } as const
const STATES = { enabled: 'Enabled', disabled: 'Disabled' } as const

export function networkOfferingHandlers(
  cloudstack: CloudStack,
): Handlers<typeof networkOfferings.routes, RequestContext> {
  return {
    async networkOfferingList({ body = {} }, ctx) {
      const { id, name, type, state, for_vpc, network_id, keyword } = body
      const page = pageOf(body)
      if (network_id !== undefined) await readNetwork(cloudstack, network_id, ctx)
      const args = {
        id,
        name,
        traffictype: 'Guest',
        guestiptype: type === undefined ? undefined : TYPES[type],
        state: state === undefined ? undefined : STATES[state],
        forvpc: for_vpc,
        networkid: network_id,
        keyword,
        domainid: ctx.caller.tenant_id ?? undefined,
      }
      const { rows, count } = await cloudstack.listPage('listNetworkOfferings', args, ITEM, page, ctx)
      return { network_offerings: rows, count, ...page }
    },
  }
}

function networkOfferingOf(row: Raw): NetworkOffering {
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    display_text: textOf(row, 'displaytext'),
    type: textOf(row, 'guestiptype') ?? 'Unknown',
    state: textOf(row, 'state') ?? 'Unknown',
    is_default: flagOf(row, 'isdefault'),
    for_vpc: flagOf(row, 'forvpc'),
    services: rowsOf(row, 'service').map((service) => textOf(service, 'name') ?? ''),
    egress_default: egressDefault(flagOf(row, 'egressdefaultpolicy')),
    choose_vlan: flagOf(row, 'specifyvlan'),
    persistent: flagOf(row, 'ispersistent'),
    rate_mbps: numberOf(row, 'networkrate'),
    created_at: timeOf(row, 'created'),
  }
}
