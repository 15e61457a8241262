// Server-sent events: a bounded writer over one response, and the sources that feed it.
import type { ServerResponse } from 'node:http'
import type { SseClient, StreamSource } from '#src/contract/answers.ts'

/** A client that does not read is cut off rather than buffered without bound. */
const MAX_BUFFERED_BYTES = 1024 * 1024
const HEARTBEAT_MS = 15_000
const CUT_OFF_GRACE_MS = 10_000

const STOPPING = 'The service is stopping.'
const HEARTBEAT = Buffer.from(': heartbeat\n\n')

/** `id` is left out for messages that are not stored and cannot be replayed. */
export function sseFrame(message: { id?: number | string; event: string; data: unknown }): Buffer {
  const id = message.id === undefined ? '' : `id: ${message.id}\n`
  return Buffer.from(`${id}event: ${message.event}\ndata: ${JSON.stringify(message.data)}\n\n`)
}

/** The last message of a stream that the service ends. */
export function closingFrame(reason: string): Buffer {
  return sseFrame({ event: 'closing', data: { reason } })
}

/** All streams of a server: one heartbeat timer for all, and the end of all when the server stops. */
export interface SseStreams {
  attach(response: ServerResponse, headers: Record<string, string>, source: StreamSource): void
  count(): number
  closeAll(): void
}

export function createSseStreams(): SseStreams {
  const clients = new Set<ResponseClient>()
  let closing = false
  const heartbeat = setInterval(() => {
    for (const client of clients) client.send(HEARTBEAT)
  }, HEARTBEAT_MS)
  heartbeat.unref()
  return {
    attach(response, headers, source) {
      // The client left while its credential was looked up: its 'close' has been and will not come again.
      if (response.destroyed) return
      // The body ends with the connection: no chunk framing around each message, for thousands of clients.
      response.useChunkedEncodingByDefault = false
      response.writeHead(200, {
        ...headers,
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
        connection: 'close',
      })
      response.socket?.setNoDelay(true)
      // Written as one with the first line, the head would stay in memory in its fifty pieces for as long as the stream lives.
      response.cork()
      response.flushHeaders()
      response.write('retry: 2000\n\n')
      response.uncork()
      const client = new ResponseClient(response)
      clients.add(client)
      response.on('error', () => {})
      const detach = source.open(client)
      response.once('close', () => {
        client.gone()
        clients.delete(client)
        detach()
      })
      // Its request came in before the server began to stop.
      if (closing) client.end(closingFrame(STOPPING))
    },
    count: () => clients.size,
    closeAll() {
      clearInterval(heartbeat)
      closing = true
      for (const client of clients) client.end(closingFrame(STOPPING))
    },
  }
}

class ResponseClient implements SseClient {
  readonly #response: ServerResponse
  #waiting: (() => void)[] | undefined
  closed = false
  constructor(response: ServerResponse) {
    this.#response = response
  }

  send(frame: Buffer | string): boolean {
    if (this.closed) return false
    if (this.#response.writableLength > MAX_BUFFERED_BYTES) {
      this.end('event: overflow\ndata: {"reason":"the client reads too slowly; resume by id"}\n\n')
      return false
    }
    this.#response.write(frame)
    return true
  }

  drained(): Promise<void> {
    if (this.closed || !this.#response.writableNeedDrain) return Promise.resolve()
    return new Promise((resolve) => {
      this.#waiting ??= []
      this.#waiting.push(resolve)
      this.#response.once('drain', resolve)
    })
  }

  end(final?: Buffer | string): void {
    if (this.closed) return
    this.closed = true
    if (final !== undefined) this.#response.write(final)
    this.#response.end()
    setTimeout(() => this.#response.destroy(), CUT_OFF_GRACE_MS).unref()
    this.#release()
  }

  gone(): void {
    this.closed = true
    this.#release()
  }

  #release(): void {
    for (const resolve of this.#waiting ?? []) resolve()
    this.#waiting = undefined
  }
}
