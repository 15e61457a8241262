// Where every field of NodeNet comes from: held to the schema and to the collectors by a test, printed in the reference.
import type { FieldSource } from '../field-source.ts'

const LINKS = 'ip -j -d -s -s addr show'
const NO_NIC = 'the node has no physical NIC'

export const sources: FieldSource[] = [
  { field: 'hostname', source: '/proc/sys/kernel/hostname', unavailable_when: 'the file cannot be read' },
  {
    field: 'fqdn',
    source: 'node record, else the name of node_ip in /etc/hosts',
    unavailable_when: 'neither names the node',
  },
  {
    field: 'node_ip',
    source: 'node record, else address of the management bridge, else prefsrc of ip -j route get <gateway>',
    unavailable_when: 'none of the three gives an address',
  },
  { field: 'node_role', source: 'node record', unavailable_when: 'the record gives no role' },
  { field: 'collected_at', source: 'wall clock of the node' },
  {
    field: 'default_gateway',
    source: 'ip -j route show default: lowest metric; IPv6 when IPv4 has none',
    unavailable_when: 'there is no default route, or it has no next hop',
  },
  {
    field: 'default_gateway_dev',
    source: 'ip -j route show default: lowest metric; IPv6 when IPv4 has none',
    unavailable_when: 'there is no default route',
  },
  { field: 'physical_nic_count', source: `${LINKS}: devices with hardware behind them, and configured uplinks` },
  { field: 'links_up', source: `${LINKS}: physical NICs with operstate UP` },
  { field: 'links_down', source: `${LINKS}: physical NICs with flag UP without LOWER_UP` },
  { field: 'bridge_count', source: `${LINKS}: kind bridge` },
  {
    field: 'active_vlan_ids',
    source: `${LINKS}: kind vlan with flag UP; bridge -j vlan show for VLAN-aware bridges`,
    unavailable_when: 'a VLAN-aware bridge is there and bridge cannot be run',
  },
  { field: 'active_vlan_count', source: 'length of active_vlan_ids', unavailable_when: 'active_vlan_ids is null' },
  {
    field: 'active_vxlan_vnis',
    source: `${LINKS}: kind vxlan with flag UP; bridge -j vni show for devices without a VNI of their own`,
    unavailable_when: 'a device without a VNI of its own is there and bridge cannot be run',
  },
  { field: 'active_vxlan_count', source: 'length of active_vxlan_vnis', unavailable_when: 'active_vxlan_vnis is null' },
  { field: 'vxlan_count', source: `${LINKS}: kind vxlan` },
  {
    field: 'fastest_nic',
    source: '/sys/class/net/<nic>/speed of physical NICs that are up',
    unavailable_when: 'no such NIC tells its speed',
  },
  {
    field: 'fastest_nic_speed_mbps',
    source: '/sys/class/net/<nic>/speed',
    unavailable_when: 'no NIC that is up tells its speed',
  },
  { field: 'highest_mtu', source: `${LINKS}: mtu`, unavailable_when: 'there is no device but the loopback' },
  { field: 'highest_mtu_owner', source: `${LINKS}: mtu`, unavailable_when: 'there is no device but the loopback' },
  { field: 'highest_mtu_type', source: `${LINKS}: info_kind`, unavailable_when: 'there is no device but the loopback' },
  { field: 'state_breakdown', source: `${LINKS}: operstate` },
  { field: 'total_packet_errors', source: `${LINKS}: rx.errors + tx.errors of physical NICs` },
  { field: 'total_packet_drops', source: `${LINKS}: rx.dropped + tx.dropped + rx.missed_errors of physical NICs` },
  { field: 'total_nic_errors', source: `${LINKS}: rx.errors + tx.errors + tx.collisions of physical NICs` },
  { field: 'highest_error_nic', source: `${LINKS}: the same by NIC`, unavailable_when: 'no physical NIC has errors' },
  { field: 'highest_error_nic_errors', source: `${LINKS}: the same by NIC`, unavailable_when: NO_NIC },
  {
    field: 'highest_error_nic_breakdown',
    source: `${LINKS}: its counters that are not zero`,
    unavailable_when: 'no physical NIC has errors',
  },
  { field: 'total_bridge_errors', source: `${LINKS}: rx.errors + tx.errors + tx.collisions of bridges` },
  { field: 'highest_error_bridge', source: `${LINKS}: the same by bridge`, unavailable_when: 'no bridge has errors' },
  {
    field: 'highest_error_bridge_errors',
    source: `${LINKS}: the same by bridge`,
    unavailable_when: 'there is no bridge',
  },
  {
    field: 'top_talker_nic',
    source: `${LINKS}: rx.bytes + tx.bytes`,
    unavailable_when: 'no physical NIC carried anything',
  },
  { field: 'top_talker_bytes', source: `${LINKS}: rx.bytes + tx.bytes`, unavailable_when: NO_NIC },
  {
    field: 'top_talker_speed_mbps',
    source: '/sys/class/net/<nic>/speed',
    unavailable_when: 'there is no top talker, or it does not tell its speed',
  },
  {
    field: 'top_talker_bridge',
    source: `${LINKS}: rx.bytes + tx.bytes`,
    unavailable_when: 'no bridge carried anything',
  },
  { field: 'top_talker_bridge_bytes', source: `${LINKS}: rx.bytes + tx.bytes`, unavailable_when: 'there is no bridge' },
  { field: 'total_traffic_bytes', source: `${LINKS}: rx.bytes + tx.bytes of physical NICs` },
  {
    field: 'tcp_retrans_segs',
    source: '/proc/net/snmp: Tcp RetransSegs',
    unavailable_when: 'the kernel does not count it',
  },
  {
    field: 'congestion_control',
    source: '/proc/sys/net/ipv4/tcp_congestion_control',
    unavailable_when: 'the file cannot be read',
  },
  {
    field: 'available_congestion_control',
    source: '/proc/sys/net/ipv4/tcp_available_congestion_control',
    unavailable_when: 'the file cannot be read',
  },
  {
    field: 'ntp_synced',
    source: 'chronyc -c -n tracking: leap status and stratum; else timedatectl NTPSynchronized',
    unavailable_when: 'no time daemon answers',
  },
  {
    field: 'ntp_offset_ms',
    source: 'chronyc -c -n tracking: -1000 * column 5',
    unavailable_when: 'not synchronised, no daemon, or a daemon that does not tell the offset',
  },
  {
    field: 'ntp_source',
    source: 'chronyc -c -n tracking: column 2; else timedatectl show-timesync ServerName',
    unavailable_when: 'not synchronised, or no daemon',
  },
  {
    field: 'offloads',
    source: 'ethtool --json -k <nic>, counted over physical NICs',
    unavailable_when: 'ethtool is not installed, or no physical NIC tells its features',
  },
  {
    field: 'kernel_net',
    source: '/proc/net/softnet_stat, /proc/net/netstat, /proc/sys/net/core, /proc/sys/net/netfilter',
    unavailable_when: 'never as a whole; its fields are null where the kernel does not show them',
  },
  {
    field: 'sockets',
    source: '/proc/net/sockstat, /proc/net/sockstat6',
    unavailable_when: 'never as a whole; its fields are null where the kernel does not count them',
  },
  { field: 'main_bridges', source: `${LINKS}: bridges with a role or an uplink; ethtool --json -k for offloads` },
  { field: 'mtu_mismatches', source: `${LINKS}: mtu against bridge, bond, parent and underlay` },
  { field: 'nics', source: `${LINKS}, /sys/class/net/<nic>/speed and device/driver, ethtool --json -k` },
  { field: 'queue_disciplines', source: 'tc -j qdisc show: root entries', unavailable_when: 'tc cannot be run' },
  { field: 'ring_buffers', source: 'ethtool -g <nic>', unavailable_when: 'ethtool is not installed' },
  { field: 'unavailable', source: 'written by the collectors for every field that is null' },
]
