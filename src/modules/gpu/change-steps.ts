// The steps that every change of a host's GPUs shares: out of the pool, the act on the node, discovery, and back into the
// pool. A half-changed host would promise machines what it no longer has, so a failed step undoes those before it.
import { type Static, Type } from 'typebox'
import type { GpuDevice } from '#src/contract/gpu.ts'
import type { NodeGpu } from '#src/contract/nodes/agent-gpu.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { Run, Step } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { devicesOfHost, requireUnused, wholeAddress } from './gpu-lookup.ts'
import type { GpuHost, GpuNodes } from './gpu-nodes.ts'

export interface ChangeDeps {
  cloudstack: CloudStack
  nodes: GpuNodes
}

export interface ChangeInput {
  host: GpuHost
  bus_addresses: string[]
}

const BusAddresses = Type.Array(Type.String())

/** What the shared steps save; the state of a job that has them begins with it. */
export const PoolState = Type.Object({
  in_pool: BusAddresses,
  excluded: BusAddresses,
  known: BusAddresses,
  /** Ids of the platform's records. */
  touched: Type.Array(Type.String()),
})
type PoolState = Static<typeof PoolState>

export type ChangeRun<Input extends ChangeInput> = Run<ChangeDeps, Input, PoolState>

const DISCOVERY_TIMEOUT_MS = 100_000

/** Checks once more, because time has passed, and keeps what the later steps and an undo go by. */
export function checkStep<Input extends ChangeInput, State extends PoolState>(
  plan: (run: Run<ChangeDeps, Input, State>, gpus: NodeGpu[]) => Promise<void>,
): Step<ChangeDeps, Input, State> {
  return {
    name: 'check',
    title: 'Check that no machine uses the GPUs',
    run: async (run) => {
      const devices = await hostDevices(run)
      requireUnused(devices)
      const gpus = await run.deps.nodes.list(run.input.host, run.signal)
      const touched = devicesOf(devices, partsOf(run.input, gpus))
      const in_pool = touched.filter(({ managed_state }) => managed_state === 'Managed').map(addressOf)
      const excluded = touched.filter(({ managed_state }) => managed_state !== 'Managed').map(addressOf)
      const shared: ChangeRun<Input> = run
      await shared.save({ in_pool, excluded, known: devices.map(addressOf), touched: touched.map(({ id }) => id) })
      await plan(run, gpus)
    },
  }
}

export function unmanageStep<Input extends ChangeInput>(): Step<ChangeDeps, Input, PoolState> {
  return {
    name: 'unmanage',
    title: 'Take the GPU devices out of the allocation pool',
    holds: async (run) => (await pooled(run, run.state.in_pool ?? [])).length === 0,
    run: async (run) => {
      const devices = await hostDevices(run)
      requireUnused(devices)
      await setPool(run, 'unmanageGpuDevice', await pooled(run, run.state.in_pool ?? []))
    },
    undo: async (run) => setPool(run, 'manageGpuDevice', await unpooled(run, run.state.in_pool ?? [])),
  }
}

export function discoverStep<Input extends ChangeInput>(): Step<ChangeDeps, Input, PoolState> {
  return { name: 'discover', title: 'Let the platform discover the GPU devices', run: discover }
}

/** Records of parts that the node no longer has: only ones this change took out of the pool or found out of it. */
export function forgetStep<Input extends ChangeInput>(): Step<ChangeDeps, Input, PoolState> {
  const stale = async (run: ChangeRun<Input>): Promise<GpuDevice[]> => {
    const present = await presentParts(run)
    const touched = run.state.touched ?? []
    return (await hostDevices(run)).filter((device) => touched.includes(device.id) && !present.has(addressOf(device)))
  }
  return {
    name: 'forget',
    title: 'Remove the records of parts that are gone',
    holds: async (run) => (await stale(run)).length === 0,
    run: async (run) => {
      const devices = await stale(run)
      requireUnused(devices)
      if (devices.length === 0) return
      const ids = devices.map(({ id }) => id)
      await run.note('INFO', `Removing the records of ${devices.map(addressOf).join(', ')}.`)
      await run.deps.cloudstack.call('deleteGpuDevice', { ids }, { signal: run.signal })
    },
  }
}

