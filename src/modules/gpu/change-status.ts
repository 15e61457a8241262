// What is known of changes of GPUs: repins under way, and the newest change of a host beside what its node sees.
import { pageOf } from '#src/contract/common.ts'
import type { GpuChange, GpuStatus, gpu } from '#src/contract/gpu.ts'
import type { NodeGpu } from '#src/contract/nodes/agent-gpu.ts'
import type { Input } from '#src/contract/route.ts'
import { listJobs } from '#src/jobs/list.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { lastJob } from '#src/jobs/lookup.ts'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { CHANGE_TYPES, type GpuDeps } from './changes.ts'
import { readHost } from './gpu-lookup.ts'

type In<Op extends keyof typeof gpu.routes> = Input<(typeof gpu.routes)[Op]>

export function gpuDeviceRepinInflight({ database }: GpuDeps) {
  return async ({ body }: In<'gpuDeviceRepinInflight'>) => {
    const page = pageOf(body)
    const filter = {
      job_type: 'repin',
      job_status: 'running',
      ...(body?.host_id === undefined ? {} : { resource_id: body.host_id }),
    }
    const { rows, count } = await listJobs(database.db, filter, page, null)
    return { gpu_repins: rows.map(changeOf), count, ...page }
  }
}

export function gpuDeviceRepinStatus({ database, cloudstack, nodes }: GpuDeps) {
  return async ({ body }: In<'gpuDeviceRepinStatus'>, ctx: RequestContext): Promise<GpuStatus> => {
    const host = await readHost(cloudstack, body.host_id, { signal: ctx.signal })
    const newest = await lastJob(database.db, { types: CHANGE_TYPES, resource_id: host.id })
    const seen = await seenBy(() => nodes.list(host, ctx.signal), ctx)
    return {
      host_id: host.id,
      host_name: host.name,
      change: newest === undefined ? null : changeOf(newest),
      gpus: seen.gpus,
      ...(seen.reason === undefined ? {} : { unavailable: [{ field: 'gpus', reason: seen.reason }] }),
    }
  }
}

async function seenBy(
  ask: () => Promise<NodeGpu[]>,
  ctx: RequestContext,
): Promise<{ gpus: NodeGpu[] | null; reason?: string }> {
  try {
    return { gpus: await ask() }
  } catch (error) {
    if (ctx.signal.aborted || !(error instanceof UpstreamError || error instanceof ApiError)) throw error
    ctx.log.info({ err: error }, 'the node of a GPU host did not answer')
    return {
      gpus: null,
      reason: error instanceof ApiError ? error.message : 'The agent of the node cannot be reached.',
    }
  }
}

const STATUS = { running: 'IN_PROGRESS', completed: 'SUCCESS', failed: 'FAILED' } as const

function changeOf(row: JobRow): GpuChange {
  const { bus_addresses, target } = row.metadata as { bus_addresses?: unknown; target?: unknown }
  return {
    job_id: row.id,
    kind: row.type === 'gpu.repin' ? 'repin' : 'convert',
    host_id: row.resource_id,
    host_name: row.resource_name,
    bus_addresses: Array.isArray(bus_addresses) ? bus_addresses.map(String) : [],
    target: typeof target === 'string' ? target : null,
    status: row.job_status === 'completed' || row.job_status === 'failed' ? STATUS[row.job_status] : 'IN_PROGRESS',
    progress: Math.round(row.progress),
    message: row.job_status === 'failed' ? (row.failure_reason ?? row.status) : row.status,
    failure_code: row.failure_code,
    started_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  }
}
