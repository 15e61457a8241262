// A node with GPUs for tests of the control plane: an agent that has enrolled, whose answers come from the real node code on
// a folder that looks like /sys.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from '#src/kernel/errors.ts'
import { gpuNodeHandlers } from '#src/node/gpu/index.ts'
import { FACTS, enrolNode, sendSigned, serveAs } from './fake-agent.ts'
import { type GpuKernel, gpuKernel, type PlantedGpu } from './gpu-kernel.ts'
import type { Lab } from './start-lab.ts'

export interface GpuNode {
  kernel: GpuKernel
  close(): Promise<void>
}

export async function joinGpuNode(
  lab: Lab,
  where: { bmc_ip: string; node_ip: string; hostname: string },
  gpus: readonly PlantedGpu[],
): Promise<GpuNode> {
  const kernel = gpuKernel(gpus)
  const handlers = gpuNodeHandlers(kernel.host)
  const { hostname, node_ip } = where
  const facts = { ...FACTS, hostname, fqdn: `${hostname}.example.internal`, node_ip, addresses: [node_ip] }
  const identity = await enrolNode(lab, where.bmc_ip, facts)
  const agent = await serveAs(identity, (request, response) => void answer(handlers, request, response))
  const beat = { facts, agent: { address: '127.0.0.1', port: agent.port } }
  const { status, text } = await sendSigned(lab, identity, '/configure/nodes/heartbeat', beat)
  if (status !== 200) throw new Error(`the heartbeat answered ${status}: ${text}`)
  return {
    kernel,
    async close() {
      await agent.close()
      kernel.remove()
    },
  }
}

type NodeOperations = ReturnType<typeof gpuNodeHandlers>

async function answer(handlers: NodeOperations, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  const input = { params: undefined, query: undefined, body: text === '' ? undefined : JSON.parse(text) }
  const send = (status: number, value: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }
  try {
    switch (`${request.method} ${request.url}`) {
      case 'GET /internal/node/gpus':
        return send(200, await handlers.agentGpuList({ ...input, body: undefined }, undefined))
      case 'POST /internal/node/gpus/convert':
        return send(200, await handlers.agentGpuConvert(input, undefined))
      case 'POST /internal/node/gpus/vgpus':
        return send(200, await handlers.agentGpuAssign(input, undefined))
      default:
        return send(404, { code: 'ROUTE_NOT_FOUND', title: 'no route', status: 404 })
    }
  } catch (error) {
    if (error instanceof ApiError)
      return send(400, { code: error.code, title: error.code, detail: error.message, status: 400 })
    return send(500, { code: 'INTERNAL_ERROR', title: 'error', detail: String(error), status: 500 })
  }
}
