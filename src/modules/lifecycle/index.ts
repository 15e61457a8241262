// The life of a node: setup, decommission, rollback and wipe.
import pLimit from 'p-limit'
import { decommission } from '#src/contract/nodes/decommission.ts'
import { nodeSetup } from '#src/contract/nodes/lifecycle-setup.ts'
import { rollback } from '#src/contract/nodes/rollback.ts'
import { wipe } from '#src/contract/nodes/wipe.ts'
import { bindJob } from '#src/jobs/define.ts'
import { createAddressPorts } from '../address-ports.ts'
import { createServerLock } from '../ddi/server-lock.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { type ClusterPorts, createClusterPorts } from './cluster/ports.ts'
import { decommissionChanges } from './decommission/changes.ts'
import { decommissionStartJob } from './decommission/decommission.job.ts'
import { decommissionPreflight } from './decommission/handlers.ts'
import { createShare } from './decommission/shared-reading.ts'
import { decommissionStart } from './decommission/start.ts'
import { decommissionViews } from './decommission/views.ts'
import { answersAt } from './leave/addresses.ts'
import type { LeaveDeps } from './leave/run.ts'
import { rollbackHandlers } from './rollback/handlers.ts'
import { rollbackStartJob } from './rollback/rollback.job.ts'
import { createOutstandingWatcher } from './outstanding-watcher.ts'
import { nodePreflight } from './setup/preflight.ts'
import { nodeSetupStartJob } from './setup/setup.job.ts'
import { nodeSetupStart, nodeSetupStatus } from './setup/start.ts'
import { wipeResultReport } from './wipe/result.ts'

/** What each source of a preflight may take. */
const SOURCE_BUDGET_MS = 15_000
/** Preflights that ask the compute platform at the same time; the others wait within their budget. */
const PLATFORM_READINGS_AT_ONCE = 8
const WIPE_WAIT_MS = 6 * 3600_000
const WIPE_POLL_MS = 10 * 60_000

export function lifecycleModule(parts: Parts): Module {
  const { setup, nodes, compute } = parts.config
  const platform_hosts = setup.platform_hosts.length > 0 || compute.url === undefined ? setup.platform_hosts : [new URL(compute.url).hostname] // biome-ignore format: one choice
  const cluster = createClusterPorts(parts)
  const deps = {
    ...parts,
    cluster,
    ...createAddressPorts(parts),
    setup,
    platform_hosts,
    offline_after_ms: nodes.offline_after_ms,
    budget_ms: SOURCE_BUDGET_MS,
    share: createShare(SOURCE_BUDGET_MS),
    platform_limit: pLimit(PLATFORM_READINGS_AT_ONCE),
  }
  const leave = leaveDeps(parts, cluster)
  return {
    areas: [
      serve(nodeSetup, {
        nodeSetupStart: nodeSetupStart(deps),
        nodeSetupStatus: nodeSetupStatus(deps),
        nodePreflight: nodePreflight(deps),
      }),
      serve(decommission, {
        ...decommissionViews(parts.database.db),
        ...decommissionChanges(deps),
        decommissionPreflight: decommissionPreflight(deps),
        decommissionStart: decommissionStart(deps),
      }),
      serve(rollback, rollbackHandlers(deps)),
      serve(wipe, { wipeResultReport: wipeResultReport(deps) }),
    ],
    jobs: [bindJob(nodeSetupStartJob, deps), bindJob(decommissionStartJob, leave), bindJob(rollbackStartJob, leave)],
    watchers: [createOutstandingWatcher(parts)],
  }
}

function leaveDeps(parts: Parts, cluster: ClusterPorts): LeaveDeps {
  const { config, database, listening } = parts
  return {
    ...parts,
    cluster,
    dhcp_lock: createServerLock(database, 'DHCP'),
    dns_lock: createServerLock(database, 'DNS'),
    image_port: () => config.bmc.image_port ?? listening() ?? config.listen.port,
    now: () => Date.now(),
    answers: answersAt,
    wipe_wait_ms: WIPE_WAIT_MS,
    wipe_poll_ms: WIPE_POLL_MS,
  }
}
