// WebSockets of the server: requests that ask for one go through the router as all others do, so that access, limits and
// validation are the same; then the connection is handed to the route's source and watched until it ends.
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { WebSocketServer } from 'ws'
import type { SocketSource } from '#src/contract/answers.ts'
import { ApiError } from '../errors.ts'
import { createKnownPaths } from './known-paths.ts'
import { CLOSE, MAX_MESSAGE_BYTES, SocketEnd } from './socket-end.ts'
import type { OpenUpstream } from './socket-upstream.ts'

const PING_MS = 20_000

/** Runs something in intervals until the function it answers is called; tests turn the clock by hand. */
export type Every = (interval_ms: number, run: () => void) => () => void

export const everyInterval: Every = (interval_ms, run) => {
  const timer = setInterval(run, interval_ms)
  timer.unref()
  return () => clearInterval(timer)
}

export interface OpenSocket {
  /** `ended` is called with a reason when the credential of the client counts no more; answers how to stop. */
  follow: (ended: (reason: string) => void) => (() => void) | undefined
  closed: (code: number) => void
}

/** All WebSockets of a server: one timer that pings them, and the end of all when the server stops. */
export interface Sockets {
  /** `path` as the contract writes it. Requests for other paths stay plain HTTP, whatever they want to become. */
  add(path: string): void
  isUpgrade(request: IncomingMessage): boolean
  /** Sends upgrades through the routes of the app. */
  serve(app: FastifyInstance): void
  accept(request: FastifyRequest, reply: FastifyReply, source: SocketSource | OpenUpstream, open: OpenSocket): void
  count(): number
  closeAll(): void
}

export function createSockets(every: Every = everyInterval): Sockets {
  const paths = createKnownPaths()
  const upgrades = new WeakMap<IncomingMessage, { socket: Duplex; head: Buffer }>()
  const ends = new Set<SocketEnd>()
  const clients = new Set<SocketEnd>()
  let closing = false
  const stopPings = every(PING_MS, () => {
    for (const end of ends) end.ping()
  })
  const watch = (end: SocketEnd, group: Set<SocketEnd>[]): void => {
    if (!end.is_open) return
    for (const set of group) set.add(end)
    end.onClose(() => {
      for (const set of group) set.delete(end)
    })
  }
  return {
    add: (path) => paths.add('GET', path),
    isUpgrade: ({ method, url = '', headers }) =>
      method === 'GET' &&
      headers.upgrade?.toLowerCase() === 'websocket' &&
      paths.methodsOf(url.split('?', 1)[0] ?? '').length > 0,
    serve(app) {
      app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
        upgrades.set(request, { socket, head })
        app.routing(request, rejectionResponse(request, socket))
      })
    },
    accept(request, reply, source, open) {
      const upgrade = upgrades.get(request.raw)
      if (upgrade === undefined) throw upgradeRequired(reply)
      reply.hijack()
      reply.raw.detachSocket(upgrade.socket as Socket)
      const upstream = 'end' in source ? source : undefined
      let is_accepted = false
      serverFor(request, upstream?.end.protocol).handleUpgrade(request.raw, upgrade.socket, upgrade.head, (socket) => {
        is_accepted = true
        const client = new SocketEnd(socket, upgrade.socket)
        watch(client, [ends, clients])
        if (upstream !== undefined) watch(upstream.end, [ends])
        const reader = source.open(client)
        const release = open.follow((reason) => client.close(CLOSE.policy, reason))
        client.onClose((code) => {
          release?.()
          reader.closed(code)
          open.closed(code)
        })
        client.read((data, is_binary) => reader.message(data, is_binary))
        if (closing) client.close(CLOSE.going_away, STOPPING)
      })
      if (!is_accepted) source.unused?.()
    },
    count: () => clients.size,
    closeAll() {
      closing = true
      stopPings()
      for (const client of clients) client.close(CLOSE.going_away, STOPPING)
    },
  }
}

const STOPPING = 'The service is stopping.'

/** Before the handler is called: nothing is opened for a request that cannot become a WebSocket. */
export function requireUpgrade(request: FastifyRequest, reply: FastifyReply): void {
  const { upgrade, 'sec-websocket-version': version, 'sec-websocket-key': key } = request.headers
  const is_upgrade = request.method === 'GET' && upgrade?.toLowerCase() === 'websocket' && version === '13'
  if (!is_upgrade || !/^[+/0-9a-z]{22}==$/i.test(key ?? '')) throw upgradeRequired(reply)
}

function upgradeRequired(reply: FastifyReply): ApiError {
  reply.headers({ upgrade: 'websocket', 'sec-websocket-version': '13' })
  return new ApiError('UPGRADE_REQUIRED', 'Open this route as a WebSocket of version 13.')
}

/** What is answered instead of an upgrade, by the routes' own rules; the connection ends with it. */
function rejectionResponse(request: IncomingMessage, socket: Socket): ServerResponse {
  socket.on('error', () => socket.destroy())
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.on('finish', () => socket.end())
  return response
}

function serverFor({ id }: FastifyRequest, protocol: string | undefined): WebSocketServer {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    handleProtocols: (asked) => (protocol !== undefined && asked.has(protocol) ? protocol : false),
  })
  server.on('headers', (lines) => lines.push(`x-request-id: ${id}`))
  return server
}
