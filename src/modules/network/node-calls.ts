// How this module reaches the agents of nodes: a port that the program fills in.
import type { Client } from '#src/contract/client.ts'
import type { RouteSpec, Routes } from '#src/contract/route.ts'
import type { JobClaim } from '#src/kernel/job-claim.ts'
import type { NodeRow } from '#src/store/nodes.ts'

interface NodeCallOptions {
  timeout_ms: number
  /** Largest answer; the default of the agents' client when left out. */
  max_bytes?: number
  signal?: AbortSignal
  /** The job that calls; set wherever a job changes something. */
  job?: JobClaim
}

export interface NodeCalls {
  /** A typed client of the node's agent. Throws UpstreamError at once when none has enrolled or the node is offline. */
  client<A extends Routes>(row: NodeRow, routes: A, options: NodeCallOptions): Client<A>
}

/** Asks a node's agent and answers the bytes of its success, unparsed. Throws as the typed client does. */
export type NodeRead = (
  row: NodeRow,
  route: RouteSpec,
  query: Record<string, unknown>,
  options: NodeCallOptions,
) => Promise<Buffer>
