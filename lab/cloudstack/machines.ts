/** What the machine commands share: finding one, changing its state, its events, and what starting and stopping mean for the rest. */
import { internal, invalid } from './api-fault.ts'
import type { Call } from './call.ts'
import { placeFor, releaseGpus, takeGpus } from './capacity.ts'
import type { Wish } from './capacity.ts'
import type { EventSubject } from './event-log.ts'
import type { Network } from './network-records.ts'
import type { Vm, VmState } from './records.ts'
import { setting } from './settings.ts'
import type { SimulatorState } from './state.ts'
import { removedText, vmText } from './texts.ts'

export function needVm(state: SimulatorState, id: string): Vm {
  const vm = state.tables.vms.get(id)
  if (vm === null) throw invalid(removedText(id, 'VirtualMachine'), { uuid: id, description: 'vmId' })
  return vm
}

export function setVm(state: SimulatorState, id: string, set: Partial<Vm>): Vm {
  return state.tables.vms.put({ ...needVm(state, id), ...set, lastupdated: Date.now() })
}

export function vmEvent(type: string, description: string, vm: Vm): EventSubject {
  return {
    type,
    description: `${description}. VM Id: ${vm.id}`,
    resourcetype: 'VirtualMachine',
    resourceid: vm.id,
    resourcename: vm.name,
  }
}

/** What every machine job has in common: one queue for each machine. */
export function vmJob(vm: Vm): { instancetype: string; instanceid: string; queue: string } {
  return { instancetype: 'VirtualMachine', instanceid: vm.id, queue: `vm/${vm.id}` }
}

export function requireState(vm: Vm, states: readonly VmState[], error: string): void {
  if (!states.includes(vm.state)) throw invalid(error)
}

/** Starting takes the host's room and the GPU at once, as the planner reserves them. */
export function beginStart(state: SimulatorState, id: string, wish: Wish): void {
  const vm = needVm(state, id)
  if (!state.tables.volumes.by('vm', id).some((one) => one.type === 'ROOT'))
    throw internal(`Unable to create deployment, no usable volumes found for the VM: ${id}`)
  const host = placeFor(state, vm, wish)
  setVm(state, id, { state: 'Starting', hostid: host.id })
  takeGpus(state, needVm(state, id), host.id)
  for (const nic of vm.nics) {
    const network = state.tables.networks.get(nic.networkid)
    if (network?.state === 'Allocated') implement(state, network)
  }
  for (const volume of state.tables.volumes.by('vm', id))
    if (volume.state === 'Allocated')
      state.tables.volumes.put({ ...volume, state: 'Ready', storageid: defaultPool(state) })
}

/** A network comes to life with its first machine: it is implemented, and an isolated one takes its source NAT address. */
function implement(state: SimulatorState, network: Network): void {
  state.tables.networks.put({ ...network, state: 'Implemented' })
  const has = state.tables.addresses.by('network', network.id).some((one) => one.issourcenat)
  if (network.type !== 'Isolated' || network.vpcid !== null || has) return
  const domainid = state.tables.accounts.get(network.accountid)?.domainid
  const free = state.tables.addresses.find((one) => {
    const owner = state.tables.vlans.get(one.vlanid)?.domainid ?? null
    return one.state === 'Free' && !one.issystem && (owner === null || owner === domainid)
  })
  if (free === null) return
  const { accountid, projectid } = network
  const taken = { state: 'Allocated', issourcenat: true, associatednetworkid: network.id } as const
  state.tables.addresses.put({ ...free, ...taken, allocated: Date.now(), accountid, projectid })
}

/** What is no longer Stopped when it is asked to start: the platform finds no place, or no way. */
export function refuseStart(vm: Vm): never {
  throw internal(`Unable to orchestrate the start of ${vmText(vm)}.`)
}

export function endStart(state: SimulatorState, id: string): Vm {
  const vm = needVm(state, id)
  return setVm(state, id, { state: 'Running', lasthostid: vm.hostid })
}

export function putStopped(state: SimulatorState, id: string): Vm {
  const vm = needVm(state, id)
  if (setting(state, 'gpu.detach.on.stop') === 'true') releaseGpus(state, id)
  return setVm(state, id, { state: 'Stopped', hostid: null, lasthostid: vm.hostid ?? vm.lasthostid })
}

export function defaultPool(state: SimulatorState): string | null {
  return state.tables.storagepools.values().next().value?.id ?? null
}

export function wishOf(call: Call): Wish {
  return {
    hostid: call.params.text('hostid'),
    clusterid: call.params.text('clusterid'),
    podid: call.params.text('podid'),
  }
}

/** The machine leaves for good: disks, addresses' uses, rules, copies and GPU go with it. */
export function expunge(state: SimulatorState, id: string): void {
  const { tables } = state
  releaseGpus(state, id)
  for (const volume of tables.volumes.by('vm', id)) {
    if (volume.type === 'ROOT') tables.volumes.remove(volume.id)
    else tables.volumes.put({ ...volume, virtualmachineid: null, deviceid: null, attached: null })
  }
  for (const rule of tables.rules.by('vm', id)) tables.rules.remove(rule.id)
  for (const address of tables.addresses.by('vm', id))
    tables.addresses.put({ ...address, isstaticnat: false, virtualmachineid: null, vmipaddress: null })
  for (const snapshot of tables.vmsnapshots.by('vm', id)) tables.vmsnapshots.remove(snapshot.id)
  tables.vms.remove(id)
}
