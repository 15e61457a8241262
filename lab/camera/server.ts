/** A simulated camera: ONVIF over HTTP, RTSP, and an answer to WS-Discovery, each on its port of one address. */
import { createSocket, type Socket } from 'node:dgram'
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http'
import type { Server } from 'node:net'
import { readText } from '../control.ts'
import { createLogins, type Logins } from './logins.ts'
import { type CameraModel, DEFAULT_MODEL } from './model.ts'
import { createRtspServer } from './rtsp.ts'
import { answerSoap, envelope, fault, readSoap } from './soap.ts'

/** What ONVIF lets anybody ask. */
const OPEN_OPERATIONS = ['GetSystemDateAndTime', 'GetServices', 'GetCapabilities']
const DISCOVERY_PORT = 3702

export interface CameraOptions extends Partial<CameraModel> {
  address: string
  /** Answers unicast WS-Discovery, on its well-known port. */
  discovery?: boolean
}

export interface CameraLab {
  address: string
  /** May be changed while it runs. */
  model: CameraModel
  logins: Logins
  /** Operations that were asked for. */
  operations: string[]
  close(): Promise<void>
}

export async function startCamera({ address, discovery = false, ...given }: CameraOptions): Promise<CameraLab> {
  const model: CameraModel = { ...DEFAULT_MODEL, ...given }
  const logins = createLogins(model)
  const operations: string[] = []
  const http = createServer((request, response) => {
    serve(model, logins, operations, request, response).catch(() => response.destroy())
  })
  const rtsp = createRtspServer(model, logins)
  const sockets = new Set<{ destroy(): unknown }>()
  rtsp.on('connection', (socket) => sockets.add(socket.once('close', () => sockets.delete(socket))))
  await using opened = new AsyncDisposableStack()
  model.onvif_port = await listen(http, address, model.onvif_port)
  opened.defer(() => closeHttp(http))
  model.rtsp_port = await listen(rtsp, address, model.rtsp_port)
  opened.defer(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => rtsp.close(resolve))
  })
  if (discovery) {
    const socket = await openDiscovery(model, address)
    opened.defer(async () => new Promise((resolve) => socket.close(() => resolve())))
  }
  const all = opened.move()
  return { address, model, logins, operations, close: () => all.disposeAsync() }
}

async function serve(
  model: CameraModel,
  logins: Logins,
  operations: string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const text = await readText(request)
  if (model.mode === 'silent') return
  if (model.mode === 'html') {
    response.writeHead(404, { 'content-type': 'text/html' }).end('<html><body>Not found</body></html>')
    return
  }
  const reply = (status: number, body: string, headers: Record<string, string> = {}): void => {
    response.writeHead(status, { 'content-type': 'application/soap+xml; charset=utf-8', ...headers }).end(body)
  }
  const soap = readSoap(text, (request.headers.host ?? '').replace(/:\d+$/, ''))
  if (soap === null) {
    response.writeHead(400, { 'content-type': 'text/plain; charset=utf-8' }).end()
    return
  }
  operations.push(soap.operation)
  const in_header = logins.inHeader(request.headers.authorization, request.method ?? 'POST')
  const right = model.auth === 'digest' ? in_header : (logins.inSoap(text) ?? in_header)
  if (right !== true && model.auth !== 'none' && !OPEN_OPERATIONS.includes(soap.operation)) {
    if (model.auth === 'digest') reply(401, '', { 'www-authenticate': logins.challenge() })
    else reply(400, fault('Sender', 'ter:NotAuthorized', 'Sender not Authorized'))
    return
  }
  const body = answerSoap(soap, model)
  if (body === null) reply(500, fault('Receiver', 'ter:ActionNotSupported', 'Optional Action Not Implemented'))
  else reply(200, envelope(body))
}

async function openDiscovery({ onvif_port, reported_host }: CameraModel, address: string): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.on('message', (message, from) => {
    const id = /MessageID[^>]*>([^<]*)</.exec(message.toString('utf8'))?.[1] ?? ''
    const url = `http://${reported_host ?? address}:${onvif_port}/onvif/device_service`
    const match = `<d:ProbeMatches xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery"><d:ProbeMatch><d:Types>dn:NetworkVideoTransmitter</d:Types><d:XAddrs>${url}</d:XAddrs></d:ProbeMatch></d:ProbeMatches>`
    const header = `<a:RelatesTo xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing">${id}</a:RelatesTo>`
    socket.send(envelope(match).replace('<s:Body>', `<s:Header>${header}</s:Header><s:Body>`), from.port, from.address)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(DISCOVERY_PORT, address, () => resolve())
  })
  return socket
}

async function listen(server: Server, address: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, address, () => resolve())
  })
  const bound = server.address()
  return bound !== null && typeof bound !== 'string' ? bound.port : port
}

async function closeHttp(server: HttpServer): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
