// The switches of a camera that work at once: they are published on the NVR's topic feed, for which there is no HTTP call, and
// the NVR confirms by the state that it then publishes. What it refuses it does not answer.
import { once } from 'node:events'
import { Type } from 'typebox'
import { WebSocket } from 'ws'
import { UpstreamError } from '#src/kernel/errors.ts'
import { reader } from './shapes.ts'
import type { NvrTransport } from './transport.ts'

export type CameraSwitch = 'detect' | 'motion' | 'audio'

const OPEN_TIMEOUT_MS = 5_000
const CONFIRM_MS = 3_000
const MAX_FRAME_BYTES = 4 * 1024 * 1024
const readFrame = reader(Type.Object({ topic: Type.String(), payload: Type.Unknown() }))

/** Whether the NVR confirmed it in time. Exactly ON and OFF are sent: it repeats anything else as if that were a state. */
export async function publishSwitch(
  transport: NvrTransport,
  camera: string,
  name: CameraSwitch,
  enabled: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const socket = await openFeed(transport, signal)
  const payload = enabled ? 'ON' : 'OFF'
  const confirmed = Promise.withResolvers<boolean>()
  const leave = (): void => confirmed.reject(signal.reason)
  const late = setTimeout(() => confirmed.resolve(false), CONFIRM_MS)
  signal.addEventListener('abort', leave)
  socket.on('message', (data: Buffer) => {
    if (isState(data, `${camera}/${name}/state`, payload)) confirmed.resolve(true)
  })
  socket.on('close', () => confirmed.reject(failed('unavailable')))
  try {
    socket.send(JSON.stringify({ topic: `${camera}/${name}/set`, payload, retain: false }))
    return await confirmed.promise
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', leave)
    socket.terminate()
  }
}

async function openFeed(transport: NvrTransport, signal: AbortSignal): Promise<WebSocket> {
  const { session } = transport
  const token = await session.token(signal)
  try {
    return await connect(transport, token, signal)
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.status !== 401) throw error
    return connect(transport, await session.renew(token, signal), signal)
  }
}

async function connect({ settings }: NvrTransport, token: string, signal: AbortSignal): Promise<WebSocket> {
  signal.throwIfAborted()
  const socket = new WebSocket(`${settings.origin.replace(/^http/, 'ws')}/ws`, {
    headers: { authorization: `Bearer ${token}` },
    handshakeTimeout: OPEN_TIMEOUT_MS,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    ...settings.tls,
  })
  // 'close' follows each error and says enough once it is open.
  socket.on('error', () => {})
  const leave = (): void => socket.terminate()
  signal.addEventListener('abort', leave)
  try {
    await once(socket, 'open')
    return socket
  } catch (cause) {
    socket.terminate()
    if (signal.aborted) throw signal.reason
    const [, status] = /^Unexpected server response: (\d+)$/.exec(cause instanceof Error ? cause.message : '') ?? []
    throw status === undefined ? failed('unavailable', cause) : failed('error', cause, Number(status))
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

function isState(data: Buffer, topic: string, payload: string): boolean {
  try {
    const frame = readFrame('feed', data)
    return frame.topic === topic && frame.payload === payload
  } catch {
    // Whatever else is on the feed is not about this switch.
    return false
  }
}

function failed(failure: 'unavailable' | 'error', cause?: unknown, status?: number): UpstreamError {
  return new UpstreamError({
    upstream: 'NVR', operation: 'feed', failure, cause, ...(status === undefined ? {} : { status }),
  }) // biome-ignore format: one record
}
