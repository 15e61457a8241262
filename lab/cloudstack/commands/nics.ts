/** Network cards of machines and their addresses. */
import { randomUUID } from 'node:crypto'
import { ipNumber, isFree, nextFreeIp } from '../addressing.ts'
import { internal, invalid, noCapacity } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands } from '../call.ts'
import type { EventSubject } from '../event-log.ts'
import { needVm, setVm, vmJob } from '../machines.ts'
import { servicesOf } from '../network-view.ts'
import type { Nic, Vm } from '../records.ts'
import { keywordTest } from '../scope.ts'
import { nicView, vmView } from '../vm-view.ts'
import { list } from '../wire.ts'
import { makeNic, needNetwork, requireNetworkRight } from './vm-deploy.ts'

const MOST_IPS = 256

export const nics: Commands = {
  /** Paging is ignored upstream, and an id together with a keyword answers another shape. */
  listNics: (call) => {
    const { params, state } = call
    const vm = state.tables.vms.get(params.need('virtualmachineid'))
    if (vm === null) throw internal('Failed to list nics: the virtual machine does not exist')
    const nicid = params.text('nicid')
    const networkid = params.text('networkid')
    if (nicid !== null && params.text('keyword') !== null) {
      const keyword = keywordTest(call)
      const one = vm.nics.find((nic) => nic.id === nicid)
      const secondaryip =
        one?.secondaryips
          .filter((ip) => keyword(ip.ipaddress))
          .map((ip) => ({ id: ip.id, ipaddress: ip.ipaddress, nicid, virtualmachineid: vm.id })) ?? []
      return list([{ id: nicid, secondaryip }], 1)
    }
    const found = vm.nics.filter(
      (nic) => (nicid === null || nic.id === nicid) && (networkid === null || nic.networkid === networkid),
    )
    return list(
      found.map((nic) => nicView(state, vm, nic)),
      found.length,
    )
  },
  addNicToVirtualMachine: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('virtualmachineid'))
    const network = needNetwork(call, params.need('networkid'))
    const mac = params.text('macaddress')
    if (mac !== null && !/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(mac)) throw invalid(`Mac address is not valid: ${mac}`)
    return job({
      ...vmJob(vm),
      duration_ms: 1000,
      event: nicEvent('NIC.CREATE', 'Creating Nic', vm),
      begin: () => {
        const now = needVm(state, vm.id)
        requireNetworkRight(now, network)
        if (state.tables.vmsnapshots.by('vm', vm.id).length > 0)
          throw invalid('NIC cannot be added to VM with VM Snapshots')
        if (now.nics.some((nic) => nic.networkid === network.id))
          throw internal(`A NIC already exists for VM:${vm.name} in network: ${network.id}`)
        if (
          mac !== null &&
          state.tables.vms.find((one) =>
            one.nics.some((nic) => nic.networkid === network.id && nic.macaddress.toLowerCase() === mac.toLowerCase()),
          ) !== null
        )
          throw internal(`The NIC with this MAC address ${mac} exists in the network already`)
        const ip = params.text('ipaddress')
        if (ip !== null && !isFree(state, network, ip))
          throw internal(`Insufficient capacity when adding NIC to VM: the address ${ip} is not free`)
      },
      end: () => {
        const now = needVm(state, vm.id)
        const nic = makeNic(
          call,
          vm.id,
          network,
          1 + Math.max(-1, ...now.nics.map((one) => one.deviceid)),
          params.text('ipaddress'),
          mac,
        )
        return vmView(state, setVm(state, vm.id, { nics: [...now.nics, { ...nic, isdefault: now.nics.length === 0 }] }))
      },
    })
  },
  removeNicFromVirtualMachine: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('virtualmachineid'))
    const nic = vm.nics.find((one) => one.id === params.need('nicid'))
    if (nic === undefined) throw invalid(`${params.need('nicid')} is not a nic on ${vm.name}`)
    return job({
      ...vmJob(vm),
      duration_ms: 800,
      event: nicEvent('NIC.DELETE', 'Removing Nic', vm),
      begin: () => {
        const now = needVm(state, vm.id).nics.find((one) => one.id === nic.id)
        if (now?.isdefault === true) throw invalid(`Unable to remove nic from VM: nic is default.`)
        if (hasRules(call, vm, nic))
          throw internal('Unable to remove nic from VM as it has associated static NAT or port forwarding rules')
      },
      end: () =>
        vmView(state, setVm(state, vm.id, { nics: needVm(state, vm.id).nics.filter((one) => one.id !== nic.id) })),
    })
  },
  addIpToNic: (call) => {
    const { params, state } = call
    const { vm, nic } = needNic(call)
    const network = needNetwork(call, nic.networkid)
    const wanted = params.text('ipaddress')
    if (wanted !== null && ipNumber(wanted) === null) throw invalid(`Invalid ip address ${wanted}`)
    if (nic.secondaryips.length + 1 >= MOST_IPS) throw invalid(`Maximum Number of Ips per Nic has been crossed`)
    if (wanted !== null && !isFree(state, network, wanted))
      throw invalid('Allocating guest ip for nic failed, please choose another ip')
    const ipaddress = wanted ?? nextFreeIp(state, network)
    if (ipaddress === null) throw invalid('Allocating guest ip for nic failed')
    const id = randomUUID()
    putNic(call, vm.id, { ...nic, secondaryips: [...nic.secondaryips, { id, ipaddress }] })
    return job({
      ...vmJob(vm),
      instancetype: 'NicSecondaryIp',
      id,
      duration_ms: 500,
      event: nicEvent('NIC.SECONDARY.IP.CONFIGURE', 'associating ip to nic', vm),
      end: () => ({ id, ipaddress, nicid: nic.id, networkid: nic.networkid, virtualmachineid: vm.id }),
    })
  },
  removeIpFromNic: (call) => {
    const { params, state } = call
    const found = state.secondaryIp(params.need('id'))
    if (found === null) throw invalid('Unable to find secondary ip: entity does not exist')
    return job({
      ...vmJob(found.vm),
      instancetype: 'NicSecondaryIp',
      duration_ms: 500,
      event: nicEvent('NIC.SECONDARY.IP.UNCONFIGURE', 'Disassociating ip address', found.vm),
      begin: () => {
        // The reason is swallowed upstream.
        const used =
          state.tables.rules.by('vm', found.vm.id).some((rule) => rule.vmguestip === found.ipaddress) ||
          state.tables.addresses.by('vm', found.vm.id).some((address) => address.vmipaddress === found.ipaddress)
        if (used) throw invalid('Removing guest ip from nic failed')
      },
      end: () => {
        const now = state.nic(found.nic.id)
        if (now !== null)
          putNic(call, now.vm.id, {
            ...now.nic,
            secondaryips: now.nic.secondaryips.filter((one) => one.id !== params.need('id')),
          })
        return null
      },
    })
  },
  updateVmNicIp: (call) => {
    const { params, state } = call
    const { vm, nic } = needNic(call)
    const network = needNetwork(call, nic.networkid)
    const wanted = params.text('ipaddress')
    return job({
      ...vmJob(vm),
      duration_ms: 700,
      event: nicEvent('NIC.UPDATE', 'updating ip address of nic', vm),
      begin: () => {
        if (servicesOf(network).length > 0 && needVm(state, vm.id).state !== 'Stopped')
          throw invalid('VM is not Stopped, unable to update the vm nic having the specified id')
        if (!['Allocated', 'Implemented', 'Setup'].includes(network.state))
          throw invalid(
            'Network is not in the right state to update vm nic ip. Correct states are: Allocated, Implemented, Setup',
          )
        if (wanted !== null && ipNumber(wanted) === null) throw internal(`Invalid ip address ${wanted}`)
        if (wanted !== null && wanted !== nic.ipaddress && !isFree(state, network, wanted))
          throw noCapacity(`Acquiring Guest ip for nic failed, the requested IP ${wanted} is not available`)
      },
      end: () => {
        const ipaddress = wanted ?? nextFreeIp(state, network)
        const now = state.nic(nic.id)
        if (now !== null) putNic(call, vm.id, { ...now.nic, ipaddress })
        return vmView(state, needVm(state, vm.id))
      },
    })
  },
  updateDefaultNicForVirtualMachine: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('virtualmachineid'))
    const nicid = params.need('nicid')
    return job({
      ...vmJob(vm),
      duration_ms: 600,
      event: nicEvent('NIC.UPDATE', 'Updating Nic', vm),
      begin: () => {
        const now = needVm(state, vm.id)
        const nic = now.nics.find((one) => one.id === nicid)
        if (nic === undefined) throw invalid(`${nicid} is not a nic on ${now.name}`)
        if (now.state !== 'Running' && now.state !== 'Stopped')
          throw internal(`refusing to set default ${nicid} when VM is not Running or Stopped`)
        if (nic.isdefault) throw internal(`refusing to set default nic because chosen nic is already the default nic`)
      },
      end: () =>
        vmView(
          state,
          setVm(state, vm.id, {
            nics: needVm(state, vm.id).nics.map((one) => ({ ...one, isdefault: one.id === nicid })),
          }),
        ),
    })
  },
}

function needNic(call: Call): { vm: Vm; nic: Nic } {
  const found = call.state.nic(call.params.need('nicid'))
  if (found === null) throw invalid(`There is no nic for the nicId ${call.params.need('nicid')}: entity does not exist`)
  return found
}

function putNic(call: Call, vmid: string, nic: Nic): void {
  const vm = needVm(call.state, vmid)
  setVm(call.state, vmid, { nics: vm.nics.map((one) => (one.id === nic.id ? nic : one)) })
}

function hasRules(call: Call, vm: Vm, nic: Nic): boolean {
  const { tables } = call.state
  return (
    tables.rules.by('vm', vm.id).some((rule) => rule.networkid === nic.networkid) ||
    tables.addresses.by('vm', vm.id).some((address) => address.associatednetworkid === nic.networkid)
  )
}

function nicEvent(type: string, description: string, vm: Vm): EventSubject {
  return {
    type,
    description: `${description}. VM Id: ${vm.id}`,
    resourcetype: 'VirtualMachine',
    resourceid: vm.id,
    resourcename: vm.name,
  }
}
