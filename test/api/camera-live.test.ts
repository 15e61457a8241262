// Live view of cameras: what passes between player and relay, which stream is asked for, how sockets end, and the player's files.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { after, before, type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { type CameraLab, startCameraLab } from '../support/camera-lab.ts'
import { until } from '../support/until.ts'

let lab: CameraLab
before(async () => {
  lab = await startCameraLab()
})
after(() => lab?.close())

const OFFER = '{"type":"mse","value":"avc1.640029,hvc1.1.6.L153.B0,mp4a.40.2"}'

interface Viewer {
  socket: WebSocket
  texts: string[]
  binaries: Buffer[]
  closed: Promise<[number, string]>
}

function follow(socket: WebSocket): Viewer {
  const viewer: Viewer = { socket, texts: [], binaries: [], closed: closeOf(socket) }
  socket.on('message', (data, is_binary) => {
    if (is_binary) viewer.binaries.push(data as Buffer)
    else viewer.texts.push(String(data as Buffer))
  })
  return viewer
}

async function closeOf(socket: WebSocket): Promise<[number, string]> {
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer]
  return [code, reason.toString()]
}

function socketAt(path: string, token: string | null = lab.token): WebSocket {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  return new WebSocket(`${lab.url.replace('http', 'ws')}${path}`, { headers })
}

async function watch(t: TestContext, path: string, token: string | null = lab.token): Promise<Viewer> {
  const socket = socketAt(path, token)
  t.after(() => socket.terminate())
  const viewer = follow(socket)
  await once(socket, 'open')
  return viewer
}

async function openStatus(path: string): Promise<number> {
  const socket = socketAt(path)
  socket.on('error', () => {})
  const status = await Promise.race([
    once(socket, 'open').then(() => 101),
    once(socket, 'unexpected-response').then(([, answer]) => (answer as IncomingMessage).statusCode ?? 0),
  ])
  socket.terminate()
  return status
}

const control = (path: string, body: object = {}): Promise<Response> =>
  fetch(`${lab.nvr.control_url}${path}`, { method: 'POST', body: JSON.stringify(body) })

test('a viewer gets the type and then the frames of the camera, in H.264 also of a camera that sends H.265', async (t) => {
  for (const id of ['gate', 'depot']) {
    const viewer = await watch(t, `/cam/cameras/${id}/live`)
    viewer.socket.send(OFFER)
    await until('frames come', () => viewer.binaries.length >= 3)
    assert.deepEqual(JSON.parse(viewer.texts[0] ?? ''), { type: 'mse', value: 'video/mp4; codecs="avc1.42E01F"' })
    assert.equal(viewer.binaries[0]?.toString('latin1', 4, 8), 'ftyp')
    assert.equal(viewer.binaries[1]?.toString('latin1', 4, 8), 'moof')
  }
})

test('what is no camera is 400 and reaches the relay under no name', async () => {
  for (const id of ['nope', 'gate_sub', 'depot_live', 'GATE']) {
    assert.equal(await openStatus(`/cam/cameras/${id}/live`), 400, id)
    assert.equal(await openStatus(`/cam/cameras/${id}/webrtc`), 400, id)
  }
  for (const id of [
    'http:%2F%2F192.0.2.1%2F',
    'ffmpeg:gate%23video=mjpeg',
    '..%2Fgate',
    'gate%20',
    'exec:ls',
    '%2Fetc%2Fpasswd',
  ]) {
    assert.equal(await openStatus(`/cam/cameras/${id}/live`), 400, id)
  }
  const { calls } = (await (await fetch(`${lab.nvr.control_url}/calls`)).json()) as { calls: { command: string }[] }
  assert.deepEqual([...new Set(calls.map(({ command }) => command))].sort(), ['/api/config', '/api/login'])
})

