// Network service providers of a physical network, and the elements that do their work (Part 3, 4.2).
import { type Static, Type } from 'typebox'
import {
  ActionAccepted,
  Closed,
  Id,
  KnownText,
  ListOf,
  Nullable,
  OneOf,
  OptionalId,
  PageFields,
  Words,
} from '../common.ts'
import { defineArea } from '../route.ts'

const Services = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9]+$' }), {
      minItems: 1,
      maxItems: 32,
      uniqueItems: true,
      description,
    }),
  )

/** Kinds of elements that the platform lets be listed and configured; those that can be made have `creates`. */
export const ELEMENT_TYPES = {
  VirtualRouter: { creates: true },
  VpcVirtualRouter: { creates: true },
  InternalLbVm: { creates: true },
  Ovs: { creates: false },
} as const
export type ElementType = keyof typeof ELEMENT_TYPES

const PROVIDER_NAMES = [
  'VirtualRouter', 'VpcVirtualRouter', 'InternalLbVm', 'Ovs', 'SecurityGroupProvider', 'ConfigDrive', 'Netscaler', 'F5BigIp',
  'JuniperSRX', 'PaloAlto', 'NiciraNvp', 'CiscoVnmc', 'BrocadeVcs', 'Opendaylight', 'BigSwitchBcf', 'GloboDns', 'Tungsten', 'Nsx', 'Netris',
] as const // biome-ignore format: one list

export const ServiceProvider = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    state: KnownText(['Enabled', 'Disabled', 'Shutdown'], 'A new provider is Disabled.'),
    physical_network_id: Nullable(Type.String()),
    services: Type.Array(Type.String(), { description: 'What it offers: Dhcp, Dns, SourceNat, …' }),
    can_enable_individual_service: Nullable(
      Type.Boolean({ description: 'Whether a part of its services may be chosen.' }),
    ),
  },
  { title: 'ServiceProvider' },
)
export type ServiceProvider = Static<typeof ServiceProvider>

export const ProviderElement = Type.Object(
  {
    id: Type.String(),
    nsp_id: Nullable(Type.String({ description: 'Provider it works for.' })),
    type: Type.String({ description: 'The nsp_type it was asked for by.' }),
    enabled: Nullable(Type.Boolean()),
  },
  { title: 'ServiceProviderElement' },
)
export type ProviderElement = Static<typeof ProviderElement>

const ProviderOrAccepted = Type.Union([ActionAccepted, ServiceProvider])
const ElementOrAccepted = Type.Union([ActionAccepted, ProviderElement])

const params = Closed({
  nsp_type: OneOf(Object.keys(ELEMENT_TYPES) as ElementType[], {
    description:
      'Kind of element; VirtualRouter, VpcVirtualRouter and InternalLbVm can be made, Ovs can be listed and configured.',
  }),
})

const provider: ServiceProvider = {
  id: 'd0f8f3f4-0b5a-4a52-8f0e-2d6c3a7e9b10',
  name: 'InternalLbVm',
  state: 'Disabled',
  physical_network_id: '2f6d7c0a-5f3d-4d83-9a6d-0b1e8f5c7a20',
  services: ['Lb'],
  can_enable_individual_service: false,
}
const element: ProviderElement = {
  id: '3c1f7c64-1c6d-4c0c-9d2b-7e5a4f3b2a11',
  nsp_id: provider.id,
  type: 'InternalLbVm',
  enabled: false,
}
const accepted = {
  job_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', correlation_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', status: 'IN_PROGRESS',
  resource_id: provider.id, message: 'Adding network service provider InternalLbVm.',
} // biome-ignore format: one record

const read = { method: 'POST', access: 'viewer', effect: 'read', errors: [400, 500] } as const
const change = { access: 'operator', event: { resource_type: 'NETWORK_SERVICE_PROVIDER' }, errors: [400, 500] } as const
const base = '/network/service-providers'

