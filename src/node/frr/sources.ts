// Where each field of a router's record comes from.
import type { FieldSource } from '../field-source.ts'

const ZEBRA_SILENT = 'the kernel-side daemon (zebra) does not answer'
const BGPD_SILENT = 'bgpd does not answer'
const OSPFD_SILENT = 'ospfd does not run or does not answer'
const BFDD_SILENT = 'bfdd does not run or does not answer'

function rows(prefix: string, from: string, members: Record<string, string>, when?: string): FieldSource[] {
  return Object.entries(members).map(([member, path]) => ({
    field: `${prefix}${member}`,
    source: path === '' ? from : `${from} → ${path}`,
    ...(when === undefined ? {} : { unavailable_when: when }),
  }))
}

const SUMMARY = 'show bgp summary json'
const DETAIL = 'show evpn vni detail json'
const LINK = 'ip -j -d -s -s addr show, the VXLAN device'

export const sources: FieldSource[] = [
  { field: 'name', source: 'show version, first line, in brackets', unavailable_when: ZEBRA_SILENT },
  { field: 'fqdn', source: 'configuration of the node', unavailable_when: 'it is not set' },
  { field: 'ip_address', source: 'configuration of the node', unavailable_when: 'it is not set' },
  { field: 'status', source: 'online when zebra and bgpd answer' },
  { field: 'error', source: 'why zebra or bgpd do not answer', unavailable_when: 'the router is online' },
  { field: 'as', source: `${SUMMARY} → as`, unavailable_when: `BGP is not configured, or ${BGPD_SILENT}` },
  {
    field: 'sdn_status',
    source: 'show running-config compared with the intended configuration',
    unavailable_when: 'no intended configuration is set or readable',
  },
  { field: 'sdn_last_error', source: 'the first difference', unavailable_when: 'there is none' },
  { field: 'bgp.configured', source: `${SUMMARY} has an address family`, unavailable_when: BGPD_SILENT },
  ...rows('bgp.', SUMMARY, { router_id: 'routerId' }, BGPD_SILENT),
  ...rows(
    'bgp.sessions[].',
    `${SUMMARY} → peers, joined over address families`,
    {
      peer: 'key',
      state: 'state',
      remote_as: 'remoteAs',
      hostname: 'hostname',
      description: 'desc',
      uptime_seconds: 'peerUptimeMsec while Established',
      down_seconds: 'peerUptimeMsec otherwise',
      messages_received: 'msgRcvd of one family',
      messages_sent: 'msgSent of one family',
      prefixes_received: 'pfxRcd, sum of the families',
      prefixes_sent: 'pfxSnt, sum of the families',
      connections_established: 'connectionsEstablished',
      connections_dropped: 'connectionsDropped',
      'address_families[]': 'keys of the families',
    },
    BGPD_SILENT,
  ),
  { field: 'frr.version', source: 'show version, second word', unavailable_when: ZEBRA_SILENT },
  { field: 'frr.daemons[]', source: 'command sockets that answer, or show daemons' },
  { field: 'frr.silent_daemons[]', source: 'command sockets that accept and do not answer in time' },
  { field: 'frr.vni_count', source: 'show evpn json → numVnis', unavailable_when: ZEBRA_SILENT },
  ...rows(
    'frr.',
    'show ip route summary json',
    { routes_total: 'routesTotal', routes_installed: 'routesTotalFib' },
    ZEBRA_SILENT,
  ),
  ...rows(
    'ospf.',
    'show ip ospf json',
    {
      configured: 'areas is there',
      router_id: 'routerId',
      'areas[].area': 'areas, key',
      'areas[].full_adjacencies': 'areas, nbrFullAdjacentCounter',
    },
    OSPFD_SILENT,
  ),
  ...rows(
    'bfd_peers[].',
    'show bfd peers json',
    {
      peer: 'peer',
      local: 'local, or the address of the interface',
      status: 'status',
      multihop: 'multihop',
      diagnostic: 'diagnostic',
      uptime: 'uptime while up',
      downtime: 'downtime otherwise',
    },
    BFDD_SILENT,
  ),
  ...rows(
    'ospf_neighbors[].',
    'show ip ospf neighbor json',
    {
      neighbor_id: 'neighbors, key',
      state: 'nbrState before the slash',
      full_state: 'nbrState',
      address: 'ifaceAddress',
      interface_name: 'ifaceName before the colon',
    },
    OSPFD_SILENT,
  ),
  ...rows(
    'evpn_routes.',
    'show bgp l2vpn evpn',
    {
      imet: 'route type multicast json, numPrefix',
      macip: 'route type macip json, numPrefix',
      prefix: 'route type prefix json, numPrefix',
      total_routes: 'statistics json, totalPrefixes',
    },
    BGPD_SILENT,
  ),
  ...rows(
    'vnis[].',
    'show evpn vni json',
    {
      vni: 'vni',
      type: 'type',
      vxlan_if: 'vxlanIf',
      tenant_vrf: 'tenantVrf',
      num_macs: 'numMacs',
      num_arp_entries: 'numArpNd',
    },
    ZEBRA_SILENT,
  ),
  ...rows(
    'vnis[].',
    DETAIL,
    {
      svi_if: 'sviInterface, sviIntf',
      local_vtep: 'vtepIp, localVtepIp',
      vrf: 'vrf',
      router_mac: 'routerMac (L3)',
      'l2_vnis[]': 'l2Vnis (L3)',
    },
    ZEBRA_SILENT,
  ),
  ...rows(
    'vnis[].',
    'show bgp l2vpn evpn vni json',
    { rd: 'rd', 'import_rts[]': 'importRTs', 'export_rts[]': 'exportRTs' },
    BGPD_SILENT,
  ),
  { field: 'vnis[].bridge', source: `${LINK} → master`, unavailable_when: 'the device is no bridge port' },
  {
    field: 'vnis[].vlan',
    source: 'bridge -j vlan show → PVID of the VXLAN port; 0 on a bridge without VLAN filtering',
    unavailable_when: 'the device is no bridge port',
  },
  {
    field: 'vnis[].state',
    source: `L3: ${DETAIL} → state; L2: flags of the VXLAN device and of its bridge`,
    unavailable_when: 'the kernel or the daemon cannot be asked',
  },
  { field: 'vnis[].num_remote_vteps', source: 'length of remote_vteps', unavailable_when: ZEBRA_SILENT },
  {
    field: 'vnis[].remote_vteps[]',
    source: 'L2: show evpn vni json → remoteVteps; L3: distinct vtepIp of show evpn rmac vni all json',
    unavailable_when: ZEBRA_SILENT,
  },
  ...rows(
    'vnis[].mac_table[].',
    'show evpn mac vni all detail json',
    { mac: 'key', type: 'type', source_port: 'intf', remote_vtep: 'remoteVtep', age_mins: 'uptime' },
    ZEBRA_SILENT,
  ),
  ...rows(
    'vnis[].arp_table[].',
    'show evpn arp-cache vni all detail json',
    { ip: 'ip', mac: 'mac', type: 'type', state: 'state', remote_vtep: 'remoteVtep', age_mins: 'uptime' },
    ZEBRA_SILENT,
  ),
  { field: 'vnis[].remote_vtep_info[].vtep_ip', source: 'remote_vteps' },
  {
    field: 'vnis[].remote_vtep_info[].state',
    source: 'selected route of show ip route VTEP/32 json, and for L2 the flood entry of bridge -j fdb show',
    unavailable_when: 'the route or the flood entries cannot be asked',
  },
  {
    field: 'vnis[].remote_vtep_info[].connection_source',
    source: 'local_vtep',
    unavailable_when: ZEBRA_SILENT,
  },
  {
    field: 'vnis[].remote_vtep_info[].neighbors[]',
    source: 'next hops of the selected route of show ip route VTEP/32 json',
  },
  ...rows(
    'vnis[].vxlan_tunnel.',
    LINK,
    {
      interface_name: 'ifname',
      admin_state: 'flag UP',
      status: 'flag LOWER_UP',
      mac_address: 'address',
      mtu: 'mtu',
    },
    'the kernel cannot be asked, or the device is gone',
  ),
  { field: 'unavailable[].field', source: 'this table' },
  { field: 'unavailable[].reason', source: 'this table' },
]
