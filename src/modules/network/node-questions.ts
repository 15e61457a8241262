// What the fleet views ask of every node.
import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { agent } from '#src/contract/agent.ts'
import { Nic } from '#src/contract/network/eligible-nics.ts'
import { FrrNode } from '#src/contract/network/frr.ts'
import { monitoring, NetworkAlert } from '#src/contract/network/monitoring.ts'
import { NodeNet } from '#src/contract/network/node-net.ts'
import { AgentMtu, agentMtu } from '#src/contract/nodes/agent-mtu.ts'
import { agentNetwork } from '#src/contract/nodes/agent-network.ts'
import type { NodeCalls } from './node-calls.ts'
import type { Ask, NodePoll, Question } from './node-poll.ts'

export interface FleetQuestions {
  pictures: Ask<NodeNet>
  routers: Ask<FrrNode>
  alerts: Ask<{ alerts: NetworkAlert[] }>
  mtu: Ask<AgentMtu>
  usable_nics: Ask<{ interfaces: Nic[] }>
  all_nics: Ask<{ interfaces: Nic[] }>
}

/** Longer than any time limit of the poll, which counts. */
const CALL_MS = 60_000
/** A picture of a large node has some hundred kilobytes. */
const MAX_BYTES = 4 * 1024 * 1024

export function fleetQuestions(poll: NodePoll, calls: NodeCalls): FleetQuestions {
  const options = (signal: AbortSignal) => ({ timeout_ms: CALL_MS, max_bytes: MAX_BYTES, signal })
  const nics = (name: string, include_all: boolean): Question<{ interfaces: Nic[] }> => ({
    name,
    ask: (row, signal) =>
      calls.client(row, agentNetwork.routes, options(signal)).agentNicsEligible({ query: { include_all } }),
    fits: checking(Type.Object({ interfaces: Type.Array(Nic) })),
  })
  return {
    pictures: poll.question({
      name: 'pictures',
      ask: (row, signal) => calls.client(row, monitoring.routes, options(signal)).nodeSummary(),
      fits: checking(NodeNet),
    }),
    routers: poll.question({
      name: 'routers',
      ask: (row, signal) => calls.client(row, agent.routes, options(signal)).agentFrr(),
      fits: checking(FrrNode),
    }),
    alerts: poll.question({
      name: 'alerts',
      ask: (row, signal) => calls.client(row, agentNetwork.routes, options(signal)).agentNetworkAlerts(),
      fits: checking(Type.Object({ alerts: Type.Array(NetworkAlert) })),
    }),
    mtu: poll.question({
      name: 'mtu',
      ask: (row, signal) => calls.client(row, agentMtu.routes, options(signal)).agentMtuRead(),
      fits: checking(AgentMtu),
      // A rollout is planned from it.
      fresh_ms: 0,
    }),
    usable_nics: poll.question(nics('usable NICs', false)),
    all_nics: poll.question(nics('all NICs', true)),
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
