// The network picture of one node (Part 3, 4.7: NodeNet) and the records inside it.
import { type Static, Type } from 'typebox'
import { Nullable, OneOf, Unavailable } from '../common.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })
const known = (description: string) => Nullable(Type.Integer({ minimum: 0, description }))
const text = (description: string) => Nullable(Type.String({ description }))
const ours = { 'x-extension': true }

/** The offloads that matter for throughput, under the names that people know. */
export const OFFLOADS = [
  'tso',
  'gso',
  'gro',
  'lro',
  'rx_checksumming',
  'tx_checksumming',
  'rx_vlan',
  'tx_vlan',
  'scatter_gather',
] as const

export const NicOffloads = Type.Record(Type.String(), Type.Boolean(), {
  description: 'Offload name to whether it is active.',
})
export type NicOffloads = Static<typeof NicOffloads>

export const InterfaceErrors = Type.Object(
  {
    total: count('Receive errors + transmit errors + collisions since the device was made.'),
    details: Type.Array(
      Type.Object({
        counter: Type.String({ description: 'Kernel counter with its direction, for example rx_crc.' }),
        count: count('Value of the counter since the device was made.'),
        reason: Type.String({ description: 'What usually makes this counter grow.' }),
      }),
      { description: 'One row for each counter that is not zero.' },
    ),
  },
  { title: 'InterfaceErrors' },
)
export type InterfaceErrors = Static<typeof InterfaceErrors>

export const MainBridge = Type.Object(
  {
    name: Type.String(),
    state: OneOf(['up', 'down']),
    mtu: count('MTU in bytes.'),
    member_count: count('Devices enslaved to the bridge.'),
    members: Type.Array(Type.String()),
    ips: Type.Array(Type.String(), { description: 'Addresses with prefix length, without link-local IPv6.' }),
    active_vxlans: count('VXLAN devices that are up and belong to the bridge or run over it.'),
    offloads: Nullable(NicOffloads),
    errors: InterfaceErrors,
    role: Nullable(
      OneOf(['management', 'public', 'guest', 'storage'], { ...ours, description: 'Role of the bridge on this node.' }),
    ),
  },
  { title: 'MainBridge' },
)
export type MainBridge = Static<typeof MainBridge>

export const MtuMismatch = Type.Object(
  {
    interface: Type.String({ description: 'Device whose MTU does not fit.' }),
    peer_device: Type.String({ description: 'Bridge, bond, parent or underlay it is compared with.' }),
    type: OneOf(['bridge_member', 'bond_slave', 'vlan_parent', 'vxlan_underlay']),
    actual: count('MTU of the device in bytes.'),
    expected: count('MTU in bytes that the other device asks for.'),
    description: Type.String({ description: 'One sentence for people.' }),
    severity: OneOf(['critical', 'warning', 'info'], {
      ...ours,
      description: 'critical: frames vanish. warning: fragments or loss under load. info: harmless.',
    }),
  },
  { title: 'MtuMismatch' },
)
export type MtuMismatch = Static<typeof MtuMismatch>

export const MonitoredNic = Type.Object(
  {
    name: Type.String(),
    state: OneOf(['up', 'down']),
    driver: text('Kernel driver, or the kind of a device made by software.'),
    is_virtual: Type.Boolean({ description: 'No hardware stands behind the device.' }),
    mtu: count('MTU in bytes.'),
    speed: Type.Integer({ minimum: -1, description: 'Mbit/s; -1 when the device does not say.' }),
    offloads: Nullable(NicOffloads),
    errors: InterfaceErrors,
  },
  { title: 'MonitoredNic' },
)
export type MonitoredNic = Static<typeof MonitoredNic>

export const QueueDiscipline = Type.Object(
  {
    device: Type.String(),
    device_class: OneOf(['bridge', 'virtual', 'nic']),
    profile: OneOf(['aqm', 'multiqueue', 'control-priority', 'shaped', 'none', 'unmanaged']),
    root_qdisc: Type.String({ description: 'Kind of the root queue discipline.' }),
  },
  { title: 'QueueDiscipline' },
)
export type QueueDiscipline = Static<typeof QueueDiscipline>

export const RingBuffer = Type.Object(
  {
    nic_name: Type.String(),
    rx_current: known('Receive descriptors in use.'),
    rx_max: known('Most receive descriptors that the driver allows.'),
    tx_current: known('Transmit descriptors in use.'),
    tx_max: known('Most transmit descriptors that the driver allows.'),
  },
  { title: 'RingBuffer' },
)
export type RingBuffer = Static<typeof RingBuffer>

export const KernelNet = Type.Object(
  {
    softnet_dropped: known('Packets dropped because the backlog was full, all processors, since boot.'),
    softnet_time_squeeze: known('Times the receive loop ran out of budget, all processors, since boot.'),
    listen_overflows: known('Connections dropped because an accept queue was full.'),
    listen_drops: known('Connection requests dropped for any reason.'),
    tcp_timeouts: known('TCP retransmission timeouts.'),
    somaxconn: known('Longest accept queue.'),
    netdev_max_backlog: known('Packets a processor may queue for the stack.'),
    rmem_max: known('Largest receive buffer of a socket in bytes.'),
    wmem_max: known('Largest send buffer of a socket in bytes.'),
    default_qdisc: text('Queue discipline of new devices.'),
    conntrack_count: known('Connections tracked now.'),
    conntrack_max: known('Most connections that can be tracked.'),
  },
  { title: 'KernelNet' },
)
export type KernelNet = Static<typeof KernelNet>

