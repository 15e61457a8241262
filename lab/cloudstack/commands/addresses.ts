/** Public addresses: acquiring, static NAT, releasing; and the ranges they come from. */
import { randomUUID } from 'node:crypto'
import { ZONE_NAME } from '../../site.ts'
import { ipNumber, ipText } from '../addressing.ts'
import { ApiFault, internal, invalid, noCapacity, overQuota, ruleConflict } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands, Outcome } from '../call.ts'
import type { EventSubject } from '../event-log.ts'
import { needVm } from '../machines.ts'
import { addressView, rangeView } from '../network-view.ts'
import { requireQuota } from '../quota.ts'
import { addressText, networkText, numberOf } from '../texts.ts'
import type { Address, Network } from '../network-records.ts'
import type { Owned } from '../row.ts'
import { idTest, keywordTest, ownerFor, paged, same, visible } from '../scope.ts'
import { list, object, success } from '../wire.ts'
import { accountNamed } from '../scope.ts'
import { needNetwork, requireNetworkRight } from './vm-deploy.ts'

export const addresses: Commands = {
  listPublicIpAddresses: (call) => {
    const { params, state } = call
    const wanted = params.text('state')
    const only = params.bool('allocatedonly') ?? (wanted === null || wanted !== 'Free')
    if (params.bool('allocatedonly') === true && wanted?.toLowerCase() === 'free')
      throw invalid('Conflict: allocatedonly is true but state is Free')
    const mine = visible(call)
    const byId = idTest(call)
    const keyword = keywordTest(call)
    const tests = (['zoneid', 'associatednetworkid', 'vpcid', 'ipaddress', 'vlanid', 'state'] as const).map((name) => ({
      name,
      test: same(call, name),
    }))
    const nat = params.bool('isstaticnat')
    const source = params.bool('issourcenat')
    const found = state.tables.addresses.filter(
      (one) =>
        byId(one.id) &&
        (one.state === 'Free' ? !only : mine(one)) &&
        tests.every(({ name, test }) => test(one[name])) &&
        keyword(one.ipaddress) &&
        (nat === null || one.isstaticnat === nat) &&
        (source === null || one.issourcenat === source) &&
        params.bool('forvirtualnetwork') !== false,
    )
    if (params.bool('retrieveonlyresourcecount') === true) return list([], found.length)
    return paged(call, found, (one) => addressView(state, one))
  },
  associateIpAddress: (call) => associate(call),
  disassociateIpAddress: (call) => {
    const { params, state } = call
    const address = needAddress(
      call,
      params.text('id') ?? state.tables.addresses.find((one) => one.ipaddress === params.text('ipaddress'))?.id ?? null,
    )
    if (address.issystem) throw invalid("Can't release system IP address")
    if (address.state !== 'Allocated')
      throw internal(
        "Unable to persist on DB, due to: Data truncation: Out of range value for column 'account_id' at row 1",
      )
    return job({
      ...addressJob(address),
      duration_ms: 800,
      event: addressEvent('NET.IPRELEASE', 'disassociating ip address', address),
      begin: () => {
        if (needAddress(call, address.id).issourcenat)
          throw internal('ip address is used for source nat purposes and can not be disassociated.')
        state.tables.addresses.put({ ...needAddress(call, address.id), state: 'Releasing' })
      },
      end: () => {
        for (const rule of state.tables.rules.by('address', address.id)) state.tables.rules.remove(rule.id)
        for (const rule of state.tables.firewallrules.by('address', address.id))
          state.tables.firewallrules.remove(rule.id)
        for (const rule of state.tables.loadbalancers.by('address', address.id))
          state.tables.loadbalancers.remove(rule.id)
        state.tables.addresses.put({
          ...needAddress(call, address.id),
          state: 'Free',
          allocated: null,
          isstaticnat: false,
          associatednetworkid: null,
          vpcid: null,
          virtualmachineid: null,
          vmipaddress: null,
        })
        return null
      },
      fail: () => {
        state.tables.addresses.put({ ...needAddress(call, address.id), state: 'Allocated' })
      },
    })
  },
  enableStaticNat: (call) => {
    enableNat(call)
    return success()
  },
  disableStaticNat: (call) => {
    const { state } = call
    const address = needAddress(call, call.params.need('ipaddressid'))
    return job({
      ...addressJob(address),
      duration_ms: 800,
      event: addressEvent('STATICNAT.DISABLE', 'Disabling static nat for ip address', address),
      begin: () => {
        if (!needAddress(call, address.id).isstaticnat)
          throw invalid('Specified IP address id is not associated with any vm Id')
      },
      end: () => {
        state.tables.addresses.put({
          ...needAddress(call, address.id),
          isstaticnat: false,
          virtualmachineid: null,
          vmipaddress: null,
        })
        return null
      },
    })
  },
  listVlanIpRanges: (call) => {
    const { params, state } = call
    const byId = idTest(call)
    const tests = (['zoneid', 'domainid', 'vlan', 'physicalnetworkid'] as const).map((name) => ({
      name,
      test: same(call, name),
    }))
    const account =
      params.text('account') === null
        ? null
        : accountNamed(state, params.text('account') ?? '', params.text('domainid')).id
    const found = state.tables.vlans.filter(
      (one) =>
        byId(one.id) &&
        tests.every(({ name, test }) => test(one[name])) &&
        (account === null || one.accountid === account) &&
        params.bool('forvirtualnetwork') !== false,
    )
    return paged(call, found, (one) => rangeView(state, one))
  },
  createVlanIpRange: (call) => createRange(call),
  dedicatePublicIpRange: (call) => {
    const { params, state } = call
    const range = needRange(call)
    const domainid = params.need('domainid')
    if (range.domainid !== null) throw invalid('Specified Public IP range has already been dedicated to a domain')
    if (range.forsystemvms) throw invalid('Public IP range is dedicated to system vms')
    if (!state.tables.domains.has(domainid)) throw invalid('Unable to find domain: entity does not exist')
    const of_others = state.tables.addresses.find(
      (one) =>
        one.vlanid === range.id &&
        one.state !== 'Free' &&
        state.tables.accounts.get(one.accountid)?.domainid !== domainid,
    )
    if (of_others !== null)
      throw invalid(`${of_others.ipaddress} Public IP address in range is allocated to another domain/account `)
    const account =
      params.text('account') === null ? null : accountNamed(state, params.text('account') ?? '', domainid).id
    call.event({
      type: 'VLAN.IP.RANGE.DEDICATE',
      description: 'dedicating vlan ip range',
      resourcetype: 'Vlan',
      resourceid: range.id,
      resourcename: range.vlan,
    })
    return object(rangeView(state, state.tables.vlans.put({ ...range, domainid, accountid: account })))
  },
  releasePublicIpRange: (call) => {
    const range = needRange(call)
    if (range.domainid === null)
      throw invalid(
        `Can't release Public IP range ${numberOf(range.id)} as it not dedicated to any domain and any account`,
      )
    call.state.tables.vlans.put({ ...range, domainid: null, accountid: null })
    return success()
  },
  deleteVlanIpRange: (call) => {
    const { tables } = call.state
    const range = needRange(call)
    const inside = tables.addresses.filter((one) => one.vlanid === range.id)
    const used = inside.find((one) => one.state !== 'Free')
    if (used !== undefined) throw invalid(`Unable to delete the range: public IP ${used.ipaddress} is allocated`)
    for (const one of inside) tables.addresses.remove(one.id)
    tables.vlans.remove(range.id)
    return success()
  },
}

