// The network snapshot of this node (Part 3, 4.7): computed from what was read, without touching the machine.
import type { NodeNet } from '#src/contract/network/node-net.ts'
import { mainBridges } from './bridges.ts'
import { kernelNet, protocolCounter, socketCounts } from './kernel-counters.ts'
import { dropTotal, errorBreakdown, errorTotal, largest } from './link-errors.ts'
import { hasCarrier, isAdminUp, type Link } from './links.ts'
import { mtuMismatches } from './mtu-mismatch.ts'
import { monitoredNics, offloadCounts, ringBuffers, speedOf } from './nic-rows.ts'
import type { NetworkSnapshot } from './snapshot.ts'
import { queueDisciplines } from './queue-disciplines.ts'
import { mapReading } from './reading.ts'
import { unavailableFields, type UnavailableFields } from '../unavailable.ts'

export function summarise(snapshot: NetworkSnapshot): NodeNet {
  const unavailable = unavailableFields()
  const { kernel } = snapshot
  const parts = {
    ...identity(snapshot, unavailable),
    ...inventory(snapshot, unavailable),
    ...counters(snapshot, unavailable),
    ...time(snapshot, unavailable),
    congestion_control: unavailable.orNull(
      'congestion_control',
      kernel.congestion?.trim() || null,
      'the kernel does not show this setting',
    ),
    available_congestion_control: unavailable.orNull(
      'available_congestion_control',
      kernel.available_congestion?.trim().split(/\s+/),
      'the kernel does not show this setting',
    ),
    offloads: offloadCounts(snapshot, unavailable),
    kernel_net: kernelNet(kernel, unavailable),
    sockets: socketCounts(kernel, unavailable),
    main_bridges: mainBridges(snapshot, unavailable),
    mtu_mismatches: mtuMismatches(snapshot.links, snapshot.physical),
    nics: monitoredNics(snapshot, unavailable),
    queue_disciplines: snapshot.qdiscs.ok
      ? queueDisciplines(snapshot.qdiscs.value, snapshot.links, snapshot.physical)
      : unavailable.none('queue_disciplines', snapshot.qdiscs.reason),
    ring_buffers: ringBuffers(snapshot, unavailable),
  }
  return { ...parts, unavailable: unavailable.list }
}

type Identity = Pick<
  NodeNet,
  'hostname' | 'fqdn' | 'node_ip' | 'node_role' | 'collected_at' | 'default_gateway' | 'default_gateway_dev'
>

function identity(snapshot: NetworkSnapshot, unavailable: UnavailableFields): Identity {
  const { config, default_route: route } = snapshot
  const node_ip = nodeAddress(snapshot)
  const fqdn = config.fqdn ?? (node_ip === null ? null : canonicalName(snapshot.hosts_file ?? '', node_ip))
  const noRoute = route.ok ? 'the default route names none' : route.reason
  return {
    hostname: unavailable.orNull('hostname', snapshot.hostname, 'the kernel does not show its name'),
    fqdn: unavailable.orNull('fqdn', fqdn, 'neither the node record nor /etc/hosts names the node'),
    node_ip: unavailable.orNull(
      'node_ip',
      node_ip,
      'no management bridge has an address and there is no default route',
    ),
    node_role: unavailable.orNull('node_role', config.node_role, 'the node record gives no role'),
    collected_at: snapshot.collected_at,
    default_gateway: unavailable.orNull('default_gateway', route.ok ? route.value.gateway : null, noRoute),
    default_gateway_dev: unavailable.orNull('default_gateway_dev', route.ok ? route.value.dev : null, noRoute),
  }
}

/** The node record, else the address of the management bridge, else the source address towards the gateway. */
export function nodeAddress(snapshot: Pick<NetworkSnapshot, 'config' | 'links' | 'source_address'>): string | null {
  if (snapshot.config.node_ip !== undefined) return snapshot.config.node_ip
  const managed = snapshot.links.filter((link) => snapshot.config.roles[link.ifname] === 'management')
  const addresses = managed.flatMap((link) => link.addresses).filter((address) => address.scope === 'global')
  const preferred = addresses.find((address) => address.family === 'inet') ?? addresses[0]
  return preferred?.local ?? snapshot.source_address
}