export const serviceProviders = defineArea({
  name: 'service-providers',
  description: 'Who provides the services of guest networks: routers, load balancers and appliances.',
  routes: {
    serviceProviderAdd: {
      ...change,
      method: 'POST',
      path: base,
      summary: 'Add network service provider',
      description:
        'To a physical network, once each. It is Disabled: make its element, configure that, then enable the provider.',
      body: Closed(
        {
          physical_network_id: Id,
          name: Type.String({
            minLength: 1,
            maxLength: 64,
            description: 'Name the platform knows it by.',
            'x-known-values': [...PROVIDER_NAMES],
          }),
          service_list: Services('Services to offer; all of the provider’s when left out.'),
          destination_physical_network_id: OptionalId,
        },
        { title: 'ServiceProviderAdd' },
      ),
      ok: { 201: ProviderOrAccepted },
      example: { body: { physical_network_id: provider.physical_network_id, name: 'InternalLbVm' }, answer: accepted },
    },
    serviceProviderUpdate: {
      ...change,
      method: 'PUT',
      path: base,
      summary: 'Update network service provider',
      description:
        'Enabling needs an enabled element where the provider works through one. Disabling is not checked against networks that use it. Services change only where they may be chosen one by one.',
      body: Closed(
        {
          id: Id,
          state: Type.Optional(OneOf(['Enabled', 'Disabled'])),
          service_list: Services('The whole new set of services.'),
        },
        { title: 'ServiceProviderUpdate' },
      ),
      ok: { 200: ProviderOrAccepted },
      example: {
        body: { id: provider.id, state: 'Enabled' },
        answer: { ...accepted, message: 'Updating network service provider InternalLbVm.' },
      },
    },
    serviceProviderList: {
      ...read,
      path: `${base}/list`,
      summary: 'List network service providers',
      body: Closed(
        {
          physical_network_id: OptionalId,
          name: Words('Exact name.'),
          state: Type.Optional(OneOf(['Enabled', 'Disabled'])),
          keyword: Words('Part of a name.'),
          ...PageFields,
        },
        { title: 'ServiceProviderFilter' },
      ),
      body_optional: true,
      ok: { 200: ListOf('service_providers', ServiceProvider, 'ServiceProviderPage') },
      example: {
        body: { state: 'Enabled' },
        answer: { service_providers: [provider], count: 1, page: 1, page_size: 50 },
      },
    },
    serviceProviderElementCreate: {
      ...change,
      method: 'POST',
      path: `${base}/{nsp_type}`,
      summary: 'Create element of network service provider',
      description:
        'One for each provider, which must be of this kind. The platform makes the elements of a new zone by itself.',
      params,
      body: Closed({ nsp_id: Id }),
      ok: { 201: ElementOrAccepted },
      example: {
        params: { nsp_type: 'InternalLbVm' },
        body: { nsp_id: provider.id },
        answer: { ...accepted, resource_id: null },
      },
    },
    serviceProviderElementConfigure: {
      ...change,
      method: 'POST',
      path: `${base}/{nsp_type}/configure`,
      summary: 'Configure element of network service provider',
      params,
      body: Closed({ id: Id, enabled: Type.Boolean({ description: 'Whether it may do its work.' }) }),
      ok: { 200: ElementOrAccepted },
      example: {
        params: { nsp_type: 'InternalLbVm' },
        body: { id: element.id, enabled: true },
        answer: { ...accepted, resource_id: element.id },
      },
    },
    serviceProviderElementGet: {
      ...read,
      path: `${base}/{nsp_type}/get`,
      summary: 'Get element of network service provider',
      params,
      body: Closed({ id: Id }),
      ok: { 200: ProviderElement },
      example: { params: { nsp_type: 'InternalLbVm' }, body: { id: element.id }, answer: element },
    },
    serviceProviderElementList: {
      ...read,
      path: `${base}/{nsp_type}/list`,
      summary: 'List elements of network service providers',
      params,
      body: Closed({
        nsp_id: OptionalId,
        enabled: Type.Optional(Type.Boolean()),
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('elements', ProviderElement, 'ServiceProviderElementPage') },
      example: {
        params: { nsp_type: 'InternalLbVm' },
        answer: { elements: [element], count: 1, page: 1, page_size: 50 },
      },
    },
  },
})
