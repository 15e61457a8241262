/** Guest networks: lists, creation, changes, restart. */
import { randomUUID } from 'node:crypto'
import { cidrRange, ipNumber, ipText } from '../addressing.ts'
import { internal, invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands } from '../call.ts'
import { networkView } from '../network-view.ts'
import { requireQuota } from '../quota.ts'
import type { Network } from '../network-records.ts'
import type { Vm } from '../records.ts'
import { idTest, keywordTest, ownerFor, paged, same, visible } from '../scope.ts'
import { list, object } from '../wire.ts'
import { checkNetworkDomain } from './tenants.ts'
import { needNetwork } from './vm-deploy.ts'

export const networks: Commands = {
  listNetworks: (call) => {
    const { params, state } = call
    const mine = visible(call)
    const byId = idTest(call)
    const keyword = keywordTest(call)
    const tests = (['name', 'zoneid', 'physicalnetworkid', 'networkofferingid', 'vpcid'] as const).map((name) => ({
      name,
      test: same(call, name),
    }))
    const type = params.text('type')?.toLowerCase() ?? null
    if (type !== null && !['isolated', 'shared', 'l2'].includes(type))
      throw invalid(`Unexpected Guest type : ${params.need('type')}`)
    const filter = params.text('networkfilter')
    if (filter !== null && !['account', 'domain', 'accountdomain', 'shared', 'all'].includes(filter))
      throw invalid(`Invalid value of networkfilter: ${filter}`)
    const traffic = params.text('traffictype')
    const restart = params.bool('restartrequired')
    const vlan = params.text('vlan')
    const found = state.tables.networks.filter(
      (one) =>
        // A shared network is there for everybody.
        (mine(one) ||
          (one.type === 'Shared' && params.text('account') === null && params.text('projectid') !== '-1')) &&
        byId(one.id) &&
        keyword(one.name, one.displaytext) &&
        tests.every(({ name, test }) => test(one[name])) &&
        (type === null || one.type.toLowerCase() === type) &&
        (traffic === null || traffic === 'Guest') &&
        (restart === null || one.restartrequired === restart) &&
        (vlan === null || String(one.vlan) === vlan) &&
        params.bool('issystem') !== true,
    )
    if (params.bool('retrieveonlyresourcecount') === true) return list([], found.length)
    return paged(call, found, (one) => networkView(state, one))
  },
  createNetwork: (call) => object(networkView(call.state, create(call))),
  updateNetwork: (call) => {
    const { params, state } = call
    const before = needNetwork(call, params.need('id'))
    return job({
      ...networkJob(before),
      duration_ms: 1500,
      event: networkEvent('NETWORK.UPDATE', 'Updating network', before),
      begin: () => {
        checkUpdate(call, needNetwork(call, before.id))
      },
      end: () => {
        const now = needNetwork(call, before.id)
        return networkView(
          state,
          state.tables.networks.put({
            ...now,
            name: params.text('name') ?? now.name,
            displaytext: params.text('displaytext') ?? now.displaytext,
            networkdomain: params.text('networkdomain') ?? now.networkdomain,
            networkofferingid: params.text('networkofferingid') ?? now.networkofferingid,
            guestvmcidr: params.text('guestvmcidr') ?? now.guestvmcidr,
            publicmtu: params.int('publicmtu') ?? now.publicmtu,
            privatemtu: params.int('privatemtu') ?? now.privatemtu,
            dns1: params.text('dns1') ?? now.dns1,
            dns2: params.text('dns2') ?? now.dns2,
            displaynetwork: params.bool('displaynetwork') ?? now.displaynetwork,
          }),
        )
      },
    })
  },
  restartNetwork: (call) => {
    const { params, state } = call
    const network = needNetwork(call, params.need('id'))
    return job({
      ...networkJob(network),
      duration_ms: params.bool('cleanup') === true ? 4000 : 1500,
      event: networkEvent('NETWORK.RESTART', 'restarting network', network),
      begin: () => {
        const { state } = needNetwork(call, network.id)
        if (state !== 'Implemented' && state !== 'Setup')
          throw invalid(`Network is not in the right state to be restarted. Correct states are: Implemented, Setup`)
      },
      end: () => {
        state.tables.networks.put({
          ...needNetwork(call, network.id),
          restartrequired: false,
          redundantrouter: params.bool('makeredundant') ?? network.redundantrouter,
        })
        return null
      },
    })
  },
  deleteNetwork: (call) => {
    const network = needNetwork(call, call.params.need('id'))
    const { tables } = call.state
    return job({
      ...networkJob(network),
      duration_ms: 1500,
      event: networkEvent('NETWORK.DELETE', 'Deleting network', network),
      begin: () => {
        const users = machinesIn(call, network.id)
        if (users.length > 0) throw internal('Failed to delete network')
      },
      end: () => {
        for (const address of tables.addresses.by('network', network.id))
          tables.addresses.put({
            ...address,
            state: 'Free',
            allocated: null,
            associatednetworkid: null,
            issourcenat: false,
            isstaticnat: false,
            virtualmachineid: null,
            vmipaddress: null,
          })
        for (const rule of tables.rules.filter((one) => one.networkid === network.id)) tables.rules.remove(rule.id)
        for (const rule of tables.firewallrules.by('network', network.id)) tables.firewallrules.remove(rule.id)
        for (const rule of tables.loadbalancers.by('network', network.id)) tables.loadbalancers.remove(rule.id)
        for (const router of tables.routers.filter((one) => one['guestnetworkid'] === network.id))
          tables.routers.remove(router.id)
        tables.networks.remove(network.id)
        return null
      },
    })
  },
}

