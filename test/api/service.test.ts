// The service itself: alive, ready, measured, logged, and the same habits in every answer.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#src/store/embedded/postgres.ts'
import type { Reply } from '../support/http.ts'
import { callsOf, control } from '../support/platform-calls.ts'
import { openStream } from '../support/sse-client.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'
import { tempFolder } from '../support/temp-folder.ts'

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
} as const

interface RawCall {
  path: string
  method?: string
  body?: string
  headers?: Record<string, string>
}

/** The bytes as they travel: fetch unpacks without a word. */
async function raw(
  lab: Lab,
  { path, method = 'GET', body, headers }: RawCall,
  accepted: string,
): Promise<{ status: number; headers: IncomingHttpHeaders; bytes: Buffer }> {
  const request = httpRequest(`${lab.url}${path}`, {
    method,
    agent: false,
    headers: {
      authorization: `Bearer ${lab.token}`,
      'accept-encoding': accepted,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  }).end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, bytes: await buffer(response) }
}

suite('a running service', () => {
  let lab: Lab
  before(async () => {
    lab = await startLab()
  })
  after(() => lab?.close())

  const lines = (request_id: string): Record<string, unknown>[] =>
    lab
      .logs()
      .split('\n')
      .filter((line) => line.includes(request_id))
      .map((line) => JSON.parse(line) as Record<string, unknown>)

  test('it is alive and ready, and names the subsystems it uses', async () => {
    const alive = await lab.call('GET', '/healthz', undefined, { token: null })
    assert.deepEqual([alive.status, alive.body], [200, { status: 'ok' }])
    const ready = await lab.call('GET', '/readyz', undefined, { token: null })
    assert.equal(ready.status, 200)
    const names = ready.body.checks.map((check: { name: string }) => check.name)
    for (const name of ['database', 'schema', 'compute']) assert.ok(names.includes(name), name)
    assert.ok(ready.body.checks.every((check: { ok: boolean }) => check.ok))
  })

  test('metrics need a token and count requests, calls of subsystems, jobs, streams and the database', async () => {
    const started = await lab.call('POST', '/compute/vms/list', { name: 'runner-02' })
    const id = started.body.virtual_machines[0].id
    const job = await lab.call(
      'POST',
      '/compute/vms/start',
      { virtual_machine_id: id },
      { headers: { prefer: 'wait=60' } },
    )
    assert.equal(job.status, 200, job.text)
    const stream = await openStream(`${lab.url}/events/sse`, lab.token)
    assert.equal((await lab.call('GET', '/metrics', undefined, { token: null })).status, 401)
    const text = await until('the metrics know the stream and the job', async () => {
      const { text: now } = await lab.call('GET', '/metrics')
      return (
        valueOf(now, 'groundplane_stream_clients') === 1 && (valueOf(now, 'groundplane_jobs_total') ?? 0) >= 1 && now
      )
    })
    stream.close()
    assert.match(text, /groundplane_request_seconds_count\{operation="vmList",status="200"\} 1/)
    assert.match(text, /groundplane_request_seconds_count\{operation="metricsGet",status="401"\} 1/)
    assert.match(
      text,
      /groundplane_upstream_seconds_count\{subsystem="compute",operation="listVirtualMachines",outcome="ok"\} \d+/,
    )
    assert.match(text, /groundplane_jobs_total\{type="[\w.]+",outcome="completed"\} 1/)
    for (const name of [
      'groundplane_jobs_running',
      'groundplane_database_connections',
      'groundplane_database_waiting',
    ]) {
      assert.ok(valueOf(text, name) !== undefined, name)
    }
    assert.ok((valueOf(text, 'process_resident_memory_bytes') ?? 0) > 0)
  })

  test('a long answer travels compressed for who accepts that, a short one and a stream as they are', async () => {
    const long = { path: '/compute/vms/list', method: 'POST', body: '{"page_size":200}' }
    const plain = await raw(lab, long, 'identity')
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.ok(plain.bytes.length > 8192)
    const unpack = { br: brotliDecompressSync, gzip: gunzipSync }
    for (const [accepted, encoding] of [['gzip', 'gzip'], ['gzip, deflate, br', 'br'], ['br;q=0, gzip;q=0.5', 'gzip']] as const) {
      const packed = await raw(lab, long, accepted)
      assert.deepEqual([packed.headers['content-encoding'], packed.headers.vary], [encoding, 'accept-encoding'])
      assert.ok(packed.bytes.length * 4 < plain.bytes.length, `${packed.bytes.length} of ${plain.bytes.length} bytes`)
      assert.deepEqual(JSON.parse(unpack[encoding](packed.bytes).toString()), JSON.parse(plain.bytes.toString()))
    }
    const short = await raw(lab, { path: '/version' }, 'br')
    assert.equal(short.headers['content-encoding'], undefined)
    const stream = await fetch(`${lab.url}/events/sse`, {
      headers: { authorization: `Bearer ${lab.token}`, 'accept-encoding': 'br' },
    })
    assert.equal(stream.headers.get('content-encoding'), null)
    await stream.body?.cancel()
  }) // biome-ignore format: a table

  test('the document and its pages are not sent again to who has them', async () => {
    for (const path of ['/openapi.json', '/docs', '/docs/reference.js']) {
      const first = await raw(lab, { path }, 'br')
      assert.equal(first.status, 200)
      const tag = first.headers.etag ?? ''
      const again = await raw(lab, { path, headers: { 'if-none-match': `"other", ${tag}` } }, 'gzip')
      assert.deepEqual([again.status, again.bytes.length, again.headers.etag], [304, 0, tag], path)
      const other = await raw(lab, { path, headers: { 'if-none-match': '"other"' } }, 'identity')
      assert.equal(other.status, 200)
    }
  })

  test('callers who ask for the reference and do not read it share its bytes', async () => {
    const path = '/docs/reference.js'
    const { bytes } = await raw(lab, { path }, 'identity')
    const { hostname, port } = new URL(lab.url)
    const sockets: Socket[] = []
    const before = process.memoryUsage().arrayBuffers
    try {
      for (let caller = 0; caller < 40; caller += 1) {
        const socket = connect(Number(port), hostname)
        sockets.push(socket)
        socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
        await once(socket, 'readable')
      }
      const grown = process.memoryUsage().arrayBuffers - before
      assert.ok(grown < 20 * bytes.length, `${grown} bytes for 40 callers of ${bytes.length} bytes`)
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  })

  test('the address of the service leads to the reference, which begins with an introduction', async () => {
    const root = await raw(lab, { path: '/' }, 'identity')
    assert.deepEqual([root.status, root.headers.location], [302, '/docs'])
    const page = (await raw(lab, { path: '/docs' }, 'identity')).bytes.toString()
    assert.match(page, /<title>Groundplane API<\/title><link rel="icon" href="data:image/)
    const document = JSON.parse((await raw(lab, { path: '/openapi.json' }, 'identity')).bytes.toString())
    for (const title of ['Sign in', 'Changes and waiting', 'Sending a change twice', 'Errors', 'Lists', 'Streams']) {
      assert.ok(document.info.description.includes(`## ${title}`), title)
    }
    const named = [...document.info.description.matchAll(/(GET|POST|PUT|DELETE) (\/[\w/{}.-]+)/g)]
    assert.ok(named.length >= 5)
    for (const [, method, path] of named) assert.ok(document.paths[path]?.[method.toLowerCase()], `${method} ${path}`)
  })

  test('every answer, errors and streams too, carries the security headers and a request id', async () => {
    const stream = await fetch(`${lab.url}/events/sse`, { headers: { authorization: `Bearer ${lab.token}` } })
    const answers: [string, { status: number; headers: Headers }][] = [
      ['success', await lab.call('GET', '/version')],
      ['bytes', await lab.call('GET', '/metrics')],
      ['page', await lab.call('GET', '/docs')],
      ['stream', stream],
      ['head', await lab.call('HEAD', '/healthz')],
      ['401', await lab.call('GET', '/version', undefined, { token: null })],
      ['404', await lab.call('GET', '/no/such/route')],
      ['method', await lab.call('DELETE', '/version')],
      ['validation', await lab.call('POST', '/compute/vms/list', { page: -1 })],
      ['bad JSON', await lab.call('POST', '/compute/vms/list', '{')],
      ['broken escape', await lab.call('GET', '/jobs/%zz')],
      ['redirect or rejection', await lab.call('GET', '/auth/oidc/start')],
    ]
    await stream.body?.cancel()
    for (const [what, { headers }] of answers) {
      for (const [name, value] of Object.entries(SECURITY_HEADERS))
        assert.equal(headers.get(name), value, `${what}: ${name}`)
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/, what)
      assert.ok(headers.get('cache-control') !== null, what)
      assert.match(headers.get('x-request-id') ?? '', /^[\w.-]{8,64}$/, what)
      assert.equal(headers.get('x-powered-by'), null, what)
      assert.equal(headers.get('server'), null, what)
    }
  })

  test('a harmless request id of the caller is kept, any other is replaced, and each id is its own', async () => {
    const ask = async (id?: string): Promise<string> => {
      const headers: Record<string, string> = id === undefined ? {} : { 'x-request-id': id }
      return (await lab.call('GET', '/healthz', undefined, { headers })).headers.get('x-request-id') ?? ''
    }
    assert.equal(await ask('caller-id.0042'), 'caller-id.0042')
    for (const bad of ['short', 'x'.repeat(65), 'has space in it', '<script>alert', 'semi;colon;colon']) {
      assert.notEqual(await ask(bad), bad)
    }
    assert.notEqual(await ask(), await ask())
    const { body, headers } = await lab.call('GET', '/no/such', undefined, {
      headers: { 'x-request-id': 'in-the-problem' },
    })
    assert.deepEqual([body.request_id, headers.get('x-request-id')], ['in-the-problem', 'in-the-problem'])
  })

  test('the trace of the caller goes on to the platform with a span of ours', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c'
    const span = 'b7ad6b7169203331'
    const list = (traceparent: string): Promise<Reply> =>
      lab.call('POST', '/compute/vms/list', { keyword: 'traced' }, { headers: { traceparent } })
    assert.equal((await list(`00-${trace}-${span}-01`)).status, 200)
    assert.equal((await list('not a trace')).status, 200)
    const answer = (await (await fetch(`${lab.platform.control_url}/calls`)).json()) as {
      calls: { command: string; params: Record<string, string>; traceparent: string | null }[]
    }
    const mine = answer.calls
      .filter(({ params }) => params.keyword === 'traced')
      .map(({ traceparent }) => traceparent ?? '')
    assert.ok(mine.length >= 2)
    const [, passed_on, passed_span, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-(\d\d)$/.exec(mine[0] ?? '') ?? []
    assert.deepEqual([passed_on, flags], [trace, '01'])
    assert.notEqual(passed_span, span)
    assert.match(mine.at(-1) ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-\d\d$/)
    assert.ok(!(mine.at(-1) ?? '').includes(trace))
  })

  test('each request is one line of log that names caller, operation, status and error code, and no query', async () => {
    const cases: [string, string, unknown, Record<string, unknown>][] = [
      [
        'GET',
        '/jobs?page_size=7',
        undefined,
        { operation: 'jobList', path: '/jobs', status: 200, caller: 'first admin token' },
      ],
      ['GET', '/no/such', undefined, { operation: 'none', status: 404, code: 'ROUTE_NOT_FOUND' }],
      ['GET', '/jobs/%zz', undefined, { operation: 'none', status: 400, code: 'INVALID_REQUEST' }],
      ['POST', '/compute/vms/byID', {}, { operation: 'vmGet', status: 400, code: 'INVALID_REQUEST' }],
    ]
    for (const [index, [method, path, body, expected]] of cases.entries()) {
      const id = `one-line-${index}`
      await lab.call(method, path, body, { headers: { 'x-request-id': id } })
      const found = await until('the line is written', () => lines(id).length > 0 && lines(id))
      assert.equal(found.length, 1, JSON.stringify(found))
      assert.partialDeepStrictEqual(found[0], { level: 'info', msg: 'request', request_id: id, method, ...expected })
      assert.ok(typeof found[0]?.ms === 'number')
      assert.ok(!JSON.stringify(found[0]).includes('page_size'))
    }
  })

  test('what is no request of this API is refused with a problem that says why', async () => {
    const list = '/compute/vms/list'
    const nul = String.fromCharCode(0)
    const refused: [string, Promise<Reply>, number, string][] = [
      ['unknown route', lab.call('GET', '/nothing/here'), 404, 'ROUTE_NOT_FOUND'],
      ['other method', lab.call('PUT', '/version', {}), 405, 'METHOD_NOT_ALLOWED'],
      ['trailing slash', lab.call('GET', '/version/'), 404, 'ROUTE_NOT_FOUND'],
      ['case', lab.call('GET', '/Version'), 404, 'ROUTE_NOT_FOUND'],
      ['escape', lab.call('GET', '/docs/..%2f..%2fetc/passwd'), 404, 'ROUTE_NOT_FOUND'],
      ['too large', lab.call('POST', list, { name: 'x'.repeat(3 * 1024 * 1024) }), 400, 'BODY_TOO_LARGE'],
      [
        'form',
        lab.call('POST', list, 'a=1', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
        400,
        'UNSUPPORTED_MEDIA_TYPE',
      ],
      [
        'text',
        lab.call('POST', list, '{}', { headers: { 'content-type': 'text/plain' } }),
        400,
        'UNSUPPORTED_MEDIA_TYPE',
      ],
      ['half an object', lab.call('POST', list, '{"name":'), 400, 'INVALID_REQUEST'],
      ['an array', lab.call('POST', list, '[]'), 400, 'INVALID_REQUEST'],
      ['a number', lab.call('POST', list, '7'), 400, 'INVALID_REQUEST'],
      ['__proto__', lab.call('POST', list, '{"__proto__":{"admin":true}}'), 400, 'INVALID_REQUEST'],
      ['constructor', lab.call('POST', list, '{"constructor":{"prototype":{"admin":true}}}'), 400, 'INVALID_REQUEST'],
      ['NUL in the body', lab.call('POST', list, { name: `a${nul}b` }), 400, 'INVALID_REQUEST'],
      ['NUL in the path', lab.call('GET', '/jobs/a%00b'), 400, 'INVALID_REQUEST'],
      ['NUL in the query', lab.call('GET', '/jobs?job_type=a%00b'), 400, 'INVALID_REQUEST'],
      ['broken escape', lab.call('GET', '/jobs/%zz'), 400, 'INVALID_REQUEST'],
      ['path part too long', lab.call('GET', `/jobs/${'x'.repeat(600)}`), 400, 'INVALID_REQUEST'],
      ['unknown member', lab.call('POST', list, { nmae: 'x' }), 400, 'INVALID_REQUEST'],
      ['text for a number', lab.call('POST', list, { page: '1' }), 400, 'INVALID_REQUEST'],
    ]
    for (const [what, asked, status, code] of refused) {
      const reply = await asked
      assert.deepEqual([reply.status, reply.body?.code], [status, code], `${what}: ${reply.text}`)
      assert.match(reply.headers.get('content-type') ?? '', /^application\/problem\+json/, what)
      for (const member of ['type', 'title', 'detail', 'instance', 'request_id'])
        assert.ok(reply.body[member], `${what}: ${member}`)
      assert.equal(reply.body.status, status, what)
      assert.doesNotMatch(reply.text, /node_modules|\.ts:\d|at \w+ \(/, `${what} shows our inside`)
    }
    assert.equal(({} as { admin?: boolean }).admin, undefined)
    assert.equal((await lab.call('GET', '/healthz')).status, 200)
  })

  test('a peer that speaks no HTTP is answered 400 and disconnected, and harms nobody else', async () => {
    const { hostname, port } = new URL(lab.url)
    const answer = await new Promise<string>((resolve, reject) => {
      let text = ''
      const socket = connect(Number(port), hostname, () => socket.write('\u0016\u0003\u0001 not http\r\n\r\n'))
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk
      })
      socket.on('error', reject).on('close', () => resolve(text))
    })
    assert.match(answer, /^HTTP\/1\.1 400 /)
    assert.equal((await lab.call('GET', '/healthz')).status, 200)
  })

  test('the reference page works without a network and loads no script of another site', async () => {
    const page = await lab.call('GET', '/docs', undefined, { token: null })
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
    const outside = [...page.text.matchAll(/(?:https?:)?\/\/[\w.-]+\.\w+[^"'\s<]*/g)].map(([url]) => url)
    assert.deepEqual(
      outside.filter((url) => !url.startsWith('http://www.w3.org/')),
      [],
    )
    const policy = new Map(
      (page.headers.get('content-security-policy') ?? '').split('; ').map((part) => {
        const [name = '', ...sources] = part.split(' ')
        return [name, sources] as const
      }),
    )
    assert.deepEqual(policy.get('default-src'), ["'none'"])
    assert.deepEqual(policy.get('connect-src'), ["'self'"])
    const scripts = policy.get('script-src') ?? []
    assert.ok(
      scripts.every((source) => source === "'self'" || source.startsWith("'sha256-")),
      scripts.join(' '),
    )
    const sources = [...page.text.matchAll(/<script[^>]*\ssrc="([^"]+)"/g)].map((match) => match[1])
    assert.deepEqual(sources, ['/docs/reference.js'])
    const script = await lab.call('GET', '/docs/reference.js', undefined, { token: null })
    assert.equal(script.status, 200)
    assert.ok(script.text.length > 100_000)
    const document = await lab.call('GET', '/openapi.json', undefined, { token: null })
    assert.match(document.body.openapi, /^3\.1/)
  })
})

suite('a service whose database goes away', () => {
  const state_dir = tempFolder('gp-gone-db-')
  let postgres: EmbeddedPostgres | undefined
  let lab: Lab | undefined
  const startDatabase = (): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({ state_dir, log: () => {}, fsync: false })
  before(async () => {
    postgres = await startDatabase()
    lab = await startLab({ database: { connection: postgres.connection, drop: async () => {} } })
  })
  after(async () => {
    await lab?.close()
    await postgres?.stop()
  })

  test('it lives on, says that it is not ready, and works again when the database is back', {
    timeout: 300_000,
  }, async () => {
    assert.ok(lab !== undefined && postgres !== undefined)
    const { call, url, token } = lab
    const status = async (path: string): Promise<number> => (await call('GET', path)).status
    assert.equal(await status('/readyz'), 200)
    // Connections in the middle of a transaction are lost otherwise than idle ones.
    let under_load = true
    const load = Array.from({ length: 8 }, async () => {
      while (under_load) {
        const reply = await call('POST', '/auth/tokens', { name: 'under load', role: 'viewer' })
        assert.ok([201, 500].includes(reply.status), reply.text)
      }
    })
    await until('changes are made', async () => (await call('GET', '/auth/tokens?name=under load')).body.count > 20)
    await postgres.stop()
    const unready = await until('it is not ready', async () => {
      const reply = await call('GET', '/readyz', undefined, { token: null })
      return reply.status === 503 && reply
    })
    under_load = false
    await Promise.all(load)
    assert.equal(unready.body.code, 'NOT_READY')
    assert.match(unready.body.detail, /database/)
    assert.equal(await status('/healthz'), 200)
    const failing = await call('GET', '/jobs')
    assert.equal(failing.status, 500)
    assert.equal(failing.body.code, 'STORE_UNAVAILABLE')
    assert.equal(failing.headers.get('retry-after'), '5')
    assert.doesNotMatch(failing.text, /ECONN|ENOENT|PGSQL|postgres/i)

    postgres = await startDatabase()
    await until('it is ready again', async () => (await status('/readyz')) === 200)
    assert.equal(await status('/jobs'), 200)
    const stream = await openStream(`${url}/events/sse?channels=app-event`, token)
    await until('the stream is open', () => stream.last_id !== undefined)
    const heard = async (n: number): Promise<boolean> => {
      const made = await call('POST', '/auth/tokens', { name: `after ${n}`, role: 'viewer' })
      assert.equal(made.status, 201, made.text)
      return stream.messages.some(({ data }) => data.action === 'tokenCreate' && data.status === 'SUCCESS')
    }
    let tries = 0
    await until('changes are heard again', () => heard((tries += 1)))
    const list = await call('POST', '/compute/vms/list', { name: 'runner-02' })
    const started = await call(
      'POST', '/compute/vms/start', { virtual_machine_id: list.body.virtual_machines[0].id }, { headers: { prefer: 'wait=60' } },
    ) // biome-ignore format: one call
    assert.equal(started.status, 200, started.text)
    stream.close()
  })
})

suite('a service that is asked to stop', () => {
  let lab: Lab | undefined
  before(async () => {
    lab = await startLab()
  })
  after(() => lab?.close())

  test('while it drains it is not ready and still serves who comes', async (t) => {
    const draining = await startLab({ config: { listen: { port: 0, drain_seconds: 4 } } })
    t.after(() => draining.close())
    assert.equal((await draining.call('GET', '/readyz', undefined, { token: null })).status, 200)
    const began = performance.now()
    const stopped = draining.control.close()
    const ready = await draining.call('GET', '/readyz', undefined, { token: null })
    assert.equal(ready.status, 503)
    assert.match(ready.body.detail, /serving: is stopping/)
    assert.equal((await draining.call('GET', '/version')).status, 200)
    await stopped
    assert.ok(performance.now() - began >= 3900)
    await assert.rejects(draining.call('GET', '/healthz'))
  })

  test('streams are ended, a change in flight gets its answer, new callers are refused, and it ends in time', async () => {
    assert.ok(lab !== undefined)
    const { call, url, token } = lab
    const stream = await openStream(`${url}/events/sse`, token)
    await until('the stream is open', () => stream.last_id !== undefined)
    // As browsers and load balancers do: opened ahead, and nothing is ever sent.
    const unused = connect(Number(new URL(url).port), '127.0.0.1')
    await once(unused, 'connect')
    const list = await call('POST', '/compute/vms/list', { name: 'web-01' })
    const { id } = list.body.virtual_machines[0]
    await control(lab, 'slow', { command: 'updateVirtualMachine', delay_ms: 1500 })
    const sent = call('POST', '/compute/vms/update', { virtual_machine_id: id, display_name: 'Renamed while stopping' })
    await until(
      'the change is on its way',
      async () => lab !== undefined && (await callsOf(lab, 'updateVirtualMachine')).length > 0,
    )
    const began = performance.now()
    const stopped = lab.control.close()
    const answer = await sent
    assert.equal(answer.status, 200, answer.text)
    await stopped
    const took_ms = performance.now() - began
    assert.ok(took_ms < 30_000, `stopping took ${took_ms} ms`)
    await stream.ended
    assert.equal(stream.messages.at(-1)?.event, 'closing')
    await assert.rejects(call('GET', '/healthz'))
    unused.destroy()
    await lab.restart()
    const renamed = await lab.call('POST', '/compute/vms/byID', { virtual_machine_id: id })
    assert.equal(renamed.body.display_name, 'Renamed while stopping')
    const events = await lab.call('POST', '/events/app-events', { action: 'vmUpdate' })
    assert.deepEqual(
      events.body.app_events.map((event: { status: string }) => event.status),
      ['SUCCESS'],
    )
  })
})

/** Sum of all series of this name. */
function valueOf(metrics: string, name: string): number | undefined {
  const values = [...metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? ([\\d.e+-]+)$`, 'gm'))].map((match) =>
    Number(match[1]),
  )
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0)
}
