/** Guest networks, the public range with its addresses, and the routers in front of them. */
import { seededId, tenantName, wellKnown, ZONE_NAME } from '../../site.ts'
import type { SiteSize } from '../../site.ts'
import { ipText } from '../addressing.ts'
import type { Network } from '../network-records.ts'
import type { SimulatorState } from '../state.ts'
import { wireDate } from '../wire.ts'

const PUBLIC_START = 203 * 2 ** 24 + 113 * 2 ** 8 + 10
const PUBLIC_COUNT = 90

export function seedNetworks(state: SimulatorState, size: SiteSize): void {
  const wide = size.vms > 300
  const first = seededId('account', tenantName(0))
  put(state, {
    id: wellKnown.networks['acme-net'],
    name: 'acme-net',
    displaytext: 'Servers of acme',
    networkofferingid: wellKnown.network_offerings['isolated-nat'],
    vlan: 101,
    accountid: first,
    ...plan(10, wide),
  })
  if (size.networks > 1)
    put(state, {
      id: wellKnown.networks['office-shared'],
      name: 'office-shared',
      displaytext: 'Shared office network',
      type: 'Shared',
      state: 'Setup',
      networkofferingid: wellKnown.network_offerings.shared,
      vlan: 200,
      accountid: wellKnown.accounts.admin,
      ...plan(20, wide),
    })
  if (size.networks > 2)
    put(state, {
      id: wellKnown.networks['storage-l2'],
      name: 'storage-l2',
      displaytext: 'Storage segment',
      type: 'L2',
      state: 'Setup',
      networkofferingid: wellKnown.network_offerings.l2,
      vlan: 300,
      accountid: wellKnown.accounts.admin,
    })
  for (let index = 3; index < size.networks; index += 1) {
    const tenant = tenantName(index % size.tenants)
    const name = `${tenant}-net-${index}`
    put(state, {
      id: seededId('network', name),
      name,
      displaytext: name,
      networkofferingid: wellKnown.network_offerings['isolated-nat'],
      vlan: 400 + index,
      accountid: seededId('account', tenant),
      ...plan(30 + (index % 200), false),
    })
  }
  seedPublicAddresses(state)
  seedRouters(state)
}

function plan(second: number, wide: boolean): Partial<Network> {
  const base = `10.${second}.0`
  return wide
    ? { cidr: `${base}.0/16`, gateway: `${base}.1`, netmask: '255.255.0.0' }
    : { cidr: `${base}.0/24`, gateway: `${base}.1`, netmask: '255.255.255.0' }
}

function put(
  state: SimulatorState,
  set: Partial<Network> & Pick<Network, 'id' | 'name' | 'displaytext' | 'networkofferingid' | 'accountid'>,
): void {
  const traffic = state.tables.networks.size + 1
  state.tables.networks.put({
    type: 'Isolated',
    state: 'Implemented',
    zoneid: wellKnown.zone,
    physicalnetworkid: wellKnown.physical_network,
    cidr: null,
    gateway: null,
    netmask: null,
    guestvmcidr: null,
    vlan: null,
    vpcid: null,
    networkdomain: 'cs2cloud.internal',
    restartrequired: false,
    redundantrouter: false,
    displaynetwork: true,
    publicmtu: 1500,
    privatemtu: 1500,
    dns1: '9.9.9.9',
    dns2: null,
    created: state.seeded_at - 50 * 86_400_000,
    receivedbytes: traffic * 73_400_320,
    sentbytes: traffic * 31_457_280,
    projectid: null,
    ...set,
  })
}

function seedPublicAddresses(state: SimulatorState): void {
  state.tables.vlans.put({
    id: wellKnown.public_range,
    zoneid: wellKnown.zone,
    physicalnetworkid: wellKnown.physical_network,
    vlan: 'vlan://50',
    gateway: '203.0.113.1',
    netmask: '255.255.255.0',
    startip: ipText(PUBLIC_START),
    endip: ipText(PUBLIC_START + PUBLIC_COUNT - 1),
    domainid: null,
    accountid: null,
    forsystemvms: false,
  })
  for (let index = 0; index < PUBLIC_COUNT; index += 1) {
    const ipaddress = ipText(PUBLIC_START + index)
    state.tables.addresses.put({
      id: seededId('address', ipaddress),
      ipaddress,
      vlanid: wellKnown.public_range,
      state: 'Free',
      allocated: null,
      zoneid: wellKnown.zone,
      issourcenat: false,
      isstaticnat: false,
      issystem: false,
      associatednetworkid: null,
      vpcid: null,
      virtualmachineid: null,
      vmipaddress: null,
      accountid: wellKnown.accounts.admin,
      projectid: null,
    })
  }
}

function seedRouters(state: SimulatorState): void {
  const common = {
    zoneid: wellKnown.zone,
    zonename: ZONE_NAME,
    podid: wellKnown.pod,
    hypervisor: 'KVM',
    state: 'Running',
    version: '4.22.0',
    created: wireDate(state.seeded_at - 50 * 86_400_000),
    arch: 'x86_64',
    hasannotations: false,
  }
  const hosts = [...state.tables.hosts.values()]
  let number = 10
  for (const network of state.tables.networks.filter((one) => one.type !== 'L2')) {
    const host = hosts[number % hosts.length]
    state.tables.routers.put({
      ...common,
      id: seededId('router', network.name),
      name: `r-${number}-VM`,
      role: 'VIRTUAL_ROUTER',
      hostid: host?.id ?? null,
      hostname: host?.name ?? null,
      guestnetworkid: network.id,
      guestnetworkname: network.name,
      guestipaddress: network.gateway,
      publicip: network.type === 'Isolated' ? ipText(PUBLIC_START + PUBLIC_COUNT - 20 + number) : null,
      linklocalip: `169.254.${number % 250}.10`,
      vpcid: network.vpcid,
      isredundantrouter: false,
      redundantstate: 'UNKNOWN',
      requiresupgrade: number === 11,
      healthchecksfailed: false,
      accountid: network.accountid,
      nic: [],
      softwareversion: '4.22.0',
    })
    number += 1
  }
  for (const [systemvmtype, name, last] of [
    ['consoleproxy', 'v-2-VM', 3],
    ['secondarystoragevm', 's-1-VM', 4],
  ] as const) {
    const host = hosts[last % hosts.length]
    state.tables.systemvms.put({
      ...common,
      id: seededId('systemvm', name),
      name,
      systemvmtype,
      agentstate: 'Up',
      hostid: host?.id ?? null,
      hostname: host?.name ?? null,
      publicip: `203.0.113.${last}`,
      privateip: `10.0.250.${last + 10}`,
      linklocalip: `169.254.1.${last}`,
      activeviewersessions: 0,
      templateid: seededId('template', 'systemvm'),
      templatename: 'SystemVM Template (KVM)',
    })
  }
}
