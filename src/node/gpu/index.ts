// Operations of the GPU area that run on a node, one change at a time.
import type { agentGpu } from '#src/contract/nodes/agent-gpu.ts'
import type { Handlers } from '#src/contract/route.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { assignVgpus } from './assign.ts'
import { convertGpus } from './convert.ts'
import { readGpus } from './inventory.ts'

export function gpuNodeHandlers(host: Host): Handlers<typeof agentGpu.routes, unknown> {
  let changing = false
  const alone = async (change: () => Promise<void>) => {
    if (changing) throw new ApiError('GPU_JOB_RUNNING', 'The GPUs of this node are being changed.')
    changing = true
    try {
      await change()
      return { gpus: await readGpus(host) }
    } finally {
      changing = false
    }
  }
  return {
    agentGpuList: async () => ({ gpus: await readGpus(host) }),
    agentGpuConvert: ({ body }) => alone(() => convertGpus(host, body)),
    agentGpuAssign: ({ body }) => alone(() => assignVgpus(host, body)),
  }
}
