// Routes of kind ws: who gets in, what passes in both directions, how much waits, and how it ends.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { Type } from 'typebox'
import { type ClientOptions, WebSocket, WebSocketServer } from 'ws'
import type { SocketClient, SocketSource, SocketUpstream } from '#src/contract/answers.ts'
import { defineArea } from '#src/contract/route.ts'
import type { ServerOptions } from '#src/kernel/http/serve.ts'
import { call } from '../support/api-call.ts'
import { type AuthService, startAuthService } from '../support/auth-service.ts'
import { startToys, type ToyServer } from '../support/toy-server.ts'
import { until } from '../support/until.ts'

const area = defineArea({
  name: 'toy',
  description: 'For this test.',
  upstream_status: 502,
  routes: {
    toyWatch: {
      method: 'GET', path: '/toy/watch', summary: 'Watch', access: 'viewer', kind: 'ws', ok: { 101: Type.Unknown() }, errors: [502], example: {},
    },
    toyPlain: {
      method: 'GET', path: '/toy/plain', summary: 'Get', access: 'viewer', ok: { 200: Type.Object({}) }, errors: [], example: {},
    },
  },
}) // biome-ignore format: toys

const startWatch = (
  t: TestContext,
  answer: SocketSource | SocketUpstream,
  options: Partial<ServerOptions> = {},
): Promise<ToyServer> => startToys(t, area, { toyWatch: () => answer, toyPlain: () => ({}) }, options)

