// The changes of network service providers and their elements: one job of the platform each, in the order add provider,
// create element, configure element, enable provider.
import type { ElementType, serviceProviders } from '#src/contract/network/providers.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { given, type ThingName } from '#src/drivers/cloudstack/postcondition.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { JobRowSpec } from '../platform-rows.ts'
import { ELEMENT_LISTS, elementsOf, isProvided, readElement, readProvider } from './provider-lookup.ts'

type Spec<Op extends keyof typeof serviceProviders.routes> = (typeof serviceProviders.routes)[Op]

/** Providers that work through an element of their own kind, which must be there before they are enabled. */
const THROUGH_ELEMENT = new Set<string>(Object.keys(ELEMENT_LISTS))

export function providerRows(cloudstack: CloudStack) {
  const serviceProviderAdd: JobRowSpec<Spec<'serviceProviderAdd'>> = {
    mode: 'create',
    command: 'addNetworkServiceProvider',
    about: async ({ body }, ctx) => {
      await requirePhysicalNetwork(cloudstack, body.physical_network_id, ctx)
      if (await isProvided(cloudstack, body.physical_network_id, body.name, ctx)) {
        throw new ApiError('PROVIDER_EXISTS', `The physical network has the provider ${body.name} already.`)
      }
      return {
        resource_id: null,
        resource_name: body.name,
        description: `Adding network service provider ${body.name}.`,
        done: `Network service provider ${body.name} is added and Disabled.`,
      }
    },
    args: ({ body }) => ({
      physicalnetworkid: body.physical_network_id,
      name: body.name,
      servicelist: body.service_list,
      destinationphysicalnetworkid: body.destination_physical_network_id,
    }),
    postcondition: ({ body }) => ({
      thing: 'provider',
      args: { physicalnetworkid: body.physical_network_id },
      where: { id: '$id' },
      expect: {},
    }),
    reply: async (result, _input, ctx) => {
      const id = textOf(objectOf(result ?? {}, 'networkserviceprovider') ?? {}, 'id')
      return id === null ? undefined : readProvider(cloudstack, id, ctx)
    },
  }
  const serviceProviderUpdate: JobRowSpec<Spec<'serviceProviderUpdate'>> = {
    mode: 'job',
    command: 'updateNetworkServiceProvider',
    about: async ({ body }, ctx) => {
      if (body.state === undefined && body.service_list === undefined)
        throw invalidField('body', 'names nothing to change')
      const provider = await readProvider(cloudstack, body.id, ctx)
      const { id, name } = provider
      if (body.service_list !== undefined && provider.can_enable_individual_service === false) {
        throw invalidField('body.service_list', `the services of ${name} cannot be chosen one by one`)
      }
      if (body.state === 'Enabled') await requireReady(cloudstack, provider, ctx)
      return {
        resource_id: id,
        resource_name: name,
        description: `Updating network service provider ${name}.`,
        done: `Network service provider ${name} is ${body.state ?? 'updated'}.`,
      }
    },
    args: ({ body }) => ({ id: body.id, state: body.state, servicelist: body.service_list }),
    postcondition: ({ body }) => ({
      thing: 'provider',
      args: {},
      where: { id: body.id },
      expect: given({
        state: body.state,
        servicelist: body.service_list === undefined ? undefined : { exactly: body.service_list },
      }),
    }),
    reply: (_result, { body }, ctx) => readProvider(cloudstack, body.id, ctx),
  }
  return { serviceProviderAdd, serviceProviderUpdate }
}

