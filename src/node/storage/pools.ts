// The local pools of this node: which there are, how full and how healthy. A suspended pool blocks every command that
// touches it, so its state file is read first and the commands leave it out.
import type { ArcStats, LocalpoolSubsystem, Pool } from '#src/contract/storage/host.ts'
import type { Host, RunResult } from '#src/kernel/host.ts'
import { integerOf } from '../untrusted-json.ts'
import type { PollResult } from '../poller.ts'
import { parseArcStats } from './arc-stats.ts'
import { type PoolStatus, parsePoolStatus, type StatusVdev } from './pool-status.ts'

export interface PoolsReading {
  pools: PoolReading[]
  /** Null without a pool, and when the counters cannot be read. */
  arc: ArcStats | null
}

export interface PoolReading {
  pool: Omit<Pool, 'io_stats' | 'last_status_check_time'>
  vdevs: StatusVdev[]
}

const KSTAT = '/proc/spl/kstat/zfs'
const TIMEOUT_MS = 20_000
const LIST = 'name,size,allocated,free,fragmentation,capacity,health,readonly'
const HEALTH = ['ONLINE', 'DEGRADED', 'FAULTED', 'OFFLINE', 'REMOVED', 'UNAVAIL'] as const
const MB = 1_048_576

export async function readPools(host: Host): Promise<PollResult<PoolsReading>> {
  const suspended = await suspendedPools(host)
  const asked = suspended.all.filter((name) => !suspended.names.includes(name))
  const only = suspended.names.length === 0 ? [] : asked
  const arc_text = await host.read(`${KSTAT}/arcstats`)
  if (suspended.names.length > 0 && asked.length === 0) {
    return { value: { pools: suspended.names.map(suspendedPool), arc: arcOf(arc_text, false) } }
  }
  const listed = await host.run('zpool', ['list', '-Hp', '-o', LIST, ...only], { timeout_ms: TIMEOUT_MS })
  if (noPools(listed))
    return {
      value: {
        pools: suspended.names.map(suspendedPool),
        arc: arcOf(suspended.names.length === 0 ? null : arc_text, false),
      },
    }
  if (listed.outcome !== 'exited' || listed.exit_code !== 0) return { failure: failureOf('zpool list', listed) }
  const [status, space] = await Promise.all([
    host.run('zpool', ['status', '-pPL', ...only], { timeout_ms: TIMEOUT_MS }),
    host.run('zfs', ['list', '-Hp', '-d', '0', '-o', 'name,used,avail', ...only], { timeout_ms: TIMEOUT_MS }),
  ])
  if (status.outcome !== 'exited') return { failure: failureOf('zpool status', status) }
  const statuses = parsePoolStatus(status.stdout)
  const spaces = parseSpace(space.stdout)
  const pools = rowsOf(listed.stdout).map((row) => poolOf(row, statuses, spaces))
  const has_cache = statuses.some((one) => one.has_cache)
  return { value: { pools: [...pools, ...suspended.names.map(suspendedPool)], arc: arcOf(arc_text, has_cache) } }
}

/** Usable space of each root dataset: the pool's own figures count parity. */
export function parseSpace(text: string): Map<string, { used: number | null; available: number | null }> {
  return new Map(
    rowsOf(text).map(([name, used, available]) => [
      name ?? '',
      { used: integerOf(used), available: integerOf(available) },
    ]),
  )
}

/** Whether a local pool is in trouble; null without a pool. `gone`: members whose device is not there. */
export function poolsHealth(
  pools: readonly PoolReading[],
  gone: ReadonlySet<string>,
): LocalpoolSubsystem['health_status'] {
  if (pools.length === 0) return null
  if (pools.some(({ pool }) => pool.state === 'SUSPENDED' || ['FAULTED', 'UNAVAIL'].includes(pool.health))) {
    return 'CRITICAL'
  }
  const damaged = pools.some(
    ({ pool, vdevs }) =>
      pool.health !== 'ONLINE' ||
      pool.has_known_data_errors === true ||
      vdevs.some((one) => one.leaf && (isFaulted(one) || gone.has(one.vdev.name))),
  )
  return damaged ? 'DEGRADED' : 'HEALTHY'
}

