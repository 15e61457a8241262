// Requests that want to cost more than they are worth, and requests that are no proper text, number, time or HTTP: refused
// with a small answer that says why, before anything is asked of a subsystem.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { type OutgoingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { areas } from '#src/contract/index.ts'
import type { Reply } from '../support/http.ts'
import { type Lab, startLab } from '../support/start-lab.ts'

const SECRET = 'a secret of the webhook'
const KIB = 1024

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step', config: { compute: { hook_secret: SECRET } } })
})
after(() => lab?.close())

interface Sent {
  method?: string
  path: string
  headers?: OutgoingHttpHeaders
  body?: string | Buffer
  token?: boolean
}

/** Exactly these bytes: fetch() would mend some of them. */
function send({ method = 'POST', path, headers = {}, body, token = true }: Sent): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const all = {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token ? { authorization: `Bearer ${lab.token}` } : {}),
      ...headers,
    }
    const call = request(`${lab.url}/`, { method, path, headers: all, agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const json = answer.headers['content-type']?.includes('json') === true && text !== ''
        const seen = new Headers(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]))
        resolve({ status: answer.statusCode ?? 0, headers: seen, text, body: json ? JSON.parse(text) : null })
      })
    })
    call.on('error', reject)
    call.end(body)
  })
}

function refused(reply: Reply, code = 'INVALID_REQUEST', status = 400): void {
  assert.deepEqual([reply.status, reply.body?.code], [status, code], reply.text.slice(0, 500))
  assert.ok(reply.text.length <= 64 * KIB, `${reply.text.length} bytes`)
}

const LIST = '/compute/vms/list'
const unknownFields = (count: number, name = 'f'): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`${name}${n}`, 1])))

test('an answer names 20 wrong fields at most and is at most 64 KiB long, however many and long the fields are', async () => {
  const many = await send({ path: LIST, body: unknownFields(900) })
  refused(many)
  assert.equal(many.body.errors.length, 20)
  const crowded = await send({ path: LIST, body: unknownFields(15_000) })
  refused(crowded)
  assert.ok(crowded.body.errors.length >= 1)
  refused(await send({ path: LIST, body: unknownFields(30, 'x'.repeat(60 * KIB)) }))
  refused(await send({ path: LIST, body: JSON.stringify({ page_size: 'y'.repeat(KIB * KIB) }) }))
  refused(await send({ method: 'GET', path: `/jobs?page=${'z'.repeat(12 * KIB)}` }))
  const nowhere = await send({ method: 'GET', path: `/"${'"'.repeat(12 * KIB)}` })
  refused(nowhere, 'ROUTE_NOT_FOUND', 404)
})

test('bodies that are nested deeper than 64 levels or have more than 20,000 members are refused before they are parsed', async () => {
  const deep = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  const rejections: [string, RegExp][] = [
    [deep(65), /64 levels/],
    ['['.repeat(900_000), /64 levels/],
    [unknownFields(20_001), /20000 members/],
    [`[${'0,'.repeat(600_000)}0]`, /20000 members/],
  ]
  for (const [body, sentence] of rejections) {
    const reply = await send({ path: LIST, body })
    refused(reply)
    assert.match(reply.body.detail, sentence)
  }
  const allowed = await send({ path: LIST, body: deep(64) })
  assert.match(allowed.body.detail, /body\.a is not a field/, 'deep enough is judged by its fields')
  const in_text = await send({ path: LIST, body: JSON.stringify({ keyword: `"${'[{,'.repeat(80)}` }) })
  assert.equal(in_text.status, 200, in_text.text)
})

const tokenless = areas
  .flatMap((area) => Object.values(area.routes))
  .filter(({ access, body }) => (access === 'public' || access === 'callback') && body !== undefined)

for (const { method, path } of tokenless) {
  test(`${method} ${path}, which needs no token, takes no body above 64 KiB`, async () => {
    const reply = await send({ method, path, token: false, body: JSON.stringify({ a: 'x'.repeat(65 * KIB) }) })
    refused(reply, 'BODY_TOO_LARGE')
    assert.match(reply.body.detail, /64 KiB/)
  })
}

test('a callback is refused by its signature before its body is looked at', async () => {
  const path = '/hooks/compute'
  const sign = (body: string): string => createHmac('sha256', SECRET).update(body).digest('base64')
  const half = '{"event":'
  refused(await send({ path, token: false, body: half }), 'HOOK_SIGNATURE', 401)
  const forged = { 'x-cs-signature': sign('other'), 'x-cs-event-id': 'e-1' }
  refused(await send({ path, token: false, body: half, headers: forged }), 'HOOK_SIGNATURE', 401)
  const signed = { 'x-cs-signature': sign(half), 'x-cs-event-id': 'e-1' }
  refused(await send({ path, token: false, body: half, headers: signed }))
  for (const call of ['heartbeat', 'renew']) {
    const reply = await send({ path: `/configure/nodes/${call}`, token: false, body: half })
    refused(reply, 'NODE_CREDENTIAL_REJECTED', reply.status)
    assert.ok([400, 401].includes(reply.status))
  }
})

