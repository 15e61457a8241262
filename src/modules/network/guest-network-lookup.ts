// Finds the guest network a request is about, within what the caller may change.
import { type GuestNetwork, guestNetworkCan } from '#src/contract/network/guest-networks.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { networkOf } from './guest-network-view.ts'

/** Throws NETWORK_NOT_FOUND; a network of another tenant is not distinguishable from none. */
export async function readNetwork(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<GuestNetwork> {
  const { tenant_id } = ctx.caller
  const args = { id, traffictype: 'Guest', ...scopeOfOne(tenant_id) }
  const row = await findOne(cloudstack, 'listNetworks', 'network', args, {
    signal: ctx.signal,
    traceparent: ctx.traceparent,
  })
  // A shared network is listed for every tenant that may use it, but it is its owner's to change.
  const of_others =
    row !== undefined && tenant_id !== null && textOf(row, 'type') === 'Shared' && textOf(row, 'domainid') !== tenant_id
  if (row === undefined || of_others) throw new ApiError('NETWORK_NOT_FOUND', `Guest network ${id} not found.`)
  return networkOf(row)
}

/** Throws NETWORK_STATE with the states that would do. */
export function requireNetworkState(network: GuestNetwork, operation: keyof typeof guestNetworkCan): void {
  const states: readonly string[] = guestNetworkCan[operation]
  if (states.includes(network.state)) return
  throw new ApiError(
    'NETWORK_STATE',
    `Guest network ${network.name} is ${network.state}; this needs ${states.join(' or ')}.`,
  )
}
