// GPUs of a new host: the platform looks for them when it is told to.
import { agentGpu } from '#src/contract/nodes/agent-gpu.ts'
import { rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { hostAt } from './host.ts'
import type { SetupRun } from './input.ts'
import { nodeOf } from './machine.ts'

const CALL_MS = 60_000

export async function hasGpus(run: SetupRun): Promise<string | true> {
  const { deps, input, signal } = run
  if (input.role !== 'compute') return 'a management node is no hypervisor'
  if (!deps.cloudstack.configured) return 'no compute platform is configured'
  const client = deps.agents.client(await nodeOf(run), agentGpu.routes, { timeout_ms: CALL_MS, signal })
  const { gpus } = await client.agentGpuList({})
  return gpus.some(({ console }) => !console) ? true : 'the node has no GPU for machines'
}

/** The node has some, so a platform that lists none has not found them. */
export async function discoverGpus({ deps, state, signal }: SetupRun): Promise<void> {
  const { cloudstack } = deps
  const host = await hostAt(cloudstack, state.node_ip ?? '', signal)
  if (host === undefined) throw new ApiError('HOST_NOT_FOUND', `The platform lists no host ${state.node_ip ?? ''}.`)
  const id = textOf(host, 'id') ?? ''
  await cloudstack.call('discoverGpuDevices', { id }, { signal, timeout_ms: CALL_MS })
  const listed = await cloudstack.call('listGpuDevices', { hostid: id, page: 1, pagesize: 1 }, { signal })
  if (rowsOf(listed, 'gpudevice').length === 0)
    throw new ApiError(
      'GPU_CHANGE_FAILED',
      `The platform found no GPU on host ${state.node_ip ?? ''}, though the node has some.`,
    )
}
