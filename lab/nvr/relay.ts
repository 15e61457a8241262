/** The stream relay inside of the NVR: its streams by name, and live video over a WebSocket (Media Source Extensions). */
import type { WebSocket } from 'ws'
import { createLiveStream, type LiveStream } from './live-stream.ts'
import { isObject, type Json, type JsonObject, objectAt, parseJson } from './json.ts'
import { createScene } from './scene.ts'
import type { CameraState, NvrState } from './state.ts'
import { box, fragment, initSegment, TICKS_PER_S } from './video/mp4.ts'

/** A reader that takes nothing for this long gets nothing any more, and is not told. */
const BLOCKED_MS = 5000
/** Only these exact texts of an offer count. */
const OFFERS: Readonly<Record<string, string>> = {
  'avc1.640029': 'H264',
  'hvc1.1.6.L153.B0': 'H265',
  'mp4a.40.2': 'AAC',
  flac: 'FLAC',
  opus: 'OPUS',
}

export interface RelayStream {
  name: string
  camera: CameraState
  codec: 'H264' | 'H265'
  live: LiveStream
}

export interface RelayFaults {
  /** Seconds of video that a viewer gets at once; the real relay has none. */
  backlog_s: number
  /** So many bytes more in every message, as a frame of a better camera has. */
  padding_bytes: number
  /** Media stops, sockets stay. */
  muted: boolean
}

export interface Relay {
  faults: RelayFaults
  stream(name: string): RelayStream | null
  /** A viewer's socket; `src` is what its URL asked for. */
  connect(socket: WebSocket, src: string): void
  describe(name: string, probe: boolean): JsonObject | null
  viewers(): number
  close(): void
}

/** Messages of other types on a viewer's socket; made once for each socket. */
export interface Signalling {
  /** False for a type that it does not know. */
  receive(type: string, value: Json, stream: RelayStream | null): boolean
  close(): void
}

export type Reply = (message: { type: string; value: Json }) => void

export function createRelay(
  nvr: NvrState,
  openSignalling: (reply: Reply) => Signalling,
  log: (line: string) => void,
): Relay {
  const faults: RelayFaults = { backlog_s: 1, padding_bytes: 0, muted: false }
  const streams = new Map<string, RelayStream>()
  const sockets = new Set<WebSocket>()
  const stream = (name: string): RelayStream | null => {
    const known = streams.get(name)
    if (known !== undefined && nvr.camera(known.camera.id) === known.camera) return known
    known?.live.close()
    const made = makeStream(nvr, name)
    if (made !== null) streams.set(name, made)
    return made
  }
  return {
    faults,
    stream,
    viewers: () => [...streams.values()].reduce((all, { live }) => all + live.viewers(), 0),
    connect: (socket, src) => {
      sockets.add(socket)
      const reply: Reply = (message) => socket.send(JSON.stringify(message))
      const signalling = openSignalling(reply)
      const ends: (() => void)[] = [() => signalling.close()]
      socket.on('message', (data, binary) => {
        const message = binary ? undefined : parseJson(String(data))?.value
        if (!isObject(message) || typeof message['type'] !== 'string') {
          socket.terminate()
          return
        }
        const { type, value = null } = message
        const found = stream(src)
        if (signalling.receive(type, value, found)) return
        if (type !== 'mse' && type !== 'mp4') return
        if (found === null) reply({ type: 'error', value: `${type}: stream not found` })
        else ends.push(sendMedia(socket, found, type, typeof value === 'string' ? value : '', faults))
      })
      socket.on('close', () => {
        sockets.delete(socket)
        for (const end of ends) end()
      })
      socket.on('error', (error) => {
        log(`relay: ${error.message}`)
        socket.terminate()
      })
    },
    describe: (name, probe) => describe(stream(name), probe),
    close: () => {
      for (const socket of sockets) socket.terminate()
      for (const { live } of streams.values()) live.close()
      streams.clear()
    },
  }
}

