// A small HTTP server in the place of the service: records what the command line sends and answers what a test says.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SeenRequest {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  text: string
  /** The body as JSON; undefined when there is none. */
  body: unknown
}

/** Answers one request; `undefined` means that the answer was sent by hand. */
export type Responder = (request: SeenRequest, raw: ServerResponse, incoming: IncomingMessage) => Reply | undefined

export interface Reply {
  status?: number
  body: unknown
}

export interface FakeService {
  url: string
  seen: SeenRequest[]
  /** Requests of one method and path. */
  to(method: string, path: string): SeenRequest[]
  close(): Promise<void>
}

/** Keys are `METHOD /path`; what no key names is 404 in the form of the service. */
export async function startFakeService(responders: Readonly<Record<string, Responder>>): Promise<FakeService> {
  const seen: SeenRequest[] = []
  const server = createServer((incoming, raw) => {
    void readRequest(incoming).then((request) => {
      seen.push(request)
      const respond = responders[`${request.method} ${request.path}`]
      const reply = respond === undefined ? problem(404, 'NOT_FOUND', 'no such route') : respond(request, raw, incoming)
      if (reply === undefined) return
      raw.writeHead(reply.status ?? 200, { 'content-type': 'application/json' })
      raw.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    to: (method, path) => seen.filter((request) => request.method === method && request.path === path),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function problem(status: number, code: string, detail: string, more: Record<string, unknown> = {}): Reply {
  return { status, body: { type: 'about:blank', title: code, status, detail, code, request_id: 'req-7', ...more } }
}

/** Starts a stream of server-sent events; the function sends one more piece of text. */
export function startEvents(raw: ServerResponse): (text: string) => void {
  raw.writeHead(200, { 'content-type': 'text/event-stream' })
  raw.flushHeaders()
  return (text) => void raw.write(text)
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk))
  const text = Buffer.concat(chunks).toString('utf8')
  const url = new URL(incoming.url ?? '/', 'http://service')
  const json = incoming.headers['content-type'] === 'application/json' && text !== ''
  return {
    method: incoming.method ?? '',
    path: decodeURIComponent(url.pathname),
    query: url.searchParams,
    headers: incoming.headers,
    text,
    body: json ? JSON.parse(text) : undefined,
  }
}
