// Job: convert GPUs of a host between passthrough and vGPU.
import { type Static, Type } from 'typebox'
import type { AgentGpuConvert, NodeGpu } from '#src/contract/nodes/agent-gpu.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import {
  type ChangeDeps, checkStep, discover, discoverStep, forgetStep, manageStep, PoolState, requireGpus, unmanageStep,
} from './change-steps.ts' // biome-ignore format: one import

export const HostInput = Type.Object({
  id: Type.String(),
  name: Type.String(),
  ip_address: Type.Union([Type.String(), Type.Null()]),
})

const ConvertInput = Type.Object({
  host: HostInput,
  bus_addresses: Type.Array(Type.String()),
  mode: Type.Union([Type.Literal('passthrough'), Type.Literal('vgpu')]),
})
export type ConvertInput = Static<typeof ConvertInput>

const ConvertState = Type.Object({
  ...PoolState.properties,
  /** Before the change: mode and bus address of each GPU. */
  modes: Type.Array(Type.String()),
})
type ConvertRun = Run<ChangeDeps, ConvertInput, Static<typeof ConvertState>>

const NODE_TIMEOUT_MS = 5 * 60_000

export const gpuDeviceConvertJob = defineJob<ChangeDeps>()({
  type: 'gpu.convert',
  input: ConvertInput,
  state: ConvertState,
  resource_type: 'GPU',
  steps: [
    checkStep(keepModes),
    unmanageStep<ConvertInput>(),
    {
      name: 'convert',
      title: 'Convert GPUs on the node',
      weight: 4,
      holds: isConverted,
      run: convert,
      undo: convertBack,
      timeout_ms: NODE_TIMEOUT_MS,
    },
    discoverStep<ConvertInput>(),
    forgetStep<ConvertInput>(),
    manageStep<ConvertInput>(),
  ],
  on_failure: 'undo',
  done: (run) =>
    `${run.input.bus_addresses.join(', ')} of ${run.input.host.name} ${run.input.bus_addresses.length === 1 ? 'is' : 'are'} in mode ${run.input.mode}.`,
})

/** vGPUs must be removed before: the undo could not restore them as they were. */
async function keepModes(run: ConvertRun, all: NodeGpu[]): Promise<void> {
  const gpus = requireGpus(run, all)
  const cut = gpus.find(({ vgpus, mode }) => vgpus.length > 0 && mode !== run.input.mode)
  if (cut !== undefined)
    throw new ApiError(
      'GPU_DEVICE_IN_USE',
      `${cut.bus_address} is cut into ${cut.vgpus.length} vGPUs; remove them first.`,
    )
  await run.save({ modes: gpus.map(({ bus_address, mode }) => `${mode} ${bus_address}`) })
}

async function isConverted(run: ConvertRun): Promise<boolean> {
  const gpus = requireGpus(run, await run.deps.nodes.list(run.input.host, run.signal))
  return gpus.every(({ mode }) => mode === run.input.mode)
}

async function convert(run: ConvertRun): Promise<void> {
  const { host, bus_addresses, mode } = run.input
  await run.deps.nodes.convert(host, { bus_addresses, mode }, run)
}

const RESTORABLE = ['passthrough', 'vgpu', 'host'] as const satisfies readonly AgentGpuConvert['mode'][]

async function convertBack(run: ConvertRun): Promise<void> {
  const before = run.state.modes ?? []
  for (const mode of RESTORABLE) {
    const bus_addresses = before
      .filter((entry) => entry.startsWith(`${mode} `))
      .map((entry) => entry.slice(mode.length + 1))
    if (bus_addresses.length > 0) await run.deps.nodes.convert(run.input.host, { bus_addresses, mode }, run)
  }
  const unbound = before.filter((entry) => entry.startsWith('none '))
  if (unbound.length > 0)
    await run.note(
      'WARN',
      `GPUs that no driver held before are left as they are: ${unbound.map((entry) => entry.slice(5)).join(', ')}.`,
    )
  await discover(run)
}
