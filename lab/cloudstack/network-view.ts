/** Networks, public addresses, ranges and forwarding rules as they are answered. */
import { seededId } from '../site.ts'
import type { Address, FirewallRule, ForwardingRule, LoadBalancer, Network, PublicRange } from './network-records.ts'
import type { Json } from './row.ts'
import { ownerFields, text, zoneFields } from './owner-view.ts'
import type { SimulatorState } from './state.ts'
import { wireDate, wireDateOrNull } from './wire.ts'

type Fields = Record<string, Json>

export function networkView(state: SimulatorState, network: Network): Fields {
  const offering = state.tables.networkofferings.get(network.networkofferingid)
  return {
    id: network.id,
    name: network.name,
    displaytext: network.displaytext,
    broadcastdomaintype: 'Vlan',
    traffictype: 'Guest',
    gateway: network.gateway,
    netmask: network.netmask,
    cidr: network.guestvmcidr ?? network.cidr,
    networkcidr: network.guestvmcidr === null ? null : network.cidr,
    ...zoneFields(state, network.zoneid),
    networkofferingid: network.networkofferingid,
    networkofferingname: text(offering?.['name']),
    networkofferingdisplaytext: text(offering?.['displaytext']),
    networkofferingconservemode: true,
    networkofferingavailability: 'Optional',
    issystem: false,
    state: network.state,
    related: network.id,
    broadcasturi: network.vlan === null ? null : `vlan://${network.vlan}`,
    dns1: network.dns1,
    dns2: network.dns2,
    type: network.type,
    vlan: network.vlan === null ? null : String(network.vlan),
    acltype: network.type === 'Shared' ? 'Domain' : 'Account',
    ...ownerFields(state, network),
    service: serviceFields(network),
    networkdomain: network.networkdomain,
    physicalnetworkid: network.physicalnetworkid,
    restartrequired: network.restartrequired,
    specifyvlan: network.type !== 'Isolated',
    specifyipranges: network.type === 'Shared',
    vpcid: network.vpcid,
    vpcname: text(state.tables.vpcs.get(network.vpcid)?.['name']),
    canusefordeploy: true,
    ispersistent: false,
    displaynetwork: network.displaynetwork,
    strechedl2subnet: false,
    redundantrouter: network.redundantrouter,
    supportsvmautoscaling: network.type === 'Isolated',
    created: wireDate(network.created),
    receivedbytes: network.receivedbytes,
    sentbytes: network.sentbytes,
    egressdefaultpolicy: offering?.['egressdefaultpolicy'] ?? null,
    publicmtu: network.publicmtu,
    privatemtu: network.privatemtu,
    tags: [],
    hasannotations: false,
  }
}

/** The services a network of this type offers; empty for a plain L2 segment. */
function serviceFields(network: Network): Json[] {
  const names = servicesOf(network)
  return names.map((name) => ({
    name,
    provider: [{ name: network.vpcid === null ? 'VirtualRouter' : 'VpcVirtualRouter' }],
    capability: [],
  }))
}

export function servicesOf(network: { type: string; vpcid: string | null }): string[] {
  if (network.type === 'L2') return []
  if (network.type === 'Shared') return ['Dhcp', 'Dns', 'UserData']
  const shared = ['Dhcp', 'Dns', 'Lb', 'PortForwarding', 'SourceNat', 'StaticNat', 'UserData', 'Vpn']
  return network.vpcid === null ? [...shared, 'Firewall'] : [...shared, 'NetworkACL']
}

