// Live view by MediaSource and WebRTC against a relay whose every message the test sends: what viewers share, what they get when
// they join late or read slowly, and what becomes of everything that a real relay was recorded to say.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Type } from 'typebox'
import Value from 'typebox/value'
import { WebSocket, WebSocketServer } from 'ws'
import { defineArea } from '#src/contract/route.ts'
import { connectUpstream } from '#src/kernel/http/socket-upstream.ts'
import { createLog } from '#src/kernel/log.ts'
import { createLiveStreams } from '#src/modules/cam/live/live-streams.ts'
import { webrtcFilter } from '#src/modules/cam/live/webrtc-filter.ts'
import { createEncoder } from '../../lab/nvr/video/h264.ts'
import { box, fragment, initSegment } from '../../lab/nvr/video/mp4.ts'
import { startToys } from '../support/toy-server.ts'
import { until } from '../support/until.ts'

const route = {
  method: 'GET',
  access: 'viewer',
  kind: 'ws',
  ok: { 101: Type.Unknown() },
  errors: [502],
  example: {},
} as const
const area = defineArea({
  name: 'toy',
  description: 'For this test.',
  upstream_status: 502,
  routes: {
    toyLive: { ...route, path: '/toy/{name}/mse', summary: 'Watch', params: Type.Object({ name: Type.String() }) },
    toyWebrtc: { ...route, path: '/toy/{name}/webrtc', summary: 'Watch', params: Type.Object({ name: Type.String() }) },
  },
})

const OFFER = '{"type":"mse","value":"avc1.640029,mp4a.40.2"}'
const ANSWER = '{"type":"mse","value":"video/mp4; codecs=\\"avc1.42E01F\\""}'

class FakeRelay {
  readonly sockets: WebSocket[] = []
  /** What each of the sockets was sent. */
  readonly heard: string[][] = []
  readonly closed: number[] = []
  onMessage: (socket: WebSocket, text: string, is_first: boolean) => void = () => {}
  readonly #server: WebSocketServer
  constructor(server: WebSocketServer) {
    this.#server = server
    server.on('connection', (socket) => {
      const texts: string[] = []
      this.sockets.push(socket)
      this.heard.push(texts)
      socket.on('close', (code) => this.closed.push(code))
      socket.on('message', (data) => {
        const text = String(data as Buffer)
        texts.push(text)
        this.onMessage(socket, text, texts.length === 1)
      })
    })
  }
  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }
  close(): void {
    for (const socket of this.#server.clients) socket.terminate()
    this.#server.close()
  }
}

interface Viewer {
  socket: WebSocket
  texts: string[]
  binaries: Buffer[]
  closed: Promise<[number, string]>
}

interface TestBed {
  relay: FakeRelay
  /** Opened; `offer` is sent at once where it is given. */
  watch(path: string, offer?: string): Promise<Viewer>
  status(path: string): Promise<number>
  /** Waits of the service that were not stopped, the oldest first: running one lets its time pass. */
  waits: Set<() => void>
}

