// What the jobs of guest networks on the nodes share: their input, what they save, and what they need.
import { type Static, Type } from 'typebox'
import { BridgeSpec } from '#src/contract/nodes/agent-bridges.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { Run } from '#src/jobs/define.ts'
import { Submissions } from '#src/jobs/submit-once.ts'
import type { Database } from '#src/store/database.ts'
import type { NodeAgents } from '../node-agents.ts'

export interface GuestNetworkDeps {
  database: Database
  agents: Pick<NodeAgents, 'client'>
  cloudstack: CloudStack
}

const Node = Type.Object({ node_id: Type.String(), name: Type.String(), fqdn: Type.String(), node_ip: Type.String() })

export const GuestNetworkInput = Type.Object({
  name: Type.String(),
  network_id: Type.Union([Type.String(), Type.Null()]),
  bridge: BridgeSpec,
  nodes: Type.Array(Node),
  /** Arguments of the platform, for a network that is to be made. */
  platform: Type.Record(Type.String(), Type.String()),
})
export type GuestNetworkInput = Static<typeof GuestNetworkInput>

export const GuestNetworkState = Type.Object({
  /** Networks of this name that were there before. */
  known_ids: Type.Array(Type.String()),
  submissions: Submissions,
})
export type GuestNetworkState = Static<typeof GuestNetworkState>

export type GuestNetworkRun = Run<GuestNetworkDeps, GuestNetworkInput, GuestNetworkState>
