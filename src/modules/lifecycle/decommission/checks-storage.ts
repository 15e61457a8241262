// What the distributed store has to say before a member leaves.
import type { StorageReading } from './readings.ts'
import { type CheckSpec, fail, from, notRead, pass, type Verdict, warn } from './verdict.ts'

type Without = NonNullable<StorageReading['without']>

const JUDGES: Readonly<Record<string, (store: StorageReading, without: Without) => Verdict>> = {
  'storage-health': ({ health }, { rejection, osds, findings }) => {
    if (rejection !== null) return fail(`Data would be lost or out of reach without ${osdsIn(osds)}: ${rejection}.`)
    return health === 'HEALTH_OK'
      ? pass(`The store is healthy and can do without ${osdsIn(osds)}.`)
      : warn(`The store tells ${health}${findings.length > 0 ? ` (${findings.join('; ')})` : ''}.`)
  },
  'storage-capacity': (
    _store,
    { osds, used_bytes, free_bytes, disks_left, used_share, near_full_share, full_share },
  ) => {
    if (osds.length === 0) return pass('No data of the store is on the node.')
    const moves = `${size(used_bytes)} of ${osdsIn(osds)} move to ${disks_left} other disks that take ${size(free_bytes)} more; the fullest would be ${percent(used_share)} full`
    if (used_share >= full_share) return fail(`${moves}: none takes data at ${percent(full_share)} any more.`)
    return used_share >= near_full_share
      ? warn(`${moves}; the store warns at ${percent(near_full_share)}.`)
      : pass(`${moves}.`)
  },
  'storage-quorum': (_store, { monitors, monitors_left, managers_left }) => {
    const left = `${monitors_left} of ${monitors} monitors stay`
    if (monitors_left <= Math.floor(monitors / 2)) return fail(`${left}: they would be no majority.`)
    if (managers_left === 0) return fail('No manager of the store would be left: start one on another node.')
    return monitors_left < monitors && monitors_left % 2 === 0
      ? warn(`${left}: an even number tolerates no more than one less.`)
      : pass(`${left}.`)
  },
}

export const STORAGE_CHECKS: readonly CheckSpec[] = Object.entries(JUDGES).map(([name, judge]) => ({
  name,
  judge: onMember(judge),
}))

/** Why the node cannot leave the store as it is now; none: it can. */
export function rejections(store: StorageReading): string[] {
  const { without } = store
  if (without === null || store.daemons === 0) return []
  return Object.values(JUDGES).flatMap((judge) => {
    const { status, message } = judge(store, without)
    return status === 'fail' ? [message] : []
  })
}

/** Blocking: without the store's word nobody knows whether its data survives. */
function onMember(judge: (typeof JUDGES)[string]): CheckSpec['judge'] {
  return from('storage', 'fail', (store) => {
    if (store.daemons === 0) return pass('The node is no member of a distributed store.')
    if (store.without === null)
      return fail(notRead('the store cannot be asked what it loses with this node (setting ceph.conf)'))
    return judge(store, store.without)
  })
}

function osdsIn(osds: readonly number[]): string {
  return osds.length === 0 ? 'this node' : osds.map((id) => `osd.${id}`).join(', ')
}

const percent = (share: number): string => `${Math.round(share * 100)} %`
const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB']

function size(bytes: number): string {
  const at = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10) - 1))
  return `${(bytes / 1024 ** (at + 1)).toFixed(1)} ${UNITS[at]}`
}
