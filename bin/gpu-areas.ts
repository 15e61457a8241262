// The GPU area, and the way from a host of the compute platform to the agent of its node.
import { gpu } from '#src/contract/gpu.ts'
import { agentGpu } from '#src/contract/nodes/agent-gpu.ts'
import { bindJob } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { JobClaim } from '#src/kernel/job-claim.ts'
import { mountArea, type MountServices } from '#src/kernel/http/mount.ts'
import type { Server } from '#src/kernel/http/serve.ts'
import { gpuConvertJob } from '#src/modules/gpu/convert.job.ts'
import type { GpuHost, GpuNodes } from '#src/modules/gpu/gpu-nodes.ts'
import { gpuHandlers } from '#src/modules/gpu/index.ts'
import { gpuProfileSyncJob } from '#src/modules/gpu/profile-sync.job.ts'
import { gpuRepinJob } from '#src/modules/gpu/repin.job.ts'
import { type AgentAccess, agentAddressOf } from '#src/modules/nodes/agent-access.ts'
import type { Db } from '#src/store/database.ts'
import { nodesCalled } from '#src/store/nodes.ts'
import type { Parts } from './areas.ts'

export function mountGpu(server: Server, services: MountServices, parts: Parts, access: AgentAccess): void {
  const { cloudstack, database, engine, replica } = parts
  const nodes = createGpuNodes(database.db, access)
  engine.register(bindJob(gpuConvertJob, { cloudstack, nodes }))
  engine.register(bindJob(gpuRepinJob, { cloudstack, nodes }))
  engine.register(bindJob(gpuProfileSyncJob, { cloudstack, nodes }))
  mountArea(server, gpu, gpuHandlers({ cloudstack, database, jobs: engine, replica_id: replica.id, nodes }), services)
}

const READ_TIMEOUT_MS = 20_000
/** The kernel takes seconds for each virtual function. */
const CHANGE_TIMEOUT_MS = 170_000

function createGpuNodes(db: Db, access: AgentAccess): GpuNodes {
  const client = async (host: GpuHost, timeout_ms: number, signal: AbortSignal, job?: JobClaim) =>
    access.agents.clientFor(agentAddressOf(await nodeOf(db, host), access.offline_after_ms), agentGpu.routes, {
      timeout_ms,
      signal,
      job,
    })
  return {
    list: async (host, signal) => (await (await client(host, READ_TIMEOUT_MS, signal)).agentGpuList()).gpus,
    convert: async (host, body, job) =>
      (await (await client(host, CHANGE_TIMEOUT_MS, job.signal, job)).agentGpuConvert({ body })).gpus,
    assign: async (host, body, job) =>
      (await (await client(host, CHANGE_TIMEOUT_MS, job.signal, job)).agentGpuAssign({ body })).gpus,
  }
}

/** By its address first: names are shorter-lived. */
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
