// Live view through a real go2rtc: the simulated NVR passes its live sockets on to it, as the nginx of a real one does. What viewers
// get is decoded by ffmpeg, so that who joins late is known to see a frame at once.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { RTCPeerConnection, RTCRtpCodecParameters, type RtpPacket } from 'werift'
import { WebSocket } from 'ws'
import { type CameraLab, startCameraLab } from '../support/camera-lab.ts'
import { type Child, createChildren } from '../support/children.ts'
import { freeTcpPort } from '../support/free-port.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const GO2RTC = '/opt/groundplane-peers/go2rtc-1.9.14/go2rtc'
const FFMPEG = '/usr/bin/ffmpeg'
const missing = [GO2RTC, FFMPEG].filter((path) => !existsSync(path))
const skip = missing.length === 0 ? false : `${missing.join(' and ')}: not installed (scripts/install-peers)`
const OFFER = '{"type":"mse","value":"avc1.640029,mp4a.40.2,flac,opus"}'
const GROUP = 20
/** Messages: ten frames and 43 pieces of sound. */
const PER_SECOND = 53

const children = createChildren()
const folder = tempFolder('gp-go2rtc-')
let lab: CameraLab
let relay: Child
let relay_url = ''

/** ffmpeg draws ten small frames a second, and publishes them to the relay by RTSP. */
const drawn = (video: string, sound: string): string =>
  `exec:${FFMPEG} -v error -re -f lavfi -i testsrc=size=160x90:rate=10 ${sound} -pix_fmt yuv420p ${video} -rtsp_transport tcp -f rtsp {output}`

async function startRelay(): Promise<void> {
  relay = children.start(GO2RTC, ['-config', join(folder, 'go2rtc.yaml')], { cwd: folder })
  await until('the relay answers', async () => (await fetch(`${relay_url}/api`)).ok)
}

before(async () => {
  if (skip !== false) return
  const [api, rtsp, webrtc] = [await freeTcpPort(), await freeTcpPort(), await freeTcpPort()]
  relay_url = `http://127.0.0.1:${api}`
  const config = {
    api: { listen: `127.0.0.1:${api}` },
    rtsp: { listen: `127.0.0.1:${rtsp}` },
    webrtc: {
      listen: `127.0.0.1:${webrtc}`,
      candidates: [`127.0.0.1:${webrtc}`],
      ice_servers: [],
      filters: { loopback: true },
    },
    log: { level: 'error' },
    streams: {
      gate: drawn(
        `-c:v libx264 -preset ultrafast -tune zerolatency -g ${GROUP}`,
        '-f lavfi -i sine=frequency=440 -c:a aac',
      ),
      yard: 'rtsp://viewer:secret@127.0.0.1:1/stream',
      depot_live: drawn('-c:v libx265 -preset ultrafast -x265-params log-level=error:pools=1:frame-threads=1', ''),
    },
  }
  // JSON is YAML.
  writeFileSync(join(folder, 'go2rtc.yaml'), JSON.stringify(config))
  await startRelay()
  lab = await startCameraLab({ relay_url })
})
after(async () => {
  await lab?.close()
  // It ends its own ffmpeg, too.
  if (skip === false) await relay.end('SIGTERM')
  await children.close()
})

interface Viewer {
  socket: WebSocket
  texts: { type: string; value: string }[]
  media: Buffer[]
  closed: Promise<[number, string]>
}

async function watch(t: TestContext, path: string, offer?: string): Promise<Viewer> {
  const socket = new WebSocket(`${lab.url.replace('http', 'ws')}/cam/cameras/${path}`, {
    headers: { authorization: `Bearer ${lab.token}` },
  })
  t.after(() => socket.terminate())
  const closed = once(socket, 'close').then(([code, reason]): [number, string] => [code as number, String(reason)])
  const viewer: Viewer = { socket, texts: [], media: [], closed }
  socket.on('message', (data, is_binary) => {
    if (is_binary) viewer.media.push(data as Buffer)
    else viewer.texts.push(JSON.parse(String(data as Buffer)) as Viewer['texts'][number])
  })
  await once(socket, 'open')
  if (offer !== undefined) socket.send(offer)
  return viewer
}

/** Of the relay, as it lists them itself. */
async function consumers(stream: string): Promise<number> {
  const answer = (await (await fetch(`${relay_url}/api/streams?src=${stream}`)).json()) as { consumers?: unknown[] }
  return answer.consumers?.length ?? 0
}

/** How many frames ffmpeg finds, and what it complains about. */
function decoded({ media }: Viewer): { frames: number; complaints: string } {
  const args = ['-v', 'error', '-i', '-', '-map', '0:v', '-f', 'framemd5', '-']
  const { stdout, stderr } = spawnSync(FFMPEG, args, { input: Buffer.concat(media), encoding: 'utf8' })
  return { frames: stdout.split('\n').filter((line) => /^\d/.test(line)).length, complaints: stderr }
}

