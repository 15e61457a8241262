// What the handlers of streams, sockets and bytes answer, kind by kind. How each is sent stands in kernel/http.
import type { Subsystem } from './errors.ts'

/** By kind of route; the other kinds answer a JSON body. */
export interface KindAnswers {
  sse: StreamSource
  ws: SocketSource | SocketUpstream
  bytes: BytesAnswer
  proxy: ProxyAnswer
  redirect: { location: string }
}

/** One connected client of server-sent events. Frames are ready-made text: a message for thousands is formatted once. */
export interface SseClient {
  /** False once the client is gone or was cut off. */
  send(frame: Buffer | string): boolean
  /** Resolves when what was sent has left for the network, or the client is gone. */
  drained(): Promise<void>
  end(final?: Buffer | string): void
  readonly closed: boolean
}

/** What a handler of an `sse` route answers: `open` attaches a client and returns how to detach it. */
export interface StreamSource {
  open(client: SseClient): () => void
}

/** One connected client of a WebSocket. */
export interface SocketClient {
  /** Text, or bytes that are binary unless said otherwise. False once the client is gone or was cut off. */
  send(data: string | Uint8Array, is_binary?: boolean): boolean
  /** Like `send`, for what kernel/http/socket-end.ts encoded once for many clients. */
  sendEncoded(message: Buffer): boolean
  /** To wait for before more is sent; undefined while there is room. Who does not wait gets the client cut off. */
  drained(): Promise<void> | undefined
  close(code: number, reason: string): void
}

/** The end of a WebSocket that the service itself speaks for. */
export interface SocketSource {
  open(client: SocketClient): SocketReader
  /** Called in place of `open` for a client that left before. */
  unused?(): void
}

export interface SocketReader {
  /** While a promise is pending, no more is read from the client. */
  message(data: Buffer, is_binary: boolean): Promise<void> | void
  /** The client is gone; the code is the one of its close, 1006 without one. */
  closed(code: number): void
}

/** A WebSocket of a subsystem that the client is connected through to. */
export interface SocketUpstream {
  subsystem: Subsystem
  /** `ws:` or `wss:`; never shown to the client. */
  url: string
  headers?: Record<string, string>
  /** Subprotocols offered to the upstream. The client gets the one chosen if it asked for it. */
  protocols?: readonly string[]
  /** Where the upstream's certificate is not of a public CA. */
  tls?: UpstreamTls
  /** An upstream that answers 401 is asked once more, with these headers. */
  renewHeaders?: () => Promise<Record<string, string>>
  /** Made for each connection; without one everything passes. */
  filter?: () => SocketFilter
  /** An upstream that sent nothing for this long has forgotten the client, whether it says so or not. */
  silence_ms?: number
}

/** What an upstream's certificate is checked against. */
export interface UpstreamTls {
  /** Certificate of its CA, PEM. */
  ca: string
  /** The name that its certificate is for, where that is not the one in the address. */
  servername: string
}

/** What becomes of a message on its way: it goes on in these words, is dropped (undefined), or ends the connection. */
export interface SocketFilter {
  fromClient(data: Buffer, is_binary: boolean): Buffer | string | SocketClose | undefined
  fromUpstream(data: Buffer, is_binary: boolean): Buffer | string | SocketClose | undefined
}

export interface SocketClose {
  code: number
  reason: string
}

/** Bytes answer with their own media type. A route that lists 206 serves ranges of bodies whose length is known. */
export interface BytesAnswer {
  media_type: string
  body: string | Buffer | NodeJS.ReadableStream
  headers?: Record<string, string>
  status?: number
}

/** A resource of a subsystem that is passed on as it is. Ranges: routes that list 206; conditions: routes that list 304. */
export interface ProxyAnswer {
  subsystem: Subsystem
  /** Scheme and authority: `http://192.0.2.7:8080`. */
  origin: string
  /** Each part becomes one segment, encoded. A part that would lead elsewhere (`..`, a slash) is refused. */
  path: readonly string[]
  query?: Record<string, string>
  /** Sent to the upstream, such as its credentials. Of the client's headers only ranges and conditions are passed on. */
  headers?: Record<string, string>
  tls?: UpstreamTls
  /** Other headers, when the upstream rejects these with 401: it is asked once more. */
  renew?: () => Promise<Record<string, string>>
  /** How media types begin that the resource may have. Others are no resource, such as a page about an error. */
  media_types?: readonly string[]
  /** What an answer of the upstream means that is none of the route's. Undefined: what it always means. */
  errorOf?: (status: number) => Promise<Error | undefined> | Error | undefined
}
