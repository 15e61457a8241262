// Checks every node again and again, keeps the verdict, and reports when one changes; one replica at a time.
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { pageOf } from '#src/contract/common.ts'
import { HEALTHS, type HealthArea, type nodeHealth } from '#src/contract/nodes/health.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { collected } from '#src/drivers/cloudstack/lists.ts'
import type { Background } from '#src/kernel/background.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { type RequestContext, SYSTEM } from '#src/kernel/http/context.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Metrics } from '#src/kernel/metrics.ts'
import { type ChangeDeps, recordEvent } from '#src/store/app-events.ts'
import { createLeader, type Leader } from '#src/store/leader.ts'
import { LOCKS } from '#src/store/locks.ts'
import {
  confirmHealth,
  countHealths,
  type Health,
  listHealths,
  nodeHealthOf,
  saveHealth,
  worstOf,
} from '#src/store/node-health.ts'
import { allNodes, findNode, type NodeRow } from '#src/store/nodes.ts'
import { judge, type NodeFindings, type PlatformGpu } from './health-verdict.ts'
import { alertsByNode, type AskedNodes, askForAlerts, type MonitoringDeps } from './monitoring.ts'
import { isConfigured } from './node-page.ts'

export interface HealthDeps extends ChangeDeps, MonitoringDeps {
  database: ChangeDeps['database']
  cloudstack: CloudStack
  health_poll_ms: number
  metrics: Metrics
  log: Log
  background: Background
}

export function healthHandlers({ database: { db } }: HealthDeps): Handlers<typeof nodeHealth.routes, RequestContext> {
  return {
    async fleetHealthRead({ query }) {
      const page = pageOf(query)
      const [counts, nodes] = await Promise.all([countHealths(db), listHealths(db, query.health, page)])
      const count = query.health === undefined ? sum(Object.values(counts)) : counts[query.health]
      return { nodes, count, ...page, health: worstOf(HEALTHS.filter((health) => counts[health] > 0)), ...counts }
    },
    async nodeHealthRead({ params: { bmcIP } }) {
      const row = await findNode(db, bmcIP)
      if (row === undefined) throw new ApiError('NODE_NOT_FOUND', `There is no node with the BMC address ${bmcIP}.`)
      return nodeHealthOf(row)
    },
  }
}

export function createHealthWatcher(deps: HealthDeps): Leader {
  const { database, log, background, health_poll_ms } = deps
  return createLeader({ database, lock: LOCKS.health_watcher, name: 'health', log, background }, async (held) => {
    while (!held.aborted) {
      await checkAll(deps, held)
      await pause(health_poll_ms, undefined, { signal: held })
    }
  })
}

/** So few that a view that somebody opens meanwhile finds the nodes, and this process, nearly free. */
const ASKED_AT_ONCE = 32

async function checkAll(deps: HealthDeps, held: AbortSignal): Promise<void> {
  const rows = await allNodes(deps.database.db)
  const hosts = await hostsOf(deps)
  const asked: AskedForHealth[] = []
  for (let at = 0; at < rows.length; at += ASKED_AT_ONCE) {
    asked.push(await askForHealth(deps, rows.slice(at, at + ASKED_AT_ONCE), hosts))
    if (held.aborted) return
  }
  const alerts = await alertsByNode(deps, asked)
  const unchanged: number[] = []
  for (const { entries, storage, gpus } of asked) {
    for (const { row } of entries) {
      // The first verdict over thousands of nodes takes minutes, and whoever stops does not wait for it.
      if (held.aborted) return
      const is_same = await keep(deps, row, {
        alerts: alerts.get(row.node_id) ?? [],
        storage: storage.get(row.node_id),
        platform: hosts.get(row.node_ip ?? '') ?? null,
        gpus: gpus.get(row.node_id),
      })
      if (is_same) unchanged.push(row.node_id)
    }
  }
  await confirmHealth(deps.database.db, unchanged)
  for (const [health, count] of Object.entries(await countHealths(deps.database.db))) deps.metrics.nodes(health, count)
}

interface AskedForHealth extends AskedNodes {
  storage: Map<number, NodeFindings['storage']>
  gpus: Map<number, NodeFindings['gpus']>
}

