// The areas in front of the compute platform: virtual machines, infrastructure, guest networks, and the state watcher.
import { computeHooks } from '#src/contract/compute/hooks.ts'
import { vmMetrics } from '#src/contract/compute/metrics.ts'
import { vms } from '#src/contract/compute/vms.ts'
import { infrastructure } from '#src/contract/infrastructure.ts'
import { guestNetworks } from '#src/contract/network/guest-networks.ts'
import { bindJob } from '#src/jobs/define.ts'
import { mountArea, type MountServices } from '#src/kernel/http/mount.ts'
import type { Server } from '#src/kernel/http/serve.ts'
import { computeCall } from '#src/modules/compute/call.job.ts'
import {
  computeHandlers,
  computeHookHandlers,
  infrastructureHandlers,
  vmMetricsHandlers,
} from '#src/modules/compute/index.ts'
import { vmProvisionJob } from '#src/modules/compute/provision.job.ts'
import { createStateWatcher } from '#src/modules/compute/state-watcher.ts'
import { guestNetworkHandlers } from '#src/modules/network/guest-networks.ts'
import type { Parts, Watcher } from './areas.ts'
import { mountVms } from './vm-areas.ts'

export function mountCompute(server: Server, services: MountServices, parts: Parts): Watcher[] {
  const { config, database, engine, cloudstack, replica, log } = parts
  engine.register(bindJob(computeCall, { cloudstack, database }))
  engine.register(bindJob(vmProvisionJob, { cloudstack }))
  const { events_poll_ms, states_poll_ms, hook_secret } = config.compute
  const watcher = createStateWatcher({
    cloudstack,
    database,
    events_poll_ms,
    states_poll_ms,
    hook: { public_url: config.public_url, hook_secret },
    log,
  })
  const deps = { cloudstack, database, jobs: engine, replica_id: replica.id }
  mountArea(server, vms, computeHandlers(deps), services)
  mountArea(server, vmMetrics, vmMetricsHandlers(deps), services)
  mountVms(server, services, parts)
  mountArea(server, infrastructure, infrastructureHandlers(deps), services)
  mountArea(server, guestNetworks, guestNetworkHandlers(deps), services)
  mountArea(
    server,
    computeHooks,
    computeHookHandlers({ cloudstack, database, hook_secret, look: watcher.look, log }),
    services,
  )
  return [watcher]
}