test('viewers of a real relay share one connection to it, and each sees every frame from a key frame on', {
  skip,
}, async (t) => {
  const first = await watch(t, 'gate/live', OFFER)
  await until('frames come', () => first.media.length > 50)
  assert.deepEqual(
    first.texts.map(({ type }) => type),
    ['mse'],
  )
  assert.match(first.texts[0]?.value ?? '', /^video\/mp4; codecs="avc1\.[0-9A-F]{6},mp4a\.40\.2"$/)
  const late: Viewer[] = []
  for (let count = 0; count < 5; count += 1) {
    // Each at another place of a group.
    const seen = first.media.length
    await until('time passes', () => first.media.length > seen + 7)
    const viewer = await watch(t, 'gate/live', OFFER)
    await until('it has ten frames', () => viewer.media.length > GROUP && decoded(viewer).frames >= 10)
    late.push(viewer)
  }
  assert.equal(await consumers('gate'), 1)
  for (const viewer of [first, ...late]) {
    assert.equal(decoded(viewer).complaints, '')
  }
  for (const { socket } of [first, ...late]) socket.close()
  await until('the relay is left', async () => (await consumers('gate')) === 0)
})

test('a slow viewer of a real relay goes on with a key frame, and the relay goes on for the others', {
  skip,
}, async (t) => {
  const reading = await watch(t, 'gate/live', OFFER)
  const slow = await watch(t, 'gate/live', OFFER)
  await until('both have begun', () => [reading, slow].every(({ media }) => media.length > 3))
  slow.socket.pause()
  // Longer than the five seconds after which the relay stops sending for good to a reader of its own that is blocked.
  const paused = reading.media.length
  await until('the others have seen seven seconds', () => reading.media.length > paused + 7 * PER_SECOND)
  slow.socket.resume()
  const resumed = slow.media.length
  await until('the slow one is served', () => slow.media.length > resumed + 7 * PER_SECOND)
  assert.equal(decoded(slow).complaints, '')
})

test('what a real relay cannot show ends live view with a sentence, without addresses', { skip }, async (t) => {
  assert.deepEqual(await (await watch(t, 'yard/live', OFFER)).closed, [
    1011,
    'The relay gets no stream from the camera.',
  ])
  const other_codec = await watch(t, 'depot/live', OFFER)
  assert.deepEqual(await other_codec.closed, [1011, 'No stream of the camera is in a codec that was asked for.'])
  const nonsense = await watch(t, 'gate/webrtc', '{"type":"webrtc/offer","value":"no sdp"}')
  assert.deepEqual(await nonsense.closed, [1011, 'The relay gets no stream from the camera.'])
})

test('WebRTC is agreed through the service, and its frames come from a real relay itself', { skip }, async (t) => {
  const video = new RTCRtpCodecParameters({ mimeType: 'video/H264', clockRate: 90_000 })
  const browser = new RTCPeerConnection({
    iceServers: [],
    iceAdditionalHostAddresses: ['127.0.0.1'],
    iceUseIpv4: false,
    iceUseIpv6: false,
    codecs: { video: [video] },
  })
  t.after(() => browser.close())
  const packets: RtpPacket[] = []
  browser.onTrack.subscribe((track) => track.onReceiveRtp.subscribe((packet) => packets.push(packet)))
  browser.addTransceiver('video', { direction: 'recvonly' })
  const viewer = await watch(t, 'gate/webrtc')
  const send = (type: string, value: string): void => viewer.socket.send(JSON.stringify({ type, value }))
  browser.onIceCandidate.subscribe((one) => one && send('webrtc/candidate', one.candidate))
  await browser.setLocalDescription(await browser.createOffer())
  send('webrtc/offer', browser.localDescription?.sdp ?? '')
  const answer = await until('an answer comes', () => viewer.texts.find(({ type }) => type === 'webrtc/answer'))
  await browser.setRemoteDescription({ type: 'answer', sdp: answer.value })
  const candidate = await until('a candidate comes', () =>
    viewer.texts.find(({ type, value }) => type === 'webrtc/candidate' && value.includes(' udp ')),
  )
  await browser.addIceCandidate({ candidate: candidate.value, sdpMid: '0', sdpMLineIndex: 0 })
  await until('frames come', () => packets.filter(({ header }) => header.marker).length > 3)
  assert.deepEqual([...new Set(viewer.texts.map(({ type }) => type))].sort(), ['webrtc/answer', 'webrtc/candidate'])
})

test('a real relay that is killed closes its viewers with 1014, and serves them again once it is back', {
  skip,
}, async (t) => {
  const viewers = [await watch(t, 'gate/live', OFFER), await watch(t, 'gate/live', OFFER)]
  await until('both have begun', () => viewers.every(({ media }) => media.length > 3))
  await relay.end('SIGKILL')
  for (const { closed } of viewers) assert.deepEqual(await closed, [1014, 'The connection to the upstream was lost.'])
  await startRelay()
  const again = await watch(t, 'gate/live', OFFER)
  await until('frames come again', () => again.media.length > 3)
})
