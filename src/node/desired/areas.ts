// Every area of desired state that this agent knows.
import type { DesiredAreaName } from '#src/contract/nodes/agent-desired.ts'
import type { Host } from '#src/kernel/host.ts'
import type { Bridges } from '../bridges/index.ts'
import type { GuardedChanges } from '../guarded/changes.ts'
import type { DesiredArea } from './area.ts'
import { createBaseArea } from './base.ts'
import { createDatabaseArea } from './database.ts'
import { createFabricArea } from './fabric.ts'
import { createBridgesArea } from './guest-bridges.ts'
import { createFailoverArea } from './failover.ts'
import { createHypervisorArea } from './hypervisor.ts'
import { createNetworkArea } from './network/area.ts'
import { createPlatformAgentArea } from './platform-agent.ts'
import { createServicesArea } from './services.ts'
import { createStorageArea } from './storage.ts'

export interface AreasOptions {
  host: Host
  /** Root of the configuration files, `/` on a node. */
  root: string
  state_dir: string
  version: string
  changes: GuardedChanges
  bridges: Bridges
}

export function desiredAreas(options: AreasOptions): Record<DesiredAreaName, DesiredArea> {
  const { host, root, state_dir, changes, bridges, version } = options
  const place = { host, root }
  return {
    network: createNetworkArea({ host, changes, state_dir, root }),
    base: createBaseArea(place, state_dir),
    hypervisor: createHypervisorArea(place, state_dir),
    bridges: createBridgesArea(bridges, state_dir, () => host.now()),
    storage: createStorageArea(place, state_dir),
    'platform-agent': createPlatformAgentArea(place, state_dir),
    fabric: createFabricArea(place, state_dir),
    database: createDatabaseArea(place, state_dir),
    services: createServicesArea(place, state_dir, version),
    failover: createFailoverArea(place, state_dir),
  }
}
