// The network snapshot of one node (Part 3, 4.7: NodeNet) and the records inside it.
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
  {
    title: 'KernelNet',
    description:
      'Counters and limits of the kernel. Source: /proc/net/softnet_stat, /proc/net/netstat, /proc/sys/net/core, /proc/sys/net/netfilter.',
  },
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
  { title: 'SocketCounts', description: 'Open sockets. Source: /proc/net/sockstat, /proc/net/sockstat6.' },
)
export type SocketCounts = Static<typeof SocketCounts>

const identity = {
  hostname: text('Name the kernel knows. Source: /proc/sys/kernel/hostname.'),
  fqdn: text('Full name of the node. Source: node record, else the name of node_ip in /etc/hosts.'),
  node_ip: text(
    'Management address of the node. Source: node record, else address of the management bridge, else prefsrc of ip -j route get <gateway>.',
  ),
  node_role: Nullable(
    OneOf(['management', 'kvm_host'], { description: 'Role of the node. Source: configuration of the node.' }),
  ),
  collected_at: Type.Integer({
    description: 'Unix milliseconds at which the snapshot was taken. Source: wall clock of the node.',
  }),
  default_gateway: text(
    'Next hop of the default route with the lowest metric. Source: ip -j route show default: lowest metric; IPv6 when IPv4 has none.',
  ),
  default_gateway_dev: text(
    'Device of that default route. Source: ip -j route show default: lowest metric; IPv6 when IPv4 has none.',
  ),
}

const inventory = {
  physical_nic_count: count(
    'Physical NICs, configured uplinks included. Source: ip -j -d -s -s addr show: devices with hardware behind them, and configured uplinks.',
  ),
  links_up: count(
    'Physical NICs whose oper_state is up. Source: ip -j -d -s -s addr show: physical NICs with operstate UP.',
  ),
  links_down: Type.Integer({
    ...ours,
    minimum: 0,
    description:
      'Physical NICs that are switched on but have no carrier. Source: ip -j -d -s -s addr show: physical NICs with flag UP without LOWER_UP.',
  }),
  bridge_count: count('Bridges. Source: ip -j -d -s -s addr show: kind bridge.'),
  active_vlan_ids: Nullable(
    Type.Array(Type.Integer(), {
      description:
        'VLAN ids in use, ascending. Source: ip -j -d -s -s addr show: kind vlan with flag UP; bridge -j vlan show for VLAN-aware bridges.',
    }),
  ),
  active_vlan_count: known('Length of active_vlan_ids. Source: length of active_vlan_ids.'),
  active_vxlan_vnis: Nullable(
    Type.Array(Type.Integer(), {
      description:
        'VXLAN network identifiers in use, ascending. Source: ip -j -d -s -s addr show: kind vxlan with flag UP; bridge -j vni show for devices without a VNI of their own.',
    }),
  ),
  active_vxlan_count: known('Length of active_vxlan_vnis. Source: length of active_vxlan_vnis.'),
  vxlan_count: Type.Integer({
    ...ours,
    minimum: 0,
    description: 'VXLAN devices, up or down. Source: ip -j -d -s -s addr show: kind vxlan.',
  }),
  fastest_nic: text(
    'Fastest physical NIC that is up. Source: /sys/class/net/<nic>/speed of physical NICs that are up.',
  ),
  fastest_nic_speed_mbps: known('Its speed in Mbit/s. Source: /sys/class/net/<nic>/speed.'),
  highest_mtu: known('Largest MTU in bytes of any device but the loopback. Source: ip -j -d -s -s addr show: mtu.'),
  highest_mtu_owner: text('Device that has it. Source: ip -j -d -s -s addr show: mtu.'),
  highest_mtu_type: Nullable(
    OneOf(['bridge', 'vxlan', 'interface'], {
      description: 'Kind of that device. Source: ip -j -d -s -s addr show: info_kind.',
    }),
  ),
  state_breakdown: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
    description:
      'Operational state to number of devices, loopback left out. Source: ip -j -d -s -s addr show: operstate.',
  }),
}

