/** What the machine commands share: finding one, changing its state, its events, and what starting and stopping mean for the rest. */
import { invalid } from './api-fault.ts'
import type { Call } from './call.ts'
import { placeFor, releaseGpus, takeGpus } from './capacity.ts'
import type { Wish } from './capacity.ts'
import type { EventSubject } from './event-log.ts'
import type { Vm, VmState } from './records.ts'
import { setting } from './settings.ts'
import type { World } from './state.ts'

export function needVm(world: World, id: string): Vm {
  const vm = world.tables.vms.get(id)
  if (vm === null)
    throw invalid(`Unable to find a virtual machine with specified id ${id}: entity does not exist`, {
      uuid: id,
      description: 'vmId',
    })
  return vm
}

export function setVm(world: World, id: string, set: Partial<Vm>): Vm {
  return world.tables.vms.put({ ...needVm(world, id), ...set, lastupdated: Date.now() })
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

export function requireState(vm: Vm, states: readonly VmState[], refusal: string): void {
  if (!states.includes(vm.state)) throw invalid(refusal)
}

/** Starting takes the host's room and the GPU at once, as the planner reserves them. */
export function beginStart(world: World, id: string, wish: Wish): void {
  const vm = needVm(world, id)
  const host = placeFor(world, vm, wish)
  setVm(world, id, { state: 'Starting', hostid: host.id })
  takeGpus(world, needVm(world, id), host.id)
  for (const nic of vm.nics) {
    const network = world.tables.networks.get(nic.networkid)
    if (network?.state === 'Allocated') world.tables.networks.put({ ...network, state: 'Implemented' })
  }
  for (const volume of world.tables.volumes.by('vm', id))
    if (volume.state === 'Allocated')
      world.tables.volumes.put({ ...volume, state: 'Ready', storageid: defaultPool(world) })
}

export function endStart(world: World, id: string): Vm {
  const vm = needVm(world, id)
  return setVm(world, id, { state: 'Running', lasthostid: vm.hostid })
}

export function putStopped(world: World, id: string): Vm {
  const vm = needVm(world, id)
  if (setting(world, 'gpu.detach.on.stop') === 'true') releaseGpus(world, id)
  return setVm(world, id, { state: 'Stopped', hostid: null, lasthostid: vm.hostid ?? vm.lasthostid })
}

export function defaultPool(world: World): string | null {
  return world.tables.storagepools.values().next().value?.id ?? null
}

export function wishOf(call: Call): Wish {
  return {
    hostid: call.params.text('hostid'),
    clusterid: call.params.text('clusterid'),
    podid: call.params.text('podid'),
  }
}

/** The machine leaves for good: disks, addresses' uses, rules, copies and GPU go with it. */
export function expunge(world: World, id: string): void {
  const { tables } = world
  releaseGpus(world, id)
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