export function addressView(state: SimulatorState, address: Address): Fields {
  const vm = state.tables.vms.get(address.virtualmachineid)
  const network = state.tables.networks.get(address.associatednetworkid)
  const rules =
    state.tables.rules.countBy('address', address.id) +
    state.tables.firewallrules.countBy('address', address.id) +
    state.tables.loadbalancers.countBy('address', address.id)
  return {
    id: address.id,
    ipaddress: address.ipaddress,
    state: address.state,
    allocated: wireDateOrNull(address.allocated),
    ...zoneFields(state, address.zoneid),
    issourcenat: address.issourcenat,
    isstaticnat: address.isstaticnat,
    issystem: address.issystem,
    forvirtualnetwork: true,
    vlanid: address.vlanid,
    vlanname: state.tables.vlans.get(address.vlanid)?.vlan ?? null,
    ...(address.state === 'Free' ? {} : ownerFields(state, address)),
    associatednetworkid: address.associatednetworkid,
    associatednetworkname: network?.name ?? null,
    vpcid: address.vpcid,
    vpcname: text(state.tables.vpcs.get(address.vpcid)?.['name']),
    virtualmachineid: vm?.id ?? null,
    virtualmachinename: vm?.name ?? null,
    virtualmachinedisplayname: vm?.displayname ?? null,
    vmipaddress: address.vmipaddress,
    virtualmachinetype: vm === null ? null : 'User',
    physicalnetworkid: state.tables.vlans.get(address.vlanid)?.physicalnetworkid ?? null,
    networkid: seededId('network', 'public'),
    isportable: false,
    fordisplay: true,
    hasrules: rules > 0,
    forsystemvms: false,
    tags: [],
    hasannotations: false,
  }
}

export function rangeView(state: SimulatorState, range: PublicRange): Fields {
  const account = state.tables.accounts.get(range.accountid)
  const domain = state.tables.domains.get(range.domainid)
  return {
    id: range.id,
    forvirtualnetwork: true,
    zoneid: range.zoneid,
    vlan: range.vlan,
    account: account?.name ?? null,
    domainid: domain?.id ?? null,
    domain: domain?.name ?? null,
    domainpath: domain?.path ?? null,
    gateway: range.gateway,
    netmask: range.netmask,
    cidr: null,
    startip: range.startip,
    endip: range.endip,
    physicalnetworkid: range.physicalnetworkid,
    forsystemvms: range.forsystemvms,
  }
}

/** Ports come back as text. */
export function ruleView(state: SimulatorState, rule: ForwardingRule): Fields {
  const vm = state.tables.vms.get(rule.virtualmachineid)
  return {
    id: rule.id,
    protocol: rule.protocol,
    publicport: String(rule.publicport),
    publicendport: String(rule.publicendport),
    privateport: String(rule.privateport),
    privateendport: String(rule.privateendport),
    virtualmachineid: rule.virtualmachineid,
    virtualmachinename: vm?.name ?? null,
    virtualmachinedisplayname: vm?.displayname ?? null,
    ipaddressid: rule.ipaddressid,
    ipaddress: state.tables.addresses.get(rule.ipaddressid)?.ipaddress ?? null,
    state: rule.state,
    cidrlist: rule.cidrlist.length === 0 ? null : rule.cidrlist.join(','),
    vmguestip: rule.vmguestip,
    networkid: rule.networkid,
    fordisplay: rule.fordisplay,
    tags: [],
  }
}

export function firewallView(state: SimulatorState, rule: FirewallRule): Fields {
  return {
    id: rule.id,
    protocol: rule.protocol,
    startport: rule.startport,
    endport: rule.endport,
    icmptype: rule.icmptype,
    icmpcode: rule.icmpcode,
    ipaddressid: rule.ipaddressid,
    networkid: rule.networkid,
    ipaddress: state.tables.addresses.get(rule.ipaddressid)?.ipaddress ?? null,
    state: rule.state,
    cidrlist: rule.cidrlist.join(','),
    destcidrlist: rule.destcidrlist.join(','),
    traffictype: rule.traffictype,
    fordisplay: true,
    tags: [],
  }
}

/** Ports come back as text. */
export function loadBalancerView(state: SimulatorState, rule: LoadBalancer): Fields {
  const address = state.tables.addresses.get(rule.ipaddressid)
  return {
    id: rule.id,
    name: rule.name,
    description: rule.description,
    publicipid: rule.ipaddressid,
    publicip: address?.ipaddress ?? null,
    publicport: String(rule.publicport),
    privateport: String(rule.privateport),
    algorithm: rule.algorithm,
    cidrlist: rule.cidrlist.length === 0 ? null : rule.cidrlist.join(' '),
    networkid: rule.networkid,
    ...ownerFields(state, rule),
    state: rule.state,
    ...(address === null ? {} : zoneFields(state, address.zoneid)),
    protocol: rule.protocol,
    fordisplay: true,
    tags: [],
  }
}