/** First name on the line of the address. A name without a dot is not a full name. */
export function canonicalName(hosts_file: string, address: string): string | null {
  for (const line of hosts_file.split('\n')) {
    const [ip, name] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (ip === address && name?.includes('.') === true) return name
  }
  return null
}

type Inventory = Pick<
  NodeNet,
  | 'physical_nic_count'
  | 'links_up'
  | 'links_down'
  | 'bridge_count'
  | 'active_vlan_ids'
  | 'active_vlan_count'
  | 'active_vxlan_vnis'
  | 'active_vxlan_count'
  | 'vxlan_count'
  | 'fastest_nic'
  | 'fastest_nic_speed_mbps'
  | 'highest_mtu'
  | 'highest_mtu_owner'
  | 'highest_mtu_type'
  | 'state_breakdown'
>

function inventory(snapshot: NetworkSnapshot, unavailable: UnavailableFields): Inventory {
  const { links, physical } = snapshot
  const nics = links.filter((link) => physical.has(link.ifname))
  const ofKind = (kind: string): Link[] => links.filter((link) => link.kind === kind)
  const idsOf = (kind: string): number[] =>
    ofKind(kind)
      .filter(isAdminUp)
      .flatMap((link) => link.info.id ?? [])
  const vlans = mapReading(snapshot.bridge_vlans, (ids) => ascending([...idsOf('vlan'), ...ids]))
  const vnis = mapReading(snapshot.device_vnis, (ids) => ascending([...idsOf('vxlan'), ...ids]))
  const lengthOf = (ids: number[]): number => ids.length
  const fastest = largest(
    nics.filter((link) => link.operstate === 'UP'),
    (link) => speedOf(snapshot, link),
  )
  const widest = largest(links, (link) => link.mtu)
  const breakdown: Record<string, number> = {}
  for (const { operstate } of links) breakdown[operstate.toLowerCase()] = (breakdown[operstate.toLowerCase()] ?? 0) + 1
  const noSpeed = 'no physical NIC that is up tells its speed'
  return {
    physical_nic_count: nics.length,
    links_up: nics.filter((link) => link.operstate === 'UP').length,
    links_down: nics.filter((link) => isAdminUp(link) && !hasCarrier(link)).length,
    bridge_count: ofKind('bridge').length,
    active_vlan_ids: unavailable.take('active_vlan_ids', vlans),
    active_vlan_count: unavailable.take('active_vlan_count', mapReading(vlans, lengthOf)),
    active_vxlan_vnis: unavailable.take('active_vxlan_vnis', vnis),
    active_vxlan_count: unavailable.take('active_vxlan_count', mapReading(vnis, lengthOf)),
    vxlan_count: ofKind('vxlan').length,
    fastest_nic: unavailable.orNull('fastest_nic', fastest?.link.ifname, noSpeed),
    fastest_nic_speed_mbps: unavailable.orNull('fastest_nic_speed_mbps', fastest?.value, noSpeed),
    highest_mtu: unavailable.orNull('highest_mtu', widest?.value, 'the node has no device but the loopback'),
    highest_mtu_owner: unavailable.orNull(
      'highest_mtu_owner',
      widest?.link.ifname,
      'the node has no device but the loopback',
    ),
    highest_mtu_type: unavailable.orNull(
      'highest_mtu_type',
      mtuOwnerType(widest?.link),
      'the node has no device but the loopback',
    ),
    state_breakdown: breakdown,
  }
}

type Counters = Pick<
  NodeNet,
  | 'total_packet_errors'
  | 'total_packet_drops'
  | 'total_nic_errors'
  | 'highest_error_nic'
  | 'highest_error_nic_errors'
  | 'highest_error_nic_breakdown'
  | 'total_bridge_errors'
  | 'highest_error_bridge'
  | 'highest_error_bridge_errors'
  | 'top_talker_nic'
  | 'top_talker_bytes'
  | 'top_talker_speed_mbps'
  | 'top_talker_bridge'
  | 'top_talker_bridge_bytes'
  | 'total_traffic_bytes'
  | 'tcp_retrans_segs'
>

