// The overall verdict on the storage of this node, and what led to it. What was never read cannot make it healthy.
import type { HostHealth, LocalpoolSubsystem } from '#src/contract/storage/host.ts'
import type { ClusterReading } from './cluster.ts'
import { type DiskView, diskViews } from './disks.ts'
import type { StorageSnapshot } from './monitor.ts'
import { goneMembers, isFaulted, type PoolReading, poolsHealth } from './pools.ts'

export interface StorageVerdict {
  /** Null while nothing bad is known and a source was never read, or nothing here can be judged. */
  overall: HostHealth | null
  meaning: string
  reasons: string[]
  /** Of those, the ones that make it DEGRADED or CRITICAL, worst first. */
  critical_alerts: string[]
  localpool: LocalpoolSubsystem['health_status']
  clusterstore: string | null
  /** Null while the disks were never read. */
  failed_disks: string[] | null
}

interface Finding {
  level: Exclude<HostHealth, 'HEALTHY'>
  text: string
}

const MEANING: Record<HostHealth, string> = {
  HEALTHY: 'All storage works and nothing needs to be done.',
  NEEDS_ATTENTION: 'Everything works, but something should be looked at soon.',
  DEGRADED: 'Storage works with less redundancy, or a disk has failed: replace what failed.',
  CRITICAL: 'Storage is not available or data is in danger: act now.',
}
const UNREAD_MEANING = 'Not all of the storage has been read yet, so there is no verdict.'
const UNJUDGED_MEANING = 'Nothing bad is known, but no disk of this node tells its health, so there is no verdict.'
const FULL_PERCENT = 80
/** Warnings of the cluster store that mean lost redundancy. */
const DEGRADING = ['OSD_DOWN', 'PG_DEGRADED', 'PG_AVAILABILITY']

export function judgeStorage(snapshot: StorageSnapshot): StorageVerdict {
  const views = diskViews(snapshot)
  const pools = snapshot.pools.value?.pools
  const gone = goneMembers(pools ?? [], snapshot.inventory.value?.paths ?? new Set())
  const reliable_gone = snapshot.inventory.value === undefined ? new Set<string>() : gone
  const findings = [
    ...(pools ?? []).flatMap((pool) => poolFindings(pool, reliable_gone)),
    ...(views ?? []).flatMap(diskFindings),
    ...clusterFindings(snapshot.cluster.value),
    ...staleFindings(snapshot),
  ]
  const worst = (['CRITICAL', 'DEGRADED', 'NEEDS_ATTENTION'] as const).filter((level) =>
    findings.some((one) => one.level === level),
  )[0]
  const read = [snapshot.inventory, snapshot.smart, snapshot.pools, snapshot.cluster].every(
    (poll) => poll.value !== undefined,
  )
  const judged =
    (views ?? []).some(({ disk }) => disk.is_healthy !== null) ||
    (pools ?? []).length > 0 ||
    (snapshot.cluster.value?.osds ?? []).length > 0
  const overall = worst ?? (read && judged ? 'HEALTHY' : null)
  const texts = (level: Finding['level']): string[] =>
    findings.filter((one) => one.level === level).map((one) => one.text)
  return {
    overall,
    meaning: overall === null ? (read ? UNJUDGED_MEANING : UNREAD_MEANING) : MEANING[overall],
    reasons: [...texts('CRITICAL'), ...texts('DEGRADED'), ...texts('NEEDS_ATTENTION')],
    critical_alerts: [...texts('CRITICAL'), ...texts('DEGRADED')],
    localpool: pools === undefined ? null : poolsHealth(pools, reliable_gone),
    clusterstore: clusterHealth(snapshot.cluster.value),
    failed_disks: views === null ? null : failedDisks(views, pools ?? [], reliable_gone),
  }
}

