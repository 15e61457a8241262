/** Room and place: what clusters hold, when they are too full, and which host a machine starts on. */
import { internal, noCapacity } from './api-fault.ts'
import type { Host, ServiceOffering, Vm } from './records.ts'
import { setting } from './settings.ts'
import type { SimulatorState } from './state.ts'
import { vmText } from './texts.ts'

interface Room {
  cpu_used_mhz: number
  cpu_total_mhz: number
  cores_used: number
  cores_total: number
  memory_used_bytes: number
  memory_total_bytes: number
}

export function overcommit(state: SimulatorState, clusterid: string): { cpu: number; memory: number } {
  const cluster = state.tables.clusters.get(clusterid)
  return { cpu: Number(cluster?.['cpuovercommitratio'] ?? 1), memory: Number(cluster?.['memoryovercommitratio'] ?? 1) }
}

/** Totals contain the overcommit factor; hosts that are down or being emptied do not count. */
export function clusterRoom(state: SimulatorState, clusterid: string): Room {
  const factor = overcommit(state, clusterid)
  const room: Room = {
    cpu_used_mhz: 0,
    cpu_total_mhz: 0,
    cores_used: 0,
    cores_total: 0,
    memory_used_bytes: 0,
    memory_total_bytes: 0,
  }
  for (const host of state.hostsOf(clusterid)) {
    if (host.state !== 'Up' || host.resourcestate !== 'Enabled') continue
    const use = state.hostUse(host.id)
    room.cpu_used_mhz += use.cpu_mhz
    room.cores_used += use.cpu_cores
    room.memory_used_bytes += use.memory_bytes
    room.cpu_total_mhz += host.cpunumber * host.cpuspeed * factor.cpu
    room.cores_total += host.cpunumber * factor.cpu
    room.memory_total_bytes += host.memory_bytes * factor.memory
  }
  return room
}

/** The planner drops a cluster when (used + requested) / total is greater than the threshold, for CPU or memory. */
function overThreshold(state: SimulatorState, clusterid: string, vm: Vm): boolean {
  if (setting(state, 'cluster.threshold.enabled') !== 'true') return false
  const room = clusterRoom(state, clusterid)
  const cpu = (room.cpu_used_mhz + vm.cpunumber * vm.cpuspeed) / room.cpu_total_mhz
  const memory = (room.memory_used_bytes + vm.memory * 1024 * 1024) / room.memory_total_bytes
  return (
    cpu > Number(setting(state, 'cluster.cpu.allocated.capacity.disablethreshold', clusterid)) ||
    memory > Number(setting(state, 'cluster.memory.allocated.capacity.disablethreshold', clusterid))
  )
}

export function fits(state: SimulatorState, host: Host, vm: Vm): boolean {
  const use = state.hostUse(host.id)
  const factor = overcommit(state, host.clusterid)
  return (
    use.cpu_mhz + vm.cpunumber * vm.cpuspeed <= host.cpunumber * host.cpuspeed * factor.cpu &&
    use.memory_bytes + vm.memory * 1024 * 1024 <= host.memory_bytes * factor.memory
  )
}

export interface Wish {
  hostid: string | null
  clusterid: string | null
  podid: string | null
}

/** The emptiest host that has room and everything the machine needs; 533 when there is none. */
export function placeFor(state: SimulatorState, vm: Vm, wish: Wish): Host {
  const offering = state.tables.serviceofferings.get(vm.serviceofferingid)
  const apart = apartFrom(state, vm)
  let best: Host | null = null
  let open = false
  for (const cluster of state.tables.clusters.values()) {
    if (
      cluster['allocationstate'] !== 'Enabled' ||
      (wish.clusterid !== null && wish.clusterid !== cluster.id) ||
      (wish.podid !== null && wish.podid !== cluster['podid'])
    )
      continue
    if (overThreshold(state, cluster.id, vm)) continue
    open = true
    for (const host of state.hostsOf(cluster.id)) {
      if (wish.hostid !== null && wish.hostid !== host.id) continue
      if (!suits(state, host, vm, offering) || apart.has(host.id)) continue
      if (best === null || state.hostUse(host.id).memory_bytes < state.hostUse(best.id).memory_bytes) best = host
    }
  }
  // Clusters over their threshold are no destination at all; without a host that has room the planner gives up later.
  if (best === null && (!open || vm.lasthostid === null))
    throw noCapacity(`No destination found for a deployment for ${vmText(vm)}`)
  if (best === null)
    throw internal(`Unable to start a VM [${vm.id}] due to [Unable to create a deployment for ${vmText(vm)}].`)
  return best
}

