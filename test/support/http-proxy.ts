// Stands before an HTTP server and decides, request by request, what becomes of it.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `refuse`: a 500 instead of the server. `lost`: the server does it, and a 500 is the answer. `cut`: it does it, and the connection breaks. */
export type HttpFate = 'pass' | 'refuse' | 'lost' | 'cut'

export interface HttpProxy {
  url: string
  /** From now on; asked for every request. */
  behave(fate: (method: string, path: string, body: string) => HttpFate): void
  close(): Promise<void>
}

export async function startHttpProxy(target: string): Promise<HttpProxy> {
  let decide: Parameters<HttpProxy['behave']>[0] = () => 'pass'
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy())
  })
  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of incoming) parts.push(part as Buffer)
    const body = Buffer.concat(parts).toString('utf8')
    const { method = 'GET', url = '/' } = incoming
    const fate = decide(method, url, body)
    if (fate === 'refuse') return void response.writeHead(500).end('Internal Server Error')
    const headers = { 'x-api-key': String(incoming.headers['x-api-key']), 'content-type': 'application/json' }
    const answer = await fetch(`${target}${url}`, { method, headers, ...(body === '' ? {} : { body }) })
    const text = await answer.text()
    if (fate === 'cut') return void response.destroy()
    if (fate === 'lost') return void response.writeHead(500).end('Internal Server Error')
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' }).end(text)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behave: (fate) => (decide = fate),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