export function needAddress(call: Call, id: string | null): Address {
  const address = call.state.tables.addresses.get(id)
  if (address === null) throw invalid('Unable to find ip address by id: entity does not exist')
  return address
}

function addressJob(address: Address): { instancetype: string; instanceid: string; queue: string } {
  return { instancetype: 'IpAddress', instanceid: address.id, queue: `address/${address.id}` }
}

function addressEvent(type: string, description: string, address: Address): EventSubject {
  return {
    type,
    description: `${description}: ${address.ipaddress}`,
    resourcetype: 'IpAddress',
    resourceid: address.id,
    resourcename: address.ipaddress,
  }
}

function needRange(call: Call): NonNullable<ReturnType<typeof call.state.tables.vlans.get>> {
  const range = call.state.tables.vlans.get(call.params.need('id'))
  if (range === null) throw invalid('Please specify a valid IP range id.')
  return range
}

function associate(call: Call): Outcome {
  const { params, state } = call
  const vpcid = params.text('vpcid')
  const network = vpcid === null ? associatedNetwork(call) : null
  const owner: Owned =
    network !== null && params.text('account') === null && params.text('projectid') === null
      ? { accountid: network.accountid, projectid: network.projectid }
      : ownerFor(call)
  requireAddressQuota(call, owner)
  const domainid = state.tables.accounts.get(owner.accountid)?.domainid
  const wanted = params.text('ipaddress')
  const free = state.tables.addresses.filter((one) => {
    const range = state.tables.vlans.get(one.vlanid)
    return (
      one.state === 'Free' &&
      !one.issystem &&
      (wanted === null || one.ipaddress === wanted) &&
      (range?.domainid ?? null) === null
    )
  })
  // A tenant's own range is used up before the common one.
  const own = state.tables.addresses.filter(
    (one) =>
      one.state === 'Free' &&
      (wanted === null || one.ipaddress === wanted) &&
      state.tables.vlans.get(one.vlanid)?.domainid === domainid,
  )
  const address = own[0] ?? free[0]
  if (address === undefined) throw noCapacity('Insufficient address capacity')
  state.tables.addresses.put({
    ...address,
    state: 'Allocating',
    allocated: Date.now(),
    associatednetworkid: network?.id ?? null,
    vpcid,
    ...owner,
  })
  return job({
    ...addressJob(address),
    id: address.id,
    duration_ms: 800,
    event: addressEvent('NET.IPASSIGN', 'associating Ip', address),
    begin: () => {
      if (network !== null) requireNetworkRight(owner, network, internal)
    },
    end: () => addressView(state, state.tables.addresses.put({ ...needAddress(call, address.id), state: 'Allocated' })),
    fail: () => {
      state.tables.addresses.put({ ...address })
    },
  })
}