async function startUpstream(
  t: TestContext,
  connected: (socket: WebSocket, request: IncomingMessage) => void,
): Promise<{ upstream: SocketUpstream; server: WebSocketServer }> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', connected)
  await once(server, 'listening')
  t.after(() => {
    for (const socket of server.clients) socket.terminate()
    server.close()
  })
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/inner`
  return { upstream: { subsystem: 'KVM', url }, server }
}

const socketAt = (url: string, path: string, options: ClientOptions = {}, protocols: string[] = []): WebSocket =>
  new WebSocket(`${url.replace('http', 'ws')}${path}`, protocols, options)

async function openAt(t: TestContext, url: string, protocols: string[] = []): Promise<WebSocket> {
  const socket = socketAt(url, '/toy/watch', {}, protocols)
  t.after(() => socket.terminate())
  await once(socket, 'open')
  return socket
}

/** The status that a request to open is refused with; 101 when it is not. */
async function openStatus(url: string, path: string, options: ClientOptions = {}): Promise<number> {
  const socket = socketAt(url, path, options)
  socket.on('error', () => {})
  const status = await Promise.race([
    once(socket, 'open').then(() => 101),
    once(socket, 'unexpected-response').then(([, answer]) => (answer as IncomingMessage).statusCode ?? 0),
  ])
  socket.terminate()
  return status
}

async function closeOf(socket: WebSocket): Promise<[number, string]> {
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer]
  return [code, reason.toString()]
}

let service: AuthService | undefined
after(() => service?.stop())

test('a WebSocket opens by bearer, by ticket once, and by session from pages of our own alone', async () => {
  service = await startAuthService({})
  const { url, admin_token: token } = service
  const open = (query: string, headers: Record<string, string>): Promise<number> =>
    openStatus(url, `/probe/socket${query}`, { headers })
  assert.equal(await open('', {}), 401)
  assert.equal(await open('', { authorization: `Bearer ${token}` }), 101)
  const ticket = String((await call(url, 'POST', '/auth/tickets', { token })).body.ticket)
  assert.equal(await open(`?ticket=${ticket}`, {}), 101)
  assert.equal(await open(`?ticket=${ticket}`, {}), 401)

  const password = 'correct horse battery'
  await call(url, 'POST', '/auth/users', { token, body: { username: 'ann', password, role: 'viewer' } })
  const login = await call(url, 'POST', '/auth/login', { body: { username: 'ann', password } })
  const cookie = `gp_session=${login.cookies.get('gp_session')?.value ?? ''}`
  assert.equal(await open('', { cookie, origin: url }), 101)
  assert.equal(await open('', { cookie, origin: 'https://elsewhere.example' }), 403)
})

test('a WebSocket ends with the token that opened it, and says why', async () => {
  assert.ok(service !== undefined)
  const { url, admin_token } = service
  const { body } = await call(url, 'POST', '/auth/tokens', { token: admin_token, body: { name: 'w', role: 'viewer' } })
  const socket = socketAt(url, '/probe/socket', { headers: { authorization: `Bearer ${String(body.token)}` } })
  await once(socket, 'open')
  const closed = closeOf(socket)
  await call(url, 'DELETE', `/auth/tokens/${String(body.id)}`, { token: admin_token })
  assert.deepEqual(await closed, [1008, 'The API token has ended.'])
})

test('text stays text and bytes stay bytes in both directions, from the first message on, with one subprotocol', async (t) => {
  const { upstream } = await startUpstream(t, (socket, request) => {
    socket.send(`hello ${request.url ?? ''} ${String(request.headers['x-key'])} ${String(request.headers.cookie)}`)
    socket.on('message', (data, is_binary) => socket.send(data as Buffer, { binary: is_binary }))
  })
  const { url } = await startWatch(t, { ...upstream, headers: { 'x-key': 'inner' }, protocols: ['binary'] })
  const socket = socketAt(url, '/toy/watch', { headers: { cookie: 'gp=1' } }, ['other', 'binary'])
  t.after(() => socket.terminate())
  const got: [string, boolean][] = []
  socket.on('message', (data, is_binary) => got.push([(data as Buffer).toString(), is_binary]))
  await once(socket, 'open')
  assert.equal(socket.protocol, 'binary')
  socket.send('text')
  socket.send(Buffer.from('bytes'))
  await until('all came back', () => got.length === 3)
  assert.deepEqual(got, [['hello /inner inner undefined', false], ['text', false], ['bytes', true]]) // biome-ignore format: a list
})

test('close codes pass in both directions, the words of the upstream do not', async (t) => {
  const closed: number[] = []
  const { upstream } = await startUpstream(t, (socket) => {
    socket.on('close', (code) => closed.push(code))
    socket.on('message', (data) => socket.close(Number(String(data as Buffer)), 'inner words'))
  })
  const { url } = await startWatch(t, upstream)
  for (const code of [1000, 4001]) {
    const socket = await openAt(t, url)
    socket.send(String(code))
    assert.deepEqual(await closeOf(socket), [code, ''])
  }
  const leaving = await openAt(t, url)
  leaving.close(4002)
  await until('the upstream was closed', () => closed.includes(4002))
  const lost = await openAt(t, url)
  lost.terminate()
  await until('the upstream was closed for a client that is lost', () => closed.includes(1001))
})

test('an upstream that breaks closes the client with 1014; one that cannot be opened is an answer of the area', async (t) => {
  const { upstream } = await startUpstream(t, (socket) => {
    socket.on('message', () => socket.terminate())
  })
  const { url } = await startWatch(t, upstream)
  const socket = await openAt(t, url)
  socket.send('break')
  assert.deepEqual(await closeOf(socket), [1014, 'The connection to the upstream was lost.'])
  const nowhere = await startWatch(t, { subsystem: 'KVM', url: 'ws://127.0.0.1:1/' })
  assert.equal(await openStatus(nowhere.url, '/toy/watch'), 502)
  const rejecting = await startWatch(t, { subsystem: 'KVM', url: `${url.replace('http', 'ws')}/toy/plain` })
  assert.equal(await openStatus(rejecting.url, '/toy/watch'), 502)
})

test('a filter changes, drops and refuses messages in both directions', async (t) => {
  const heard: string[] = []
  const { upstream } = await startUpstream(t, (socket) => {
    socket.on('message', (data) => {
      heard.push(String(data as Buffer))
      for (const text of ['drop', 'back', 'refuse']) socket.send(text)
    })
  })
  const { url } = await startWatch(t, {
    ...upstream,
    filter: () => ({
      fromClient: (data) => (data.toString() === 'drop' ? undefined : `${data.toString()} changed`),
      fromUpstream(data) {
        if (data.toString() === 'drop') return undefined
        return data.toString() === 'refuse' ? { code: 1011, reason: 'Refused.' } : data
      },
    }),
  })
  const socket = await openAt(t, url)
  const got: string[] = []
  socket.on('message', (data) => got.push(String(data as Buffer)))
  const closed = closeOf(socket)
  socket.send('drop')
  socket.send('text')
  assert.deepEqual(await closed, [1011, 'Refused.'])
  assert.deepEqual([heard, got], [['text changed'], ['back']])
})

test('an upstream that falls silent is left, and its client is told whether it or the upstream was the cause', async (t) => {
  const closed: number[] = []
  const { upstream } = await startUpstream(t, (socket) => {
    socket.on('close', (code) => closed.push(code))
    socket.on('message', () => pump(socket, { sent: 0 }))
  })
  const waiting = await openAt(t, (await startWatch(t, { ...upstream, silence_ms: 100 })).url)
  assert.deepEqual(await closeOf(waiting), [1014, 'The upstream sends nothing more.'])
  await until('the silent upstream was left', () => closed[0] === 1001)
  // Time enough for the upstream to begin, also on a busy machine.
  const slow = await openAt(t, (await startWatch(t, { ...upstream, silence_ms: 2000 })).url)
  slow.send('go')
  slow.pause()
  await until('the upstream was left for a client that does not read', () => closed.length === 2)
  const slow_closed = closeOf(slow)
  slow.resume()
  assert.deepEqual(await slow_closed, [1013, 'Messages were not read for too long.'])
})

test('an upstream that answers 401 is asked once more, with headers made afresh', async (t) => {
  const asked: string[] = []
  const inner = createServer((_request, answer) => answer.writeHead(401).end())
  const accepting = new WebSocketServer({ noServer: true })
  inner.on('upgrade', (request, socket, head) => {
    asked.push(String(request.headers['x-key']))
    if (request.headers['x-key'] === 'fresh') accepting.handleUpgrade(request, socket, head, (end) => end.send('in'))
    else socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
  })
  inner.listen(0, '127.0.0.1')
  await once(inner, 'listening')
  t.after(() => {
    for (const socket of accepting.clients) socket.terminate()
    inner.close()
  })
  const upstream = {
    subsystem: 'KVM',
    url: `ws://127.0.0.1:${(inner.address() as AddressInfo).port}/`,
    headers: { 'x-key': 'stale' },
  } as const
  const renewing = await startWatch(t, { ...upstream, renewHeaders: async () => ({ 'x-key': 'fresh' }) })
  await openAt(t, renewing.url)
  const stubborn = await startWatch(t, { ...upstream, renewHeaders: async () => ({ 'x-key': 'stale' }) })
  assert.equal(await openStatus(stubborn.url, '/toy/watch'), 502)
  assert.deepEqual(asked, ['stale', 'fresh', 'stale', 'stale'])
})

