// What becomes of the machines on a host that leaves: which move, which would be destroyed, and whether there is room.
import { type Capacity, capacityFor, isTight, leftOver, sum } from './capacity.ts'
import type { PlatformReading, PlatformVm } from './platform-reading.ts'

export interface VmPlan {
  user: readonly PlatformVm[]
  routers: readonly PlatformVm[]
  /** Consoles and secondary storage. */
  system: readonly PlatformVm[]
  stays: readonly PlatformVm[]
  moves: readonly PlatformVm[]
  capacity: Capacity
  is_tight: boolean
  /** Those that go on only as destroyed ones: those that cannot move, and those that fit nowhere. */
  destroyed: readonly PlatformVm[]
  cpu_demand_mhz: number
  mem_demand_bytes: number
  free_cpu_mhz: number
  free_mem_bytes: number
}

export function planVms({ vms, targets }: Pick<PlatformReading, 'vms' | 'targets'>): VmPlan {
  const user = vms.filter(({ kind }) => kind === 'user')
  const stays = user.filter(({ stays: reason }) => reason !== null)
  const moves = user.filter(({ stays: reason }) => reason === null)
  const routers = vms.filter(({ kind }) => kind === 'router')
  const system = vms.filter(({ kind }) => kind === 'system')
  const demands = [...moves, ...routers, ...system]
  const capacity = capacityFor(demands, targets)
  const homeless = capacity.ok ? [] : leftOver(demands, targets)
  return {
    user, routers, system, stays, moves, capacity,
    is_tight: isTight(demands, targets),
    destroyed: [...stays, ...moves.filter((vm) => homeless.includes(vm))],
    cpu_demand_mhz: sum(demands.map(({ cpu_mhz }) => cpu_mhz)),
    mem_demand_bytes: sum(demands.map(({ mem_bytes }) => mem_bytes)),
    free_cpu_mhz: sum(targets.map(({ free_cpu_mhz }) => free_cpu_mhz)),
    free_mem_bytes: sum(targets.map(({ free_mem_bytes }) => free_mem_bytes)),
  } // biome-ignore format: a record
}
