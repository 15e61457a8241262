/** Network cards of machines and their addresses. */
import { randomUUID } from 'node:crypto'
import { ipNumber, isFree, nextFreeIp } from '../addressing.ts'
import { internal, invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands } from '../call.ts'
import type { EventSubject } from '../event-log.ts'
import { needVm, setVm, vmJob } from '../machines.ts'
import { servicesOf } from '../network-view.ts'
import type { Nic, Vm } from '../records.ts'
import { keywordTest } from '../scope.ts'
import { networkText, vmText } from '../texts.ts'
import { nicView, vmView } from '../vm-view.ts'
import { inline, list } from '../wire.ts'
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
      return inline({ count: 1, null: [{ id: nicid, secondaryip }] })
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
    return job({
      ...vmJob(vm),
      duration_ms: 1000,
      event: nicEvent('NIC.CREATE', 'Creating Nic', vm),
      begin: () => {
        const now = needVm(state, vm.id)
        if (mac !== null && !/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(mac))
          throw invalid(`Mac address is not valid: ${mac}`)
        if (now.state !== 'Running' && now.state !== 'Stopped')
          throw internal(
            `Unable to add NIC to ${vmText(now)}: com.cloud.exception.ResourceUnavailableException: Resource [DataCenter:1] is unreachable: Unable to add vm ${vmText(now)} to network, is not in the right state`,
          )
        requireNetworkRight(now, network, internal)
        if (state.tables.vmsnapshots.by('vm', vm.id).length > 0)
          throw invalid('NIC cannot be added to VM with VM Snapshots')
        if (now.nics.some((nic) => nic.networkid === network.id))
          throw internal(`A NIC already exists for VM:i-2-${vm.number}-VM in network: ${network.id}`)
        if (
          mac !== null &&
          state.tables.vms.find((one) =>
            one.nics.some((nic) => nic.networkid === network.id && nic.macaddress.toLowerCase() === mac.toLowerCase()),
          ) !== null
        )
          throw internal(`The NIC with this MAC address ${mac} exists in the network already`)
        const ip = params.text('ipaddress')
        if (ip !== null && !isFree(state, network, ip))
          throw internal(
            `Insufficient capacity when adding NIC to ${vmText(now)}: com.cloud.exception.InsufficientVirtualNetworkCapacityException: Unable to acquire Guest IP address for network ${networkText(network)}`,
          )
      },
      end: () => {
        const now = needVm(state, vm.id)
        const nic = makeNic(
          call,
          network,
          1 + Math.max(-1, ...now.nics.map((one) => one.deviceid)),
          params.text('ipaddress'),
          mac,
        )
        return vmView(state, setVm(state, vm.id, { nics: [...now.nics, { ...nic, isdefault: now.nics.length === 0 }] }))
      },
    })
  },
  addIpToNic: (call) => {
    const { params, state } = call
    const { vm, nic } = needNic(call)
    const network = needNetwork(call, nic.networkid)
    const wanted = params.text('ipaddress')
    if (wanted !== null && ipNumber(wanted) === null) throw invalid(`Invalid ip address ${wanted}`)
    if (nic.secondaryips.length + 1 >= MOST_IPS) throw invalid(`Maximum Number of Ips per Nic has been crossed`)
    if (wanted !== null && !isFree(state, network, wanted)) throw internal('Failed to assign secondary ip to nic')
    const ipaddress = wanted ?? nextFreeIp(state, network)
    if (ipaddress === null) throw internal('Failed to assign secondary ip to nic')
    const id = randomUUID()
    putNic(call, vm.id, { ...nic, secondaryips: [...nic.secondaryips, { id, ipaddress }] })
    return job({
      ...vmJob(vm),
      instancetype: 'NicSecondaryIp',
      id,
      duration_ms: 500,
      event: nicEvent('NIC.SECONDARY.IP.CONFIGURE', 'associating ip to nic', vm),
      end: () => ({ id, ipaddress, nicid: nic.id, networkid: nic.networkid }),
    })
  },
  removeIpFromNic: (call) => {
    const { params, state } = call
    const found = state.secondaryIp(params.need('id'))
    if (found === null) throw invalid('Unable to find secondary ip address')
    return job({
      ...vmJob(found.vm),
      instancetype: 'NicSecondaryIp',
      duration_ms: 500,
      event: nicEvent('NIC.SECONDARY.IP.UNCONFIGURE', 'Disassociating ip address', found.vm),
      begin: () => {
        // The reason is swallowed upstream; an address under static NAT goes all the same.
        const used = state.tables.rules.by('vm', found.vm.id).some((rule) => rule.vmguestip === found.ipaddress)
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
        if (wanted !== null && ipNumber(wanted) === null) throw internal(`Invalid ip address ${wanted}`)
        if (servicesOf(network).length > 0 && needVm(state, vm.id).state !== 'Stopped')
          throw invalid('VM is not Stopped, unable to update the vm nic having the specified id')
        if (!['Allocated', 'Implemented', 'Setup'].includes(network.state))
          throw invalid(
            'Network is not in the right state to update vm nic ip. Correct states are: Allocated, Implemented, Setup',
          )
        if (wanted !== null && wanted !== nic.ipaddress && !isFree(state, network, wanted))
          throw invalid(`Allocating ip to guest nic ${nicText(nic)} failed, please choose another ip`)
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
        if (nic === undefined) throw invalid(`Nic ${nicid} is not a nic on  ${vmText(now)}`)
        if (now.state !== 'Running' && now.state !== 'Stopped')
          throw internal(`refusing to set default ${nicid} when VM is not Running or Stopped`)
        if (nic.isdefault) throw internal(`refusing to set default nic because chosen nic is already the default`)
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

function nicText(nic: Nic): string {
  return `Nic ${JSON.stringify({ deviceId: nic.deviceid, iPv4Address: nic.ipaddress, uuid: nic.id })}`
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

function nicEvent(type: string, description: string, vm: Vm): EventSubject {
  return {
    type,
    description: `${description}. VM Id: ${vm.id}`,
    resourcetype: 'VirtualMachine',
    resourceid: vm.id,
    resourcename: vm.name,
  }
}
