/** Networks, addresses, rules and the providers behind them, as the simulator keeps them. */
import type { Owned } from './row.ts'

export interface Network extends Owned {
  id: string
  name: string
  displaytext: string
  type: 'Isolated' | 'Shared' | 'L2'
  state: 'Allocated' | 'Setup' | 'Implementing' | 'Implemented' | 'Shutdown' | 'Destroy'
  zoneid: string
  physicalnetworkid: string
  networkofferingid: string
  cidr: string | null
  gateway: string | null
  netmask: string | null
  guestvmcidr: string | null
  vlan: number | null
  vpcid: string | null
  networkdomain: string
  restartrequired: boolean
  redundantrouter: boolean
  displaynetwork: boolean
  publicmtu: number
  privatemtu: number
  dns1: string | null
  dns2: string | null
  created: number
  receivedbytes: number
  sentbytes: number
}

export interface Address extends Owned {
  id: string
  ipaddress: string
  vlanid: string
  state: 'Free' | 'Allocating' | 'Allocated' | 'Releasing' | 'Reserved'
  allocated: number | null
  zoneid: string
  issourcenat: boolean
  isstaticnat: boolean
  issystem: boolean
  associatednetworkid: string | null
  vpcid: string | null
  virtualmachineid: string | null
  vmipaddress: string | null
}

export interface PublicRange {
  id: string
  zoneid: string
  physicalnetworkid: string
  vlan: string
  gateway: string
  netmask: string
  startip: string
  endip: string
  domainid: string | null
  accountid: string | null
  forsystemvms: boolean
}

export interface ForwardingRule extends Owned {
  id: string
  protocol: string
  publicport: number
  publicendport: number
  privateport: number
  privateendport: number
  ipaddressid: string
  virtualmachineid: string
  networkid: string
  vmguestip: string | null
  cidrlist: string[]
  state: 'Staged' | 'Add' | 'Active' | 'Revoke' | 'Deleting'
  fordisplay: boolean
}

export interface FirewallRule extends Owned {
  id: string
  protocol: string
  startport: number | null
  endport: number | null
  /** -1 for all. */
  icmptype: number | null
  icmpcode: number | null
  traffictype: 'Ingress' | 'Egress'
  /** Null for egress rules, which are of a network. */
  ipaddressid: string | null
  networkid: string | null
  cidrlist: string[]
  destcidrlist: string[]
  state: 'Add' | 'Active' | 'Revoke'
  relatedruleid: string | null
}

export interface LoadBalancer extends Owned {
  id: string
  name: string
  description: string | null
  algorithm: string
  protocol: string
  publicport: number
  privateport: number
  ipaddressid: string
  networkid: string
  cidrlist: string[]
  /** Active as long as there are machines. */
  state: 'Add' | 'Active' | 'Revoke'
  virtualmachineids: string[]
}

export interface Provider {
  id: string
  name: string
  physicalnetworkid: string
  destinationphysicalnetworkid: string | null
  state: 'Enabled' | 'Disabled' | 'Shutdown'
  servicelist: string[]
  canenableindividualservice: boolean
}

export interface Element {
  id: string
  kind: 'virtualrouter' | 'internallb' | 'ovs'
  nspid: string
  enabled: boolean
}
