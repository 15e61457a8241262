// Guest networks (Part 3, 4.6): the networks that virtual machines are attached to.
import { type Static, Type } from 'typebox'
import {
  ActionAccepted,
  Closed,
  Flag,
  Id,
  IpAddress,
  KnownText,
  ListOf,
  Nullable,
  NullableNumber,
  NullableText,
  NullableTime,
  OneOf,
  OptionalId,
  PageFields,
  Words,
} from '../common.ts'
import { defineArea } from '../route.ts'

export const GuestNetwork = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    display_text: NullableText(),
    type: KnownText(['Isolated', 'Shared', 'L2'], 'Kind of network.'),
    state: KnownText(
      ['Allocated', 'Setup', 'Implementing', 'Implemented', 'Shutdown', 'Destroy'],
      'Whether it is built.',
    ),
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
    tenant_name: NullableText(),
    account: NullableText('Account within the tenant.'),
    project_id: NullableText(),
    services: Type.Array(Type.String(), { description: 'What the network offers: Dhcp, Dns, SourceNat, …' }),
    egress_default: Nullable(
      OneOf(['allow', 'deny'], {
        description: 'What is done with packets that leave it; egress rules are exceptions.',
      }),
    ),
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

/** In which states of a network an operation may be asked for. */
export const guestNetworkCan = {
  update: ['Allocated', 'Setup', 'Implemented'],
  restart: ['Setup', 'Implemented'],
} as const

const Mtu = (description: string) => Type.Optional(Type.Integer({ minimum: 68, maximum: 65_535, description }))
const OptionalAddress = Type.Optional(IpAddress)
const NetworkOrAccepted = Type.Union([ActionAccepted, GuestNetwork])

const id = '1e4b6d2a-90f3-4a36-b2c1-5d7e8f9a0b12'
const accepted = {
  job_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', correlation_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', status: 'IN_PROGRESS',
  resource_id: id, message: 'Updating guest network acme-net.',
} // biome-ignore format: one record
const change = {
  access: 'operator', tenant: 'own', event: { resource_type: 'GUEST_NETWORK' }, errors: [400, 404, 409, 500],
} as const // biome-ignore format: one record

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
          domain_id: Type.Optional(
            Type.String({ minLength: 1, maxLength: 128, description: 'Tenant, its children included.' }),
          ),
          project_id: OptionalId,
          vpc_id: OptionalId,
          physical_network_id: OptionalId,
          network_offering_id: OptionalId,
          restart_required: Type.Optional(Type.Boolean({ description: 'A change waits for a restart.' })),
          can_use_for_deploy: Type.Optional(Type.Boolean({ description: 'Machines can be put into it.' })),
          network_filter: Type.Optional(
            OneOf(['account', 'domain', 'accountdomain', 'shared', 'all'], { description: 'Whose networks.' }),
          ),
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
    guestNetworkUpdate: {
      ...change,
      method: 'PUT',
      path: '/network/guest-networks',
      summary: 'Update guest network',
      description:
        'Only an isolated network changes its offering; when services are lost with that, `forced` must say so. The guest range must lie inside the network’s and hold every NIC.',
      body: Closed(
        {
          id: Id,
          name: Words('New name.'),
          display_text: Words('One line for people.'),
          network_domain: Words('DNS suffix of the machines.'),
          network_offering_id: OptionalId,
          change_cidr: Flag('Let the new offering change the address range.'),
          guest_vm_cidr: Type.Optional(
            Type.String({
              minLength: 9,
              maxLength: 18,
              description: 'Part of the range that machines get addresses from.',
            }),
          ),
          public_mtu: Mtu('MTU of the router towards the outside.'),
          private_mtu: Mtu('MTU of the router towards the machines.'),
          dns1: OptionalAddress,
          dns2: OptionalAddress,
          source_nat_ip: OptionalAddress,
          display_network: Flag('Whether tenants see it.'),
          forced: Flag('Go on although services are lost.'),
        },
        { title: 'GuestNetworkUpdate' },
      ),
      ok: { 200: NetworkOrAccepted },
      example: { body: { id, display_text: 'Servers of acme' }, answer: accepted },
    },
    guestNetworkRestart: {
      ...change,
      method: 'POST',
      path: '/network/guest-networks/{id}/restart',
      summary: 'Restart guest network',
      description:
        'Rebuilds the network’s rules. With `cleanup` its router is recreated and traffic stops meanwhile. The id of the path counts; a different one in the body is refused.',
      params: Closed({ id: Id }),
      body: Closed(
        {
          id: OptionalId,
          cleanup: Flag('Recreate the router.'),
          make_redundant: Flag('Give it two routers from now on.'),
          live_patch: Flag('Update the router’s software while it runs.'),
        },
        { title: 'GuestNetworkRestart' },
      ),
      body_optional: true,
      ok: { 200: NetworkOrAccepted },
      example: {
        params: { id },
        body: { cleanup: false },
        answer: { ...accepted, message: 'Restarting guest network acme-net.' },
      },
    },
  },
})
