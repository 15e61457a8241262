// Routes of kind proxy and bytes: an upstream's resource as it is, and ranges of our own bytes.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { Type } from 'typebox'
import { Closed } from '#src/contract/common.ts'
import { defineArea } from '#src/contract/route.ts'
import { startToys } from '../support/toy-server.ts'
import { until } from '../support/until.ts'

const area = defineArea({
  name: 'toy',
  description: 'For this test.',
  upstream_status: 502,
  routes: {
    toyFile: {
      method: 'GET', path: '/toy/files/{path*}', summary: 'Get file', access: 'viewer', kind: 'proxy', params: Closed({ path: Type.String() }),
      ok: { 200: Type.Unknown(), 206: Type.Unknown(), 304: Type.Unknown() }, errors: [400, 404, 416, 502], example: {},
    },
    toyLive: {
      method: 'GET', path: '/toy/live', summary: 'Get live', access: 'viewer', kind: 'proxy', ok: { 200: Type.Unknown() }, errors: [502], example: {},
    },
    toyText: {
      method: 'GET', path: '/toy/text', summary: 'Get text', access: 'viewer', kind: 'bytes', ok: { 200: Type.Unknown(), 206: Type.Unknown() },
      errors: [416], example: {},
    },
    toyWhole: {
      method: 'GET', path: '/toy/whole', summary: 'Get whole', access: 'viewer', kind: 'bytes', ok: { 200: Type.Unknown() }, errors: [], example: {},
    },
  },
}) // biome-ignore format: toys

async function startUpstream(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function startProxy(t: TestContext, listener: RequestListener): Promise<string> {
  return proxyTo(t, await startUpstream(t, listener))
}

async function proxyTo(t: TestContext, origin: string): Promise<string> {
  const to = { subsystem: 'NVR', origin, headers: { authorization: 'Basic of-the-upstream' } } as const
  const { url } = await startToys(t, area, {
    toyFile: ({ params }) => ({ ...to, path: ['store', ...params.path.split('/')], query: { a: 'b&c' } }),
    toyLive: () => ({ ...to, path: ['live'] }),
    toyText: () => ({ media_type: 'text/plain; charset=utf-8', body: '0123456789' }),
    toyWhole: () => ({ media_type: 'text/plain; charset=utf-8', body: '0123456789' }),
  })
  return url
}

const FILE = Buffer.from('0123456789')

/** Serves ranges and conditions of FILE, and says a few things that must not be passed on. */
function serveFile(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('etag', '"v1"').setHeader('content-type', 'video/mp4').setHeader('server', 'inner/1.2')
  response.setHeader('set-cookie', 'inner=1')
  if (request.headers['if-none-match'] === '"v1"') return void response.writeHead(304).end()
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
  if (from === undefined) return void response.setHeader('content-length', '10').end(FILE)
  if (Number(from) >= 10) return void response.writeHead(416, { 'content-range': 'bytes */10' }).end('inner words')
  response
    .writeHead(206, { 'content-range': `bytes ${from}-${to}/10` })
    .end(FILE.subarray(Number(from), Number(to) + 1))
}

test('a proxied resource keeps its ranges, conditions and length, and nothing else of either side passes', async (t) => {
  const asked: IncomingMessage[] = []
  const url = await startProxy(t, (request, response) => {
    asked.push(request)
    serveFile(request, response)
  })
  const get = (headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
    fetch(`${url}/toy/files/day%201/a%3F.mp4`, {
      method,
      headers: { authorization: 'Bearer ours', cookie: 'gp=1', ...headers },
    })

  const whole = await get()
  assert.equal(whole.status, 200)
  assert.equal(await whole.text(), '0123456789')
  assert.equal(whole.headers.get('content-length'), '10')
  assert.deepEqual([whole.headers.get('content-type'), whole.headers.get('etag')], ['video/mp4', '"v1"'])
  assert.deepEqual([whole.headers.get('server'), whole.headers.get('set-cookie')], [null, null])
  assert.equal(asked[0]?.url, '/store/day%201/a%3F.mp4?a=b%26c')
  assert.equal(asked[0]?.headers.authorization, 'Basic of-the-upstream')
  assert.equal(asked[0]?.headers.cookie, undefined)

  const part = await get({ range: 'bytes=2-4' })
  assert.deepEqual([part.status, await part.text(), part.headers.get('content-range')], [206, '234', 'bytes 2-4/10'])
  const same = await get({ 'if-none-match': '"v1"' })
  assert.deepEqual([same.status, await same.text(), same.headers.get('etag')], [304, '', '"v1"'])
  const outside = await get({ range: 'bytes=10-12' })
  assert.deepEqual([outside.status, outside.headers.get('content-range')], [416, 'bytes */10'])
  const problem = (await outside.json()) as { code: string; detail: string }
  assert.equal(problem.code, 'RANGE_NOT_SATISFIABLE')
  assert.ok(!problem.detail.includes('inner'))

  const head = await get({}, 'HEAD')
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, '10'])
  assert.equal(asked.at(-1)?.method, 'HEAD')
})