async function askForHealth(
  deps: HealthDeps,
  rows: readonly NodeRow[],
  hosts: ReadonlyMap<string, PlatformHost>,
): Promise<AskedForHealth> {
  const reported = await askForAlerts(deps, rows)
  const storage = await deps.ask.storage(rows.filter(isConfigured))
  // Nodes whose GPUs the platform knows are asked for them.
  const with_gpus = rows.filter((row) => isConfigured(row) && (hosts.get(row.node_ip ?? '')?.gpus.length ?? 0) > 0)
  return { ...reported, storage: byNode(storage), gpus: byNode(await deps.ask.gpus(with_gpus)) }
}

function byNode<T extends { node: NodeRow }>(outcomes: readonly T[]): Map<number, T> {
  return new Map(outcomes.map((outcome) => [outcome.node.node_id, outcome]))
}

type PlatformHost = NonNullable<NodeFindings['platform']>

/** Of a platform that does not answer nothing is said: its own failure is reported elsewhere. */
async function hostsOf({ cloudstack, log }: HealthDeps): Promise<Map<string, PlatformHost>> {
  if (!cloudstack.configured) return new Map()
  const all = (command: string, args: Args, key: string) =>
    collected(cloudstack.listAll(command, args, { key, read: (raw) => raw }))
  try {
    const [hosts, devices] = await Promise.all([
      all('listHosts', { type: 'Routing', details: 'min' }, 'host'),
      all('listGpuDevices', {}, 'gpudevice'),
    ])
    const gpus = Map.groupBy(devices, (raw) => textOf(raw, 'hostid') ?? '')
    return new Map(
      hosts.map((raw) => {
        const own = gpus.get(textOf(raw, 'id') ?? '') ?? []
        const [state, resource_state] = [textOf(raw, 'state') ?? 'Unknown', textOf(raw, 'resourcestate') ?? 'Unknown']
        return [textOf(raw, 'ipaddress') ?? '', { state, resource_state, gpus: own.map(gpuOf) }]
      }),
    )
  } catch (err) {
    log.info({ err }, 'the hosts of the platform cannot be read')
    return new Map()
  }
}

function gpuOf(raw: Raw): PlatformGpu {
  return {
    bus_address: textOf(raw, 'busaddress') ?? '',
    card: textOf(raw, 'gpucardname') ?? 'unknown card',
    state: textOf(raw, 'state') ?? 'Unknown',
    whole: textOf(raw, 'gpudevicetype') !== 'MDEV' && textOf(raw, 'parentgpudeviceid') === null,
  }
}

/** True when there was nothing to keep: the verdict and its reasons are those that the row has. */
async function keep(deps: HealthDeps, row: NodeRow, findings: NodeFindings): Promise<boolean> {
  const before = new Map((row.health_areas as HealthArea[]).map((area) => [area.area, area]))
  const now = new Date().toISOString()
  const areas = judge(findings).map((one): HealthArea => {
    const known = before.get(one.area)
    return { ...one, since: known?.health === one.health ? known.since : now }
  })
  const health = worstOf(areas.map((area) => area.health))
  if (health === row.health && isDeepStrictEqual(areas, row.health_areas)) return true
  await deps.database.transact(async (trx, publish) => {
    await saveHealth(trx, row.node_id, health, areas)
    if (health === row.health || (row.health === null && !isIll(health))) return
    const reasons = areas.filter(({ health: one }) => one === health).flatMap((area) => area.reasons)
    const description = `Node ${row.fqdn ?? row.bmc_ip} is ${health}${row.health === null ? '' : `, was ${row.health}`}`
    const about = {
      action: 'nodeHealthChange', resource_type: 'NODE', resource_uuid: row.id, description, caller: SYSTEM,
      replica_id: deps.replica_id,
    } // biome-ignore format: one event
    const end = isIll(health)
      ? { status: 'FAILED' as const, error_message: reasons.join(' ') }
      : { status: 'SUCCESS' as const }
    await recordEvent(trx, publish, about, end)
  })
  return false
}

function isIll(health: Health): boolean {
  return health === 'critical' || health === 'degraded'
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