test('what is no text is refused in body, query and path, before the platform is asked', async () => {
  // The service polls by itself; what these requests would ask for carries a keyword.
  const calls = async (): Promise<number> => {
    const answer = (await (await fetch(`${lab.platform.control_url}/calls`)).json()) as {
      calls: { params: Record<string, string> }[]
    }
    return answer.calls.filter(({ params }) => params.keyword !== undefined).length
  }
  const asked_before = await calls()
  const invalid_utf8 = Buffer.concat([Buffer.from('{"keyword":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])
  const surrogate_bytes = Buffer.concat([
    Buffer.from('{"keyword":"'),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from('"}'),
  ])
  for (const body of [
    '{"keyword":"\\ud800"}',
    '{"keyword":"a\\uDC00b"}',
    '{"\\ud83d":1}',
    '{"keyword":"a\\u0000b"}',
    invalid_utf8,
    surrogate_bytes,
  ]) {
    refused(await send({ path: LIST, body }))
  }
  for (const path of [
    '/jobs?job_type=%ff',
    '/jobs?job_type=%ED%A0%80',
    '/jobs?job_type=%zz',
    '/jobs/%C3%28',
    '/jobs?job_type=%00',
  ]) {
    refused(await send({ method: 'GET', path }))
  }
  assert.equal(await calls(), asked_before)
  const emoji = await send({ path: LIST, body: '{"keyword":"\\ud83d\\ude00 \\\\ud800"}' })
  assert.equal(emoji.status, 200, emoji.text)
  const escaped = await send({ method: 'GET', path: '/jobs?job_type=%F0%9F%98%80' })
  assert.ok(escaped.status === 200 || escaped.body.errors[0].path === 'query.job_type', escaped.text)
})

test('numbers are decimal and within the range that the contract publishes', async () => {
  for (const page of ['0x10', '0b1', ' 7', '1_0', '', 'Infinity', '1e18', '1e999', '9007199254740993']) {
    const reply = await send({ method: 'GET', path: `/jobs?page=${encodeURIComponent(page)}` })
    refused(reply)
    assert.equal(reply.body.errors[0].path, 'query.page', page)
  }
  for (const page of ['1e18', '1e999', '"7"', '1.5']) refused(await send({ path: LIST, body: `{"page":${page}}` }))
  assert.equal((await send({ method: 'GET', path: '/jobs?page=2&page_size=10' })).status, 200)
})

test('times are RFC 3339, of real days, without leap seconds and with offsets that exist', async () => {
  for (const end_date of [
    '0', '2026', '2026-11-20', '2026-02-30T00:00:00Z', '2026-13-01T00:00:00Z', '2026-11-20T23:59:60Z', '2026-11-20 10:00:00Z',
    '2026-11-20T10:00:00+14:01', '2026-11-20T10:00:00-23:00', '2026-11-20T24:00:00Z', '2026-11-20T10:00:00', '0000-01-01T00:00:00Z',
  ]) {
    const reply = await send({ path: '/alerts/archive', body: JSON.stringify({ end_date }) })
    refused(reply)
    assert.equal(reply.body.errors[0].path, 'body.end_date', end_date)
  } // biome-ignore format: a list of times
})

test('a body may be compressed, within the same limits', async () => {
  const body = JSON.stringify({ page_size: 1 })
  for (const [coding, bytes] of [
    ['gzip', gzipSync(body)],
    ['deflate', deflateSync(body)],
    ['br', brotliCompressSync(body)],
    ['identity', Buffer.from(body)],
  ] as const) {
    const reply = await send({ path: LIST, body: bytes, headers: { 'content-encoding': coding } })
    assert.equal(reply.status, 200, `${coding}: ${reply.text}`)
  }
  const bomb = gzipSync(Buffer.alloc(50 * KIB * KIB, 'x'))
  refused(await send({ path: LIST, body: bomb, headers: { 'content-encoding': 'gzip' } }), 'BODY_TOO_LARGE')
  refused(await send({ path: LIST, body, headers: { 'content-encoding': 'gzip' } }))
  refused(await send({ path: LIST, body, headers: { 'content-encoding': 'zstd' } }), 'UNSUPPORTED_MEDIA_TYPE')
})

test('a form may not be compressed, and says so', async () => {
  const headers = { 'content-encoding': 'gzip', 'content-type': 'multipart/form-data; boundary=x' }
  const reply = await send({ path: '/cam/faces/ann', body: gzipSync('--x--'), headers })
  refused(reply, 'UNSUPPORTED_MEDIA_TYPE')
  assert.match(reply.text, /Send the form without Content-Encoding/)
})

test('a path called with a method that it has not is answered with those that it has', async () => {
  for (const [method, path, allow] of [
    ['DELETE', '/version', 'GET, HEAD'],
    ['PATCH', '/auth/tokens/7', 'DELETE, GET, HEAD'],
    ['OPTIONS', '/compute/vms/list', 'POST'],
  ] as const) {
    const reply = await send({ method, path })
    refused(reply, 'METHOD_NOT_ALLOWED', 405)
    assert.equal(reply.headers.get('allow'), allow)
  }
})

test('HEAD of a stream is answered by its headers', async () => {
  const reply = await send({ method: 'HEAD', path: '/events/sse' })
  assert.equal(reply.status, 200)
  assert.match(reply.headers.get('content-type') ?? '', /^text\/event-stream/)
  assert.equal((await send({ method: 'HEAD', path: '/events/sse', token: false })).status, 401)
})

test('what is no HTTP is answered with a problem, too', async () => {
  const { hostname, port } = new URL(lab.url)
  for (const [bytes, status] of [
    ['NONSENSE\r\n\r\n', 400],
    [`GET /${'x'.repeat(20 * KIB)} HTTP/1.1\r\nhost: a\r\n\r\n`, 431],
    ['POST /version HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n', 400],
  ] as const) {
    const socket = connect(Number(port), hostname)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.write(bytes)
    await once(socket, 'close')
    const [head = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n')
    assert.match(head, new RegExp(`^HTTP/1.1 ${status} `))
    assert.match(head, /content-type: application\/problem\+json/)
    assert.match(head, /x-content-type-options: nosniff/)
    assert.partialDeepStrictEqual(JSON.parse(body), { status, code: 'INVALID_REQUEST' })
  }
})