test('a range or condition is not passed to an upstream of a route that does not list its answer', async (t) => {
  const asked: IncomingMessage[] = []
  const url = await startProxy(t, (request, response) => {
    asked.push(request)
    response.end('live')
  })
  await (await fetch(`${url}/toy/live`, { headers: { range: 'bytes=0-1', 'if-none-match': '"v1"' } })).text()
  assert.deepEqual([asked[0]?.headers.range, asked[0]?.headers['if-none-match']], [undefined, undefined])
})

/** Sends the path as it is written: `fetch` would resolve it first. */
function statusOf(base: string, path: string): Promise<number | undefined> {
  const { hostname, port, pathname } = new URL(base)
  return new Promise((resolve, reject) => {
    httpRequest({ hostname, port, path: pathname + path, agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode))
    })
      .on('error', reject)
      .end()
  })
}

test('no spelling of a path leaves the folder that the handler named', async (t) => {
  const asked: string[] = []
  const url = await startProxy(t, (request, response) => {
    asked.push(request.url ?? '')
    response.end()
  })
  for (const path of ['%2e%2e/secret', 'a/%2E%2E/%2e%2e/secret', '..%2fsecret', '..%5csecret', 'a//b', '%2e']) {
    assert.equal(await statusOf(`${url}/toy/files/`, path), 400, path)
  }
  assert.equal(await statusOf(`${url}/toy/files/`, '%252e%252e/secret'), 200)
  assert.deepEqual(asked, ['/store/%252e%252e/secret?a=b%26c'])
})

test('an upstream that fails is the status of the area, and one that lacks the resource is 404', async (t) => {
  const url = await startProxy(t, (request, response) => {
    if (request.url?.includes('missing')) return void response.writeHead(404).end('inner words')
    if (request.url?.includes('broken')) return void request.socket.destroy()
    if (request.url?.includes('moved')) return void response.writeHead(302, { location: 'http://192.0.2.1/' }).end()
    response.writeHead(500).end('inner words')
  })
  for (const [path, status, code] of [
    ['missing', 404, 'NOT_FOUND'],
    ['failing', 502, 'NVR_ERROR'],
    ['moved', 502, 'NVR_ERROR'],
    ['broken', 502, 'NVR_UNAVAILABLE'],
  ] as const) {
    const answer = await fetch(`${url}/toy/files/${path}`, { redirect: 'manual' })
    const body = await answer.text()
    assert.deepEqual([answer.status, (JSON.parse(body) as { code: string }).code], [status, code], path)
    assert.ok(!body.includes('inner'), path)
  }
  const nowhere = await proxyTo(t, 'http://127.0.0.1:1')
  assert.equal((await fetch(`${nowhere}/toy/live`)).status, 502)
})

test('a resource that breaks off upstream breaks off here, so that half of it never looks whole', async (t) => {
  const url = await startProxy(t, (request, response) => {
    response.write('half', () => request.socket.destroy())
  })
  const answer = await fetch(`${url}/toy/live`)
  assert.equal(answer.status, 200)
  await assert.rejects(answer.text())
})

