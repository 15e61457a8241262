// The areas with routes that run on nodes. An agent mounts these; a replica of the control plane answers the published ones for
// its own machine and forwards them to any other.
import { agent } from './agent.ts'
import { ha } from './ha/ha.ts'
import { monitoring } from './network/monitoring.ts'
import { mtu } from './network/mtu.ts'
import { agentBridges } from './nodes/agent-bridges.ts'
import { agentDesired } from './nodes/agent-desired.ts'
import { agentFailover } from './nodes/agent-failover.ts'
import { agentGpu } from './nodes/agent-gpu.ts'
import { agentMtu } from './nodes/agent-mtu.ts'
import { agentNetwork } from './nodes/agent-network.ts'
import type { Area, NodeRoutes } from './route.ts'
import { benchmarks } from './storage/benchmark.ts'
import { hostStorage } from './storage/host.ts'

/** Between the control plane and agents alone, so not among the published areas. */
const hidden = [agent, agentNetwork, agentMtu, agentBridges, agentGpu, agentDesired, agentFailover]
const published = [hostStorage, benchmarks, monitoring, mtu, ha]

export const nodeAreas: readonly Area[] = ([...hidden, ...published] as unknown as Area[]).map((area) => ({
  ...area,
  routes: Object.fromEntries(Object.entries(area.routes).filter(([, route]) => route.runs_on === 'node')),
}))

/** Every operation that runs on a node. */
export type NodeOperations = NodeRoutes<
  typeof agent.routes &
    typeof agentNetwork.routes &
    typeof agentMtu.routes &
    typeof agentBridges.routes &
    typeof agentGpu.routes &
    typeof agentDesired.routes &
    typeof agentFailover.routes &
    typeof hostStorage.routes &
    typeof benchmarks.routes &
    typeof monitoring.routes &
    typeof mtu.routes &
    typeof ha.routes
>
