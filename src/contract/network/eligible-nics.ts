// NICs that a guest network can be put on (Part 3, 4.6), with everything an operator needs to see why one cannot.
import { type Static, Type } from 'typebox'
import { Closed, KeysetFields, KnownText, Nullable, OneOf, Unavailable } from '../common.ts'
import { defineArea } from '../route.ts'

const number = (description: string) => Nullable(Type.Integer({ minimum: 0, description }))
const text = (description: string) => Nullable(Type.String({ description }))
const ours = { 'x-extension': true }

/** Why a NIC is or is not eligible, in the order in which they are looked for. */
export const NIC_CODES = [
  'ADMIN_DOWN',
  'NO_CARRIER',
  'ENSLAVED_BOND',
  'ENSLAVED_BRIDGE',
  'MANAGEMENT',
  'UNDERLAY',
  'HAS_ADDRESS',
  'HAS_VLANS',
  'OK',
] as const
export type NicCode = (typeof NIC_CODES)[number]

export const NicHardware = Type.Object(
  {
    bus_info: text('Address of the device on its bus.'),
    device_type: KnownText(
      ['physical', 'virtual', 'bridge', 'vlan', 'bond', 'vxlan', 'tun'],
      'What stands behind the device.',
    ),
    driver: text('Kernel driver.'),
    driver_version: text('Version the driver reports; drivers of the kernel report its release.'),
    firmware_version: text('Version of the firmware on the device.'),
    mac_vendor: text('Maker by hardware address.'),
    modalias: text('Text by which the kernel finds the driver.'),
    pci_vendor: text('Maker by PCI id: name, or the id when no name is known.'),
    pci_device: text('Model by PCI id: name, or the id when no name is known.'),
    pci_subsystem: text('PCI ids of the subsystem, vendor:device.'),
    is_sriov_pf: Type.Boolean({ description: 'The device can offer virtual functions.' }),
    is_sriov_vf: Type.Boolean({ description: 'The device is a virtual function.' }),
  },
  { title: 'NicHardware' },
)
export type NicHardware = Static<typeof NicHardware>

export const Nic = Type.Object(
  {
    name: Type.String(),
    type: OneOf(['physical', 'bond']),
    status: KnownText(['eligible', 'in-use', 'reserved', 'down'], 'Eligibility for a guest network.'),
    code: KnownText(NIC_CODES, 'Machine reason of the status.'),
    reason: Type.String({ description: 'The same as a sentence.' }),
    ownership: OneOf(['system', 'user', 'available', 'quarantine'], {
      description:
        'system: carries management, underlay or storage. user: member of a guest bridge. quarantine: flaps or makes errors.',
    }),
    traffic_role: OneOf(['public', 'guest', 'management', ''], {
      description: 'Role of its traffic; empty when none.',
    }),
    sdwan_type: Type.String({ description: 'Value given in the node record; empty when none is given.' }),
    admin_state: OneOf(['up', 'down']),
    oper_state: KnownText(
      ['up', 'down', 'unknown', 'lowerlayerdown', 'dormant', 'testing', 'notpresent'],
      'Operational state as the kernel has it.',
    ),
    overall_state: KnownText(['up', 'down', 'no-carrier'], 'Both states and the carrier in one word.'),
    carrier: Type.Boolean({ description: 'The link has a signal.' }),
    mac_address: text('Permanent hardware address.'),
    master: text('Bridge (of its own or of its bond) or bond that owns the device.'),
    used_by: Type.Array(Type.String(), {
      ...ours,
      description: 'Devices that stand on this one without owning it: VLANs.',
    }),
    allmulticast: Type.Boolean(),
    promiscuous: Type.Boolean(),
    flags: Type.Array(Type.String()),
    raw_flags: number('Flag word of the kernel.'),
    current_speed: Type.Integer({ minimum: -1, description: 'Mbit/s; -1 when unknown.' }),
    max_speed: Type.Integer({ minimum: -1, description: 'Fastest link mode in Mbit/s; -1 when unknown.' }),
    mtu: Type.Integer({ minimum: 0, description: 'MTU in bytes.' }),
    tx_queue_len: number('Packets that the transmit queue holds.'),
    ring_rx_current: number('Receive descriptors in use.'),
    ring_rx_max: number('Most receive descriptors.'),
    ring_tx_current: number('Transmit descriptors in use.'),
    ring_tx_max: number('Most transmit descriptors.'),
    last_state_change_secs: number('Seconds since the carrier last changed.'),
    state_change_seen: Type.Boolean({
      ...ours,
      description: 'The change was seen; otherwise last_state_change_secs is the least it can be.',
    }),
    ip_addresses: Type.Array(Type.String(), { description: 'With prefix length, without link-local IPv6.' }),
    offloads: Nullable(
      Type.Record(Type.String(), Type.Boolean(), { description: 'Feature of the driver to whether it is active.' }),
    ),
    throughput_rx_mbps: Nullable(Type.Number({ minimum: 0, description: 'Received Mbit/s over the last minute.' })),
    throughput_tx_mbps: Nullable(Type.Number({ minimum: 0, description: 'Sent Mbit/s over the last minute.' })),
    hardware: NicHardware,
    unavailable: Type.Array(Unavailable, { ...ours, description: 'Why fields of this NIC are null.' }),
  },
  { title: 'Nic', description: 'Physical NIC or bond of a node.' },
)
export type Nic = Static<typeof Nic>

export const EligibleNicNode = Type.Object(
  {
    fqdn: text('Full name of the node.'),
    node_ip: text('Management address of the node.'),
    error: text('Why the node gave no NICs.'),
    nic_count: number('Length of interfaces.'),
    interfaces: Type.Array(Nic),
  },
  { title: 'EligibleNicNode' },
)
export type EligibleNicNode = Static<typeof EligibleNicNode>

const EligibleNicRequest = Closed(
  {
    ...KeysetFields,
    include_all: Type.Optional(
      Type.Boolean({
        ...ours,
        default: false,
        description: 'Also NICs that cannot be used, each with the reason.',
      }),
    ),
  },
  { title: 'EligibleNicRequest' },
)

export const eligibleNics = defineArea({
  name: 'guest-network-nics',
  description: 'NICs of all nodes that a guest network can be put on.',
  routes: {
    eligibleNicsList: {
      method: 'POST',
      path: '/network/guest-networks/eligible-nics',
      summary: 'List NICs that guest network can use',
      description:
        'Physical NICs and bonds of all configured nodes that are switched on, have a link and are not enslaved to a bond.',
      access: 'viewer',
      effect: 'read',
      body: EligibleNicRequest,
      body_optional: true,
      ok: {
        200: Type.Object(
          {
            count: Type.Integer({ minimum: 0, description: 'Configured nodes in all.' }),
            has_more: Type.Boolean({ description: 'Another page follows.' }),
            next_id: Type.Integer({
              minimum: 0,
              description: 'Pass as after_id for the next page; 0 when there is none.',
            }),
            page_size: Type.Integer({ minimum: 1 }),
            nodes: Type.Array(EligibleNicNode),
          },
          { title: 'EligibleNicPage' },
        ),
      },
      errors: [400, 500],
      example: {
        body: { after_id: 0, page_size: 50 },
        answer: {
          count: 1,
          has_more: false,
          next_id: 0,
          page_size: 50,
          nodes: [
            {
              fqdn: 'kvm-03.example.internal',
              node_ip: '10.0.0.13',
              error: 'The node did not answer in time.',
              nic_count: null,
              interfaces: [],
            },
          ],
        },
      },
    },
  },
})