export const SocketCounts = Type.Object(
  {
    used: known('Sockets in use, all families.'),
    tcp_inuse: known('TCP sockets in use over IPv4.'),
    tcp_orphan: known('TCP sockets without an owner.'),
    tcp_tw: known('TCP sockets in time-wait.'),
    tcp_alloc: known('TCP sockets allocated, whole machine.'),
    tcp_mem_pages: known('Memory of TCP buffers in pages, whole machine.'),
    udp_inuse: known('UDP sockets in use over IPv4.'),
    udp_mem_pages: known('Memory of UDP buffers in pages, whole machine.'),
    raw_inuse: known('Raw sockets in use over IPv4.'),
    frag_inuse: known('IPv4 reassembly queues in use.'),
    frag_memory_bytes: known('Memory of IPv4 reassembly in bytes.'),
    tcp6_inuse: known('TCP sockets in use over IPv6.'),
    udp6_inuse: known('UDP sockets in use over IPv6.'),
    raw6_inuse: known('Raw sockets in use over IPv6.'),
    frag6_inuse: known('IPv6 reassembly queues in use.'),
    frag6_memory_bytes: known('Memory of IPv6 reassembly in bytes.'),
  },
  { title: 'SocketCounts' },
)
export type SocketCounts = Static<typeof SocketCounts>

const identity = {
  hostname: text('Name the kernel knows.'),
  fqdn: text('Full name of the node.'),
  node_ip: text('Management address of the node.'),
  node_role: Nullable(OneOf(['management', 'kvm_host'])),
  collected_at: Type.Integer({ description: 'Unix milliseconds at which the picture was taken.' }),
  default_gateway: text('Next hop of the default route with the lowest metric.'),
  default_gateway_dev: text('Device of that default route.'),
}

const inventory = {
  physical_nic_count: count('Physical NICs, configured uplinks included.'),
  links_up: count('Physical NICs whose oper_state is up.'),
  links_down: Type.Integer({
    ...ours,
    minimum: 0,
    description: 'Physical NICs that are switched on but have no carrier.',
  }),
  bridge_count: count('Bridges.'),
  active_vlan_ids: Nullable(Type.Array(Type.Integer(), { description: 'VLAN ids in use, ascending.' })),
  active_vlan_count: known('Length of active_vlan_ids.'),
  active_vxlan_vnis: Nullable(
    Type.Array(Type.Integer(), { description: 'VXLAN network identifiers in use, ascending.' }),
  ),
  active_vxlan_count: known('Length of active_vxlan_vnis.'),
  vxlan_count: Type.Integer({ ...ours, minimum: 0, description: 'VXLAN devices, up or down.' }),
  fastest_nic: text('Fastest physical NIC that is up.'),
  fastest_nic_speed_mbps: known('Its speed in Mbit/s.'),
  highest_mtu: known('Largest MTU in bytes of any device but the loopback.'),
  highest_mtu_owner: text('Device that has it.'),
  highest_mtu_type: Nullable(OneOf(['bridge', 'vxlan', 'interface'])),
  state_breakdown: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
    description: 'Operational state to number of devices, loopback left out.',
  }),
}

const counters = {
  total_packet_errors: count('Receive and transmit errors of the physical NICs.'),
  total_packet_drops: count('Packets dropped or missed by the physical NICs.'),
  total_nic_errors: count('Errors and collisions of the physical NICs.'),
  highest_error_nic: text('Physical NIC with the most errors.'),
  highest_error_nic_errors: known('Its errors and collisions.'),
  highest_error_nic_breakdown: Nullable(
    Type.Record(Type.String(), Type.Integer({ minimum: 0 }), { description: 'Its counters that are not zero.' }),
  ),
  total_bridge_errors: count('Errors and collisions of the bridges.'),
  highest_error_bridge: text('Bridge with the most errors.'),
  highest_error_bridge_errors: known('Its errors and collisions.'),
  top_talker_nic: text('Physical NIC that carried the most bytes.'),
  top_talker_bytes: known('Bytes it received and sent.'),
  top_talker_speed_mbps: known('Its speed in Mbit/s.'),
  top_talker_bridge: text('Bridge that carried the most bytes.'),
  top_talker_bridge_bytes: known('Bytes it received and sent.'),
  total_traffic_bytes: Type.Integer({
    ...ours,
    minimum: 0,
    description: 'Bytes that all physical NICs received and sent.',
  }),
  tcp_retrans_segs: known('TCP segments sent again since boot.'),
}

const kernel = {
  congestion_control: text('TCP congestion control in use.'),
  available_congestion_control: Nullable(Type.Array(Type.String())),
  ntp_synced: Nullable(Type.Boolean({ description: 'The clock follows a time source.' })),
  ntp_offset_ms: Nullable(Type.Number({ description: 'Milliseconds the local clock is ahead (negative: behind).' })),
  ntp_source: text('Time source that is followed.'),
  offloads: Nullable(
    Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description: 'Offload name to the number of physical NICs on which it is active.',
    }),
  ),
  kernel_net: KernelNet,
  sockets: SocketCounts,
}

const lists = {
  main_bridges: Type.Array(MainBridge, { description: 'Bridges with a role or with an uplink among their members.' }),
  mtu_mismatches: Type.Array(MtuMismatch),
  nics: Type.Array(MonitoredNic, { description: 'Physical NICs and bonds.' }),
  queue_disciplines: Nullable(Type.Array(QueueDiscipline)),
  ring_buffers: Nullable(Type.Array(RingBuffer)),
  unavailable: Type.Array(Unavailable, { ...ours, description: 'Why fields of this answer are null.' }),
}

export const NodeNet = Type.Object(
  { ...identity, ...inventory, ...counters, ...kernel, ...lists },
  { title: 'NodeNet', description: 'Network picture of one node.' },
)
export type NodeNet = Static<typeof NodeNet>