test('a ticket for the cameras opens live view as often as wanted, one for another camera does not', async (t) => {
  const ticketFor = async (path: string): Promise<string> =>
    String((await lab.call('POST', '/auth/tickets', { path })).body.ticket)
  const [all, other] = [await ticketFor('/cam'), await ticketFor('/cam/cameras/yard')]
  for (const _again of [1, 2]) await watch(t, `/cam/cameras/gate/live?ticket=${all}`, null)
  const socket = socketAt(`/cam/cameras/gate/live?ticket=${other}`, null)
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  assert.equal(answer.statusCode, 401)
})

test('a player that only follows addresses plays a recording with a ticket, and nothing without one', async () => {
  const { ticket } = (await lab.call('POST', '/auth/tickets', { path: '/cam/cameras/gate/recording' })).body as {
    ticket: string
  }
  const now = Math.floor(Date.now() / 1000)
  const start = `/cam/cameras/gate/recording/hls/start/${now - 120}/end/${now - 60}/master.m3u8`
  const get = async (address: URL): Promise<string> => {
    const answer = await fetch(address)
    assert.equal(answer.status, 200, address.pathname)
    return answer.text()
  }
  const master = new URL(`${start}?ticket=${ticket}`, lab.url)
  const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const [index = ''] = linesOf(await get(master))
  const list = await get(new URL(index, master))
  const [init = ''] = [...list.matchAll(/URI="([^"]+)"/g)].map((match) => match[1] ?? '')
  for (const name of [init, ...linesOf(list)]) await get(new URL(name, master))
  assert.equal((await fetch(new URL(start, lab.url))).status, 401)
  assert.equal((await fetch(new URL(start.replace('gate', 'yard') + `?ticket=${ticket}`, lab.url))).status, 401)
  assert.ok(!lab.logs().includes(ticket))
})

test('the feed tells what cameras see, and what a client sends into it orders nothing', async (t) => {
  const viewer = await watch(t, '/cam/events/stream')
  viewer.socket.send('{"topic":"restart","payload":""}')
  viewer.socket.send('{"topic":"gate/detect/set","payload":"OFF"}')
  viewer.socket.send('not json')
  await until('the client is known to the NVR', async () => {
    await control('/topic', { frame: '{"topic":"gate/motion","payload":"ON"}' })
    return viewer.texts.some((text) => text === '{"topic":"gate/motion","payload":"ON"}')
  })
  assert.equal(lab.nvr.phase(), 'ready')
  assert.equal(lab.nvr.state.camera('gate')?.switches.detect, true)
  assert.equal(viewer.socket.readyState, WebSocket.OPEN)
})

test('a login that the NVR no longer accepts is renewed when a viewer comes', async (t) => {
  await control('/expire-sessions')
  const viewer = await watch(t, '/cam/events/stream')
  assert.equal(viewer.socket.readyState, WebSocket.OPEN)
})

test('a camera that sends nothing ends live view with a sentence, and no address of the camera', async (t) => {
  await control('/camera', { id: 'yard', offline: true })
  const viewer = await watch(t, '/cam/cameras/yard/live')
  viewer.socket.send(OFFER)
  assert.deepEqual(await viewer.closed, [1011, 'The relay gets no stream from the camera.'])
  assert.deepEqual(viewer.texts, [])
  await control('/camera', { id: 'yard', offline: false })
})

