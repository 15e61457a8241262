/** The simulated NVR as its clients see it: logins, configuration, switches, restarts, live video. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { RTCPeerConnection, RTCRtpCodecParameters, type RtpPacket } from 'werift'
import { until } from '../support/until.ts'
import { message, type NvrClient, openFeed, startNvrClient } from './nvr-client.ts'

let nvr: NvrClient
before(async () => {
  nvr = await startNvrClient({ timetable: { person_every_s: 14 } })
})
after(() => nvr?.close())
beforeEach(() => nvr.control('reset'))

const JSON_TYPE = { 'content-type': 'application/json' }

test('the cookie of a login opens everything, an old or foreign one nothing, and a header wins over it', async () => {
  const { call, cookie } = nvr
  assert.equal((await call('/api/version')).status, 200)
  const token = cookie.replace('frigate_token=', '')
  const header = async (authorization: string) => (await call('/api/profile', { headers: { authorization } })).status
  assert.equal((await call('/api/profile', { headers: { cookie: '', authorization: `Bearer ${token}` } })).status, 200)
  assert.equal(await header('Bearer x'), 401)
  assert.equal(await header('Basic eA=='), 200)
  await nvr.control('expire-sessions')
  assert.equal((await call('/api/version')).status, 401)
  const { cookie: fresh } = await nvr.as('admin', nvr.lab.admin_password)
  assert.notEqual(fresh, cookie)
  Object.assign(nvr, await nvr.as('admin', nvr.lab.admin_password))
})

test('a changed value of the file counts after the restart, and a file that would be invalid is left alone', async () => {
  const set = async (query: string) =>
    (await nvr.call(`/api/config/set?${query}`, { method: 'PUT', headers: JSON_TYPE, body: '{"requires_restart":1}' }))
      .status
  const recording = async () => {
    const answer = await nvr.call('/api/config', { headers: { 'x-cache-bypass': '1' } })
    const config = (await answer.json()) as { cameras: Record<string, { record: { enabled: boolean } }> }
    return config.cameras['yard']?.record.enabled
  }
  assert.equal(await set('cameras.yard.record.enabled=maybe'), 400)
  assert.equal(await set('cameras.ghost.record.enabled=True'), 400)
  assert.equal(await set('cameras.yard.record.enabled=False'), 200)
  assert.equal(await recording(), true)
  const feed = await nvr.socket('/ws')
  assert.equal((await nvr.call('/api/restart', { method: 'POST' })).status, 200)
  await until('the feed is cut', () => feed.closed() === 1006)
  await until('connections are refused', () => nvr.lab.phase() === 'down')
  await assert.rejects(nvr.call('/api/version'))
  await nvr.control('phase', { phase: 'starting' })
  const starting = await Promise.all(['/api/config', '/api/login', '/vod/yard/x'].map((path) => nvr.call(path)))
  assert.deepEqual(starting.map(({ status }) => status), [500, 502, 404]) // biome-ignore format: one line
  await nvr.control('phase', { phase: 'ready' })
  assert.equal(await recording(), false)
  assert.equal(await set('cameras.yard.record.enabled=True'), 200)
})

test('JSON is answered from a cache for some seconds unless the caller asks past it', async () => {
  const uptime = async (headers: Record<string, string>) => {
    const stats = (await (await nvr.call('/api/config', { headers })).json()) as { cameras: Record<string, { detect: { enabled: boolean } }> } // biome-ignore format: one line
    return stats.cameras['gate']?.detect.enabled
  }
  assert.equal(await uptime({ 'x-cache-bypass': '1' }), true)
  const feed = await nvr.socket('/ws')
  feed.send({ topic: 'gate/detect/set', payload: 'OFF' })
  await message(feed, 'gate/detect/state')
  assert.equal(await uptime({}), true)
  assert.equal(await uptime({ 'x-cache-bypass': '1' }), false)
  feed.socket.close()
})

test('a switch is confirmed by its state, and one that is not allowed is not answered', async () => {
  const feed = await nvr.socket('/ws')
  feed.send({ topic: 'gate/motion/set', payload: 'OFF' })
  feed.send({ topic: 'yard/audio/set', payload: 'ON' })
  feed.send({ topic: 'gate/detect/set', payload: 'OFF' })
  assert.equal((await message(feed, 'gate/detect/state')).payload, 'OFF')
  assert.ok(!feed.texts.some(({ topic }) => topic === 'gate/motion/state' || topic === 'yard/audio/state'))
  feed.send({ topic: 'gate/motion/set', payload: 'OFF' })
  assert.equal((await message(feed, 'gate/motion/state')).payload, 'OFF')
  feed.send({ topic: 'onConnect', payload: '' })
  const { payload } = await message(feed, 'camera_activity')
  const activity = JSON.parse(String(payload)) as Record<string, { config: { detect: boolean } }>
  assert.equal(activity['gate']?.config.detect, false)
  feed.socket.close()
})

test('live video is one MP4 from a key frame on, for H.264 and for the re-encoded stream of an H.265 camera', async () => {
  for (const src of ['gate', 'depot_live', 'yard_sub']) {
    const feed = await nvr.socket(`/live/mse/api/ws?src=${src}`)
    feed.send({ type: 'mse', value: 'avc1.640029,mp4a.40.2' })
    assert.equal((await message(feed, 'mse')).value, 'video/mp4; codecs="avc1.42E01F"')
    await until('frames flow', () => feed.media.length > 12)
    const boxes = feed.media.map((part) => part.toString('latin1', 4, 8))
    assert.deepEqual([...new Set(boxes)], ['ftyp', 'moof'])
    feed.socket.close()
  }
  const h265 = await nvr.socket('/live/mse/api/ws?src=depot')
  h265.send({ type: 'mse', value: 'avc1.640029' })
  assert.match(String((await message(h265, 'error')).value), /codecs not matched: video:H265 => video:H264$/)
  h265.socket.close()
  await until('nobody watches', () => nvr.lab.relay.viewers() === 0)
})

test('sockets need a login, and the relay takes no foreign browser', async () => {
  await assert.rejects(openFeed(nvr.lab, '/ws', {}), /401/)
  const { cookie } = nvr
  await assert.rejects(openFeed(nvr.lab, '/live/mse/api/ws?src=gate', { cookie, origin: 'https://x.example' }), /403/)
})

test('WebRTC sends frames to whoever is answered, and an offer for H.265 is an error', async () => {
  const viewer = new RTCPeerConnection({
    iceServers: [],
    iceAdditionalHostAddresses: ['127.0.0.1'],
    iceUseIpv4: false,
    iceUseIpv6: false,
    codecs: { video: [new RTCRtpCodecParameters({ mimeType: 'video/H264', clockRate: 90_000 })] },
  })
  const received: RtpPacket[] = []
  viewer.onTrack.subscribe((track) => track.onReceiveRtp.subscribe((packet) => received.push(packet)))
  viewer.addTransceiver('video', { direction: 'recvonly' })
  const feed = await nvr.socket('/live/webrtc/api/ws?src=gate')
  viewer.onIceCandidate.subscribe((one) => one && feed.send({ type: 'webrtc/candidate', value: one.candidate }))
  await viewer.setLocalDescription(await viewer.createOffer())
  feed.send({ type: 'webrtc/offer', value: viewer.localDescription?.sdp })
  const { value } = await message(feed, 'webrtc/answer')
  await viewer.setRemoteDescription({ type: 'answer', sdp: String(value) })
  const candidate = String((await message(feed, 'webrtc/candidate')).value)
  assert.match(candidate, / 127\.0\.0\.1 8[56]\d\d typ host/)
  await viewer.addIceCandidate({ candidate, sdpMid: '0', sdpMLineIndex: 0 })
  // The first packet holds the sequence parameters; a mark ends a frame.
  await until('frames arrive', () => received.filter(({ header }) => header.marker).length > 3)
  assert.equal((received[0]?.payload[0] ?? 0) & 0x1f, 7)
  feed.socket.close()
  await viewer.close()
  await until('nobody watches', () => nvr.lab.relay.viewers() === 0)
  const h265 = await nvr.socket('/live/webrtc/api/ws?src=depot')
  h265.send({ type: 'webrtc/offer', value: viewer.localDescription?.sdp })
  assert.match(
    String((await message(h265, 'error')).value),
    /^webrtc\/offer: streams: codecs not matched: video:H265 =>/,
  )
  h265.socket.close()
})
