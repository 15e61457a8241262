/** Room and place: what clusters hold, when they are too full, and which host a machine starts on. */
import { noCapacity } from './api-fault.ts'
import type { Host, ServiceOffering, Vm } from './records.ts'
import { setting } from './settings.ts'
import type { World } from './state.ts'

interface Room {
  cpu_used_mhz: number
  cpu_total_mhz: number
  cores_used: number
  cores_total: number
  memory_used_bytes: number
  memory_total_bytes: number
}

export function overcommit(world: World, clusterid: string): { cpu: number; memory: number } {
  const cluster = world.tables.clusters.get(clusterid)
  return { cpu: Number(cluster?.['cpuovercommitratio'] ?? 1), memory: Number(cluster?.['memoryovercommitratio'] ?? 1) }
}

/** Totals contain the overcommit factor; hosts that are down or being emptied do not count. */
export function clusterRoom(world: World, clusterid: string): Room {
  const factor = overcommit(world, clusterid)
  const room: Room = {
    cpu_used_mhz: 0,
    cpu_total_mhz: 0,
    cores_used: 0,
    cores_total: 0,
    memory_used_bytes: 0,
    memory_total_bytes: 0,
  }
  for (const host of world.hostsOf(clusterid)) {
    if (host.state !== 'Up' || host.resourcestate !== 'Enabled') continue
    const use = world.hostUse(host.id)
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
function overThreshold(world: World, clusterid: string, vm: Vm): boolean {
  if (setting(world, 'cluster.threshold.enabled') !== 'true') return false
  const room = clusterRoom(world, clusterid)
  const cpu = (room.cpu_used_mhz + vm.cpunumber * vm.cpuspeed) / room.cpu_total_mhz
  const memory = (room.memory_used_bytes + vm.memory * 1024 * 1024) / room.memory_total_bytes
  return (
    cpu > Number(setting(world, 'cluster.cpu.allocated.capacity.disablethreshold', clusterid)) ||
    memory > Number(setting(world, 'cluster.memory.allocated.capacity.disablethreshold', clusterid))
  )
}

export function fits(world: World, host: Host, vm: Vm): boolean {
  const use = world.hostUse(host.id)
  const factor = overcommit(world, host.clusterid)
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
export function placeFor(world: World, vm: Vm, wish: Wish): Host {
  const offering = world.tables.serviceofferings.get(vm.serviceofferingid)
  const apart = apartFrom(world, vm)
  let best: Host | null = null
  for (const cluster of world.tables.clusters.values()) {
    if (
      cluster['allocationstate'] !== 'Enabled' ||
      (wish.clusterid !== null && wish.clusterid !== cluster.id) ||
      (wish.podid !== null && wish.podid !== cluster['podid'])
    )
      continue
    if (overThreshold(world, cluster.id, vm)) continue
    for (const host of world.hostsOf(cluster.id)) {
      if (wish.hostid !== null && wish.hostid !== host.id) continue
      if (!suits(world, host, vm, offering) || apart.has(host.id)) continue
      if (best === null || world.hostUse(host.id).memory_bytes < world.hostUse(best.id).memory_bytes) best = host
    }
  }
  if (best === null)
    throw noCapacity(
      `Unable to create a deployment for VM instance {"id":"${vm.id}","instanceName":"i-2-${vm.number}-VM"}`,
    )
  return best
}

function suits(world: World, host: Host, vm: Vm, offering: ServiceOffering | null): boolean {
  if (host.state !== 'Up' || host.resourcestate !== 'Enabled' || !fits(world, host, vm)) return false
  if (vm.details['UEFI'] !== undefined && !host.ueficapability) return false
  const wanted = offering?.hosttags ?? null
  if (wanted !== null && !wanted.split(',').every((tag) => host.hosttags.split(',').includes(tag))) return false
  return (
    offering === null ||
    offering.vgpuprofileid === null ||
    freeGpus(world, host.id, offering.vgpuprofileid, vm.id).length >= offering.gpucount
  )
}

/** Devices of a profile that this machine could have: free and managed, or its own already. */
function freeGpus(world: World, hostid: string, vgpuprofileid: string, vmid: string): string[] {
  return world.tables.gpudevices
    .by('host', hostid)
    .filter(
      (device) =>
        device.vgpuprofileid === vgpuprofileid &&
        device.managedstate === 'Managed' &&
        (device.virtualmachineid === vmid || device.state === 'Free'),
    )
    .map((device) => device.id)
}

export function takeGpus(world: World, vm: Vm, hostid: string): void {
  const offering = world.tables.serviceofferings.get(vm.serviceofferingid)
  if (offering === null || offering.vgpuprofileid === null) return
  const held = world.tables.gpudevices.by('vm', vm.id)
  if (held.length >= offering.gpucount && held.every((device) => device.hostid === hostid)) return
  releaseGpus(world, vm.id)
  for (const id of freeGpus(world, hostid, offering.vgpuprofileid, vm.id).slice(0, offering.gpucount)) {
    const device = world.tables.gpudevices.get(id)
    if (device !== null) world.tables.gpudevices.put({ ...device, virtualmachineid: vm.id, state: 'Allocated' })
    markParent(world, device?.parentgpudeviceid ?? null)
  }
}

export function releaseGpus(world: World, vmid: string): void {
  for (const device of world.tables.gpudevices.by('vm', vmid)) {
    world.tables.gpudevices.put({ ...device, virtualmachineid: null, state: 'Free' })
    markParent(world, device.parentgpudeviceid)
  }
}

/** A card of which some parts are taken is partially allocated. */
function markParent(world: World, parentid: string | null): void {
  const parent = world.tables.gpudevices.get(parentid)
  if (parent === null) return
  const taken = world.tables.gpudevices
    .by('host', parent.hostid)
    .some((device) => device.parentgpudeviceid === parent.id && device.virtualmachineid !== null)
  world.tables.gpudevices.put({ ...parent, state: taken ? 'PartiallyAllocated' : 'Free' })
}

/** Hosts on which another member of one of the machine's anti-affinity groups runs. */
function apartFrom(world: World, vm: Vm): Set<string> {
  const groups = vm.affinitygroupids.filter((id) => world.tables.affinitygroups.get(id)?.type === 'host anti-affinity')
  const hosts = new Set<string>()
  if (groups.length === 0) return hosts
  for (const other of world.tables.vms.by('account', vm.accountid)) {
    if (other.id !== vm.id && other.hostid !== null && other.affinitygroupids.some((id) => groups.includes(id)))
      hosts.add(other.hostid)
  }
  return hosts
}
