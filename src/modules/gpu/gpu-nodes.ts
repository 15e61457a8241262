// How this area reaches the node behind a host of the platform. Bound at assembly, where both are known.
import type { AgentGpuAssign, AgentGpuConvert, NodeGpu } from '#src/contract/nodes/agent-gpu.ts'
import type { JobClaim } from '#src/kernel/job-claim.ts'

/** A host of the platform, with what a node may be recognised by. */
export interface GpuHost {
  id: string
  name: string
  ip_address: string | null
}

/** The run of a job: an agent does nothing for one that another process took over. */
export interface CallingJob extends JobClaim {
  readonly signal: AbortSignal
}

export interface GpuNodes {
  /** Throws AGENT_NOT_CONFIGURED when no node is registered for this host, UpstreamError when its agent does not answer. */
  list(host: GpuHost, signal: AbortSignal): Promise<NodeGpu[]>
  convert(host: GpuHost, change: AgentGpuConvert, job: CallingJob): Promise<NodeGpu[]>
  assign(host: GpuHost, change: AgentGpuAssign, job: CallingJob): Promise<NodeGpu[]>
}