function counters(snapshot: NetworkSnapshot, unavailable: UnavailableFields): Counters {
  const nics = snapshot.links.filter((link) => snapshot.physical.has(link.ifname))
  const bridges = snapshot.links.filter((link) => link.kind === 'bridge')
  const errors = (link: Link): number => errorTotal(link.counters)
  const bytes = (link: Link): number => link.counters.rx_bytes + link.counters.tx_bytes
  const sum = (some: readonly Link[], value: (link: Link) => number): number =>
    some.reduce((total, link) => total + value(link), 0)
  const worstNic = largest(nics, errors)
  const worstBridge = largest(bridges, errors)
  const talker = largest(nics, bytes)
  const talkingBridge = largest(bridges, bytes)
  const speed = talker === null ? -1 : speedOf(snapshot, talker.link)
  const noNicErrors = nics.length === 0 ? 'the node has no physical NIC' : 'no physical NIC has errors'
  const noBridgeErrors = bridges.length === 0 ? 'the node has no bridge' : 'no bridge has errors'
  const silentNics = nics.length === 0 ? 'the node has no physical NIC' : 'no physical NIC carried anything'
  const silentBridges = bridges.length === 0 ? 'the node has no bridge' : 'no bridge carried anything'
  const zeroOf = (some: readonly Link[]): number | null => (some.length === 0 ? null : 0)
  return {
    total_packet_errors: sum(nics, ({ counters: own }) => own.rx_errors + own.tx_errors),
    total_packet_drops: sum(nics, ({ counters: own }) => dropTotal(own)),
    total_nic_errors: sum(nics, errors),
    highest_error_nic: unavailable.orNull('highest_error_nic', worstNic?.link.ifname, noNicErrors),
    highest_error_nic_errors: unavailable.orNull(
      'highest_error_nic_errors',
      worstNic?.value ?? zeroOf(nics),
      noNicErrors,
    ),
    highest_error_nic_breakdown: unavailable.orNull(
      'highest_error_nic_breakdown',
      worstNic === null ? null : errorBreakdown(worstNic.link.counters),
      noNicErrors,
    ),
    total_bridge_errors: sum(bridges, errors),
    highest_error_bridge: unavailable.orNull('highest_error_bridge', worstBridge?.link.ifname, noBridgeErrors),
    highest_error_bridge_errors: unavailable.orNull(
      'highest_error_bridge_errors',
      worstBridge?.value ?? zeroOf(bridges),
      noBridgeErrors,
    ),
    top_talker_nic: unavailable.orNull('top_talker_nic', talker?.link.ifname, silentNics),
    top_talker_bytes: unavailable.orNull('top_talker_bytes', talker?.value ?? zeroOf(nics), silentNics),
    top_talker_speed_mbps: unavailable.orNull(
      'top_talker_speed_mbps',
      speed > 0 ? speed : null,
      talker === null ? silentNics : 'the device does not tell its speed',
    ),
    top_talker_bridge: unavailable.orNull('top_talker_bridge', talkingBridge?.link.ifname, silentBridges),
    top_talker_bridge_bytes: unavailable.orNull(
      'top_talker_bridge_bytes',
      talkingBridge?.value ?? zeroOf(bridges),
      silentBridges,
    ),
    total_traffic_bytes: sum(nics, bytes),
    tcp_retrans_segs: unavailable.take('tcp_retrans_segs', protocolCounter(snapshot.kernel.snmp, 'Tcp', 'RetransSegs')),
  }
}

function time(
  snapshot: NetworkSnapshot,
  unavailable: UnavailableFields,
): Pick<NodeNet, 'ntp_synced' | 'ntp_offset_ms' | 'ntp_source'> {
  return {
    ntp_synced: unavailable.take('ntp_synced', snapshot.time.synced),
    ntp_offset_ms: unavailable.take('ntp_offset_ms', snapshot.time.offset_ms),
    ntp_source: unavailable.take('ntp_source', snapshot.time.source),
  }
}

function mtuOwnerType(link: Link | undefined): 'bridge' | 'vxlan' | 'interface' | null {
  if (link === undefined) return null
  return link.kind === 'bridge' || link.kind === 'vxlan' ? link.kind : 'interface'
}

function ascending(ids: readonly number[]): number[] {
  return [...new Set(ids)].sort((a, b) => a - b)
}