test('what is no WebSocket request is 426, and other routes ignore the wish to become one', async (t) => {
  const { url } = await startWatch(t, { open: () => ({ message: () => {}, closed: () => {} }) })
  const plain = await fetch(`${url}/toy/watch`)
  assert.equal(plain.status, 426)
  assert.deepEqual([plain.headers.get('upgrade'), plain.headers.get('sec-websocket-version')], ['websocket', '13'])
  assert.equal(((await plain.json()) as { code: string }).code, 'UPGRADE_REQUIRED')
  assert.equal(await openStatus(url, '/toy/plain'), 200)
  assert.equal(await openStatus(url, '/toy/none'), 404)
})

const PIECE = Buffer.alloc(64 * 1024)

/** Sends for as long as it is taken: what stays in this program's own memory is not counted as sent. */
function pump(socket: WebSocket, state: { sent: number }): void {
  const send = (): void => {
    if (socket.readyState !== WebSocket.OPEN) return
    socket.send(PIECE, () => {
      state.sent += PIECE.length
      send()
    })
  }
  send()
}

async function heldBack(state: { sent: number }): Promise<void> {
  let before = -1
  await until('the sender is held back', () => {
    const is_held = state.sent === before && state.sent > 0
    before = state.sent
    return is_held
  })
  // The buffers of two loopback connections and the bound of the bridge.
  assert.ok(state.sent < 32 * 1024 * 1024, `${state.sent} bytes`)
}

test('a client that does not read holds the upstream back, and gets all once it reads again', async (t) => {
  const state = { sent: 0 }
  const { upstream } = await startUpstream(t, (socket) => pump(socket, state))
  const { url } = await startWatch(t, upstream)
  const socket = await openAt(t, url)
  socket.pause()
  await heldBack(state)
  const held_at = state.sent
  let got = 0
  socket.on('message', (data) => {
    got += (data as Buffer).length
  })
  socket.resume()
  await until('more came than was held', () => got > held_at * 2)
})