function networkJob(network: Network): { instancetype: string; instanceid: string; queue: string } {
  return { instancetype: 'Network', instanceid: network.id, queue: `network/${network.id}` }
}

function networkEvent(
  type: string,
  description: string,
  network: Network,
): { type: string; description: string; resourcetype: string; resourceid: string; resourcename: string } {
  return {
    type,
    description: `${description}. Network Id: ${network.id}`,
    resourcetype: 'Network',
    resourceid: network.id,
    resourcename: network.name,
  }
}

function machinesIn(call: Call, networkid: string): Vm[] {
  return call.state.tables.vms.filter((vm) => vm.nics.some((nic) => nic.networkid === networkid))
}

function create(call: Call): Network {
  const { params, state } = call
  const offering = state.tables.networkofferings.get(params.need('networkofferingid'))
  if (offering === null) throw invalid('Unable to find network offering: entity does not exist')
  const owner = ownerFor(call)
  requireQuota(state, owner, [[6, 1]])
  const type = offering['guestiptype']
  const kind = type === 'Shared' || type === 'L2' ? type : 'Isolated'
  const given = params.int('vlan')
  if (kind === 'Isolated' && given !== null)
    throw invalid("Can't specify vlan; corresponding offering says specifyVlan=false")
  if (kind !== 'Isolated' && given === null)
    throw invalid('Vlan has to be specified; corresponding offering says specifyVlan=true')
  const vlan = given ?? freeVlan(call)
  if (state.tables.networks.find((one) => one.vlan === vlan) !== null)
    throw invalid(`The VLAN ${vlan} is already in use by another network`)
  checkPlan(call)
  const gateway = params.text('gateway') ?? (kind === 'L2' ? null : freeGateway(call))
  const netmask = params.text('netmask') ?? (kind === 'L2' ? null : '255.255.255.0')
  const network = state.tables.networks.put({
    id: randomUUID(),
    name: params.need('name'),
    displaytext: params.text('displaytext') ?? params.need('name'),
    type: kind,
    state: kind === 'Isolated' ? 'Allocated' : 'Setup',
    zoneid: params.need('zoneid'),
    physicalnetworkid:
      params.text('physicalnetworkid') ?? state.tables.physicalnetworks.values().next().value?.id ?? '',
    networkofferingid: offering.id,
    cidr: gateway === null || netmask === null ? null : cidrOf(gateway, netmask),
    gateway,
    netmask,
    guestvmcidr: null,
    vlan,
    vpcid: params.text('vpcid'),
    networkdomain: params.text('networkdomain') ?? 'cs2cloud.internal',
    restartrequired: false,
    redundantrouter: false,
    displaynetwork: params.bool('displaynetwork') ?? true,
    publicmtu: params.int('publicmtu') ?? 1500,
    privatemtu: params.int('privatemtu') ?? 1500,
    dns1: params.text('dns1') ?? '9.9.9.9',
    dns2: params.text('dns2'),
    created: Date.now(),
    receivedbytes: 0,
    sentbytes: 0,
    ...owner,
  })
  call.event(networkEvent('NETWORK.CREATE', 'creating network', network))
  return network
}