async function startTestBed(t: TestContext): Promise<TestBed> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const relay = new FakeRelay(server)
  t.after(() => relay.close())
  const upstream = { subsystem: 'NVR', url: relay.url } as const
  const log = createLog({ level: 'error', destination: { write: () => {} } })
  const waits = new Set<() => void>()
  const streams = createLiveStreams(log, (_time_ms, run) => {
    waits.add(run)
    return { begin_again: () => {}, stop: () => waits.delete(run) }
  })
  const { url } = await startToys(t, area, {
    toyLive: ({ params }, { signal }) =>
      streams.viewer(params.name, (within) => connectUpstream(upstream, 'live', within), signal),
    toyWebrtc: () => ({ ...upstream, filter: webrtcFilter }),
  })
  const socketAt = (path: string): WebSocket => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/toy/${path}`)
    t.after(() => socket.terminate())
    return socket
  }
  return {
    relay,
    waits,
    async watch(path, offer) {
      const socket = socketAt(path)
      const closed = once(socket, 'close').then(([code, reason]): [number, string] => [code as number, String(reason)])
      const viewer: Viewer = { socket, texts: [], binaries: [], closed }
      socket.on('message', (data, is_binary) => {
        if (is_binary) viewer.binaries.push(data as Buffer)
        else viewer.texts.push(String(data as Buffer))
      })
      await once(socket, 'open')
      if (offer !== undefined) socket.send(offer)
      return viewer
    },
    async status(path) {
      const socket = socketAt(path)
      socket.on('error', () => {})
      const opened = once(socket, 'open').then(() => 101)
      const refused = once(socket, 'unexpected-response').then(
        ([, answer]) => (answer as { statusCode: number }).statusCode,
      )
      return Promise.race([opened, refused])
    },
  }
}

const encoder = createEncoder(64, 64, 10)
const INIT = initSegment(encoder)
const KEY_FLAGS = 0x02000000
const DELTA_FLAGS = 0x01010000

const words = (...values: number[]): Buffer => Buffer.concat(values.map((value) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
})) // biome-ignore format: short

/** As go2rtc 1.9.14 writes it: the flags of the one sample are the default of the fragment. */
function relayFragment(track: number, number: number, key: boolean, bytes = 4): Buffer {
  const flags = key ? KEY_FLAGS : DELTA_FLAGS
  const header = box('tfhd', words(0x20038, track, 9_000, bytes, flags))
  const time = box('tfdt', words(0x1000000, 0, number * 9_000))
  const run = box('trun', words(0x1000001, 1, 108))
  return Buffer.concat([box('moof', box('mfhd', words(0, number)), box('traf', header, time, run)), box('mdat', Buffer.alloc(bytes, number))]) // biome-ignore format: one line
}

test('viewers of a stream share one connection to the relay, and who joins late gets type, init segment and the frames since the last key frame', async (t) => {
  const { relay, watch } = await startTestBed(t)
  relay.onMessage = (socket) => {
    socket.send(ANSWER)
    socket.send(INIT)
  }
  const send = (message: Buffer): void => relay.sockets[0]?.send(message)
  const first = await watch('gate/mse', OFFER)
  await until('the first has the init segment', () => first.binaries.length === 1)
  // A frame that needs another one before it is nothing to begin with, and nor is sound.
  send(relayFragment(1, 1, false))
  send(relayFragment(2, 2, true))
  const group = [
    relayFragment(1, 3, true),
    relayFragment(2, 4, true),
    fragment(encoder, 5, 45_000, [{ nal: Buffer.alloc(9), key: false }]),
  ]
  send(relayFragment(1, 0, true))
  for (const message of group) send(message)
  await until('the first has all', () => first.binaries.length === 5)
  const late = await watch('gate/mse', OFFER.replace(',mp4a', ', hvc1.1.6.L153.B0, mp4a'))
  await until('the late one has them, too', () => late.binaries.length === 4)
  assert.deepEqual(late.texts, [ANSWER])
  assert.deepEqual(late.binaries, [INIT, ...group])
  assert.deepEqual(first.binaries, [INIT, relayFragment(1, 0, true), ...group])
  const next = fragment(encoder, 6, 54_000, [{ nal: Buffer.alloc(70_000), key: true }])
  send(next)
  await until('both have the next', () => [first, late].every(({ binaries }) => binaries.at(-1)?.equals(next)))
  const latest = await watch('gate/mse', OFFER)
  await until('a key frame of many bytes begins a group', () => latest.binaries.length === 2)
  assert.deepEqual(latest.binaries, [INIT, next])
  assert.deepEqual(relay.heard.length, 1)
  assert.equal(relay.heard[0]?.length, 1)
})

test('viewers share only what they can all play, and the relay is left with the last of them', async (t) => {
  const { relay, watch } = await startTestBed(t)
  relay.onMessage = (socket, text) => {
    socket.send(text.replace('avc1.640029', 'for'))
    socket.send(INIT)
  }
  // One after the other, so that the connections to the relay stand in this order.
  const begun = async (path: string, offer: string): Promise<Viewer> => {
    const viewer = await watch(path, offer)
    await until('it has an answer', () => viewer.binaries.length === 1)
    return viewer
  }
  const mute = await begun('gate/mse', '{"type":"mse","value":"avc1.640029"}')
  const loud = await begun('gate/mse', OFFER)
  await begun('yard/mse', OFFER)
  assert.deepEqual(
    [mute.texts, loud.texts],
    [['{"type":"mse","value":"for"}'], ['{"type":"mse","value":"for,mp4a.40.2"}']],
  )
  assert.equal(relay.sockets.length, 3)
  const second = await watch('gate/mse', OFFER)
  await until('the second is there', () => second.binaries.length === 1)
  loud.socket.terminate()
  relay.sockets[1]?.send(relayFragment(1, 1, true))
  await until('who stays is served', () => second.binaries.length === 2)
  assert.deepEqual(relay.closed, [])
  second.socket.close()
  await until('the relay is left', () => relay.closed.length === 1)
  assert.deepEqual(relay.closed, [1001])
  const again = await watch('gate/mse', OFFER)
  await until('a new connection is made', () => again.binaries.length === 1)
  assert.equal(relay.sockets.length, 4)
})

test('viewers that come at the same moment share, and what was opened for one that leaves or asks for nothing is closed', async (t) => {
  const { relay, watch } = await startTestBed(t)
  relay.onMessage = (socket) => socket.send(INIT)
  const viewers = await Promise.all([1, 2, 3].map(() => watch('gate/mse')))
  const idle = viewers.pop()
  for (const { socket } of viewers) socket.send(OFFER)
  await until('all have begun', () => viewers.every(({ binaries }) => binaries.length === 1))
  idle?.socket.terminate()
  await until('one connection is left', () => relay.closed.length === 2)
  assert.equal(relay.heard.flat().length, 1)
  const wrong = await watch('gate/mse', '{"type":"mp4","value":""}')
  assert.equal((await wrong.closed)[0], 1008)
  viewers[0]?.socket.send(OFFER)
  assert.deepEqual(await viewers[0]?.closed, [1008, 'Send one offer a connection.'])
  relay.sockets.find(({ readyState }) => readyState === WebSocket.OPEN)?.terminate()
  assert.deepEqual(await viewers[1]?.closed, [1014, 'The connection to the upstream was lost.'])
})

test('a viewer that does not read goes on with a key frame once it reads, and the others get every frame meanwhile', async (t) => {
  const { relay, watch } = await startTestBed(t)
  relay.onMessage = (socket) => socket.send(INIT)
  const [reading, slow] = [await watch('gate/mse', OFFER), await watch('gate/mse', OFFER)]
  await until('both have begun', () => [reading, slow].every(({ binaries }) => binaries.length === 1))
  slow.socket.pause()
  // Far more than the buffers of a connection hold.
  const count = 128
  for (let number = 1; number <= count; number += 1) {
    relay.sockets[0]?.send(relayFragment(1, number, number % 8 === 1, 512 * 1024))
    await once(reading.socket, 'message')
  }
  slow.socket.resume()
  let number = count
  const numbersOf = ({ binaries }: Viewer): number[] => binaries.slice(1).map((frame) => frame.readUInt32BE(20))
  await until('the slow one is served again', () => {
    number += 1
    relay.sockets[0]?.send(relayFragment(1, number, number % 8 === 1))
    return numbersOf(slow).some((seen) => seen > count)
  })
  const seen = numbersOf(slow)
  const back = seen.findIndex((at, index) => index > 0 && at !== (seen[index - 1] ?? 0) + 1)
  assert.ok(back > 0 && back < count / 2, `${back} of ${count} were kept for it`)
  assert.equal((seen[back] ?? 0) % 8, 1, 'it goes on with a key frame')
  await until('the others got everything', () => numbersOf(reading).length === number)
})

test('a viewer that does not read for too long is closed with 1013, and a relay that falls silent ends all with 1014', async (t) => {
  const { relay, watch, waits } = await startTestBed(t)
  relay.onMessage = (socket) => socket.send(INIT)
  const [reading, slow] = [await watch('gate/mse', OFFER), await watch('gate/mse', OFFER)]
  await until('both have begun', () => [reading, slow].every(({ binaries }) => binaries.length === 1))
  const [silence] = waits
  assert.equal(waits.size, 1)
  slow.socket.pause()
  const big = relayFragment(1, 1, true, 1024 * 1024)
  await until('too much waits for the slow one', async () => {
    relay.sockets[0]?.send(big)
    await once(reading.socket, 'message')
    return waits.size === 2
  })
  const [, too_slow] = waits
  too_slow?.()
  slow.socket.resume()
  assert.deepEqual(await slow.closed, [1013, 'Messages were not read for too long.'])
  const before = reading.binaries.length
  relay.sockets[0]?.send(big)
  await until('the others go on', () => reading.binaries.length > before)
  silence?.()
  assert.deepEqual(await reading.closed, [1014, 'The upstream sends nothing more.'])
  await until('the silent relay is left', () => relay.closed[0] === 1001)
})

test('a viewer that makes no offer is closed in the end', async (t) => {
  const { relay, watch, waits } = await startTestBed(t)
  const viewer = await watch('gate/mse')
  for (const wait of waits) wait()
  assert.deepEqual(await viewer.closed, [1008, 'No offer came.'])
  await until('the relay is left', () => relay.closed.length === 1)
})

test('a relay that cannot be reached is an answer to the viewer, or ends one that joins others', async (t) => {
  const { relay, watch, status } = await startTestBed(t)
  relay.onMessage = (socket) => socket.send(INIT)
  const first = await watch('gate/mse', OFFER)
  await until('it is served', () => first.binaries.length === 1)
  const second = await watch('gate/mse')
  relay.close()
  await first.closed
  second.socket.send('{"type":"mse","value":""}')
  assert.deepEqual(await second.closed, [1014, 'The connection to the upstream was lost.'])
  assert.equal(await status('gate/mse'), 502)
})

test('what a relay sends that is no MP4 is passed on, also to who joins', async (t) => {
  const { relay, watch } = await startTestBed(t)
  relay.onMessage = (socket) => socket.send(Buffer.from('begin'))
  const first = await watch('gate/mse', OFFER)
  await until('it has begun', () => first.binaries.length === 1)
  for (const text of ['', 'x', 'some frame']) relay.sockets[0]?.send(Buffer.from(text))
  await until('it has all', () => first.binaries.length === 4)
  const second = await watch('gate/mse', OFFER)
  await until('who joins has the newest', () => second.binaries.length === 2)
  assert.deepEqual(second.binaries.map(String), ['begin', 'some frame'])
})

const Recorded = Type.Object({
  recordings: Type.Array(Type.Object({ name: Type.String(), messages: Type.Array(Type.Array(Type.String())) })),
})
const { recordings } = Value.Parse(
  Recorded,
  JSON.parse(readFileSync(new URL('../fixtures/go2rtc-sockets.json', import.meta.url), 'utf8')),
)
const FRAME = Buffer.from('frame')

test('whatever a real relay was recorded to answer, players get media, an answer, or a reason, and the relay one right offer', async (t) => {
  let messages: string[][] = []
  const { relay, watch } = await startTestBed(t)
  relay.onMessage = (socket, _text, is_first) => {
    if (!is_first) return
    for (const [kind, text = ''] of messages) {
      if (kind === 'recv') socket.send(text)
      if (kind === 'recv-binary') socket.send(FRAME)
    }
    socket.send('{"type":"mse","value":"end"}')
    socket.send('{"type":"webrtc/candidate","value":"end"}')
  }
  for (const recording of recordings) {
    for (const way of ['mse', 'webrtc']) {
      messages = recording.messages
      // A stream of its own for each.
      const viewer = await watch(`${recording.name}/${way}`)
      for (const [kind, text = ''] of messages) {
        if (kind === 'send') viewer.socket.send(text)
        if (kind === 'send-binary') viewer.socket.send(FRAME)
      }
      if (!messages.some(([kind]) => kind?.startsWith('send'))) viewer.socket.send('{"type":"none"}')
      const has_end = (): boolean => viewer.texts.some((text) => text.endsWith('"end"}'))
      await until(
        'all was replayed, or the viewer is closed',
        () => has_end() || viewer.socket.readyState === WebSocket.CLOSED,
      )
      const about = `${recording.name} by ${way}`
      if (viewer.socket.readyState !== WebSocket.OPEN) {
        const [code, reason] = await viewer.closed
        assert.ok(code === 1008 || code === 1011, `${about}: ${code}`)
        assert.match(reason, /^(Send|No stream|The relay) [^:]*(:[^:]+)*\.$/, about)
        assert.doesNotMatch(reason, /dial|tcp|127|http/, about)
      }
      for (const text of viewer.texts) assert.match(text, /^\{"type":"(mse|webrtc\/answer|webrtc\/candidate)"/, about)
      const heard = relay.heard.at(-1) ?? []
      const offers = heard.filter((text) => /"type":"(mse|webrtc\/offer)"/.test(text))
      assert.ok(offers.length <= 1, about)
      if (way === 'mse') {
        assert.equal(heard.length, offers.length, about)
        for (const text of offers) {
          assert.match(text, /^\{"type":"mse","value":"avc1\.640029(,(mp4a\.40\.2|flac|opus))*"\}$/, about)
        }
      }
      viewer.socket.terminate()
    }
  }
})