function associatedNetwork(call: Call): Network {
  const { params, state } = call
  const id = params.text('networkid')
  if (id !== null) {
    const network = needNetwork(call, id)
    if (network.type !== 'Isolated') throw invalid("Can't associate a public IP with a network that has no source NAT")
    return network
  }
  if (params.text('zoneid') === null)
    throw invalid(
      'Unable to figure out zone to assign IP to. Please specify either zoneId, or networkId, or vpcId in the call',
    )
  const owner = ownerFor(call)
  const isolated = state.tables.networks.filter(
    (one) =>
      one.type === 'Isolated' &&
      one.vpcid === null &&
      one.accountid === owner.accountid &&
      one.projectid === owner.projectid,
  )
  const [only] = isolated
  if (only === undefined) throw invalid("Account doesn't have virtual networks in the zone")
  if (isolated.length > 1) throw invalid('Account has more than one isolated network in the zone')
  return only
}

function enableNat(call: Call): void {
  const { params, state } = call
  const address = needAddress(call, params.need('ipaddressid'))
  const vm = needVm(state, params.need('virtualmachineid'))
  const networkid = params.text('networkid') ?? address.associatednetworkid
  if (networkid === null)
    throw invalid(
      `Unable to enable static NAT for the ipAddress id=${numberOf(address.id)} as IP is not associated with any network and no networkId is passed in`,
    )
  const network = needNetwork(call, networkid)
  if (address.state !== 'Allocated')
    throw invalid(`Ip address ${addressText(address)} is not assigned to the network ${networkText(network)}`)
  if (address.issourcenat)
    throw invalid(`Can't enable static, ip address ${addressText(address)} is a sourceNat ip address`)
  const nic = vm.nics.find((one) => one.networkid === networkid)
  const elsewhere = address.associatednetworkid !== null && address.associatednetworkid !== networkid
  if (nic === undefined || elsewhere) throw invalid("Vm doesn't belong to the network with specified id")
  if (state.tables.rules.countBy('address', address.id) > 0)
    throw ruleConflict(
      `Failed to enable static nat for the ip address ${addressText(address)} as it already has PortForwarding rules assigned`,
    )
  const guest = params.text('vmguestip')
  const ips = [nic.ipaddress, ...nic.secondaryips.map((one) => one.ipaddress)]
  if (guest !== null && !ips.includes(guest)) throw invalid(`VM ip ${guest} address not belongs to the vm`)
  const vmipaddress = guest ?? nic.ipaddress
  const other = state.tables.addresses.by('vm', vm.id).find((one) => one.isstaticnat && one.vmipaddress === vmipaddress)
  if (other !== undefined)
    throw invalid(
      `Failed to enable static nat on the  ip ${address.ipaddress} with Id ${address.id} as the vm i-2-${vm.number}-VM with Id ${vm.id} is already associated with another public ip ${other.ipaddress} with id ${other.id}`,
    )
  state.tables.addresses.put({
    ...address,
    isstaticnat: true,
    associatednetworkid: networkid,
    virtualmachineid: vm.id,
    vmipaddress,
  })
  call.event(addressEvent('STATICNAT.ENABLE', 'enabling static nat', address))
}

