// What the distributed store has to say before a member leaves.
import type { StorageReading } from './readings.ts'
import { type CheckSpec, fail, from, notRead, pass, type Verdict, warn } from './verdict.ts'

export const STORAGE_CHECKS: readonly CheckSpec[] = [
  {
    name: 'storage-health',
    judge: onMember(({ health }, { rejection }) => {
      if (rejection !== null) return fail(`Data would be lost or out of reach without this node: ${rejection}.`)
      return health === 'HEALTH_OK'
        ? pass('The store is healthy and can do without this node.')
        : warn(`The store tells ${health}.`)
    }),
  },
  {
    name: 'storage-capacity',
    judge: onMember((_store, { used_share, near_full_share, full_share }) => {
      const used = `${Math.round(used_share * 100)} % of what is left would be used`
      if (used_share >= full_share) return fail(`${used}; the store is full at ${Math.round(full_share * 100)} %.`)
      if (used_share >= near_full_share)
        return warn(`${used}; the store warns at ${Math.round(near_full_share * 100)} %.`)
      return pass(`${used}.`)
    }),
  },
  {
    name: 'storage-quorum',
    judge: onMember((_store, { monitors, monitors_left }) => {
      const left = `${monitors_left} of ${monitors} monitors stay`
      if (monitors_left <= Math.floor(monitors / 2)) return fail(`${left}: they would be no majority.`)
      return monitors_left % 2 === 0
        ? warn(`${left}: an even number tolerates no more than one less.`)
        : pass(`${left}.`)
    }),
  },
]

/** Blocking: without the store's word nobody knows whether its data survives. */
function onMember(
  judge: (store: StorageReading, without: NonNullable<StorageReading['without']>) => Verdict,
): CheckSpec['judge'] {
  return from('storage', 'fail', (store) => {
    if (store.daemons === 0) return pass('The node is no member of a distributed store.')
    if (store.without === null) return fail(notRead('the store cannot be asked what it loses with this node'))
    return judge(store, store.without)
  })
}