test('a restart of the NVR in the middle of everything ends all of it as a failure, and all is back without a restart of ours', async (t) => {
  const now = Math.floor(Date.now() / 1000)
  const recording = '/cam/cameras/gate/recording'
  const hls = `start/${now - 120}/end/${now - 60}/master.m3u8`
  const clip = (seconds: number) =>
    fetch(`${lab.url}${recording}/clip?start=${now - 60 - seconds}&end=${now - 60}`, { headers })
  const headers = { authorization: `Bearer ${lab.token}` }
  const sockets = ['/cam/cameras/gate/live', '/cam/cameras/gate/webrtc', '/cam/events/stream']
  const calls = {
    hls: () => lab.call('GET', `${recording}/hls/${hls}`),
    events: () => lab.call('GET', '/cam/events?limit=1'),
    detect: () => lab.call('POST', '/cam/cameras/gate/detect', { enabled: true }),
  }
  const statuses = async (replies = Object.values(calls).map((call) => call())): Promise<number[]> =>
    (await Promise.all(replies)).map(({ status }) => status)
  const taken = () =>
    until('the NVR has taken the requests', async () => {
      const { faults } = (await (await fetch(`${lab.nvr.control_url}/faults`)).json()) as { faults: unknown[] }
      return faults.length === 0
    })

  const viewers = await Promise.all(sockets.map((path) => watch(t, path)))
  viewers[0]?.socket.send(OFFER)
  await until('frames come', () => (viewers[0]?.binaries.length ?? 0) > 0)
  await control('/relay', { padding_bytes: 200_000 })
  const reader = (await clip(1200)).body?.getReader()
  assert.equal((await reader?.read())?.done, false)
  // Each is with the NVR, which does not answer, when it goes. The switch begins with the configuration, which others read, too.
  for (const command of [`/vod/gate/${hls}`, '/api/events']) await control('/silent', { command })
  const pending = [calls.hls(), calls.events()]
  await taken()
  await control('/silent', { command: '/api/config' })
  pending.push(calls.detect())
  await taken()

  lab.nvr.restart()
  for (const viewer of viewers) assert.equal((await viewer.closed)[0], 1014)
  assert.deepEqual(await statuses(pending), [502, 502, 502])
  await assert.rejects(async () => {
    while ((await reader?.read())?.done === false);
  })
  await until('the NVR is away', () => lab.nvr.phase() === 'down')
  for (const phase of ['down', 'starting'] as const) {
    await lab.nvr.setPhase(phase)
    for (const path of sockets) assert.equal(await openStatus(path), 502, `${path} while ${phase}`)
    assert.deepEqual(await statuses(), [502, 502, 502], phase)
    assert.equal((await clip(10)).status, 502, phase)
  }
  assert.equal((await lab.call('GET', '/readyz')).status, 200)

  await control('/relay', { padding_bytes: 0 })
  await lab.nvr.setPhase('ready')
  await until('all calls are answered', async () => (await statuses()).every((status) => status === 200))
  for (const path of sockets) assert.equal(await openStatus(path), 101, path)
  const viewer = await watch(t, '/cam/cameras/gate/live')
  viewer.socket.send(OFFER)
  await until('frames come', () => viewer.binaries.length > 0)
  assert.ok((await (await clip(10)).arrayBuffer()).byteLength > 1000)
  await until('nothing is left of what was cut', () => lab.nvr.open.streams === 0)
})

test('the player is a page that loads nothing from elsewhere, with scripts that a browser can read', async () => {
  const page = await lab.call('GET', '/cam/player', undefined, { token: null })
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'none'; script-src 'self';(?!.*unsafe)/)
  const names = [...page.text.matchAll(/(?:src|href)="\/cam\/player\/([^"]+)"/g)].map((match) => match[1] ?? '')
  assert.deepEqual(names.sort(), ['page.css', 'page.ts', 'player.css'])
  const seen = new Set(['hls.mjs', ...names])
  // A set goes on with what is added while it is read.
  for (const name of seen) {
    const file = await lab.call('GET', `/cam/player/${name}`, undefined, { token: null })
    assert.equal(file.status, 200, name)
    if (!name.endsWith('.ts')) continue
    assert.equal(file.headers.get('content-type'), 'text/javascript; charset=utf-8')
    assert.doesNotMatch(file.text, /^import type|\binterface \w+ \{/m, name)
    for (const [, imported = ''] of file.text.matchAll(/from '\.\/([^']+)'/g)) seen.add(imported)
  }
  assert.ok(seen.size > 10, [...seen].join())
  for (const name of ['tsconfig.json', 'none.ts', '..%2Fcontract%2Findex.ts', '%2E%2E', 'page.html.ts']) {
    assert.equal((await lab.call('GET', `/cam/player/${name}`, undefined, { token: null })).status, 404, name)
  }
})
