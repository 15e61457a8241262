// Starts the jobs that change what a node makes of its GPUs, after the checks whose rejection the caller should hear at once.
import { sql } from 'kysely'
import type { gpu } from '#src/contract/gpu.ts'
import type { NodeGpu } from '#src/contract/nodes/agent-gpu.ts'
import type { Input } from '#src/contract/route.ts'
import { acceptedJob } from '#src/jobs/answer.ts'
import type { JobDefinition } from '#src/jobs/define.ts'
import { runningJob } from '#src/jobs/lookup.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Trx } from '#src/store/database.ts'
import type { PlatformDeps } from '../platform-rows.ts'
import type { ChangeDeps } from './change-steps.ts'
import { gpuDeviceConvertJob } from './convert.job.ts'
import { devicesOfHost, requireProfile, requireUnused, requireUpHost } from './gpu-lookup.ts'
import type { GpuHost, GpuNodes } from './gpu-nodes.ts'
import { vgpuProfileSyncJob } from './profile-sync.job.ts'
import { gpuDeviceRepinJob, wantedParts } from './repin.job.ts'

export interface GpuDeps extends PlatformDeps {
  nodes: GpuNodes
}

type In<Op extends keyof typeof gpu.routes> = Input<(typeof gpu.routes)[Op]>

export const CHANGE_TYPES = [gpuDeviceConvertJob.type, gpuDeviceRepinJob.type]
const GPU_TYPES = [...CHANGE_TYPES, vgpuProfileSyncJob.type]

export function gpuDeviceConvert(deps: GpuDeps) {
  const start = async ({ body }: In<'gpuDeviceConvert'>, ctx: RequestContext) => {
    const { host, gpus } = await readyHost(deps, body.host_id, ctx)
    const chosen =
      body.bus_addresses === undefined
        ? gpus.filter((one) => !one.console)
        : body.bus_addresses.map((name) => gpuAt(gpus, name))
    if (chosen.length === 0)
      throw new ApiError('GPU_DEVICE_NOT_FOUND', `Host ${host.name} has no GPU that could be converted.`)
    const on_console = chosen.find((one) => one.console)
    if (on_console !== undefined)
      throw new ApiError('GPU_MODE_UNSUPPORTED', `${on_console.bus_address} shows the console of the node.`)
    const bus_addresses = chosen.map(({ bus_address }) => bus_address)
    const gpus_text = bus_addresses.length === 1 ? '1 GPU' : `${bus_addresses.length} GPUs`
    return admit(
      deps,
      ctx,
      host,
      gpuDeviceConvertJob,
      { host, bus_addresses, mode: body.mode },
      {
        description: `Converting ${gpus_text} of ${host.name} to ${body.mode}.`,
        metadata: { host_id: host.id, bus_addresses, target: body.mode },
      },
    )
  }
  return acceptedJob(deps.jobs, { admit: start })
}

export function gpuDeviceRepin(deps: GpuDeps) {
  const start = async ({ body }: In<'gpuDeviceRepin'>, ctx: RequestContext) => {
    const { bus_address, vgpu_type, count } = body
    const profile = await requireProfile(deps.cloudstack, body.vgpu_profile_id, { signal: ctx.signal })
    const { host, gpus } = await readyHost(deps, body.host_id, ctx)
    const order = {
      profile_id: profile.id,
      profile_name: profile.name,
      ...(vgpu_type === undefined ? {} : { vgpu_type }),
      ...(count === undefined ? {} : { count }),
    }
    wantedParts(gpuAt(gpus, bus_address), order)
    return admit(
      deps,
      ctx,
      host,
      gpuDeviceRepinJob,
      { host, bus_addresses: [bus_address], ...order },
      {
        description: `Repinning ${bus_address} of ${host.name} to ${profile.name}.`,
        metadata: { host_id: host.id, bus_addresses: [bus_address], target: profile.name },
      },
    )
  }
  return acceptedJob(deps.jobs, { admit: start })
}

export function vgpuProfileSync(deps: GpuDeps) {
  const start = async ({ body }: In<'vgpuProfileSync'>, ctx: RequestContext) => {
    const host = await requireUpHost(deps.cloudstack, body.host_id, { signal: ctx.signal })
    await deps.nodes.list(host, ctx.signal)
    return admit(
      deps,
      ctx,
      host,
      vgpuProfileSyncJob,
      { host },
      {
        description: `Syncing the vGPU profiles of ${host.name}.`,
        metadata: { host_id: host.id },
      },
    )
  }
  return acceptedJob(deps.jobs, { admit: start })
}

/** Nothing of the host may be in use, because drivers are changed under it; the node must answer. */
async function readyHost(
  deps: GpuDeps,
  host_id: string,
  ctx: RequestContext,
): Promise<{ host: GpuHost; gpus: NodeGpu[] }> {
  const host = await requireUpHost(deps.cloudstack, host_id, { signal: ctx.signal })
  requireUnused(await devicesOfHost(deps.cloudstack, host_id, { signal: ctx.signal }))
  return { host, gpus: await deps.nodes.list(host, ctx.signal) }
}

function gpuAt(gpus: readonly NodeGpu[], bus_address: string): NodeGpu {
  const gpu_found = gpus.find((one) => one.bus_address === bus_address)
  if (gpu_found === undefined) throw new ApiError('GPU_DEVICE_NOT_FOUND', `The node has no GPU at ${bus_address}.`)
  return gpu_found
}

function admit<JobInput, State>(
  { jobs }: GpuDeps,
  ctx: RequestContext,
  host: GpuHost,
  definition: JobDefinition<ChangeDeps, JobInput, State>,
  input: JobInput,
  { description, metadata }: { description: string; metadata: Record<string, unknown> },
): Promise<unknown> {
  return jobs.admit(definition, {
    operation: ctx,
    input,
    description,
    resource_id: host.id,
    resource_name: host.name,
    metadata,
    also: (trx) => requireAlone(trx, host, ctx.operation_id),
  })
}

/** One change of a host's GPUs at a time, decided in the transaction that admits it. */
async function requireAlone(trx: Trx, host: GpuHost, operation_id: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`gpu ${host.id}`}, 0))`.execute(trx)
  const other = await runningJob(trx, { types: GPU_TYPES, resource_id: host.id }, operation_id)
  if (other !== undefined)
    throw new ApiError('GPU_JOB_RUNNING', `The job ${other} is changing the GPUs of ${host.name}.`)
}
