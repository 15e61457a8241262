// The life of a node: setup, decommission, rollback and wipe.
import { decommission } from '#src/contract/nodes/decommission.ts'
import { nodeSetup } from '#src/contract/nodes/lifecycle-setup.ts'
import { bindJob } from '#src/jobs/define.ts'
import { createAddressPorts } from '../address-ports.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { decommissionPreflight } from './decommission/handlers.ts'
import { nodePreflight } from './setup/preflight.ts'
import { nodeSetupStartJob } from './setup/setup.job.ts'
import { nodeSetupStart, nodeSetupStatus } from './setup/start.ts'

/** What each source of a preflight may take. */
const SOURCE_BUDGET_MS = 15_000

export function lifecycleModule(parts: Parts): Module {
  const { setup, nodes, compute } = parts.config
  const platform_hosts = setup.platform_hosts.length > 0 || compute.url === undefined ? setup.platform_hosts : [new URL(compute.url).hostname] // biome-ignore format: one choice
  const deps = {
    ...parts,
    ...createAddressPorts(parts),
    setup,
    platform_hosts,
    offline_after_ms: nodes.offline_after_ms,
    budget_ms: SOURCE_BUDGET_MS,
  }
  return {
    areas: [
      serve(nodeSetup, {
        nodeSetupStart: nodeSetupStart(deps),
        nodeSetupStatus: nodeSetupStatus(deps),
        nodePreflight: nodePreflight(deps),
      }),
      serve(decommission, { decommissionPreflight: decommissionPreflight(deps) }),
    ],
    jobs: [bindJob(nodeSetupStartJob, deps)],
  }
}
