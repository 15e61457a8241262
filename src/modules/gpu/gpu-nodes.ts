// How this area reaches the node behind a host of the platform.
import { agentGpu, type AgentGpuAssign, type AgentGpuConvert, type NodeGpu } from '#src/contract/nodes/agent-gpu.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { JobClaim } from '#src/kernel/job-claim.ts'
import type { Db } from '#src/store/database.ts'
import { nodesCalled } from '#src/store/nodes.ts'
import type { NodeAgents } from '../node-agents.ts'

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

const READ_TIMEOUT_MS = 20_000
/** The kernel takes seconds for each virtual function. */
const CHANGE_TIMEOUT_MS = 170_000

export function createGpuNodes(db: Db, agents: Pick<NodeAgents, 'client'>): GpuNodes {
  const client = async (host: GpuHost, timeout_ms: number, signal: AbortSignal, job?: JobClaim) =>
    agents.client(await nodeOf(db, host), agentGpu.routes, { timeout_ms, signal, job })
  return {
    list: async (host, signal) => (await (await client(host, READ_TIMEOUT_MS, signal)).agentGpuList()).gpus,
    convert: async (host, body, job) =>
      (await (await client(host, CHANGE_TIMEOUT_MS, job.signal, job)).agentGpuConvert({ body })).gpus,
    assign: async (host, body, job) =>
      (await (await client(host, CHANGE_TIMEOUT_MS, job.signal, job)).agentGpuAssign({ body })).gpus,
  }
}

/** By its address first, because names change more often. */
async function nodeOf(db: Db, host: GpuHost) {
  for (const name of [host.ip_address, host.name]) {
    const [row, second] = name === null ? [] : await nodesCalled(db, name)
    if (row !== undefined && second === undefined) return row
  }
  throw new ApiError(
    'AGENT_NOT_CONFIGURED',
    `No node is registered for the host ${host.name}; register it and let its agent enrol.`,
  )
}