export function manageStep<Input extends ChangeInput>(): Step<ChangeDeps, Input, PoolState> {
  /** What was in the pool before and is still there, and what has come new; what was kept out stays out. */
  const wanted = async (run: ChangeRun<Input>): Promise<GpuDevice[]> => {
    const present = await presentParts(run)
    const excluded = run.state.excluded ?? []
    const mine = devicesOf(await hostDevices(run), present)
    return mine.filter((device) => !excluded.includes(addressOf(device)) && device.managed_state !== 'Managed')
  }
  return {
    name: 'manage',
    title: 'Put the GPU devices into the allocation pool',
    holds: async (run) => (await wanted(run)).length === 0,
    run: async (run) => setPool(run, 'manageGpuDevice', await wanted(run)),
  }
}

/** After an undone act the platform must see the old parts again before they go back into the pool. */
export async function discover<Input extends ChangeInput>(run: ChangeRun<Input>): Promise<void> {
  const { cloudstack } = run.deps
  await cloudstack.call(
    'discoverGpuDevices',
    { id: run.input.host.id },
    { signal: run.signal, timeout_ms: DISCOVERY_TIMEOUT_MS },
  )
}

export function requireGpus<Input extends ChangeInput>(run: ChangeRun<Input>, gpus: readonly NodeGpu[]): NodeGpu[] {
  return run.input.bus_addresses.map((bus_address) => {
    const gpu = gpus.find((one) => one.bus_address === bus_address)
    if (gpu === undefined) throw new ApiError('GPU_DEVICE_NOT_FOUND', `The node has no GPU at ${bus_address}.`)
    return gpu
  })
}

/** A node that does not show a GPU of the change tells nothing about its parts: records are not removed on its word. */
async function presentParts<Input extends ChangeInput>(run: ChangeRun<Input>): Promise<Set<string>> {
  const gpus = await run.deps.nodes.list(run.input.host, run.signal)
  requireGpus(run, gpus)
  return partsOf(run.input, gpus)
}

/** The GPUs of the change, their virtual functions and their mediated devices, by address. */
function partsOf(input: ChangeInput, gpus: readonly NodeGpu[]): Set<string> {
  const parts = new Set<string>()
  for (const gpu of gpus) {
    if (!input.bus_addresses.includes(gpu.bus_address)) continue
    parts.add(gpu.bus_address)
    for (const name of gpu.virtual_functions) parts.add(name)
    for (const { uuid } of gpu.vgpus) if (uuid !== null) parts.add(uuid)
  }
  return parts
}

function devicesOf(devices: readonly GpuDevice[], parts: ReadonlySet<string>): GpuDevice[] {
  const direct = new Set(devices.filter((device) => parts.has(addressOf(device))).map(({ id }) => id))
  return devices.filter(
    ({ id, parent_device_id }) => direct.has(id) || (parent_device_id !== null && direct.has(parent_device_id)),
  )
}

function hostDevices<Input extends ChangeInput>(run: ChangeRun<Input>): Promise<GpuDevice[]> {
  return devicesOfHost(run.deps.cloudstack, run.input.host.id, { signal: run.signal })
}

async function pooled<Input extends ChangeInput>(
  run: ChangeRun<Input>,
  addresses: readonly string[],
): Promise<GpuDevice[]> {
  return (await hostDevices(run)).filter(
    (device) => addresses.includes(addressOf(device)) && device.managed_state === 'Managed',
  )
}

async function unpooled<Input extends ChangeInput>(
  run: ChangeRun<Input>,
  addresses: readonly string[],
): Promise<GpuDevice[]> {
  return (await hostDevices(run)).filter(
    (device) => addresses.includes(addressOf(device)) && device.managed_state !== 'Managed',
  )
}

async function setPool<Input extends ChangeInput>(
  run: ChangeRun<Input>,
  command: 'manageGpuDevice' | 'unmanageGpuDevice',
  devices: readonly GpuDevice[],
): Promise<void> {
  if (devices.length === 0) return
  await run.deps.cloudstack.call(command, { ids: devices.map(({ id }) => id) }, { signal: run.signal })
}

function addressOf(device: GpuDevice): string {
  return wholeAddress(device.bus_address)
}
