// Job: make every part of one GPU a vGPU of one profile.
import { randomUUID } from 'node:crypto'
import { type Static, Type } from 'typebox'
import type { GpuDevice } from '#src/contract/gpu.ts'
import { GpuInstance, type NodeGpu } from '#src/contract/nodes/agent-gpu.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import {
  type ChangeDeps, checkStep, discover, discoverStep, forgetStep, manageStep, PoolState, requireGpus, unmanageStep,
} from './change-steps.ts' // biome-ignore format: one import
import { HostInput } from './convert.job.ts'
import { bareName, devicesOfHost, requireUnused, wholeAddress } from './gpu-lookup.ts'

const RepinInput = Type.Object({
  host: HostInput,
  /** The one GPU. */
  bus_addresses: Type.Array(Type.String(), { minItems: 1, maxItems: 1 }),
  profile_id: Type.String(),
  profile_name: Type.String(),
  /** What the driver calls it, when the caller said so. */
  vgpu_type: Type.Optional(Type.String()),
  count: Type.Optional(Type.Integer()),
})
export type RepinInput = Static<typeof RepinInput>

const RepinState = Type.Object({
  ...PoolState.properties,
  wanted: Type.Array(GpuInstance),
  before: Type.Array(GpuInstance),
})
type RepinRun = Run<ChangeDeps, RepinInput, Static<typeof RepinState>>

const NODE_TIMEOUT_MS = 5 * 60_000

export const gpuDeviceRepinJob = defineJob<ChangeDeps>()({
  type: 'gpu.repin',
  input: RepinInput,
  state: RepinState,
  resource_type: 'GPU',
  steps: [
    checkStep(planParts),
    unmanageStep<RepinInput>(),
    {
      name: 'repin',
      title: 'Set the vGPUs on the node',
      weight: 4,
      holds: isPinned,
      run: pin,
      undo: pinBack,
      timeout_ms: NODE_TIMEOUT_MS,
    },
    discoverStep<RepinInput>(),
    forgetStep<RepinInput>(),
    { name: 'relabel', title: 'Tell the platform the profile of the parts', holds: isLabelled, run: relabel },
    manageStep<RepinInput>(),
  ],
  on_failure: 'undo',
  done: (run) => `${run.input.bus_addresses.join()} of ${run.input.host.name} is cut into ${run.input.profile_name}.`,
})

/** The whole wanted set, UUIDs included, is saved before the node is asked, so that a repeated act asks for the same. */
async function planParts(run: RepinRun, all: NodeGpu[]): Promise<void> {
  const [gpu] = requireGpus(run, all)
  if (gpu === undefined) throw new Error('the job names no GPU')
  await run.save({ wanted: wantedParts(gpu, run.input), before: gpu.vgpus })
}

/** Throws GPU_MODE_UNSUPPORTED when the GPU cannot be cut like that. Parts that are so already are kept. */
export function wantedParts(
  gpu: NodeGpu,
  order: Pick<RepinInput, 'profile_name' | 'vgpu_type' | 'count'>,
): GpuInstance[] {
  const { bus_address, vgpu_kind } = gpu
  if (gpu.mode !== 'vgpu' || vgpu_kind === null) {
    throw new ApiError(
      'GPU_MODE_UNSUPPORTED',
      `${bus_address} is in mode ${gpu.mode} and offers no vGPUs; convert it to vgpu first.`,
    )
  }
  const type = typeFor(gpu, order)
  const holders = gpu.virtual_functions.length > 0 ? gpu.virtual_functions : [bus_address]
  const fit = mostParts(gpu, type)
  const count = order.count ?? fit
  if (count === null)
    throw new ApiError(
      'GPU_MODE_UNSUPPORTED',
      `The driver of ${bus_address} does not say how many ${order.profile_name} fit; give count.`,
    )
  if (fit !== null && count > fit)
    throw new ApiError(
      'GPU_MODE_UNSUPPORTED',
      `${bus_address} has room for ${fit} ${order.profile_name}, not for ${count}.`,
    )
  if (vgpu_kind === 'vendor')
    return holders.slice(0, count).map((holder) => ({ bus_address: holder, uuid: null, type }))
  const reused = gpu.vgpus.filter((vgpu) => vgpu.type === type).slice(0, count)
  const free =
    holders.length > 1 ? holders.filter((holder) => reused.every((vgpu) => vgpu.bus_address !== holder)) : holders
  const fresh = Array.from({ length: count - reused.length }, (_, index) => ({
    bus_address: free[index % free.length] ?? bus_address,
    uuid: randomUUID(),
    type,
  }))
  return [...reused, ...fresh]
}