export function isFaulted(vdev: StatusVdev): boolean {
  return !['ONLINE', 'AVAIL', 'INUSE'].includes(vdev.vdev.state)
}

/** A pool may stay ONLINE although its only disk was pulled: members are compared with the devices that exist. */
export function goneMembers(pools: readonly PoolReading[], paths: ReadonlySet<string>): Set<string> {
  const leaves = pools.flatMap(({ vdevs }) => vdevs.filter((one) => one.leaf).map((one) => one.vdev.name))
  return new Set(leaves.filter((name) => name.startsWith('/dev/') && !paths.has(name)))
}

async function suspendedPools(host: Host): Promise<{ all: string[]; names: string[] }> {
  const entries = (await host.list(KSTAT)) ?? []
  const states = await Promise.all(
    entries.map(async (name) => ({ name, state: (await host.read(`${KSTAT}/${name}/state`))?.trim() })),
  )
  const all = states.filter((one) => one.state !== undefined).map((one) => one.name)
  return { all, names: states.filter((one) => one.state === 'SUSPENDED').map((one) => one.name) }
}

/** Tool, kernel module or pools missing: the node has no local pool, which is an answer. */
function noPools(ran: RunResult): boolean {
  if (ran.outcome === 'missing') return true
  if (ran.outcome !== 'exited') return false
  return ran.exit_code === 0 ? ran.stdout.trim() === '' : /modules are not loaded|no pools available/i.test(ran.stderr)
}

function failureOf(command: string, ran: RunResult): string {
  return ran.outcome === 'timeout'
    ? `${command} did not answer within ${TIMEOUT_MS / 1000} s`
    : `${command} failed with exit code ${ran.exit_code ?? 'none'}`
}

function poolOf(row: string[], statuses: readonly PoolStatus[], spaces: ReturnType<typeof parseSpace>): PoolReading {
  const [name = '', , allocated, , fragmentation, , health, readonly] = row
  const status = statuses.find((one) => one.name === name)
  const space = spaces.get(name) ?? { used: null, available: null }
  const vdevs = status?.vdevs ?? []
  const errors = vdevs.filter((one) => one.leaf).map((one) => one.vdev.total_errors ?? 0)
  const data_errors = status?.data_errors ?? null
  return {
    pool: {
      pool_name: name,
      state: status?.state ?? health ?? 'UNAVAIL',
      health: HEALTH.find((one) => one === health) ?? 'UNAVAIL',
      total_space_mb: space.used === null || space.available === null ? null : inMb(space.used + space.available),
      used_space_mb: space.used === null ? null : inMb(space.used),
      available_space_mb: space.available === null ? null : inMb(space.available),
      allocated_mb: integerOf(allocated) === null ? null : inMb(integerOf(allocated) ?? 0),
      fragmentation_percent: integerOf(fragmentation),
      read_only_status: readonly === 'on' ? true : readonly === 'off' ? false : null,
      has_known_data_errors: data_errors === null ? null : data_errors > 0,
      errors_count: data_errors === null ? null : data_errors + errors.reduce((sum, one) => sum + one, 0),
      vdevs: vdevs.map((one) => one.vdev),
    },
    vdevs,
  }
}

function suspendedPool(name: string): PoolReading {
  return {
    pool: {
      pool_name: name,
      state: 'SUSPENDED',
      health: 'UNAVAIL',
      total_space_mb: null,
      used_space_mb: null,
      available_space_mb: null,
      allocated_mb: null,
      fragmentation_percent: null,
      read_only_status: null,
      has_known_data_errors: null,
      errors_count: null,
      vdevs: [],
    },
    vdevs: [],
  }
}

function arcOf(text: string | null, has_cache: boolean): ArcStats | null {
  return text === null ? null : parseArcStats(text, has_cache)
}

function rowsOf(text: string): string[][] {
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.split('\t')]))
}

function inMb(bytes: number): number {
  return Math.floor(bytes / MB)
}