function checkPlan(call: Call): void {
  const { params } = call
  const gateway = params.text('gateway')
  const mask = ipNumber(params.text('netmask') ?? '255.255.255.0')
  if (gateway !== null && ipNumber(gateway) === null) throw invalid('Gateway parameter is invalid')
  if (mask === null || !Number.isInteger(Math.log2(2 ** 32 - mask)))
    throw invalid('Invalid gateway IP provided. Either the IP is broadcast or network IP.')
  checkNetworkDomain(params.text('networkdomain'))
}

function cidrOf(gateway: string, netmask: string): string {
  const size = 2 ** 32 - (ipNumber(netmask) ?? 0)
  return `${ipText(Math.floor((ipNumber(gateway) ?? 0) / size) * size)}/${32 - Math.log2(size)}`
}

/** The lowest free tag of the physical network's range, above the ones given by hand. */
function freeVlan(call: Call): number {
  const used = new Set([...call.state.tables.networks.values()].map((one) => one.vlan))
  for (let vlan = 500; vlan <= 1099; vlan += 1) if (!used.has(vlan)) return vlan
  throw internal('Failed to allocate a VLAN: insufficient capacity in the guest VLAN range')
}

function freeGateway(call: Call): string {
  const used = new Set([...call.state.tables.networks.values()].map((one) => one.gateway))
  for (let third = 1; third < 250; third += 1) if (!used.has(`10.1.${third}.1`)) return `10.1.${third}.1`
  throw internal('no free guest CIDR')
}

function checkUpdate(call: Call, network: Network): void {
  const { params } = call
  const offering = params.text('networkofferingid')
  checkNetworkDomain(params.text('networkdomain'))
  const dns = params.text('dns1')
  if (dns !== null && ipNumber(dns) === null) throw invalid('Invalid IPv4 for DNS1')
  if (offering !== null && network.type !== 'Isolated')
    throw invalid('NetworkOffering update can be performed for Isolated networks only')
  if (offering !== null && offering !== network.networkofferingid && params.bool('forced') !== true)
    throw invalid(
      `Can't upgrade from network offering ${network.networkofferingid} to ${offering}; check logs for more information`,
    )
  const guest = params.text('guestvmcidr')
  if (guest === null) return
  const inner = cidrRange(guest)
  const outer = cidrRange(network.cidr ?? '')
  if (inner === null) throw invalid('Invalid format of Guest VM CIDR.')
  if (outer === null || inner.first < outer.first || inner.last > outer.last)
    throw invalid(
      `Invalid value of Guest VM CIDR. For IP Reservation, Guest VM CIDR  should be a subset of network CIDR :  ${network.cidr ?? ''}`,
    )
  for (const vm of machinesIn(call, network.id)) {
    const ip = vm.nics.find((nic) => nic.networkid === network.id)?.ipaddress ?? ''
    const value = ipNumber(ip)
    if (value !== null && (value < inner.first || value > inner.last))
      throw invalid(`Active IPs like ${ip} exist outside the Guest VM CIDR. Cannot apply reservation `)
  }
}