/** The streams of the configuration: a camera's main stream, its small one, and a re-encoded one. */
function makeStream(nvr: NvrState, name: string): RelayStream | null {
  const urls = objectAt(nvr.config(), 'go2rtc', 'streams')[name]
  if (urls === undefined) return null
  const camera = nvr.camera(name) ?? nvr.camera(name.replace(/_(sub|live)$/, ''))
  if (camera === undefined) return null
  const small = name.endsWith('_sub')
  const reencoded = /ffmpeg:.*#video=h264/.test(JSON.stringify(urls))
  const scene = createScene(camera.scenery, small ? camera.detect : camera.scenery)
  const codec = small || reencoded ? 'H264' : camera.codec
  const live = createLiveStream(scene, (from_s, to_s) => nvr.passes(camera.id, from_s, to_s))
  return { name, camera, codec, live }
}

function sendMedia(
  socket: WebSocket,
  stream: RelayStream,
  type: string,
  offer: string,
  faults: RelayFaults,
): () => void {
  const reply: Reply = (message) => socket.send(JSON.stringify(message))
  if (stream.camera.offline) {
    reply({ type: 'error', value: `${type}: streams: dial tcp 192.0.2.10:554: connect: connection refused` })
    return () => {}
  }
  const known = offer.split(',').flatMap((text) => OFFERS[text] ?? [])
  // An offer of which nothing is known counts as empty, and an empty one as all of these.
  const wanted = known.length > 0 ? known : ['H264', 'H265', 'AAC']
  if (!wanted.includes(stream.codec)) {
    const list = wanted.map((codec) => (codec.startsWith('H26') ? `video:${codec}` : `audio:${codec}`)).join(', ')
    reply({ type: 'error', value: `${type}: streams: codecs not matched: video:${stream.codec} => ${list}` })
    return () => {}
  }
  const { encoder } = stream.live
  const codec = stream.codec === 'H265' ? 'hvc1.1.6.L153.B0' : encoder.codec
  reply({ type: 'mse', value: `video/mp4; codecs="${codec}"` })
  const send = blockingSender(socket, faults)
  send(initSegment(encoder))
  let first: number | null = null
  return stream.live.watch({
    backlog_s: faults.backlog_s,
    onFrame: (frame) => {
      if (stream.camera.offline) return
      first ??= frame.number
      const at = frame.number - first
      const media = fragment(encoder, at + 1, (at * TICKS_PER_S) / encoder.frames_per_s, [frame])
      // Players pass over a `free` box.
      const padding = faults.padding_bytes > 0 ? [box('free', Buffer.alloc(faults.padding_bytes))] : []
      send(padding.length > 0 ? Buffer.concat([media, ...padding]) : media)
    },
  })
}

/** Sends until a message has waited too long for its reader; from then on nothing, for good. */
function blockingSender(socket: WebSocket, faults: RelayFaults): (message: Buffer) => void {
  const waiting: number[] = []
  let mute = false
  return (message) => {
    mute ||= waiting[0] !== undefined && Date.now() - waiting[0] > BLOCKED_MS
    if (mute || faults.muted) return
    waiting.push(Date.now())
    socket.send(message, () => waiting.shift())
  }
}

/** Producers and consumers as the relay lists them; what the source sends only when it is asked to connect. */
function describe(stream: RelayStream | null, probe: boolean): JsonObject | null {
  if (stream === null) return null
  const url = 'rtsp://***@192.0.2.10:554/stream'
  const consumers = Array.from({ length: stream.live.viewers() }, (_, index) => ({ id: index + 1, format_name: 'mse/fmp4', protocol: 'ws' })) // biome-ignore format: one line
  if (!probe) return { producers: [{ url }], consumers }
  const producer = {
    id: 1,
    format_name: 'rtsp',
    protocol: 'rtsp+tcp',
    url,
    medias: [`video, recvonly, ${stream.codec}`],
  }
  return { producers: [producer], consumers: [...consumers, { id: 99, format_name: 'probe', protocol: 'http' }] }
}
