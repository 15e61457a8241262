// Connects to the WebSocket of a subsystem and passes its messages on, each side held back by the other.
import { once } from 'node:events'
import { WebSocket } from 'ws'
import type { SocketSource, SocketUpstream } from '#src/contract/answers.ts'
import { UpstreamError, type UpstreamFailure } from '../errors.ts'
import { CLOSE, MAX_MESSAGE_BYTES, SocketEnd } from './socket-end.ts'

const OPEN_TIMEOUT_MS = 10_000

/** An upstream that is open already: what goes wrong before is answered over HTTP. */
export interface OpenUpstream extends SocketSource {
  end: SocketEnd
  protocol: string
}

export async function openUpstream(
  upstream: SocketUpstream,
  operation: string,
  signal: AbortSignal,
): Promise<OpenUpstream> {
  signal.throwIfAborted()
  const socket = new WebSocket(upstream.url, [...(upstream.protocols ?? [])], {
    headers: upstream.headers ?? {},
    handshakeTimeout: OPEN_TIMEOUT_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    ...upstream.tls,
  })
  const end = new SocketEnd(socket)
  const leave = (): void => socket.terminate()
  signal.addEventListener('abort', leave)
  try {
    // Held from its first byte until the client is there.
    socket.once('open', () => socket.pause())
    await once(socket, 'open')
  } catch (cause) {
    socket.terminate()
    if (signal.aborted) throw signal.reason
    throw new UpstreamError({ upstream: upstream.subsystem, operation, ...failureOf(cause), cause })
  } finally {
    signal.removeEventListener('abort', leave)
  }
  return {
    end,
    protocol: socket.protocol,
    open(client) {
      end.onClose((code) => {
        if (isLost(code)) client.close(CLOSE.bad_gateway, 'The connection to the upstream was lost.')
        else client.close(code, '')
      })
      end.read((data, is_binary) => {
        client.send(data, is_binary)
        return client.drained()
      })
      // It may have closed before anybody listened.
      if (socket.readyState === WebSocket.CLOSED)
        client.close(CLOSE.bad_gateway, 'The connection to the upstream was lost.')
      socket.resume()
      return {
        message(data, is_binary) {
          end.send(data, is_binary)
          return end.drained()
        },
        closed: (code) => end.close(isLost(code) ? CLOSE.going_away : code),
      }
    },
  }
}

/** Codes that nobody sent: the connection broke, or its TLS. */
function isLost(code: number): boolean {
  return code === CLOSE.lost || code === 1015
}

function failureOf(error: unknown): { failure: UpstreamFailure; status?: number } {
  const text = error instanceof Error ? error.message : ''
  const [, status] = /^Unexpected server response: (\d+)$/.exec(text) ?? []
  if (status !== undefined) return { failure: 'error', status: Number(status) }
  return { failure: text === 'Opening handshake has timed out' ? 'timeout' : 'unavailable' }
}