const counters = {
  total_packet_errors: count(
    'Receive and transmit errors of the physical NICs. Source: ip -j -d -s -s addr show: rx.errors + tx.errors of physical NICs.',
  ),
  total_packet_drops: count(
    'Packets dropped or missed by the physical NICs. Source: ip -j -d -s -s addr show: rx.dropped + tx.dropped + rx.missed_errors of physical NICs.',
  ),
  total_nic_errors: count(
    'Errors and collisions of the physical NICs. Source: ip -j -d -s -s addr show: rx.errors + tx.errors + tx.collisions of physical NICs.',
  ),
  highest_error_nic: text('Physical NIC with the most errors. Source: ip -j -d -s -s addr show: the same by NIC.'),
  highest_error_nic_errors: known('Its errors and collisions. Source: ip -j -d -s -s addr show: the same by NIC.'),
  highest_error_nic_breakdown: Nullable(
    Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description: 'Its counters that are not zero. Source: ip -j -d -s -s addr show: its counters that are not zero.',
    }),
  ),
  total_bridge_errors: count(
    'Errors and collisions of the bridges. Source: ip -j -d -s -s addr show: rx.errors + tx.errors + tx.collisions of bridges.',
  ),
  highest_error_bridge: text('Bridge with the most errors. Source: ip -j -d -s -s addr show: the same by bridge.'),
  highest_error_bridge_errors: known(
    'Its errors and collisions. Source: ip -j -d -s -s addr show: the same by bridge.',
  ),
  top_talker_nic: text(
    'Physical NIC that carried the most bytes. Source: ip -j -d -s -s addr show: rx.bytes + tx.bytes.',
  ),
  top_talker_bytes: known('Bytes it received and sent. Source: ip -j -d -s -s addr show: rx.bytes + tx.bytes.'),
  top_talker_speed_mbps: known('Its speed in Mbit/s. Source: /sys/class/net/<nic>/speed.'),
  top_talker_bridge: text('Bridge that carried the most bytes. Source: ip -j -d -s -s addr show: rx.bytes + tx.bytes.'),
  top_talker_bridge_bytes: known('Bytes it received and sent. Source: ip -j -d -s -s addr show: rx.bytes + tx.bytes.'),
  total_traffic_bytes: Type.Integer({
    ...ours,
    minimum: 0,
    description:
      'Bytes that all physical NICs received and sent. Source: ip -j -d -s -s addr show: rx.bytes + tx.bytes of physical NICs.',
  }),
  tcp_retrans_segs: known('TCP segments sent again since boot. Source: /proc/net/snmp: Tcp RetransSegs.'),
}

const kernel = {
  congestion_control: text('TCP congestion control in use. Source: /proc/sys/net/ipv4/tcp_congestion_control.'),
  available_congestion_control: Nullable(
    Type.Array(Type.String(), {
      description: 'What could be used. Source: /proc/sys/net/ipv4/tcp_available_congestion_control.',
    }),
  ),
  ntp_synced: Nullable(
    Type.Boolean({
      description:
        'The clock follows a time source. Source: chronyc -c -n tracking: leap status and stratum; else timedatectl NTPSynchronized.',
    }),
  ),
  ntp_offset_ms: Nullable(
    Type.Number({
      description:
        'Milliseconds the local clock is ahead (negative: behind). Source: chronyc -c -n tracking: -1000 * column 5.',
    }),
  ),
  ntp_source: text(
    'Time source that is followed. Source: chronyc -c -n tracking: column 2; else timedatectl show-timesync ServerName.',
  ),
  offloads: Nullable(
    Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description:
        'Offload name to the number of physical NICs on which it is active. Source: ethtool --json -k <nic>, counted over physical NICs.',
    }),
  ),
  kernel_net: KernelNet,
  sockets: SocketCounts,
}

const lists = {
  main_bridges: Type.Array(MainBridge, {
    description:
      'Bridges with a role or with an uplink among their members. Source: ip -j -d -s -s addr show: bridges with a role or an uplink; ethtool --json -k for offloads.',
  }),
  mtu_mismatches: Type.Array(MtuMismatch, {
    description:
      'Devices that do not fit. Source: ip -j -d -s -s addr show: mtu against bridge, bond, parent and underlay.',
  }),
  nics: Type.Array(MonitoredNic, {
    description:
      'Physical NICs and bonds. Source: ip -j -d -s -s addr show, /sys/class/net/<nic>/speed and device/driver, ethtool --json -k.',
  }),
  queue_disciplines: Nullable(
    Type.Array(QueueDiscipline, { description: 'Source: tc -j qdisc show: root entries. Null when tc cannot be run.' }),
  ),
  ring_buffers: Nullable(
    Type.Array(RingBuffer, { description: 'Source: ethtool -g <nic>. Null when ethtool is not installed.' }),
  ),
  unavailable: Type.Array(Unavailable, { ...ours, description: 'Why fields of this answer are null.' }),
}

export const NodeNet = Type.Object(
  { ...identity, ...inventory, ...counters, ...kernel, ...lists },
  { title: 'NodeNet', description: 'Network snapshot of one node.' },
)
export type NodeNet = Static<typeof NodeNet>
