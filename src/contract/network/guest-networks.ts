// Guest networks (Part 3, 4.6): the networks that virtual machines are attached to.
import { type Static, Type } from 'typebox'
import { Closed, Id, KnownText, ListOf, Nullable, NullableTime, OneOf, PageFields } from '../common.ts'
import { defineArea } from '../route.ts'

const NullableText = (description?: string) => Nullable(Type.String(description === undefined ? {} : { description }))
const NullableNumber = (description: string) => Nullable(Type.Number({ description }))
const OptionalId = Type.Optional(Id)
const Words = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 255, description }))

export const GuestNetwork = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    display_text: NullableText(),
    type: KnownText(['Isolated', 'Shared', 'L2'], 'Kind of network.'),
    state: KnownText(['Allocated', 'Setup', 'Implementing', 'Implemented', 'Shutdown', 'Destroy'], 'Whether it is built.'),
    zone_id: NullableText(),
    zone_name: NullableText(),
    cidr: NullableText(),
    gateway: NullableText(),
    netmask: NullableText(),
    vlan: NullableText('VLAN or other segment.'),
    network_offering_id: NullableText(),
    network_offering_name: NullableText(),
    restart_required: Nullable(Type.Boolean({ description: 'A change waits for a restart.' })),
    vpc_id: NullableText(),
    tenant_id: NullableText('Tenant that owns it.'),
    account: NullableText(),
    project_id: NullableText(),
    services: Type.Array(Type.String(), { description: 'What the network offers: Dhcp, Dns, SourceNat, …' }),
    public_mtu: NullableNumber('MTU of the router towards the outside.'),
    private_mtu: NullableNumber('MTU of the router towards the machines.'),
    dns1: NullableText(),
    dns2: NullableText(),
    network_domain: NullableText(),
    received_bytes: NullableNumber('Bytes received since the platform counts.'),
    sent_bytes: NullableNumber('Bytes sent since the platform counts.'),
    created_at: NullableTime,
  },
  { title: 'GuestNetwork' },
)
export type GuestNetwork = Static<typeof GuestNetwork>

export const guestNetworks = defineArea({
  name: 'guest-networks',
  description: 'The networks that virtual machines are attached to.',
  routes: {
    guestNetworkList: {
      method: 'POST',
      path: '/network/guest-networks/list',
      summary: 'List guest networks',
      description: 'Every filter narrows.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      body: Closed(
        {
          id: OptionalId,
          name: Words('Exact name.'),
          zone_id: OptionalId,
          type: Type.Optional(OneOf(['isolated', 'shared', 'l2'], { description: 'Kind of network.' })),
          account: Words('Owner; needs domain_id.'),
          domain_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Tenant, its children included.' })),
          project_id: OptionalId,
          vpc_id: OptionalId,
          physical_network_id: OptionalId,
          network_offering_id: OptionalId,
          restart_required: Type.Optional(Type.Boolean({ description: 'A change waits for a restart.' })),
          can_use_for_deploy: Type.Optional(Type.Boolean({ description: 'Machines can be put into it.' })),
          network_filter: Type.Optional(OneOf(['account', 'domain', 'accountdomain', 'shared', 'all'], { description: 'Whose networks.' })),
          keyword: Words('Part of a name.'),
          ...PageFields,
        },
        { title: 'GuestNetworkFilter' },
      ),
      body_optional: true,
      ok: { 200: ListOf('guest_networks', GuestNetwork, 'GuestNetworkPage') },
      errors: [400, 500],
      example: { body: { type: 'isolated' } },
    },
  },
})
