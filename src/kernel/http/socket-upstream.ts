// Connects to the WebSocket of a subsystem and passes its messages on, each side held back by the other.
import { once } from 'node:events'
import { WebSocket } from 'ws'
import type { SocketClient, SocketFilter, SocketSource, SocketUpstream } from '#src/contract/answers.ts'
import { UpstreamError, type UpstreamFailure } from '../errors.ts'
import { CLOSE, MAX_MESSAGE_BYTES, SocketEnd } from './socket-end.ts'

const OPEN_TIMEOUT_MS = 10_000
const LOST = 'The connection to the upstream was lost.'
export const SILENT = 'The upstream sends nothing more.'
export const TOO_SLOW = 'Messages were not read for too long.'

/** An upstream that is open already: what goes wrong before is answered over HTTP. */
export interface OpenUpstream extends SocketSource {
  end: SocketEnd
}

export async function openUpstream(
  upstream: SocketUpstream,
  operation: string,
  signal: AbortSignal,
): Promise<OpenUpstream> {
  const end = await connectUpstream(upstream, operation, signal)
  const filter = upstream.filter?.() ?? EVERYTHING
  return {
    end,
    unused: () => end.terminate(),
    open(client) {
      const silence = watchSilence(upstream.silence_ms, end, client)
      end.onClose((code) => {
        silence.stop()
        closeAsUpstream(client, code)
      })
      const pass = (from: 'fromClient' | 'fromUpstream', to: SocketClient) => (data: Buffer, is_binary: boolean) => {
        const passed = filter[from](data, is_binary)
        if (passed === undefined) return
        if (typeof passed !== 'string' && 'code' in passed) {
          client.close(passed.code, passed.reason)
          return
        }
        to.send(passed, typeof passed !== 'string' && is_binary)
        return to.drained()
      }
      const toClient = pass('fromUpstream', client)
      end.read((data, is_binary) => {
        silence.interrupt()
        return toClient(data, is_binary)
      })
      // It may have closed before anybody listened.
      if (!end.is_open) client.close(CLOSE.bad_gateway, LOST)
      return {
        message: pass('fromClient', end),
        closed(code) {
          silence.stop()
          end.close(isLost(code) ? CLOSE.going_away : code)
        },
      }
    },
  }
}

const EVERYTHING: SocketFilter = {
  fromClient: (data) => data,
  fromUpstream: (data) => data,
}

/** The client of an upstream that closed, or that could not be connected, ends as it did. */
export function closeAsUpstream(client: SocketClient, code: number): void {
  if (isLost(code)) client.close(CLOSE.bad_gateway, LOST)
  else client.close(code, '')
}

/** The upstream is connected, and held from its first byte until it is read. */
export async function connectUpstream(
  upstream: SocketUpstream,
  operation: string,
  signal: AbortSignal,
): Promise<SocketEnd> {
  const failed = (cause: unknown): UpstreamError =>
    new UpstreamError({ upstream: upstream.subsystem, operation, ...failureOf(cause), cause })
  try {
    return new SocketEnd(await opened(upstream, upstream.headers, signal))
  } catch (rejection) {
    if (signal.aborted) throw signal.reason
    if (upstream.renewHeaders === undefined || failureOf(rejection).status !== 401) throw failed(rejection)
  }
  const headers = await upstream.renewHeaders()
  try {
    return new SocketEnd(await opened(upstream, headers, signal))
  } catch (rejection) {
    if (signal.aborted) throw signal.reason
    throw failed(rejection)
  }
}

async function opened(
  { url, protocols = [], tls }: SocketUpstream,
  headers: Record<string, string> = {},
  signal: AbortSignal,
): Promise<WebSocket> {
  signal.throwIfAborted()
  const socket = new WebSocket(url, [...protocols], {
    headers,
    handshakeTimeout: OPEN_TIMEOUT_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    ...tls,
  })
  const leave = (): void => socket.terminate()
  signal.addEventListener('abort', leave)
  try {
    socket.once('open', () => socket.pause())
    await once(socket, 'open')
    return socket
  } catch (rejection) {
    socket.on('error', () => {})
    socket.terminate()
    throw rejection
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** Ends both sides when nothing came for too long: also a client that does not read keeps the upstream from sending. */
function watchSilence(
  silence_ms: number | undefined,
  end: SocketEnd,
  client: SocketClient,
): { interrupt(): void; stop(): void } {
  if (silence_ms === undefined) return { interrupt: () => {}, stop: () => {} }
  const timer = setTimeout(() => {
    if (client.drained() === undefined) client.close(CLOSE.bad_gateway, SILENT)
    else client.close(CLOSE.try_again_later, TOO_SLOW)
    end.close(CLOSE.going_away)
  }, silence_ms)
  return { interrupt: () => timer.refresh(), stop: () => clearTimeout(timer) }
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