function poolFindings({ pool, vdevs }: PoolReading, gone: ReadonlySet<string>): Finding[] {
  const name = `Local pool ${pool.pool_name}`
  if (pool.state === 'SUSPENDED') return [{ level: 'CRITICAL', text: `${name} is suspended: it serves no data` }]
  const found: Finding[] = []
  if (pool.health === 'FAULTED' || pool.health === 'UNAVAIL')
    found.push({ level: 'CRITICAL', text: `${name} is ${pool.health}` })
  else if (pool.health !== 'ONLINE') found.push({ level: 'DEGRADED', text: `${name} is ${pool.health}` })
  if (pool.has_known_data_errors === true) found.push({ level: 'DEGRADED', text: `${name} has data errors` })
  for (const one of vdevs.filter((vdev) => vdev.leaf)) {
    const member = `Member ${one.was ?? one.vdev.name} of local pool ${pool.pool_name}`
    if (isFaulted(one)) found.push({ level: 'DEGRADED', text: `${member} is ${one.vdev.state}` })
    else if (gone.has(one.vdev.name))
      found.push({ level: 'DEGRADED', text: `${member} is gone though it counts as ${one.vdev.state}` })
    else if ((one.vdev.total_errors ?? 0) > 0) {
      found.push({ level: 'NEEDS_ATTENTION', text: `${member} has ${one.vdev.total_errors} errors` })
    }
  }
  const { used_space_mb, total_space_mb } = pool
  if (used_space_mb !== null && total_space_mb !== null && used_space_mb > (total_space_mb * FULL_PERCENT) / 100) {
    found.push({ level: 'NEEDS_ATTENTION', text: `${name} is more than ${FULL_PERCENT} % full` })
  }
  return found
}

function diskFindings({ disk, member, osd }: DiskView): Finding[] {
  const found: Finding[] = []
  const smart = disk.smart_info
  const why = smart?.status_reason.join(', ') ?? ''
  if (smart?.has_failure === true) {
    const alone = member?.vdev.unprotected === true && smart.status === 'Critical'
    const of = alone ? `, the only copy of local pool ${member?.pool ?? ''}` : ''
    found.push({ level: alone ? 'CRITICAL' : 'DEGRADED', text: `Disk ${disk.device}${of} is failing: ${why}` })
  } else if (smart?.status === 'Warning') {
    found.push({ level: 'NEEDS_ATTENTION', text: `Disk ${disk.device}: ${why}` })
  }
  if (osd?.up === false) found.push({ level: 'DEGRADED', text: `Storage daemon ${osd.id} on ${disk.device} is down` })
  return found
}

function clusterFindings(cluster: ClusterReading | undefined): Finding[] {
  const status = cluster?.status
  if (status === undefined || status === null || status.health === 'HEALTH_OK') return []
  const failed = status.health === 'HEALTH_ERR'
  return status.checks.map(({ code, message }) => ({
    level: failed ? 'CRITICAL' : DEGRADING.includes(code) ? 'DEGRADED' : 'NEEDS_ATTENTION',
    text: `Cluster store: ${message}`,
  }))
}

function staleFindings(snapshot: StorageSnapshot): Finding[] {
  const named = [
    ['disks', snapshot.inventory],
    ['SMART', snapshot.smart],
    ['local pools', snapshot.pools],
    ['cluster store', snapshot.cluster],
  ] as const
  return named.flatMap(([name, poll]): Finding[] => {
    if (!poll.stale) return []
    const why = poll.failure === null ? '' : `: ${poll.failure}`
    return [{ level: 'NEEDS_ATTENTION', text: `What is known of the ${name} is old or missing${why}` }]
  })
}

function clusterHealth(cluster: ClusterReading | undefined): string | null {
  if (cluster === undefined) return null
  if (!cluster.configured || cluster.status === null) return 'NOT_CONFIGURED'
  if (cluster.status.health === 'HEALTH_OK') return 'HEALTHY'
  if (cluster.status.health === 'HEALTH_ERR') return 'CRITICAL'
  return cluster.status.checks.some(({ code }) => DEGRADING.includes(code)) ? 'DEGRADED' : 'NEEDS_ATTENTION'
}

/** Disks that fail by themselves or in their pool or daemon, and pool members whose disk is not there any more. */
function failedDisks(views: readonly DiskView[], pools: readonly PoolReading[], gone: ReadonlySet<string>): string[] {
  const failed = views.filter(
    ({ disk, member, osd }) =>
      disk.smart_info?.has_failure === true || (member !== null && isFaulted(member.vdev)) || osd?.up === false,
  )
  const known = new Set(views.flatMap(({ member }) => member?.vdev ?? []))
  const lost = pools.flatMap(({ vdevs }) => vdevs.filter((one) => one.leaf && isFaulted(one) && !known.has(one)))
  const paths = lost.map((one) => one.was ?? one.vdev.name)
  return [...new Set([...failed.map(({ disk }) => disk.device), ...paths, ...gone])]
}