/** An upstream that sends for as long as somebody takes it. */
function endless(state: { sent: number; closed: boolean }): RequestListener {
  const piece = Buffer.alloc(256 * 1024)
  return (_request, response) => {
    const write = (): void => {
      while (!response.destroyed) {
        state.sent += piece.length
        if (!response.write(piece)) return
      }
    }
    response.on('drain', write)
    response.on('close', () => {
      state.closed = true
    })
    write()
  }
}

test('a client that does not read holds the upstream back, and one that leaves ends it', async (t) => {
  const state = { sent: 0, closed: false }
  const url = await startProxy(t, endless(state))
  const leaving = new AbortController()
  const answer = await fetch(`${url}/toy/live`, { signal: leaving.signal })
  let before = -1
  await until('the upstream is held back', () => {
    const is_held = state.sent === before
    before = state.sent
    return is_held
  })
  // What fits into the buffers of two loopback connections and three programs.
  assert.ok(state.sent < 64 * 1024 * 1024, `${state.sent} bytes`)
  leaving.abort()
  await assert.rejects(answer.text())
  await until('the upstream is left', () => state.closed)
})

test('the server stops although a proxied stream never ends', async (t) => {
  const state = { sent: 0, closed: false }
  const origin = await startUpstream(t, endless(state))
  const { url, server } = await startToys(t, area, {
    toyFile: () => ({ subsystem: 'NVR' as const, origin, path: [] }),
    toyLive: () => ({ subsystem: 'NVR' as const, origin, path: ['live'] }),
    toyText: () => ({ media_type: 'text/plain', body: '' }),
    toyWhole: () => ({ media_type: 'text/plain', body: '' }),
  })
  const answer = await fetch(`${url}/toy/live`)
  await server.close()
  await assert.rejects(answer.text())
  await until('the upstream is left', () => state.closed)
})

test('a long answer that is on its way when the server stops arrives whole', async (t) => {
  // More than the buffers of a connection hold.
  const body = Buffer.alloc(32 * 1024 * 1024, 'x')
  const { url, server } = await startToys(t, area, {
    toyFile: () => ({ subsystem: 'NVR' as const, origin: 'http://127.0.0.1:1', path: [] }),
    toyLive: () => ({ subsystem: 'NVR' as const, origin: 'http://127.0.0.1:1', path: [] }),
    toyText: () => ({ media_type: 'text/plain', body: '' }),
    toyWhole: () => ({ media_type: 'application/octet-stream', body }),
  })
  const asked = httpRequest(`${url}/toy/whole`, { agent: false }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const stopped = server.close()
  await until('nobody else is let in', () =>
    fetch(`${url}/toy/text`).then(
      () => false,
      () => true,
    ),
  )
  assert.equal((await buffer(answer)).length, body.length)
  await stopped
})

for (const [range, status, text, content_range] of [
  ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
  ['bytes=7-', 206, '789', 'bytes 7-9/10'],
  ['bytes=-3', 206, '789', 'bytes 7-9/10'],
  ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
  ['bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
  ['bytes=10-', 416, undefined, 'bytes */10'],
  ['bytes=-0', 416, undefined, 'bytes */10'],
  ['bytes=4-2', 200, '0123456789', null],
  ['bytes=0-1,3-4', 200, '0123456789', null],
  ['lines=0-1', 200, '0123456789', null],
] as const) {
  test(`bytes of ours answer the range ${range} with ${status}`, async (t) => {
    const url = await proxyTo(t, 'http://127.0.0.1:1')
    const answer = await fetch(`${url}/toy/text`, { headers: { range } })
    assert.deepEqual([answer.status, answer.headers.get('content-range')], [status, content_range])
    const body = await answer.text()
    if (text !== undefined) assert.equal(body, text)
    const whole = await fetch(`${url}/toy/whole`, { headers: { range } })
    assert.deepEqual([whole.status, await whole.text(), whole.headers.get('accept-ranges')], [200, '0123456789', null])
  })
}
