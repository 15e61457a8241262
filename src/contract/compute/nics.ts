// Network interfaces of virtual machines and their addresses (Part 3, 4.1).
import { type Static, Type } from 'typebox'
import {
  ActionAccepted,
  Closed,
  Id,
  IpAddress,
  ListOf,
  Nullable,
  NullableText,
  OptionalId,
  PageFields,
} from '../common.ts'
import { defineArea } from '../route.ts'
import { VirtualMachine, vmExample } from './virtual-machine.ts'

const SecondaryIp = Type.Object({
  id: Type.String({ description: 'What removing it asks for.' }),
  ip_address: Type.String(),
})

export const NicRecord = Type.Object(
  {
    id: Type.String(),
    virtual_machine_id: Type.String(),
    network_id: NullableText(),
    network_name: NullableText(),
    ip_address: NullableText('Primary IPv4 address.'),
    ipv6_address: NullableText(),
    gateway: NullableText(),
    netmask: NullableText(),
    mac_address: NullableText(),
    is_default: Nullable(Type.Boolean({ description: 'Whether the default route leaves here.' })),
    device_id: Nullable(Type.Integer({ description: 'Slot in the machine.' })),
    type: NullableText('Isolated, Shared or L2.'),
    traffic_type: NullableText(),
    mtu: Nullable(Type.Integer({ description: 'Largest packet of the network.' })),
    vpc_id: NullableText(),
    secondary_ips: Type.Array(SecondaryIp),
  },
  { title: 'NicRecord' },
)
export type NicRecord = Static<typeof NicRecord>

export const NicSecondaryIp = Type.Object(
  {
    id: Type.String({ description: 'What removing it asks for.' }),
    ip_address: Type.String(),
    nic_id: Type.String(),
    network_id: NullableText(),
    virtual_machine_id: Type.String(),
  },
  { title: 'NicSecondaryIp' },
)
export type NicSecondaryIp = Static<typeof NicSecondaryIp>

const VmOrAccepted = Type.Union([ActionAccepted, VirtualMachine])

const vm_id = vmExample.id
const nic_id = '0c1b2a39-4857-4665-8473-829100000041'
const network_id = '5d4c3b2a-1908-4f7e-8d6c-5b4a39281706'
const job_id = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10'
const accepted = { job_id, correlation_id: job_id, status: 'IN_PROGRESS', resource_id: vm_id }
const nicExample: NicRecord = {
  id: nic_id, virtual_machine_id: vm_id, network_id, network_name: 'acme-web', ip_address: '10.1.1.41', ipv6_address: null,
  gateway: '10.1.1.1', netmask: '255.255.255.0', mac_address: '02:00:4c:9f:00:29', is_default: true, device_id: 0, type: 'Isolated',
  traffic_type: 'Guest', mtu: 1500, vpc_id: null, secondary_ips: [{ id: 'e5d4c3b2-a190-4f8e-8d7c-6b5a49382716', ip_address: '10.1.1.141' }],
} // biome-ignore format: one record

/** The NIC is looked for among the caller's machines when its machine is not named. */
const NicOf = {
  nic_id: Id,
  virtual_machine_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'Machine of the NIC; naming it spares a search.' }),
  ),
}

const change = {
  method: 'POST', access: 'operator', tenant: 'own', event: { resource_type: 'VM' }, errors: [400, 500],
} as const // biome-ignore format: one record

export const vmNics = defineArea({
  name: 'vm-nics',
  description: 'Network interfaces of virtual machines and their addresses.',
  routes: {
    vmNicAdd: {
      ...change,
      path: '/compute/vms/nic/add',
      summary: 'Add NIC to virtual machine',
      description:
        'The machine must be Running or Stopped, have no snapshots, and not be in the network already. Without an address the platform picks one.',
      body: Closed({
        virtual_machine_id: Id,
        network_id: Id,
        ip_address: Type.Optional(IpAddress),
        mac_address: Type.Optional(
          Type.String({ pattern: '^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$', description: 'Six pairs with colons.' }),
        ),
      }),
      ok: { 200: VmOrAccepted },
      example: {
        body: { virtual_machine_id: vm_id, network_id },
        answer: { ...accepted, message: 'Adding a NIC to virtual machine web-41.' },
      },
    },
    vmNicList: {
      method: 'POST',
      path: '/compute/vms/nic/list',
      summary: 'List NICs of virtual machine',
      description: '`keyword` looks for a part of an address, of the network’s name or of the MAC address.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      body: Closed({
        virtual_machine_id: Id,
        nic_id: OptionalId,
        network_id: OptionalId,
        keyword: Type.Optional(
          Type.String({ minLength: 1, maxLength: 255, description: 'Part of an address or name.' }),
        ),
        ...PageFields,
      }),
      ok: { 200: ListOf('nics', NicRecord, 'NicPage') },
      errors: [400, 500],
      example: {
        body: { virtual_machine_id: vm_id },
        answer: { nics: [nicExample], count: 1, page: 1, page_size: 50 },
      },
    },
    vmNicSetDefault: {
      ...change,
      path: '/compute/vms/nic/set-default',
      summary: 'Make NIC default',
      description: 'The machine must be Running or Stopped. A running guest must renew its lease.',
      body: Closed({ virtual_machine_id: Id, nic_id: Id }),
      ok: { 200: VmOrAccepted },
      example: {
        body: { virtual_machine_id: vm_id, nic_id },
        answer: { ...accepted, message: 'Changing the default NIC of virtual machine web-41.' },
      },
    },
    vmNicIpAdd: {
      ...change,
      path: '/compute/vms/nic/ip/add',
      summary: 'Add secondary address to NIC',
      description: 'Without an address the platform picks one of the network. The guest must configure it itself.',
      body: Closed({ ...NicOf, ip_address: Type.Optional(IpAddress) }),
      ok: { 200: Type.Union([ActionAccepted, NicSecondaryIp]) },
      example: {
        body: { nic_id },
        answer: { ...accepted, message: 'Adding an address to a NIC of virtual machine web-41.' },
      },
    },
    vmNicIpRemove: {
      ...change,
      path: '/compute/vms/nic/ip/remove',
      summary: 'Remove secondary address from NIC',
      description: 'Takes the id of the secondary address, not the address. One that forwards or NATs is refused.',
      body: Closed({
        secondary_ip_id: Id,
        virtual_machine_id: Type.Optional(
          Type.String({ minLength: 1, maxLength: 128, description: 'Machine of the NIC; naming it spares a search.' }),
        ),
      }),
      ok: { 200: ActionAccepted },
      example: {
        body: { secondary_ip_id: 'e5d4c3b2-a190-4f8e-8d7c-6b5a49382716' },
        answer: { ...accepted, message: 'Removing address 10.1.1.141 from virtual machine web-41.' },
      },
    },
    vmNicIpUpdate: {
      ...change,
      path: '/compute/vms/nic/ip/update',
      summary: 'Change primary address of NIC',
      description: 'The machine must be Stopped. Without an address the platform picks one.',
      body: Closed({ ...NicOf, ip_address: Type.Optional(IpAddress) }),
      ok: { 200: VmOrAccepted },
      example: {
        body: { nic_id, ip_address: '10.1.1.42' },
        answer: { ...accepted, message: 'Changing the address of a NIC of virtual machine web-41.' },
      },
    },
  },
})
