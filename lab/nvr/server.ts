/** A simulated NVR (Frigate with its relay go2rtc): HTTPS and WebSockets on one port, a control API on another. */
import { createServer, type Server } from 'node:https'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { createCallLog, createFaults, openControlApi } from '../control.ts'
import { type Certificate, selfSigned } from './certificate.ts'
import { cameraRoutes } from './camera-calls.ts'
import { clipsRoutes } from './clips-tree.ts'
import { createControlSubject } from './control-subject.ts'
import { defaultConfig } from './default-config.ts'
import { eventRoutes } from './event-calls.ts'
import { faceRoutes } from './faces.ts'
import { hlsRoutes } from './hls.ts'
import type { Route } from './http-call.ts'
import { recordingRoutes } from './recording-calls.ts'
import { passToRelay } from './real-relay.ts'
import { createRelay, type Relay } from './relay.ts'
import { relayRoutes } from './relay-calls.ts'
import { createRequestHandler } from './request-handler.ts'
import { reviewRoutes } from './review-calls.ts'
import { authenticate } from './sessions.ts'
import { type NvrOptions, NvrState, type Phase } from './state.ts'
import { systemRoutes } from './system-calls.ts'
import { createTopicFeed, type TopicFeed } from './topic-feed.ts'
import { openWebRtc } from './webrtc.ts'

export interface StartNvrOptions extends Partial<NvrOptions> {
  /** 127.0.0.1 by default; every 127.x.y.z can be listened on. */
  address?: string
  port?: number
  control_port?: number
  /** What was mounted into the container; without it the NVR signs its own. */
  certificate?: Certificate
  /** How long a restart refuses connections and then answers errors. `manual`: until the control API ends it. */
  restart?: { down_ms: number; starting_ms: number } | 'manual'
  /** `http://127.0.0.1:1984`: a real go2rtc, whose streams have the names of the configuration, serves live video. */
  relay_url?: string
  log?: (line: string) => void
}

export interface NvrLab {
  url: string
  control_url: string
  /** What a client has to trust: PEM. */
  ca: string
  admin_password: string
  state: NvrState
  relay: Relay
  feed: TopicFeed
  /** Answers that are being streamed. */
  open: { streams: number }
  phase(): Phase
  setPhase(phase: Phase): Promise<void>
  /** As the real program: everything is cut, the file is read again. */
  restart(): void
  close(): Promise<void>
}

const LAB_PASSWORD = 'lab-nvr-password'

export async function startNvr(options: StartNvrOptions = {}): Promise<NvrLab> {
  const { address = '127.0.0.1', log = () => {} } = options
  const state = new NvrState({
    admin_password: LAB_PASSWORD,
    config_file: defaultConfig(address, options.release),
    ...options,
  })
  const certificate = options.certificate ?? (await selfSigned(address))
  const [faults, calls, open] = [createFaults(), createCallLog(), { streams: 0 }]
  const relay = createRelay(state, (reply) => openWebRtc(address, reply, log), log)
  const power = createPower(state, options, log)
  const feed = createTopicFeed(state, power.restart)
  const routes = allRoutes(power.restart, relay)
  const starting = (): boolean => power.phase() === 'starting'
  const handle = createRequestHandler({ nvr: state, routes, faults, calls, starting, open, log })
  const server = createServer(
    { ...certificate, minVersion: 'TLSv1.3', keepAliveTimeout: 75_000 },
    (request, response) => {
      void handle(request, response)
    },
  )
  server.on('upgrade', upgradeHandler({ state, relay, feed, starting, relay_url: options.relay_url }))
  await power.attach(server, () => {
    relay.close()
    feed.close()
  })
  const lab: Omit<NvrLab, 'control_url' | 'close'> = {
    url: `https://${address}:${power.port()}`,
    ca: certificate.cert,
    admin_password: options.admin_password ?? LAB_PASSWORD,
    state,
    relay,
    feed,
    open,
    phase: power.phase,
    setPhase: power.set,
    restart: power.restart,
  }
  const subject = createControlSubject({
    ...lab,
    faults,
    calls,
    defaultFile: (release) => defaultConfig(address, release),
  })
  const control = await openControlApi(subject, { host: '127.0.0.1', port: options.control_port ?? 0 })
  return {
    ...lab,
    control_url: control.url,
    close: async () => void (await Promise.all([control.close(), power.close()])),
  }
}