function suits(state: SimulatorState, host: Host, vm: Vm, offering: ServiceOffering | null): boolean {
  if (host.state !== 'Up' || host.resourcestate !== 'Enabled' || !fits(state, host, vm)) return false
  if (vm.details['UEFI'] !== undefined && !host.ueficapability) return false
  const wanted = offering?.hosttags ?? null
  if (wanted !== null && !wanted.split(',').every((tag) => host.hosttags.split(',').includes(tag))) return false
  return (
    offering === null ||
    offering.vgpuprofileid === null ||
    freeGpus(state, host.id, offering.vgpuprofileid, vm.id).length >= offering.gpucount
  )
}

/** Devices of a profile that this machine could have: free and managed, or its own already. */
function freeGpus(state: SimulatorState, hostid: string, vgpuprofileid: string, vmid: string): string[] {
  return state.tables.gpudevices
    .by('host', hostid)
    .filter(
      (device) =>
        device.vgpuprofileid === vgpuprofileid &&
        device.managedstate === 'Managed' &&
        (device.virtualmachineid === vmid || device.state === 'Free'),
    )
    .map((device) => device.id)
}

export function takeGpus(state: SimulatorState, vm: Vm, hostid: string): void {
  const offering = state.tables.serviceofferings.get(vm.serviceofferingid)
  if (offering === null || offering.vgpuprofileid === null) return
  const held = state.tables.gpudevices.by('vm', vm.id)
  if (held.length >= offering.gpucount && held.every((device) => device.hostid === hostid)) return
  releaseGpus(state, vm.id)
  for (const id of freeGpus(state, hostid, offering.vgpuprofileid, vm.id).slice(0, offering.gpucount)) {
    const device = state.tables.gpudevices.get(id)
    if (device !== null) state.tables.gpudevices.put({ ...device, virtualmachineid: vm.id, state: 'Allocated' })
    markParent(state, device?.parentgpudeviceid ?? null)
  }
}

export function releaseGpus(state: SimulatorState, vmid: string): void {
  for (const device of state.tables.gpudevices.by('vm', vmid)) {
    state.tables.gpudevices.put({ ...device, virtualmachineid: null, state: 'Free' })
    markParent(state, device.parentgpudeviceid)
  }
}

/** A card of which some parts are taken is partially allocated. */
function markParent(state: SimulatorState, parentid: string | null): void {
  const parent = state.tables.gpudevices.get(parentid)
  if (parent === null) return
  const taken = state.tables.gpudevices
    .by('host', parent.hostid)
    .some((device) => device.parentgpudeviceid === parent.id && device.virtualmachineid !== null)
  state.tables.gpudevices.put({ ...parent, state: taken ? 'PartiallyAllocated' : 'Free' })
}

/** Hosts on which another member of one of the machine's anti-affinity groups runs. */
function apartFrom(state: SimulatorState, vm: Vm): Set<string> {
  const groups = vm.affinitygroupids.filter((id) => state.tables.affinitygroups.get(id)?.type === 'host anti-affinity')
  const hosts = new Set<string>()
  if (groups.length === 0) return hosts
  for (const other of state.tables.vms.by('account', vm.accountid)) {
    if (other.id !== vm.id && other.hostid !== null && other.affinitygroupids.some((id) => groups.includes(id)))
      hosts.add(other.hostid)
  }
  return hosts
}
