// Stands between the control plane and the simulated platform and decides, command by command and at any moment, what
// becomes of a call. The simulator's own faults are used up by whoever calls first, pollers included; this one holds.
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Nothing reaches the platform: `garbage` (no answer of the platform's form), `silent` (none at all), `refuse` (the
 * connection breaks), `error` (a 530). The platform does it, but its answer is `lost` (the connection breaks), `cut` (it
 * breaks in the middle of the answer), `late` (it never comes) `denied` (a 530 comes instead), or `page` (a gateway's 504 page does). `delayed`: the connection
 * breaks, and the platform gets the call a moment later.
 */
export type Fate =
  | 'pass'
  | 'garbage'
  | 'silent'
  | 'refuse'
  | 'error'
  | 'lost'
  | 'cut'
  | 'late'
  | 'denied'
  | 'page'
  | 'delayed'

export interface PlatformProxy {
  url: string
  /** From now on; asked for every call. */
  behave(fate: (command: string, params: URLSearchParams) => Fate | Promise<Fate>): void
  /** Commands that passed, oldest first. */
  passed(): string[]
  /** Calls that the platform has still to answer, or to get. */
  underway(): number
  close(): Promise<void>
}

/** What the platform says of itself, and nobody else may. */
export const INTERNAL_TEXT = 'host kvm-07.internal: libvirt lost its mind'
const DELAY_MS = 150
const GATEWAY_PAGE = '<html><head><title>504 Gateway Time-out</title></head></html>'

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

export async function startPlatformProxy(platform_url: string): Promise<PlatformProxy> {
  let decide: Parameters<PlatformProxy['behave']>[0] = () => 'pass'
  const passed: string[] = []
  let underway = 0
  const server = createServer((incoming, response) => {
    underway += 1
    void serve(incoming, response)
      .catch(() => response.destroy())
      .finally(() => {
        underway -= 1
      })
  })
  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await wholeOf(incoming)
    const params = new URLSearchParams(body.toString())
    const command = params.get('command') ?? ''
    const onward = () => {
      passed.push(command)
      return pass(platform_url, incoming, body)
    }
    const fate = await decide(command, params)
    if (fate === 'silent') return
    if (fate === 'refuse' || fate === 'delayed') incoming.socket.destroy()
    if (fate === 'refuse') return
    if (fate === 'delayed') await pause(DELAY_MS)
    if (fate === 'garbage')
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<html>${INTERNAL_TEXT}</html>`)
    else if (fate === 'error') deny(response)
    else deliver(await onward(), fate, response)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${new URL(platform_url).pathname}`,
    behave(fate) {
      decide = fate
    },
    passed: () => [...passed],
    underway: () => underway,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function deliver({ status, headers, body }: Answer, fate: Fate, response: ServerResponse): void {
  if (fate === 'late' || fate === 'delayed') return
  if (fate === 'denied') return deny(response)
  if (fate === 'page') return void response.writeHead(504, { 'content-type': 'text/html' }).end(GATEWAY_PAGE)
  if (fate === 'lost') return void response.destroy()
  response.writeHead(status, headers)
  if (fate === 'cut') response.write(body.subarray(0, body.length / 2), () => response.destroy())
  else response.end(body)
}

function deny(response: ServerResponse): void {
  response
    .writeHead(530, { 'content-type': 'application/json' })
    .end(JSON.stringify({ errorresponse: { errorcode: 530, cserrorcode: 9999, errortext: INTERNAL_TEXT } }))
}

async function pass(platform_url: string, incoming: IncomingMessage, body: Buffer): Promise<Answer> {
  const { host: _host, connection: _connection, ...headers } = incoming.headers
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const onward = request(platform_url, { method: incoming.method ?? 'POST', headers }, resolve)
    onward.on('error', reject)
    onward.end(body)
  })
  const { 'transfer-encoding': _encoding, ...rest } = answer.headers
  const whole = await wholeOf(answer)
  return { status: answer.statusCode ?? 502, headers: { ...rest, 'content-length': String(whole.length) }, body: whole }
}

async function wholeOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