function allRoutes(restart: () => void, relay: Relay): Route[] {
  const faults = () => relay.faults
  const api = [
    ...systemRoutes(restart),
    ...relayRoutes(relay),
    ...eventRoutes(faults),
    ...reviewRoutes(),
    ...faceRoutes(),
    ...cameraRoutes(),
    ...recordingRoutes(faults),
  ]
  return [...api.map(underApi), ...hlsRoutes(), ...clipsRoutes()]
}

/** nginx passes everything below /api on to the program; the routes are written without it. */
function underApi(one: Route): Route {
  return { ...one, pattern: new RegExp(one.pattern.source.replace('^', '^\\/api')) }
}

interface UpgradeDeps {
  state: NvrState
  relay: Relay
  feed: TopicFeed
  starting(): boolean
  relay_url: string | undefined
}

function upgradeHandler({ state, relay, feed, starting, relay_url }: UpgradeDeps) {
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  return (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => socket.destroy())
    const url = new URL(request.url ?? '/', 'http://nvr')
    const known = authenticate(state, request.headers)
    const live = /^\/live\/(mse|webrtc)\/api\/ws$/.test(url.pathname)
    if (starting()) refuse(socket, 500, 'Internal Server Error')
    else if (known === null) refuse(socket, 401, 'Unauthorized')
    else if (!live && url.pathname !== '/ws') refuse(socket, 404, 'Not Found')
    else if (live && otherOrigin(request)) refuse(socket, 403, 'Forbidden')
    else if (live && relay_url !== undefined) passToRelay(relay_url, request, socket, head)
    else {
      sockets.handleUpgrade(request, socket, head, (opened) => {
        if (live) relay.connect(opened, url.searchParams.get('src') ?? '')
        else feed.connect(opened, known.caller)
      })
    }
  }
}

/** The relay takes browsers of its own pages only, host and port. */
function otherOrigin({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined && URL.parse(headers.origin)?.host !== headers.host
}

function refuse(socket: Duplex, status: number, reason: string): void {
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\nContent-Length: ${reason.length + 1}\r\n\r\n${reason}\n`,
  )
}

/** The life of the program: ready, then on a restart away, then starting. */
function createPower(state: NvrState, options: StartNvrOptions, log: (line: string) => void) {
  const { address = '127.0.0.1', restart: times = { down_ms: 2000, starting_ms: 3000 } } = options
  let phase: Phase = 'down'
  let server: Server | null = null
  let port = options.port ?? 0
  let cutSockets = (): void => {}
  let away_since_s: number | null = null
  let timer: NodeJS.Timeout | null = null

  const listen = async (): Promise<void> => {
    const current = server
    if (current === null || current.listening) return
    await new Promise<void>((resolve, reject) => {
      current.once('error', reject)
      current.listen(port, address, () => resolve(current.off('error', reject) && undefined))
    })
    const bound = current.address()
    if (bound !== null && typeof bound !== 'string') port = bound.port
  }
  const set = async (wanted: Phase): Promise<void> => {
    if (wanted === 'ready' && away_since_s !== null) {
      state.boot()
      state.addGap(away_since_s, Date.now() / 1000)
      away_since_s = null
    }
    if (wanted !== 'ready') {
      away_since_s ??= Date.now() / 1000
      cutSockets()
    }
    phase = wanted
    if (wanted !== 'down') await listen()
    else if (server?.listening) {
      server.close()
      server.closeAllConnections()
    }
  }
  const later = (delay_ms: number, next: Phase, then?: () => void): void => {
    timer = setTimeout(() => {
      set(next).then(then, (error: unknown) => log(`restart: ${String(error)}`))
    }, delay_ms)
    timer.unref()
  }
  return {
    phase: () => phase,
    port: () => port,
    set,
    restart: (): void => {
      // The answer to the request that asked for it is still sent.
      if (times === 'manual') later(20, 'down')
      else later(20, 'down', () => later(times.down_ms, 'starting', () => later(times.starting_ms, 'ready')))
    },
    attach: async (made: Server, cut: () => void): Promise<void> => {
      server = made
      cutSockets = cut
      await set('ready')
    },
    close: async (): Promise<void> => {
      if (timer !== null) clearTimeout(timer)
      await set('down')
    },
  }
}
