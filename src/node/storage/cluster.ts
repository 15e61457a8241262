// The cluster store as this node sees it: one poller asks, at most every 15 s, because each call costs half a second and
// hangs for minutes when the monitors are gone. What changes only with the cluster's map is read when the map changed.
import type { Host, RunResult } from '#src/kernel/host.ts'
import { at, integerOf, listOf, numberOf, parseJson, recordOf, textOf, textsOf } from '../untrusted-json.ts'
import type { PollResult } from '../poller.ts'

export interface ClusterReading {
  /** False: no client or no configuration on this node, which is an answer. */
  configured: boolean
  status: ClusterStatus | null
  layout: ClusterLayout | null
  /** Storage daemons of this host; null when they could not be listed. */
  osds: HostOsd[] | null
}

export interface ClusterStatus {
  health: 'HEALTH_OK' | 'HEALTH_WARN' | 'HEALTH_ERR'
  checks: { code: string; message: string }[]
  osds_up: number | null
  osds: number | null
  epoch: number | null
}

export interface ClusterLayout {
  epoch: number | null
  pools: string[]
  device_classes: string[]
  /** By id: the devices of each storage daemon of this host. */
  daemons: { id: number; devices: string[]; path: string }[]
}

export interface HostOsd {
  id: number
  devices: string[]
  path: string
  up: boolean | null
  in: boolean | null
  size_mb: number | null
  used_mb: number | null
}

export interface ClusterNode {
  /** Name under which the storage daemons of this host are listed. */
  hostname: string | null
  /** Arguments that name another configuration than the installed one. */
  cluster_args?: readonly string[]
}

const CONNECT_TIMEOUT_S = 5
const TIMEOUT_MS = 10_000
/** Pools that the cluster store makes for itself. */
const OWN_POOLS = ['device_health_metrics', '.mgr']

export async function readCluster(
  host: Host,
  node: ClusterNode,
  previous: ClusterReading | undefined,
): Promise<PollResult<ClusterReading>> {
  if (previous?.configured === false && !(await mayBeConfigured(host, node))) return { value: previous }
  const ask: Ask = (words) => ceph(host, node.cluster_args ?? [], words)
  const ran = await ask(['status'])
  if (notConfigured(ran)) return { value: { configured: false, status: null, layout: null, osds: null } }
  const status = parseClusterStatus(answerOf(ran))
  if (status === null) return { failure: failureOf(ran) }
  const known = previous?.layout ?? null
  const fresh = known !== null && known.epoch !== null && known.epoch === status.epoch
  const layout = fresh ? known : await readLayout(ask, node.hostname, status.epoch)
  if (layout === null) return { failure: 'the cluster store did not tell its pools and storage daemons' }
  const usage = parseUsage(answerOf(await ask(['osd', 'df'])))
  return { value: { configured: true, status, layout, osds: hostOsds(layout, usage) } }
}

/** To start the client only to hear that it knows no cluster costs a tenth of a second of computing each time. */
async function mayBeConfigured(host: Host, { cluster_args = [] }: ClusterNode): Promise<boolean> {
  return cluster_args.length > 0 || (await host.read('/etc/ceph/ceph.conf')) !== null
}

export function parseClusterStatus(value: unknown): ClusterStatus | null {
  const health = textOf(at(value, 'health', 'status'))
  if (health !== 'HEALTH_OK' && health !== 'HEALTH_WARN' && health !== 'HEALTH_ERR') return null
  // Older releases nest the map once more.
  const map = at(value, 'osdmap', 'osdmap') ?? at(value, 'osdmap')
  return {
    health,
    checks: Object.entries(recordOf(at(value, 'health', 'checks'))).map(([code, check]) => ({
      code,
      message: textOf(at(check, 'summary', 'message')) ?? code,
    })),
    osds_up: integerOf(at(map, 'num_up_osds')),
    osds: integerOf(at(map, 'num_osds')),
    epoch: integerOf(at(map, 'epoch')),
  }
}

/** Rows of this host. A daemon on a plain file names the disk that holds the file. */
export function parseDaemons(value: unknown, hostname: string | null): ClusterLayout['daemons'] {
  return listOf(value).flatMap((row) => {
    const id = integerOf(at(row, 'id'))
    if (id === null || hostname === null || textOf(at(row, 'hostname')) !== hostname) return []
    const devices = (textOf(at(row, 'devices')) ?? '').split(',').filter((name) => name !== '')
    return [{ id, devices, path: textOf(at(row, 'osd_data')) ?? `/var/lib/ceph/osd/ceph-${id}` }]
  })
}

export interface OsdUsage {
  up: boolean | null
  in: boolean | null
  size_mb: number | null
  used_mb: number | null
}

export function parseUsage(value: unknown): Map<number, OsdUsage> {
  const usage = new Map<number, OsdUsage>()
  for (const row of listOf(at(value, 'nodes'))) {
    const id = integerOf(at(row, 'id'))
    if (id === null) continue
    const status = textOf(at(row, 'status'))
    const weight = numberOf(at(row, 'reweight'))
    const kb = integerOf(at(row, 'kb'))
    const kb_used = integerOf(at(row, 'kb_used'))
    usage.set(id, {
      up: status === null ? null : status === 'up',
      in: weight === null ? null : weight > 0,
      size_mb: kb === null ? null : Math.floor(kb / 1024),
      used_mb: kb_used === null ? null : Math.floor(kb_used / 1024),
    })
  }
  return usage
}

/** Pools that hold data of users: a fresh cluster has only its own. */
export function userPools(names: readonly string[]): string[] {
  return names.filter((name) => !OWN_POOLS.includes(name))
}

async function readLayout(ask: Ask, hostname: string | null, epoch: number | null): Promise<ClusterLayout | null> {
  // One after the other: each starts an interpreter.
  const metadata = answerOf(await ask(['osd', 'metadata']))
  const pools = answerOf(await ask(['osd', 'pool', 'ls']))
  const classes = answerOf(await ask(['osd', 'crush', 'class', 'ls']))
  if (!Array.isArray(metadata) || !Array.isArray(pools) || !Array.isArray(classes)) return null
  return { epoch, pools: textsOf(pools), device_classes: textsOf(classes), daemons: parseDaemons(metadata, hostname) }
}

function hostOsds(layout: ClusterLayout, usage: ReadonlyMap<number, OsdUsage>): HostOsd[] {
  const unknown: OsdUsage = { up: null, in: null, size_mb: null, used_mb: null }
  return layout.daemons.map((daemon) => ({ ...daemon, ...(usage.get(daemon.id) ?? unknown) }))
}

type Ask = (words: readonly string[]) => Promise<RunResult>

function ceph(host: Host, cluster_args: readonly string[], words: readonly string[]): Promise<RunResult> {
  const args = [...cluster_args, '--connect-timeout', String(CONNECT_TIMEOUT_S), ...words, '-f', 'json']
  return host.run('ceph', args, { timeout_ms: TIMEOUT_MS })
}

function answerOf(ran: RunResult): unknown {
  return ran.outcome === 'exited' && ran.exit_code === 0 ? parseJson(ran.stdout) : undefined
}

function notConfigured(ran: RunResult): boolean {
  return ran.outcome === 'missing' || (ran.exit_code !== 0 && /conf_read_file/.test(ran.stderr))
}

function failureOf(ran: RunResult): string {
  if (ran.outcome === 'timeout' || /timed out/i.test(ran.stderr)) return 'the cluster store does not answer'
  return 'the cluster store refused to tell its status'
}
