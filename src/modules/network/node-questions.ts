// What the fleet views ask of every node, and what they keep of the answers.
import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { agent } from '#src/contract/agent.ts'
import { Nic } from '#src/contract/network/eligible-nics.ts'
import { FrrNode } from '#src/contract/network/frr.ts'
import { monitoring, NetworkAlert } from '#src/contract/network/monitoring.ts'
import { NodeNet } from '#src/contract/network/node-net.ts'
import { agentGpu, NodeGpus } from '#src/contract/nodes/agent-gpu.ts'
import { AgentMtu, agentMtu } from '#src/contract/nodes/agent-mtu.ts'
import { agentNetwork } from '#src/contract/nodes/agent-network.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { hostStorage, StorageHealth } from '#src/contract/storage/host.ts'
import type { NodeOutcome } from '#src/kernel/agents.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import type { NodeAgents } from '../node-agents.ts'
import { type AlertCounts, alertCounts, type SnapshotDigest, snapshotDigest } from './fleet.ts'
import { type RouterDigest, routerDigest } from './frr-summary.ts'
import type { NodePoll, View } from './node-poll.ts'

export type Ask<T> = (rows: readonly NodeRow[]) => Promise<NodeOutcome<NodeRow, T>[]>

export interface FleetQuestions {
  snapshots: View<NodeNet, SnapshotDigest>
  routers: View<FrrNode, RouterDigest>
  alerts: View<{ alerts: NetworkAlert[] }, AlertCounts>
  mtu: Ask<AgentMtu>
  storage: Ask<StorageHealth>
  gpus: Ask<NodeGpus>
  usable_nics: Ask<{ interfaces: Nic[] }>
  all_nics: Ask<{ interfaces: Nic[] }>
}

/** An answer of a large node has some hundred kilobytes. */
const MAX_BYTES = 4 * 1024 * 1024

export function fleetQuestions(poll: NodePoll, agents: Pick<NodeAgents, 'read'>): FleetQuestions {
  const reading =
    (route: RouteSpec, query: Record<string, unknown> = {}) =>
    (row: NodeRow, timeout_ms: number): Promise<Buffer> =>
      agents.read(row, route, query, { timeout_ms, max_bytes: MAX_BYTES })
  /** Only the whole answer is stored where every node is shown. */
  const shown = <S extends TSchema>(name: string, schema: S, ask: ReturnType<typeof reading>, no_cache = false) => {
    const view = poll.question({ name, read: ask, fits: checking(schema), digest: () => null, no_cache })
    return async (rows: readonly NodeRow[]) => view.whole(await view.poll(rows))
  }
  const { agentNicsEligible, agentNetworkAlerts } = agentNetwork.routes
  const Nics = Type.Object({ interfaces: Type.Array(Nic) })
  return {
    snapshots: poll.question({
      name: 'snapshots',
      read: reading(monitoring.routes.nodeSummary),
      fits: checking(NodeNet),
      digest: snapshotDigest,
    }),
    routers: poll.question({
      name: 'routers',
      read: reading(agent.routes.agentFrr),
      fits: checking(FrrNode),
      digest: routerDigest,
    }),
    alerts: poll.question({
      name: 'alerts',
      read: reading(agentNetworkAlerts),
      fits: checking(Type.Object({ alerts: Type.Array(NetworkAlert) })),
      digest: ({ alerts }) => alertCounts(alerts),
    }),
    // A rollout is planned from it.
    mtu: shown('mtu', AgentMtu, reading(agentMtu.routes.agentMtuRead), true),
    storage: shown('storage', StorageHealth, reading(hostStorage.routes.hostStorageHealth)),
    gpus: shown('GPUs', NodeGpus, reading(agentGpu.routes.agentGpuList)),
    usable_nics: shown('usable NICs', Nics, reading(agentNicsEligible, { include_all: false })),
    all_nics: shown('all NICs', Nics, reading(agentNicsEligible, { include_all: true })),
  }
}

/** Compiled at the first answer: most starts never ask a node. */
function checking<S extends TSchema>(schema: S) {
  let check: { Check(value: unknown): boolean } | undefined
  return (value: unknown): value is Static<S> => {
    check ??= Compile(schema)
    return check.Check(value)
  }
}