const MOST_ADDRESSES = 4096

/** The limit of addresses is refused with a number and text of its own, without saying how many there are. */
function requireAddressQuota(call: Call, owner: Owned): void {
  try {
    requireQuota(call.state, owner, [[1, 1]])
  } catch (error) {
    const name = call.state.tables.accounts.get(owner.accountid)?.name ?? ''
    if (error instanceof ApiFault && error.code === overQuota('').code)
      throw new ApiFault(532, `Maximum number of public IP addresses for account: ${name} has been exceeded.`)
    throw error
  }
}

function checkRange(call: Call, range: { first: number; last: number; gateway: string; netmask: string }): void {
  const subnet = (ip: number): number => Math.floor(ip / (2 ** 32 - (ipNumber(range.netmask) ?? 0)))
  const gateway = ipNumber(range.gateway) ?? 0
  if (subnet(range.first) !== subnet(gateway) || subnet(range.last) !== subnet(gateway))
    throw invalid('Please specify a valid IP range or valid netmask or valid gateway')
  if (gateway >= range.first && gateway <= range.last)
    throw invalid('The gateway ip should not be the part of the ip range being added.')
  const vlan = `vlan://${call.params.text('vlan') ?? 'untagged'}`
  const other = call.state.tables.vlans.find(
    (one) => one.vlan !== vlan && subnet(ipNumber(one.startip) ?? 0) === subnet(range.first),
  )
  if (other !== null)
    throw invalid(
      `The IP range with tag: ${other.vlan} in zone ${ZONE_NAME} has overlapped with the subnet. Please specify a different gateway/netmask.`,
    )
}

function createRange(call: Call): Outcome {
  const { params, state } = call
  const startip = params.text('startip')
  const endip = params.text('endip') ?? startip
  if (params.text('zoneid') === null) throw invalid('Unable to find zone by id null')
  const first = ipNumber(startip ?? '')
  const last = ipNumber(endip ?? '')
  const gateway = params.text('gateway')
  const netmask = params.text('netmask')
  if (first === null || last === null || gateway === null || netmask === null || startip === null || endip === null)
    throw internal('Incorrect number')
  if (last < first || last - first >= MOST_ADDRESSES) throw invalid('Please specify a valid IP range.')
  checkRange(call, { first, last, gateway, netmask })
  const taken = state.tables.addresses.find((one) => {
    const value = ipNumber(one.ipaddress) ?? 0
    return value >= first && value <= last
  })
  if (taken !== null)
    throw invalid(
      'The IP range already has IPs that overlap with the new range. Please specify a different start IP/end IP.',
    )
  const domainid = params.text('domainid')
  const vlan = params.text('vlan') ?? 'untagged'
  const zone = state.tables.zones.values().next().value
  const range = state.tables.vlans.put({
    id: randomUUID(),
    zoneid: params.text('zoneid') ?? zone?.id ?? '',
    physicalnetworkid:
      params.text('physicalnetworkid') ?? state.tables.physicalnetworks.values().next().value?.id ?? '',
    vlan: vlan.startsWith('vlan://') ? vlan : `vlan://${vlan}`,
    gateway,
    netmask,
    startip,
    endip,
    domainid,
    accountid: params.text('account') === null ? null : accountNamed(state, params.text('account') ?? '', domainid).id,
    forsystemvms: params.bool('forsystemvms') ?? false,
  })
  for (let value = first; value <= last; value += 1) {
    state.tables.addresses.put({
      id: randomUUID(),
      ipaddress: ipText(value),
      vlanid: range.id,
      state: 'Free',
      allocated: null,
      zoneid: range.zoneid,
      issourcenat: false,
      isstaticnat: false,
      issystem: false,
      associatednetworkid: null,
      vpcid: null,
      virtualmachineid: null,
      vmipaddress: null,
      accountid: call.caller.account.id,
      projectid: null,
    })
  }
  call.event({
    type: 'VLAN.IP.RANGE.CREATE',
    description: 'creating vlan IP range',
    resourcetype: 'Vlan',
    resourceid: range.id,
    resourcename: range.vlan,
  })
  return object(rangeView(state, range))
}
