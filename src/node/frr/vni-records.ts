// Joins what the daemons and the kernel say about each VNI into one record.
import type { VniRecord } from '#src/contract/network/frr.ts'
import type { BgpVni } from './bgp.ts'
import type { EvpnVni, EvpnVniDetail } from './evpn.ts'
import type { KernelLink, KernelView } from './kernel.ts'
import type { VtepRoute } from './routes.ts'

export interface VniTables {
  vnis: readonly EvpnVni[]
  details: ReadonlyMap<number, EvpnVniDetail>
  bgp: ReadonlyMap<number, BgpVni>
  /** Null when the table could not be read; a VNI that is missing in it has no entry. */
  macs: ReadonlyMap<number, NonNullable<VniRecord['mac_table']>> | null
  arp: ReadonlyMap<number, NonNullable<VniRecord['arp_table']>> | null
  rmac_vteps: ReadonlyMap<number, string[]>
  routes: ReadonlyMap<string, VtepRoute | null>
  kernel: KernelView
}

export function vniRecords(tables: VniTables): VniRecord[] {
  return tables.vnis.map((vni) => vniRecord(vni, tables))
}

/** VTEPs of a VNI: the flood list of an L2 VNI, the owners of the router MACs of an L3 one. */
export function remoteVtepsOf(vni: EvpnVni, rmac_vteps: ReadonlyMap<number, string[]>): string[] {
  return vni.type === 'L3' ? (rmac_vteps.get(vni.vni) ?? []) : vni.remote_vteps
}

function vniRecord(vni: EvpnVni, tables: VniTables): VniRecord {
  const { kernel } = tables
  const detail = tables.details.get(vni.vni)
  const bgp = tables.bgp.get(vni.vni)
  const device = vni.vxlan_if === null ? undefined : kernel.links?.get(vni.vxlan_if)
  const master = device?.master ?? null
  const bridge = master === null ? undefined : kernel.links?.get(master)
  const remote_vteps = remoteVtepsOf(vni, tables.rmac_vteps)
  return {
    vni: vni.vni,
    type: vni.type,
    vlan: portVlan(device, bridge, kernel),
    vxlan_if: vni.vxlan_if,
    bridge: master ?? detail?.svi_if ?? null,
    svi_if: detail?.svi_if ?? null,
    local_vtep: detail?.local_vtep ?? null,
    vrf: detail?.vrf ?? vni.tenant_vrf,
    tenant_vrf: vni.tenant_vrf,
    router_mac: detail?.router_mac ?? null,
    state: vni.type === 'L3' ? (detail?.state ?? null) : bridgedState(device, bridge),
    l2_vnis: detail?.l2_vnis ?? [],
    rd: bgp?.rd ?? null,
    import_rts: bgp?.import_rts ?? [],
    export_rts: bgp?.export_rts ?? [],
    num_macs: vni.num_macs,
    num_arp_entries: vni.num_arp_entries,
    num_remote_vteps: remote_vteps.length,
    remote_vteps,
    mac_table: tables.macs === null ? null : (tables.macs.get(vni.vni) ?? []),
    arp_table: tables.arp === null ? null : (tables.arp.get(vni.vni) ?? []),
    remote_vtep_info: remote_vteps.map((vtep_ip) => ({
      vtep_ip,
      state: vtepState(vni, vtep_ip, tables),
      connection_source: detail?.local_vtep ?? null,
      neighbors: tables.routes.get(vtep_ip)?.next_hops ?? [],
    })),
    vxlan_tunnel: tunnel(device),
  }
}

/** The daemons keep no state of a bridged VNI. */
function bridgedState(device: KernelLink | undefined, bridge: KernelLink | undefined): 'Up' | 'Down' | null {
  if (device === undefined) return null
  return device.up && device.carries && bridge !== undefined && bridge.up && bridge.operational_up ? 'Up' : 'Down'
}

function portVlan(device: KernelLink | undefined, bridge: KernelLink | undefined, kernel: KernelView): number | null {
  if (device === undefined || bridge === undefined || bridge.vlan_filtering === null) return null
  if (!bridge.vlan_filtering) return 0
  return kernel.port_vlans?.get(device.name) ?? null
}

function vtepState(vni: EvpnVni, vtep: string, tables: VniTables): 'up' | 'down' | null {
  const route = tables.routes.get(vtep)
  if (route === undefined || route === null) return null
  if (!route.reachable) return 'down'
  if (vni.type === 'L3') return 'up'
  if (tables.kernel.floods === null || vni.vxlan_if === null) return null
  return tables.kernel.floods.get(vni.vxlan_if)?.has(vtep) === true ? 'up' : 'down'
}

/** The operational state of a VXLAN device is always UNKNOWN: LOWER_UP tells whether it carries. */
function tunnel(device: KernelLink | undefined): VniRecord['vxlan_tunnel'] {
  if (device === undefined) return null
  return {
    interface_name: device.name,
    admin_state: device.up ? 'up' : 'down',
    status: device.carries ? 'up' : 'down',
    mac_address: device.mac_address,
    mtu: device.mtu,
  }
}
