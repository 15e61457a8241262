// Offerings of guest networks: what a network is made with, and what it can change to (extension of Part 3, 4.6).
import { type Static, Type } from 'typebox'
import {
  Closed, KnownText, ListOf, Nullable, NullableFlag, NullableNumber, NullableText, NullableTime, OneOf, OptionalId, PageFields, Words,
} from '../common.ts' // biome-ignore format: one import
import { defineArea } from '../route.ts'

export const NetworkOffering = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    display_text: NullableText(),
    type: KnownText(['Isolated', 'Shared', 'L2'], 'Kind of network.'),
    state: KnownText(['Enabled', 'Disabled', 'Inactive'], 'Whether networks can be made with it.'),
    is_default: NullableFlag('Made by the platform itself.'),
    for_vpc: NullableFlag('For networks of a VPC.'),
    services: Type.Array(Type.String(), { description: 'What its networks offer: Dhcp, Firewall, Lb, …' }),
    egress_default: Nullable(
      OneOf(['allow', 'deny'], { description: 'What its networks do with packets that leave them.' }),
    ),
    choose_vlan: NullableFlag('The VLAN is given with the network.'),
    persistent: NullableFlag('Its networks are built without machines, too.'),
    rate_mbps: NullableNumber('Rate of its networks; null: not limited.'),
    created_at: NullableTime,
  },
  { title: 'NetworkOffering' },
)
export type NetworkOffering = Static<typeof NetworkOffering>

const example: NetworkOffering = {
  id: '5b6c7d8e-9f0a-4b1c-8d2e-3f4a5b6c7d8e', name: 'DefaultIsolatedNetworkOfferingWithSourceNatService',
  display_text: 'Isolated networks with source NAT', type: 'Isolated', state: 'Enabled', is_default: true, for_vpc: false,
  services: ['Dhcp', 'Dns', 'Firewall', 'Lb', 'PortForwarding', 'SourceNat', 'StaticNat'], egress_default: 'deny',
  choose_vlan: false, persistent: false, rate_mbps: 200, created_at: '2026-11-20T03:12:45.000Z',
} // biome-ignore format: one record

export const networkOfferings = defineArea({
  name: 'network-offerings',
  description: 'What guest networks are made with.',
  routes: {
    networkOfferingList: {
      method: 'POST',
      path: '/network/offerings/list',
      summary: 'List network offerings',
      description: 'Every filter narrows. Tenant-scoped callers see those that their tenant may use.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      extension: true,
      body: Closed({
        id: OptionalId,
        name: Words('Exact name.'),
        type: Type.Optional(OneOf(['isolated', 'shared', 'l2'], { description: 'Kind of network.' })),
        state: Type.Optional(OneOf(['enabled', 'disabled'], { description: 'Whether networks can be made with it.' })),
        for_vpc: Type.Optional(Type.Boolean({ description: 'For networks of a VPC, or for others.' })),
        network_id: Type.Optional(
          Type.String({ minLength: 1, maxLength: 128, description: 'Those that this guest network can change to.' }),
        ),
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('network_offerings', NetworkOffering, 'NetworkOfferingPage') },
      errors: [400, 500],
      example: {
        body: { type: 'isolated' },
        answer: { network_offerings: [example], count: 1, page: 1, page_size: 50 },
      },
    },
  },
})
