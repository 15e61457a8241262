// Network service providers: reading, and the checks before a change.
import { pageOf } from '#src/contract/common.ts'
import { ELEMENT_TYPES, type ElementType, type ProviderElement, type ServiceProvider, serviceProviders } from '#src/contract/network/providers.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, type Raw, textOf, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { windowOf } from '#src/drivers/cloudstack/window.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type ForwardDeps, forward, refusing } from '../forward.ts'
import { elementRows, providerRows } from './provider-rows.ts'

type In<Op extends keyof typeof serviceProviders.routes> = Input<(typeof serviceProviders.routes)[Op]>

export function serviceProviderHandlers(deps: ForwardDeps): Handlers<typeof serviceProviders.routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...forward(serviceProviders, deps, providerRows(cloudstack)),
    ...refusing({
      // Each kind of element has commands of its own, so these choose the row by the path.
      serviceProviderElementCreate: byType(elementRows.create, (rows) => forward(serviceProviders, deps, rows(cloudstack)).serviceProviderElementCreate),
      serviceProviderElementConfigure: byType(elementRows.configure, (rows) => forward(serviceProviders, deps, rows(cloudstack)).serviceProviderElementConfigure),
      serviceProviderList: serviceProviderList(cloudstack),
      serviceProviderElementGet: ({ params, body }: In<'serviceProviderElementGet'>, ctx: RequestContext) =>
        readElement(cloudstack, elementTypeOf(params.nsp_type), body.id, ctx),
      serviceProviderElementList: serviceProviderElementList(cloudstack),
    }),
  }
}

type PathInput = { params: { nsp_type: string } }

function byType<R, I extends PathInput, O>(
  table: Partial<Record<ElementType, R>>,
  make: (rows: R) => (input: I, ctx: RequestContext) => O,
): (input: I, ctx: RequestContext) => O {
  return (input, ctx) => {
    const rows = table[elementTypeOf(input.params.nsp_type)]
    if (rows === undefined) {
      throw invalidField('path.nsp_type', `elements of ${input.params.nsp_type} cannot be made; those of ${Object.keys(table).join(', ')} can`)
    }
    return make(rows)(input, ctx)
  }
}

export function elementTypeOf(nsp_type: string): ElementType {
  const types = Object.keys(ELEMENT_TYPES) as ElementType[]
  const type = types.find((name) => name === nsp_type)
  if (type === undefined) throw invalidField('path.nsp_type', `must be one of ${types.join(', ')}`)
  return type
}

/** Commands and keys of the platform by kind of element; both kinds of router share theirs. */
export const ELEMENT_LISTS = {
  VirtualRouter: { command: 'listVirtualRouterElements', key: 'virtualrouterelement' },
  VpcVirtualRouter: { command: 'listVirtualRouterElements', key: 'virtualrouterelement' },
  InternalLbVm: { command: 'listInternalLoadBalancerElements', key: 'internalloadbalancerelement' },
  Ovs: { command: 'listOvsElements', key: 'ovselement' },
} as const satisfies Record<ElementType, { command: string; key: string }>

const PROVIDER_ITEM = { key: 'networkserviceprovider', read: providerOf }

function serviceProviderList(cloudstack: CloudStack) {
  return async ({ body }: In<'serviceProviderList'>, ctx: RequestContext) => {
    const page = pageOf(body)
    const args = { physicalnetworkid: body?.physical_network_id, name: body?.name, state: body?.state, keyword: body?.keyword }
    const { rows, count } = await cloudstack.listPage('listNetworkServiceProviders', args, PROVIDER_ITEM, page, optionsOf(ctx))
    return { service_providers: rows, count, ...page }
  }
}

/** The platform's list counts its page, and one command lists both kinds of router: counting and telling apart are ours. */
function serviceProviderElementList(cloudstack: CloudStack) {
  return async ({ params, body }: In<'serviceProviderElementList'>, ctx: RequestContext) => {
    const type = elementTypeOf(params.nsp_type)
    const page = pageOf(body)
    const providers = await providerIds(cloudstack, type, ctx)
    const { command, key } = ELEMENT_LISTS[type]
    const args = { nspid: body?.nsp_id, enabled: body?.enabled, keyword: body?.keyword }
    const elements = cloudstack.listAll(command, args, { key, read: (row) => elementOf(row, type) }, optionsOf(ctx))
    const { rows, count } = await windowOf(elements, page, ({ nsp_id }) => nsp_id !== null && providers.has(nsp_id))
    return { elements: rows, count, ...page }
  }
}

/** Throws PROVIDER_NOT_FOUND. The platform's list has no filter by id; a site has a few dozen at most. */
export async function readProvider(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<ServiceProvider> {
  for await (const provider of cloudstack.listAll('listNetworkServiceProviders', {}, PROVIDER_ITEM, optionsOf(ctx))) {
    if (provider.id === id) return provider
  }
  throw new ApiError('PROVIDER_NOT_FOUND', 'There is no network service provider with this id.')
}

export async function isProvided(cloudstack: CloudStack, physical_network_id: string, name: string, ctx: RequestContext): Promise<boolean> {
  const args = { physicalnetworkid: physical_network_id, name }
  for await (const provider of cloudstack.listAll('listNetworkServiceProviders', args, PROVIDER_ITEM, optionsOf(ctx))) {
    if (provider.name.toLowerCase() === name.toLowerCase()) return true
  }
  return false
}

async function providerIds(cloudstack: CloudStack, name: string, ctx: RequestContext): Promise<Set<string>> {
  const ids = new Set<string>()
  for await (const provider of cloudstack.listAll('listNetworkServiceProviders', { name }, PROVIDER_ITEM, optionsOf(ctx))) ids.add(provider.id)
  return ids
}

/** Throws PROVIDER_ELEMENT_NOT_FOUND, also for an element of another kind. */
export async function readElement(cloudstack: CloudStack, type: ElementType, id: string, ctx: RequestContext): Promise<ProviderElement> {
  const { command, key } = ELEMENT_LISTS[type]
  const row = await findOne(cloudstack, command, key, { id }, optionsOf(ctx))
  const element = row === undefined ? undefined : elementOf(row, type)
  if (element?.nsp_id != null && (await providerIds(cloudstack, type, ctx)).has(element.nsp_id)) return element
  throw new ApiError('PROVIDER_ELEMENT_NOT_FOUND', `There is no element of ${type} with this id.`)
}

export async function elementsOf(cloudstack: CloudStack, type: ElementType, nsp_id: string, ctx: RequestContext): Promise<ProviderElement[]> {
  const { command, key } = ELEMENT_LISTS[type]
  const { rows } = await cloudstack.listPage(command, { nspid: nsp_id }, { key, read: (row) => elementOf(row, type) }, { page: 1, page_size: 50 }, optionsOf(ctx))
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

function elementOf(row: Raw, type: ElementType): ProviderElement {
  return { id: textOf(row, 'id') ?? '', nsp_id: textOf(row, 'nspid'), type, enabled: flagOf(row, 'enabled') }
}

function optionsOf(ctx: RequestContext) {
  return { signal: ctx.signal, traceparent: ctx.traceparent }
}