async function requirePhysicalNetwork(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<void> {
  const found = await findOne(cloudstack, 'listPhysicalNetworks', 'physicalnetwork', { id }, { signal: ctx.signal })
  if (found === undefined) throw new ApiError('RESOURCE_NOT_FOUND', `Physical network ${id} not found.`)
}

async function requireReady(
  cloudstack: CloudStack,
  provider: { id: string; name: string },
  ctx: RequestContext,
): Promise<void> {
  if (!THROUGH_ELEMENT.has(provider.name)) return
  const elements = await elementsOf(cloudstack, provider.name as ElementType, provider.id, ctx)
  if (elements.some(({ enabled }) => enabled === true)) return
  const lack = elements.length === 0 ? 'has no element' : 'has an element that is not enabled'
  throw new ApiError('PROVIDER_STATE', `The provider ${provider.name} ${lack}; enabling it needs an enabled element.`)
}

const ELEMENT_THINGS = {
  VirtualRouter: 'router_element',
  VpcVirtualRouter: 'router_element',
  InternalLbVm: 'lb_element',
  Ovs: 'ovs_element',
} as const satisfies Record<ElementType, ThingName>

const creating = (type: ElementType, command: string, key: string) => (cloudstack: CloudStack) => {
  const serviceProviderElementCreate: JobRowSpec<Spec<'serviceProviderElementCreate'>> = {
    mode: 'create',
    command,
    about: async ({ body }, ctx) => {
      const provider = await readProvider(cloudstack, body.nsp_id, ctx)
      if (provider.name !== type)
        throw invalidField('body.nsp_id', `is the provider ${provider.name}; this needs one that is ${type}`)
      if ((await elementsOf(cloudstack, type, provider.id, ctx)).length > 0) {
        throw new ApiError('PROVIDER_ELEMENT_EXISTS', `The provider ${type} has its element already.`)
      }
      return {
        resource_id: null,
        resource_name: type,
        description: `Creating the element of network service provider ${type}.`,
        done: `The element of network service provider ${type} is created and not enabled.`,
      }
    },
    // providertype is declared upstream as an id over a text, so every value of it is refused (cloudstack.md 10, 6).
    args: ({ body }) => ({ nspid: body.nsp_id }),
    postcondition: ({ body }) => ({ thing: ELEMENT_THINGS[type], args: { id: '$id' }, expect: { nspid: body.nsp_id } }),
    reply: async (result, _input, ctx) => {
      const id = textOf(objectOf(result ?? {}, key) ?? {}, 'id')
      return id === null ? undefined : readElement(cloudstack, type, id, ctx)
    },
  }
  return { serviceProviderElementCreate }
}

const configuring = (type: ElementType, command: string) => (cloudstack: CloudStack) => {
  const serviceProviderElementConfigure: JobRowSpec<Spec<'serviceProviderElementConfigure'>> = {
    mode: 'job',
    command,
    about: async ({ body }, ctx) => {
      const element = await readElement(cloudstack, type, body.id, ctx)
      const word = body.enabled ? 'enabled' : 'disabled'
      return {
        resource_id: element.id,
        resource_name: type,
        description: `Configuring the element of network service provider ${type}.`,
        done: `The element of network service provider ${type} is ${word}.`,
      }
    },
    args: ({ body }) => ({ id: body.id, enabled: body.enabled }),
    postcondition: ({ body }) => ({
      thing: ELEMENT_THINGS[type],
      args: { id: body.id },
      expect: { enabled: body.enabled },
    }),
    reply: (_result, { body }, ctx) => readElement(cloudstack, type, body.id, ctx),
  }
  return { serviceProviderElementConfigure }
}

const ROUTER_KEY = ELEMENT_LISTS.VirtualRouter.key

/** Rows by kind of element; the kinds left out cannot do it. */
export const elementRows = {
  create: {
    VirtualRouter: creating('VirtualRouter', 'createVirtualRouterElement', ROUTER_KEY),
    VpcVirtualRouter: creating('VpcVirtualRouter', 'createVirtualRouterElement', ROUTER_KEY),
    InternalLbVm: creating('InternalLbVm', 'createInternalLoadBalancerElement', ELEMENT_LISTS.InternalLbVm.key),
  },
  configure: {
    VirtualRouter: configuring('VirtualRouter', 'configureVirtualRouterElement'),
    VpcVirtualRouter: configuring('VpcVirtualRouter', 'configureVirtualRouterElement'),
    InternalLbVm: configuring('InternalLbVm', 'configureInternalLoadBalancerElement'),
    Ovs: configuring('Ovs', 'configureOvsElement'),
  },
} as const
