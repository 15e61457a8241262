// What the distributed store loses when a machine leaves it: whether every copy finds another place, and room, and who is left to decide.
import type { StoreOsd, StorePool, StoreState } from '#src/drivers/ceph/state.ts'
import type { StorageReading } from './readings.ts'

/** What of the store is on one machine. */
export interface StoreMember {
  osds: readonly StoreOsd[]
  monitors: StoreState['monitors']
  managers: StoreState['managers']
  /** Its places in the tree, which have nothing in them any more. */
  empty_hosts: readonly string[]
}

/** `names`: what the node is called; daemons tell the name of their machine, mostly without its domain. */
export function memberOf(state: StoreState, names: readonly string[]): StoreMember {
  const known = new Set(names.flatMap((name) => [name, name.split('.')[0] ?? '']).map((name) => name.toLowerCase()))
  const isHere = (host: string | null | undefined): boolean => host != null && known.has(host.toLowerCase())
  const bucketOf = ({ above }: StoreOsd): string | undefined => above.find(({ type }) => type === 'host')?.name
  return {
    osds: state.osds.filter((osd) => isHere(osd.host ?? bucketOf(osd))),
    monitors: state.monitors.filter(({ host }) => isHere(host)),
    managers: state.managers.filter(({ host }) => isHere(host)),
    empty_hosts: state.empty_hosts.filter(isHere),
  }
}

export function readingOf(state: StoreState, names: readonly string[]): StorageReading {
  const member = memberOf(state, names)
  const stays = state.osds.filter((osd) => !member.osds.includes(osd))
  const room = roomWithout(state, member.osds, stays)
  const up = [
    ...member.osds.filter(({ is_up }) => is_up),
    ...member.monitors.filter(({ in_quorum }) => in_quorum),
    ...member.managers,
  ]
  const monitors_left = state.monitors.filter((one) => one.in_quorum && !member.monitors.includes(one)).length
  return {
    daemons: member.osds.length + member.monitors.length + member.managers.length,
    daemons_up: up.length,
    pools: state.pools.length,
    health: state.health,
    without: {
      rejection: rejectionOf(state, member.osds, stays),
      findings: state.findings.map(({ message }) => message),
      ...room,
      osds: member.osds.map(({ id }) => id),
      near_full_share: state.near_full_share,
      full_share: state.full_share,
      monitors: state.monitors.length,
      monitors_left: member.monitors.length === 0 ? state.monitors.length : monitors_left,
      managers: state.managers.length,
      managers_left: state.managers.length - member.managers.length,
    },
  }
}

/** A disk that data is placed on. */
const takesData = ({ is_up, is_in, weight }: StoreOsd): boolean => is_up && is_in && weight > 0

/** Null: every copy finds a place. */
function rejectionOf(
  { health, findings, pools }: StoreState,
  leaves: readonly StoreOsd[],
  stays: readonly StoreOsd[],
): string | null {
  if (leaves.length === 0) return null
  const short = pools.flatMap((pool) => {
    const left = placesOf(pool, stays.filter(takesData))
    // Those that are down, or out, count as places that the pool has.
    const before = placesOf(pool, [...stays, ...leaves])
    const { name, copies, min_copies, apart } = pool
    const sentence = `pool ${name} keeps ${copies} copies, each on another ${apart}, and works with ${min_copies}: of ${before} places ${left} would be left`
    return left < copies && left < before ? [sentence] : []
  })
  if (short.length > 0) return short.join('; ')
  return health === 'HEALTH_ERR'
    ? `the store tells ${health} (${findings.map(({ message }) => message).join('; ')})`
    : null
}

/** How many copies find a place of their own. */
function placesOf({ root, device_class, apart }: StorePool, osds: readonly StoreOsd[]): number {
  const below = osds.filter(
    (osd) =>
      (device_class === null || osd.device_class === device_class) && osd.above.some(({ name }) => name === root),
  )
  const places = below.map(({ id, above }) => (apart === 'osd' ? id : above.find(({ type }) => type === apart)?.name))
  return new Set(places.filter((place) => place !== undefined)).size
}

/** Data moves in proportion to the weights, within its class of disks where the pools say so. */
function roomWithout({ pools, full_share }: StoreState, leaves: readonly StoreOsd[], stays: readonly StoreOsd[]) {
  const by_class = pools.every(({ device_class }) => device_class !== null)
  const classOf = ({ device_class }: StoreOsd): string | null => (by_class ? device_class : null)
  const classes = new Set(leaves.map(classOf))
  const targets = stays.filter((osd) => takesData(osd) && classes.has(classOf(osd)))
  const sum = (osds: readonly StoreOsd[], of: (osd: StoreOsd) => number): number =>
    osds.reduce((total, osd) => total + of(osd), 0)
  const shares = targets.map((osd) => {
    const same = (other: StoreOsd): boolean => classOf(other) === classOf(osd)
    const moved = sum(leaves.filter(same), ({ used_bytes }) => used_bytes)
    const weight = sum(targets.filter(same), (other) => other.weight)
    return (osd.used_bytes + (moved * osd.weight) / weight) / Math.max(1, osd.size_bytes)
  })
  const used_bytes = sum(leaves, (osd) => osd.used_bytes)
  return {
    used_bytes,
    free_bytes: Math.floor(sum(targets, (osd) => Math.max(0, osd.size_bytes * full_share - osd.used_bytes))),
    disks_left: targets.length,
    used_share: targets.length === 0 ? (leaves.length === 0 ? 0 : 1) : Math.max(...shares),
  }
}
