// How an agent calls the control plane: the routes of the registry, signed by whoever has a key, bounded in time and size.
import { Agent, request } from 'undici'
import { type Client, clientFor, type Transport } from '#src/contract/client.ts'
import { nodeRegistry } from '#src/contract/nodes/registry.ts'

export interface ControlAddress {
  control_url: string
  /** PEM of the CA of the control plane's HTTPS, where the system does not know it. */
  control_ca?: string | undefined
}

/** Makes the headers that prove who sends this request. */
export type Sign = (method: string, path: string, body: string) => Record<string, string>

export interface ControlConnection {
  registry(sign?: Sign, signal?: AbortSignal): Client<typeof nodeRegistry.routes>
  close(): Promise<void>
}

const CALL_TIMEOUT_MS = 15_000
const CONNECT_TIMEOUT_MS = 5000
const MAX_ANSWER_BYTES = 1024 * 1024

export function connectControl({ control_url, control_ca }: ControlAddress): ControlConnection {
  // A proxy may serve the API below a path of its own.
  const base = control_url.replace(/\/+$/, '')
  const dispatcher = new Agent({
    maxResponseSize: MAX_ANSWER_BYTES,
    connect: { timeout: CONNECT_TIMEOUT_MS, ...(control_ca === undefined ? {} : { ca: control_ca }) },
  })
  return {
    registry(sign = () => ({}), signal) {
      const transport: Transport = async (message) => {
        const deadline = AbortSignal.timeout(CALL_TIMEOUT_MS)
        const answer = await request(`${base}${message.path}`, {
          method: message.method as 'POST',
          dispatcher,
          signal: signal === undefined ? deadline : AbortSignal.any([deadline, signal]),
          headers: { ...message.headers, ...sign(message.method, message.path, message.body ?? '') },
          ...(message.body === undefined ? {} : { body: message.body }),
        })
        const text = await answer.body.text()
        return { status: answer.statusCode, headers: { get: () => null }, text: () => Promise.resolve(text) }
      }
      return clientFor(nodeRegistry.routes, transport)
    },
    close: () => dispatcher.destroy(),
  }
}