function typeFor(gpu: NodeGpu, { profile_name, vgpu_type }: Pick<RepinInput, 'profile_name' | 'vgpu_type'>): string {
  if (vgpu_type !== undefined) return vgpu_type
  const type = gpu.vgpu_types.find(({ name }) => name !== null && bareName(name) === bareName(profile_name))
  if (type !== undefined) return type.type
  const offered = gpu.vgpu_types.map(({ name, type: id }) => name ?? id).join(', ')
  throw new ApiError(
    'GPU_MODE_UNSUPPORTED',
    `The driver of ${gpu.bus_address} offers no ${profile_name} now (${offered || 'nothing at all'}); give vgpu_type when it only does not list it.`,
  )
}

/** Null: unknown. A virtual function carries one vGPU. */
function mostParts(gpu: NodeGpu, type: string): number | null {
  const known = gpu.vgpu_types.find((one) => one.type === type)
  const room =
    known?.max_instances ?? (gpu.vgpu_kind === 'mdev' && gpu.vgpus.length === 0 ? (known?.available ?? null) : null)
  const functions = gpu.virtual_functions.length
  if (functions === 0) return room
  return room === null ? (gpu.vgpu_kind === 'mdev' ? functions : null) : Math.min(room, functions)
}

async function isPinned(run: RepinRun): Promise<boolean> {
  const { wanted } = run.state
  if (wanted === undefined) return false
  const [gpu] = requireGpus(run, await run.deps.nodes.list(run.input.host, run.signal))
  return gpu !== undefined && isSameSet(gpu.vgpus, wanted)
}

async function pin(run: RepinRun): Promise<void> {
  const vgpus = run.state.wanted
  const [bus_address] = run.input.bus_addresses
  if (vgpus === undefined || bus_address === undefined) throw new Error('the plan of the repin is missing')
  await run.deps.nodes.assign(run.input.host, { bus_address, vgpus }, run)
}

/** Virtual functions keep their records when they are repinned, and the platform still has their former profile. */
async function mislabelled(run: RepinRun): Promise<GpuDevice[]> {
  const parts = new Set((run.state.wanted ?? []).map(({ bus_address, uuid }) => uuid ?? bus_address))
  const devices = await devicesOfHost(run.deps.cloudstack, run.input.host.id, { signal: run.signal })
  return devices.filter(
    (device) => parts.has(wholeAddress(device.bus_address)) && device.profile_id !== run.input.profile_id,
  )
}

async function isLabelled(run: RepinRun): Promise<boolean> {
  return (await mislabelled(run)).length === 0
}

async function relabel(run: RepinRun): Promise<void> {
  const devices = await mislabelled(run)
  requireUnused(devices)
  for (const { id } of devices) {
    await run.deps.cloudstack.call(
      'updateGpuDevice',
      { id, vgpuprofileid: run.input.profile_id },
      { signal: run.signal },
    )
  }
}

async function pinBack(run: RepinRun): Promise<void> {
  const vgpus = run.state.before
  const [bus_address] = run.input.bus_addresses
  if (vgpus === undefined || bus_address === undefined) return
  await run.deps.nodes.assign(run.input.host, { bus_address, vgpus }, run)
  await discover(run)
}

function isSameSet(a: readonly GpuInstance[], b: readonly GpuInstance[]): boolean {
  const key = ({ bus_address, uuid, type }: GpuInstance): string => `${bus_address} ${uuid ?? ''} ${type}`
  const keys = new Set(a.map(key))
  return a.length === b.length && b.every((part) => keys.has(key(part)))
}
