// Stands between the control plane and the simulated platform and decides, command by command and at any moment, what
// becomes of a call. The simulator's own faults are used up by whoever calls first, pollers included; this one holds.
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `garbage`: no answer of the platform's form. `silent`: none at all. `refuse`: the connection breaks. `error`: a 530. */
export type Fate = 'pass' | 'garbage' | 'silent' | 'refuse' | 'error'

export interface PlatformProxy {
  url: string
  /** From now on; asked for every call. */
  behave(fate: (command: string) => Fate): void
  /** Commands that passed, oldest first. */
  passed(): string[]
  close(): Promise<void>
}

/** What the platform says of itself, and nobody else may. */
export const INTERNAL_TEXT = 'host kvm-07.internal: libvirt lost its mind'

export async function startPlatformProxy(platform_url: string): Promise<PlatformProxy> {
  let decide: (command: string) => Fate = () => 'pass'
  const passed: string[] = []
  const server = createServer((incoming, response) => {
    void serve(incoming, response).catch(() => response.destroy())
  })
  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const command = new URLSearchParams(body.toString()).get('command') ?? ''
    switch (decide(command)) {
      case 'garbage':
        response.writeHead(200, { 'content-type': 'text/html' }).end(`<html>${INTERNAL_TEXT}</html>`)
        return
      case 'silent':
        return
      case 'refuse':
        incoming.socket.destroy()
        return
      case 'error':
        response
          .writeHead(530, { 'content-type': 'application/json' })
          .end(JSON.stringify({ errorresponse: { errorcode: 530, cserrorcode: 9999, errortext: INTERNAL_TEXT } }))
        return
      default:
        passed.push(command)
        pass(platform_url, incoming, body, response)
    }
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${new URL(platform_url).pathname}`,
    behave(fate) {
      decide = fate
    },
    passed: () => [...passed],
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function pass(platform_url: string, incoming: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const { host: _host, connection: _connection, ...headers } = incoming.headers
  const onward = request(platform_url, { method: incoming.method ?? 'POST', headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  onward.on('error', () => response.destroy())
  onward.end(body)
}
