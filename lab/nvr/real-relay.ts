/** Sockets for live video passed on to a real go2rtc in place of the simulated one, as the nginx of the NVR passes them on. */
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

/** Of the handshake; the login stays here. */
const PASSED = ['upgrade', 'connection', 'sec-websocket-key', 'sec-websocket-version', 'sec-websocket-extensions']

export function passToRelay(relay_url: string, request: IncomingMessage, client: Duplex, head: Buffer): void {
  const { hostname, port, host } = new URL(relay_url)
  const { search } = new URL(request.url ?? '/', relay_url)
  const relay = connect(Number(port || 80), hostname)
  const headers = PASSED.filter((name) => request.headers[name] !== undefined)
    .map((name) => `${name}: ${String(request.headers[name])}\r\n`)
    .join('')
  relay.write(`GET /api/ws${search} HTTP/1.1\r\nhost: ${host}\r\n${headers}\r\n`)
  relay.write(head)
  client.pipe(relay).pipe(client)
  for (const [one, other] of [
    [client, relay],
    [relay, client],
  ] as const) {
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
  }
}
