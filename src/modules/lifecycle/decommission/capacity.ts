// Whether the machines of one host find room on others. A yes is always a placement that was found; a no may be too careful.

/** A machine that must move. */
export interface Demand {
  id: string
  name: string
  cpu_mhz: number
  mem_bytes: number
  /** Tags that its host must carry. */
  tags: readonly string[]
  /** Groups whose members must run on different hosts. */
  apart: readonly string[]
  /** Groups whose members must run on one host. */
  together: readonly string[]
  /** Hosts that the platform calls suitable; undefined: it was not asked. */
  suitable?: ReadonlySet<string>
}

export interface Target {
  id: string
  name: string
  free_cpu_mhz: number
  free_mem_bytes: number
  tags: readonly string[]
  /** Groups that have a member there. */
  groups: readonly string[]
}

export type Capacity = { ok: true } | { ok: false; reason: string }

/** Room that is left over, so that a move does not fill the others to the brim. */
const HEADROOM = 1.05

export function capacityFor(demands: readonly Demand[], targets: readonly Target[]): Capacity {
  if (demands.length === 0) return { ok: true }
  const short = shortOf(demands, targets)
  if (short !== undefined) return { ok: false, reason: short }
  const sorted = byShare(demands, targets)
  const orders = [sorted, swapped(sorted)]
  const tries = orders.flatMap((order) => [place(order, targets, 'first'), place(order, targets, 'best')])
  const [first] = tries
  if (tries.includes(undefined)) return { ok: true }
  return { ok: false, reason: doesNotFit(first, targets) }
}

function shortOf(demands: readonly Demand[], targets: readonly Target[]): string | undefined {
  const cpu = sum(demands.map(({ cpu_mhz }) => cpu_mhz))
  const mem = sum(demands.map(({ mem_bytes }) => mem_bytes))
  const free_cpu = sum(targets.map(({ free_cpu_mhz }) => free_cpu_mhz))
  const free_mem = sum(targets.map(({ free_mem_bytes }) => free_mem_bytes))
  if (cpu * HEADROOM > free_cpu)
    return `The machines need ${cpu} MHz and 5 % to spare; the other hosts have ${free_cpu} MHz free.`
  if (mem * HEADROOM > free_mem)
    return `The machines need ${mem} bytes of memory and 5 % to spare; the other hosts have ${free_mem} bytes free.`
  return undefined
}

/** Largest first, by the larger of its shares of what is free. */
function byShare(demands: readonly Demand[], targets: readonly Target[]): Demand[] {
  const free_cpu = Math.max(1, sum(targets.map(({ free_cpu_mhz }) => free_cpu_mhz)))
  const free_mem = Math.max(1, sum(targets.map(({ free_mem_bytes }) => free_mem_bytes)))
  const share = ({ cpu_mhz, mem_bytes }: Demand): number => Math.max(cpu_mhz / free_cpu, mem_bytes / free_mem)
  return demands.toSorted((a, b) => share(b) - share(a))
}

function swapped(order: readonly Demand[]): readonly Demand[] {
  const [first, second, ...rest] = order
  return first === undefined || second === undefined ? order : [second, first, ...rest]
}

interface Slot {
  target: Target
  cpu: number
  mem: number
  groups: Set<string>
}

/** Answers the first machine that does not fit; undefined when all do. */
function place(order: readonly Demand[], targets: readonly Target[], fit: 'first' | 'best'): Demand | undefined {
  const slots = targets.map((target) => ({
    target,
    cpu: target.free_cpu_mhz,
    mem: target.free_mem_bytes,
    groups: new Set(target.groups),
  }))
  for (const demand of order) {
    const fitting = slots.filter((slot) => fits(demand, slot, slots))
    const slot = fit === 'first' ? fitting[0] : tightest(fitting, demand)
    if (slot === undefined) return demand
    slot.cpu -= demand.cpu_mhz
    slot.mem -= demand.mem_bytes
    for (const group of [...demand.apart, ...demand.together]) slot.groups.add(group)
  }
  return undefined
}

function fits(demand: Demand, slot: Slot, slots: readonly Slot[]): boolean {
  const { target } = slot
  if (demand.cpu_mhz > slot.cpu || demand.mem_bytes > slot.mem) return false
  if (demand.suitable?.has(target.id) === false) return false
  if (!demand.tags.every((tag) => target.tags.includes(tag))) return false
  if (demand.apart.some((group) => slot.groups.has(group))) return false
  return demand.together.every((group) => slot.groups.has(group) || !slots.some((other) => other.groups.has(group)))
}

function tightest(slots: readonly Slot[], demand: Demand): Slot | undefined {
  const left = ({ cpu, mem }: Slot): number => Math.min(cpu - demand.cpu_mhz, (mem - demand.mem_bytes) / BYTES_PER_MHZ)
  return slots.toSorted((a, b) => left(a) - left(b))[0]
}

/** Makes memory and processors comparable: about what a host has of both. */
const BYTES_PER_MHZ = 1024 ** 2

function doesNotFit(demand: Demand | undefined, targets: readonly Target[]): string {
  const largest = targets.toSorted((a, b) => b.free_mem_bytes - a.free_mem_bytes)[0]
  const slot =
    largest === undefined
      ? 'there is no other host'
      : `the most that one host has free is ${largest.free_cpu_mhz} MHz and ${largest.free_mem_bytes} bytes on ${largest.name}`
  const need = demand === undefined ? '' : ` (${demand.cpu_mhz} MHz, ${demand.mem_bytes} bytes)`
  return `${demand?.name ?? 'A machine'}${need} does not fit: ${slot}.`
}

/** Whether less than a tenth is left free on the other hosts when all have moved. */
export function isTight(demands: readonly Demand[], targets: readonly Target[]): boolean {
  const left = (need: number, free: number): boolean => need > 0 && free - need < free * 0.1
  return (
    left(sum(demands.map(({ cpu_mhz }) => cpu_mhz)), sum(targets.map(({ free_cpu_mhz }) => free_cpu_mhz))) ||
    left(sum(demands.map(({ mem_bytes }) => mem_bytes)), sum(targets.map(({ free_mem_bytes }) => free_mem_bytes)))
  )
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** Those that find no room when all others have moved, largest first. */
export function leftOver<D extends Demand>(demands: readonly D[], targets: readonly Target[]): D[] {
  const left: D[] = []
  for (;;) {
    const rest = demands.filter((demand) => !left.includes(demand))
    const homeless = place(byShare(rest, targets), targets, 'first')
    const found = rest.find(({ id }) => id === homeless?.id)
    if (found === undefined) return left
    left.push(found)
  }
}