test('an upstream that does not read holds the client back', async (t) => {
  const { upstream } = await startUpstream(t, (socket) => socket.pause())
  const { url } = await startWatch(t, upstream)
  const socket = await openAt(t, url)
  const state = { sent: 0 }
  pump(socket, state)
  await heldBack(state)
})

test('a source of our own talks to its client, waits for it, and learns that it is gone', async (t) => {
  const closed: number[] = []
  let handling = Promise.withResolvers<void>()
  const heard: string[] = []
  const { url } = await startWatch(t, {
    open(client: SocketClient) {
      client.send('ready')
      return {
        message(data) {
          heard.push(data.toString())
          return handling.promise
        },
        closed: (code) => closed.push(code),
      }
    },
  })
  const socket = socketAt(url, '/toy/watch')
  t.after(() => socket.terminate())
  const [ready] = (await once(socket, 'message')) as [Buffer]
  assert.equal(ready.toString(), 'ready')
  socket.send('one')
  await until('the first is handled', () => heard.length === 1)
  handling.resolve()
  handling = Promise.withResolvers<void>()
  handling.resolve()
  socket.send('two')
  await until('the second is handled', () => heard.length === 2)
  socket.close(4000)
  await until('the source learns it', () => closed[0] === 4000)
})

test('a source that does not wait for a client that does not read loses it instead of filling memory', async (t) => {
  let sent = 0
  const closed: number[] = []
  const { url } = await startWatch(t, {
    open(client) {
      const timer = setInterval(() => {
        for (let count = 0; count < 64 && client.send(PIECE); count += 1) sent += PIECE.length
      }, 1)
      return {
        message: () => {},
        closed(code) {
          clearInterval(timer)
          closed.push(code)
        },
      }
    },
  })
  const socket = await openAt(t, url)
  socket.pause()
  await until('the client is cut off', () => closed.length === 1)
  assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes`)
})

test('both ends are pinged every 20 s, and one that answers none of two is cut off', async (t) => {
  let turn = (): void => {}
  const intervals: number[] = []
  const every: ServerOptions['every'] = (interval_ms, run) => {
    intervals.push(interval_ms)
    turn = run
    return () => {}
  }
  let answered = 0
  const closed: number[] = []
  // What is sent at a ping arrives after the pong to it.
  const { upstream } = await startUpstream(t, (socket) => {
    socket.on('ping', () => socket.send('after the pong'))
    socket.on('message', () => (answered += 1))
    socket.on('close', (code) => closed.push(code))
  })
  const { url } = await startWatch(t, upstream, { every })
  const live = await openAt(t, url)
  live.on('ping', () => live.send('after the pong'))
  const mute = socketAt(url, '/toy/watch', { autoPong: false })
  t.after(() => mute.terminate())
  await once(mute, 'open')
  const heard = { live: 0, mute: 0 }
  live.on('message', () => (heard.live += 1))
  mute.on('message', () => (heard.mute += 1))
  for (let count = 1; count <= 2; count += 1) {
    turn()
    await until('all but one answered', () => heard.live === count && heard.mute === count && answered === count)
  }
  assert.deepEqual(intervals, [20_000])
  const lost = closeOf(mute)
  turn()
  assert.equal((await lost)[0], 1006)
  await until('its upstream is closed', () => closed.length === 1)
  assert.deepEqual([closed, live.readyState], [[1001], WebSocket.OPEN])
})

test('the end of a credential and the stop of the server close clients with a reason, and their upstreams', async (t) => {
  const closed: number[] = []
  const { upstream, server: inner } = await startUpstream(t, (socket) =>
    socket.on('close', (code) => closed.push(code)),
  )
  const toys = await startWatch(t, upstream)
  const first = await openAt(t, toys.url)
  const first_closed = closeOf(first)
  toys.endCredentials('The session has ended.')
  assert.deepEqual(await first_closed, [1008, 'The session has ended.'])
  await until('its upstream is closed', () => inner.clients.size === 0)
  const second = await openAt(t, toys.url)
  const second_closed = closeOf(second)
  await toys.server.close()
  assert.deepEqual(await second_closed, [1001, 'The service is stopping.'])
  await until('its upstream is closed', () => inner.clients.size === 0)
  assert.deepEqual(closed, [1008, 1001])
})
