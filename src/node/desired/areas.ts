// Every area of desired state that this agent knows.
import type { DesiredAreaName } from '#src/contract/nodes/agent-desired.ts'
import type { Host } from '#src/kernel/host.ts'
import type { Bridges } from '../bridges/index.ts'
import type { GuardedChanges } from '../guarded/changes.ts'
import type { DesiredArea } from './area.ts'
import { createBaseArea } from './base.ts'
import { createNetworkArea } from './network/area.ts'

export interface AreasOptions {
  host: Host
  /** Root of the configuration files, `/` on a node. */
  root: string
  state_dir: string
  version: string
  changes: GuardedChanges
  bridges: Bridges
}

export function desiredAreas(options: AreasOptions): Partial<Record<DesiredAreaName, DesiredArea>> {
  const { host, root, state_dir, changes } = options
  const place = { host, root }
  return {
    network: createNetworkArea({ host, changes, state_dir, root }),
    base: createBaseArea(place, state_dir),
  }
}
