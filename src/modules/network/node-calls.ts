// How this module reaches the agents of nodes: a port that the program fills in.
import type { Client } from '#src/contract/client.ts'
import type { Routes } from '#src/contract/route.ts'
import type { NodeRow } from '#src/store/nodes.ts'

export interface NodeCallOptions {
  timeout_ms: number
  /** Largest answer; the default of the agents' client when left out. */
  max_bytes?: number
  signal?: AbortSignal
}

export interface NodeCalls {
  /** A typed client of the node's agent. Throws UpstreamError at once when none has joined or the node is offline. */
  client<A extends Routes>(row: NodeRow, routes: A, options: NodeCallOptions): Client<A>
}
