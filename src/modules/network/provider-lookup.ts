// Finds network service providers and their elements.
import type { ElementType, ProviderElement, ServiceProvider } from '#src/contract/network/providers.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, type Raw, textOf, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'

/** Commands and keys of the platform by kind of element; both kinds of router share theirs. */
export const ELEMENT_LISTS = {
  VirtualRouter: { command: 'listVirtualRouterElements', key: 'virtualrouterelement' },
  VpcVirtualRouter: { command: 'listVirtualRouterElements', key: 'virtualrouterelement' },
  InternalLbVm: { command: 'listInternalLoadBalancerElements', key: 'internalloadbalancerelement' },
  Ovs: { command: 'listOvsElements', key: 'ovselement' },
} as const satisfies Record<ElementType, { command: string; key: string }>

export const PROVIDER_ITEM = { key: 'networkserviceprovider', read: providerOf }

/** Throws PROVIDER_NOT_FOUND. The platform's list has no filter by id; a site has a few dozen at most. */
export async function readProvider(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<ServiceProvider> {
  for await (const provider of cloudstack.listAll('listNetworkServiceProviders', {}, PROVIDER_ITEM, optionsOf(ctx))) {
    if (provider.id === id) return provider
  }
  throw new ApiError('PROVIDER_NOT_FOUND', `Network service provider ${id} not found.`)
}

export async function isProvided(
  cloudstack: CloudStack,
  physical_network_id: string,
  name: string,
  ctx: RequestContext,
): Promise<boolean> {
  const args = { physicalnetworkid: physical_network_id, name }
  for await (const provider of cloudstack.listAll('listNetworkServiceProviders', args, PROVIDER_ITEM, optionsOf(ctx))) {
    if (provider.name.toLowerCase() === name.toLowerCase()) return true
  }
  return false
}

export async function providerIds(cloudstack: CloudStack, name: string, ctx: RequestContext): Promise<Set<string>> {
  const ids = new Set<string>()
  for await (const provider of cloudstack.listAll(
    'listNetworkServiceProviders',
    { name },
    PROVIDER_ITEM,
    optionsOf(ctx),
  ))
    ids.add(provider.id)
  return ids
}

/** Throws PROVIDER_ELEMENT_NOT_FOUND, also for an element of another kind. */
export async function readElement(
  cloudstack: CloudStack,
  type: ElementType,
  id: string,
  ctx: RequestContext,
): Promise<ProviderElement> {
  const { command, key } = ELEMENT_LISTS[type]
  const row = await findOne(cloudstack, command, key, { id }, optionsOf(ctx))
  const element = row === undefined ? undefined : elementOf(row, type)
  if (element?.nsp_id != null && (await providerIds(cloudstack, type, ctx)).has(element.nsp_id)) return element
  throw new ApiError('PROVIDER_ELEMENT_NOT_FOUND', `Element ${id} of ${type} not found.`)
}

export async function elementsOf(
  cloudstack: CloudStack,
  type: ElementType,
  nsp_id: string,
  ctx: RequestContext,
): Promise<ProviderElement[]> {
  const { command, key } = ELEMENT_LISTS[type]
  const { rows } = await cloudstack.listPage(
    command,
    { nspid: nsp_id },
    { key, read: (row) => elementOf(row, type) },
    { page: 1, page_size: 50 },
    optionsOf(ctx),
  )
  return rows
}

function providerOf(row: Raw): ServiceProvider {
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    state: textOf(row, 'state') ?? '',
    physical_network_id: textOf(row, 'physicalnetworkid'),
    services: textsOf(row, 'servicelist'),
    can_enable_individual_service: flagOf(row, 'canenableindividualservice'),
  }
}

export function elementOf(row: Raw, type: ElementType): ProviderElement {
  return { id: textOf(row, 'id') ?? '', nsp_id: textOf(row, 'nspid'), type, enabled: flagOf(row, 'enabled') }
}

export function optionsOf(ctx: RequestContext) {
  return { signal: ctx.signal, traceparent: ctx.traceparent }
}
