// How this area reaches the node behind a host of the platform. Bound at assembly, where both are known.
import type { AgentGpuAssign, AgentGpuConvert, NodeGpu } from '#src/contract/nodes/agent-gpu.ts'

/** A host of the platform, with what a node may be recognised by. */
export interface GpuHost {
  id: string
  name: string
  ip_address: string | null
}

export interface GpuNodes {
  /** Throws AGENT_NOT_CONFIGURED when no node is registered for this host, UpstreamError when its agent does not answer. */
  list(host: GpuHost, signal: AbortSignal): Promise<NodeGpu[]>
  convert(host: GpuHost, change: AgentGpuConvert, signal: AbortSignal): Promise<NodeGpu[]>
  assign(host: GpuHost, change: AgentGpuAssign, signal: AbortSignal): Promise<NodeGpu[]>
}
