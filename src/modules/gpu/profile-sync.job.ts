// Job: create the vGPU profiles that the drivers of a host offer and the platform does not have.
import { type Static, Type } from 'typebox'
import type { GpuVgpuType, NodeGpu } from '#src/contract/nodes/agent-gpu.ts'
import { collected } from '#src/drivers/cloudstack/lists.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { ChangeDeps } from './change-steps.ts'
import { HostInput } from './convert.job.ts'
import { bareName, CARD_ITEM, PROFILE_ITEM } from './gpu-lookup.ts'

const SyncInput = Type.Object({ host: HostInput })

const Wanted = Type.Object({
  name: Type.String(),
  gpucardid: Type.String(),
  args: Type.Record(Type.String(), Type.Number()),
})
type Wanted = Static<typeof Wanted>

const SyncState = Type.Object({ wanted: Type.Array(Wanted) })
type SyncRun = Run<ChangeDeps, Static<typeof SyncInput>, Static<typeof SyncState>>

export const vgpuProfileSyncJob = defineJob<ChangeDeps>()({
  type: 'gpu.profile-sync',
  input: SyncInput,
  state: SyncState,
  resource_type: 'GPU',
  steps: [
    { name: 'read-catalogue', title: 'Read the catalogue of the node', run: readCatalogue },
    { name: 'create-profiles', title: 'Create the missing profiles', holds: isComplete, run: createMissing },
  ],
  on_failure: 'stop',
  done: (run) => `The platform has the ${wantedIn(run).length} vGPU profiles that ${run.input.host.name} offers.`,
})

async function readCatalogue(run: SyncRun): Promise<void> {
  const { cloudstack, nodes } = run.deps
  const gpus = await nodes.list(run.input.host, run.signal)
  const cards = await collected(cloudstack.listAll('listGpuCards', {}, CARD_ITEM, { signal: run.signal }))
  const wanted = new Map<string, Wanted>()
  for (const gpu of gpus) {
    for (const type of gpu.vgpu_types) {
      if (type.name === null) continue
      const bare = bareName(type.name)
      const fitting = cards.filter((card) => card.vendor_id === gpu.vendor_id && card.device_id === gpu.device_id)
      // Cards of one chip share their numbers; the profile's name then tells which one is meant.
      const card =
        fitting.find(({ name }) => bare.startsWith(`${bareName(name)}-`)) ??
        (fitting.length === 1 ? fitting[0] : undefined)
      if (card !== undefined) wanted.set(type.name, { name: type.name, gpucardid: card.id, args: sizesOf(type) })
      else await run.note('WARN', noCard(gpu, type.name, fitting.length))
    }
  }
  if (gpus.every(({ vgpu_types }) => vgpu_types.length === 0))
    await run.note('WARN', 'No driver of the node offers vGPUs at present.')
  await run.save({ wanted: [...wanted.values()] })
}

function noCard(gpu: NodeGpu, name: string, fitting: number): string {
  const numbers = `${gpu.vendor_id}:${gpu.device_id}`
  return fitting === 0
    ? `The platform knows no card ${numbers}, so ${name} is left out; discover the devices of the host first.`
    : `${fitting} cards of the platform are ${numbers}, and none is called like ${name}, so it is left out.`
}

function sizesOf(type: GpuVgpuType): Record<string, number> {
  const sizes = {
    maxvgpuperphysicalgpu: type.max_instances,
    videoram: type.video_ram_mb,
    maxheads: type.max_heads,
    maxresolutionx: type.max_resolution_x,
    maxresolutiony: type.max_resolution_y,
  }
  return Object.fromEntries(Object.entries(sizes).filter((entry): entry is [string, number] => entry[1] !== null))
}

async function missing(run: SyncRun): Promise<Wanted[]> {
  const names = new Set<string>()
  const profiles = run.deps.cloudstack.listAll('listVgpuProfiles', {}, PROFILE_ITEM, { signal: run.signal })
  for await (const { name } of profiles) names.add(bareName(name))
  return wantedIn(run).filter(({ name }) => !names.has(bareName(name)))
}

async function isComplete(run: SyncRun): Promise<boolean> {
  return (await missing(run)).length === 0
}

async function createMissing(run: SyncRun): Promise<void> {
  const open = await missing(run)
  for (const [index, { name, gpucardid, args }] of open.entries()) {
    try {
      await run.deps.cloudstack.call('createVgpuProfile', { name, gpucardid, ...args }, { signal: run.signal })
    } catch (error) {
      // Names are unique over all cards: somebody else made it meanwhile.
      if (!(error instanceof ApiError && error.code === 'COMPUTE_CONFLICT')) throw error
    }
    run.progress(((index + 1) / open.length) * 100, `vGPU profile ${name} is there.`)
  }
}

function wantedIn(run: SyncRun): Wanted[] {
  return run.state.wanted ?? []
}
