// One end of a WebSocket: bounded in memory both ways, and known to be dead when it answers no ping.
import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import type { SocketClient } from '#src/contract/answers.ts'

/** Above the first, whoever sends is asked to wait; below the second it goes on. */
const [HIGH_BYTES, LOW_BYTES] = [1024 * 1024, 256 * 1024]
/** One largest message on top of what is waiting. Who sends on is not waited for: the end is cut off. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024
const CUT_OFF_BYTES = HIGH_BYTES + 2 * MAX_MESSAGE_BYTES
/** For the other side to close in turn. */
const CLOSE_TIMEOUT_MS = 10_000
const UNANSWERED_PINGS = 2

export const CLOSE = {
  going_away: 1001,
  no_status: 1005,
  lost: 1006,
  policy: 1008,
  failed: 1011,
  try_again_later: 1013,
  bad_gateway: 1014,
} as const

/** One unmasked binary message, as a server sends it (RFC 6455, 5.2): encoded once for any number of clients. */
export function encodeMessage(data: Uint8Array): Buffer {
  const { length } = data
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10)
  head[0] = 0x82
  if (length < 126) head[1] = length
  else if (length < 65_536) head.writeUInt16BE(length, 2)
  else head.writeUIntBE(length, 4, 6)
  if (length >= 126) head[1] = length < 65_536 ? 126 : 127
  return Buffer.concat([head, data])
}

export class SocketEnd implements SocketClient {
  readonly #socket: WebSocket
  readonly #connection: Duplex | undefined
  #waiting: (() => void)[] = []
  #being_handled = 0
  #unanswered = 0
  readonly #written = (): void => {
    if (this.#socket.bufferedAmount < LOW_BYTES) this.#goOn()
  }
  /** `connection` is what the WebSocket is spoken over, where encoded messages are to be sent. */
  constructor(socket: WebSocket, connection?: Duplex) {
    this.#socket = socket
    this.#connection = connection
    socket.on('pong', () => {
      this.#unanswered = 0
    })
    // 'close' follows each error and says enough.
    socket.on('error', () => {})
  }

  get protocol(): string {
    return this.#socket.protocol
  }

  get is_open(): boolean {
    return this.#socket.readyState === WebSocket.OPEN
  }

  onClose(closed: (code: number) => void): void {
    this.#socket.once('close', (code) => {
      this.#goOn()
      closed(code)
    })
  }

  /** Reads no further message while one is being handled. */
  read(handle: (data: Buffer, is_binary: boolean) => Promise<void> | void): void {
    this.#socket.on('message', (data, is_binary) => {
      if (!this.is_open) return
      this.#unanswered = 0
      // Messages are single buffers: the library's default.
      const handling = handle(data as Buffer, is_binary)
      if (handling === undefined) return
      this.#being_handled += 1
      this.#socket.pause()
      handling
        .catch(() => this.close(CLOSE.failed, 'A message could not be handled.'))
        .finally(() => {
          this.#being_handled -= 1
          if (this.#being_handled === 0) this.#socket.resume()
        })
    })
    // An upstream is held until somebody reads.
    this.#socket.resume()
  }

  send(data: string | Uint8Array, is_binary = typeof data !== 'string'): boolean {
    if (!this.#takesMore()) return false
    this.#socket.send(data, { binary: is_binary }, this.#written)
    return true
  }

  /** Past the library, which would encode it for each client; it writes whole messages at once, so none is in the middle of another. */
  sendEncoded(message: Buffer): boolean {
    if (this.#connection === undefined || !this.#takesMore()) return false
    this.#connection.write(message, this.#written)
    return true
  }

  #takesMore(): boolean {
    if (!this.is_open) return false
    if (this.#socket.bufferedAmount <= CUT_OFF_BYTES) return true
    this.#socket.terminate()
    return false
  }

  drained(): Promise<void> | undefined {
    if (!this.is_open || this.#socket.bufferedAmount <= HIGH_BYTES) return undefined
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }

  close(code: number, reason = ''): void {
    if (!this.is_open) return
    if (code === CLOSE.no_status) this.#socket.close()
    else this.#socket.close(code, reason)
    // The other side's answer must be read, however much stands before it.
    this.#socket.resume()
    this.#goOn()
    setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS).unref()
  }

  terminate(): void {
    this.#socket.terminate()
  }

  /** An end that we do not read from cannot be heard either. */
  ping(): void {
    if (!this.is_open) return
    if (this.#unanswered >= UNANSWERED_PINGS && this.#being_handled === 0) return this.#socket.terminate()
    this.#unanswered += 1
    this.#socket.ping()
  }

  #goOn(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
