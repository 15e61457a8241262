// The driver of the NVR against every recorded answer of both versions: each is read, is a no that the caller understands, or is a
// failure; never something else.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { createFrigate, type Frigate, NVR_SERVER_NAME } from '#src/drivers/frigate/client.ts'
import { UpstreamError } from '#src/kernel/errors.ts'
import { openClip } from '#src/modules/cam/clips.ts'
import { selfSigned } from '../../lab/nvr/certificate.ts'
import { type FakeNvr, startFakeNvr } from '../support/fake-nvr.ts'

interface Recorded {
  version: string
  operation: string
  recorded: string
  status: number
  json?: unknown
  text?: string
  type?: string
  bytes?: number
  cookie?: string[]
}

const RECORDED = JSON.parse(
  readFileSync(new URL('../fixtures/frigate/exchanges.json', import.meta.url), 'utf8'),
) as Recorded[]
const LOGIN: Recorded = {
  version: '',
  operation: 'login',
  recorded: '',
  status: 200,
  text: '',
  cookie: ['frigate_token=a.b.c; Path=/'],
}

let fake: FakeNvr
/** What is answered to everything but the login, and to the login. */
let answer: Recorded = LOGIN
let login: Recorded = LOGIN
let logins = 0

before(async () => {
  fake = await startFakeNvr((request, response) => {
    const is_login = request.url === '/api/login'
    if (is_login) logins += 1
    const { status, json, text = '', type, bytes = 0, cookie } = is_login ? login : answer
    const body = json === undefined ? (type === undefined ? text : Buffer.alloc(bytes, 1)) : JSON.stringify(json)
    request.resume().on('end', () => {
      response.writeHead(status, {
        'content-type': json === undefined ? (type ?? 'text/plain') : 'application/json',
        ...(cookie === undefined ? {} : { 'set-cookie': cookie }),
      })
      response.end(body)
    })
  })
})
after(() => fake.close())

function client(): Frigate {
  const tls = { ca: fake.ca, servername: NVR_SERVER_NAME }
  return createFrigate({ origin: fake.url, password: 'secret', tls }, () => {})
}

const signal = new AbortController().signal
const NO = 'a no'

/** How each operation is called, and what an answer that is neither read nor a failure becomes. */
const CALLS: Record<string, (nvr: Frigate) => Promise<unknown>> = {
  login: (nvr) => nvr.transport.session.token(),
  version: (nvr) => nvr.version(signal),
  config: (nvr) => nvr.config(),
  stats: (nvr) => nvr.stats(),
  events: (nvr) => nvr.events({}, signal),
  event: async (nvr) => (await nvr.event('1.5-abc', signal)) ?? NO,
  image: async (nvr) => (await nvr.image('image', '/api/x.jpg', signal)) ?? NO,
  clip: async (nvr) => {
    const clip = await openClip(nvr, '/api/x/clip.mp4', signal)
    if (clip === undefined) return NO
    ;(clip.body as NodeJS.ReadableStream).resume()
    return clip
  },
  review: (nvr) => nvr.review({}, signal),
  motion: (nvr) => nvr.motion({}, signal),
  segments: (nvr) => nvr.segments('cam1', {}, signal),
  summary: (nvr) => nvr.summary('cam1', {}, signal),
  previews: (nvr) => nvr.previews('cam1', 1, 2, signal),
  frames: (nvr) => nvr.frames('cam1', 1, 2, signal),
  faces: (nvr) => nvr.faces(signal),
  restart: (nvr) => nvr.restart(signal),
  setRecord: (nvr) => nvr.setRecord('cam1', true, signal).then(said),
  setViewed: (nvr) => nvr.setViewed(['1.5-abc'], true, signal).then(said),
  setUnviewed: (nvr) => nvr.setUnviewed('1.5-abc', signal).then(said),
  createPerson: (nvr) => nvr.createPerson('ada', signal).then(said),
  classifyFace: (nvr) => nvr.classifyFace('ada', 'x.webp', signal).then(said),
  registerFace: (nvr) => nvr.registerFace('ada', Buffer.from('x'), 'image/jpeg', signal).then(said),
}

function said(written: { done: boolean }): unknown {
  return written.done ? 'done' : NO
}

/** Statuses that are answers of an operation and no failures. */
const NO_STATUSES: Record<string, readonly number[]> = {
  event: [404], image: [404], clip: [400, 404], previews: [404], setRecord: [400, 404, 422], setViewed: [400, 404, 422], setUnviewed: [400, 404, 422],
  createPerson: [400, 404, 422], classifyFace: [400, 404, 422], registerFace: [400, 404, 422],
} // biome-ignore format: a table

function expectedOf({ operation, status, text, json, recorded }: Recorded): 'read' | 'a no' | 'nothing' | 'a failure' {
  if (operation === 'previews' && status === 404) return 'read'
  if (operation === 'clip' && status === 200 && text === '') return NO
  if (operation === 'image' && status === 200 && text === '') return 'a failure'
  assert.ok(json !== undefined || text !== undefined || status === 200, recorded)
  if (status === 200) return 'read'
  return NO_STATUSES[operation]?.includes(status) === true ? NO : 'a failure'
}

test('each recorded answer of the NVR is read, is a no, or is a failure with its status', async () => {
  const wrong: string[] = []
  for (const row of RECORDED) {
    const is_login = row.operation === 'login'
    login = is_login ? row : LOGIN
    answer = is_login ? LOGIN : row
    const nvr = client()
    const outcome = await (CALLS[row.operation] ?? assert.fail(row.operation))(nvr).then(
      (value) => (value === NO ? NO : 'read'),
      (error: unknown) => (error instanceof UpstreamError && error.status === row.status ? 'a failure' : String(error)),
    )
    await nvr.transport.close()
    if (outcome !== expectedOf(row)) wrong.push(`${row.version} ${row.operation} ${row.recorded}: ${outcome}`)
  }
  assert.deepEqual(wrong, [])
  assert.ok(RECORDED.length > 100)
})

test('a login that is rejected is renewed once, and what is rejected again is a failure', async () => {
  login = LOGIN
  answer = { ...LOGIN, status: 401, json: { detail: 'Authentication required' } }
  logins = 0
  const nvr = client()
  await assert.rejects(nvr.stats(), (error: UpstreamError) => error.status === 401)
  assert.equal(logins, 2)
  await nvr.transport.close()
})

test('only the certificate that was installed is trusted, whatever the address', async () => {
  login = LOGIN
  answer = { ...LOGIN, json: {} }
  const other = await selfSigned(NVR_SERVER_NAME)
  for (const tls of [
    { ca: other.cert, servername: NVR_SERVER_NAME },
    { ca: fake.ca, servername: 'another.name' },
  ]) {
    const nvr = createFrigate({ origin: fake.url, password: 'secret', tls }, () => {})
    await assert.rejects(nvr.stats(), (error: UpstreamError) => error.failure === 'unavailable')
    await nvr.transport.close()
  }
})

test('one who leaves while the login runs does not take it from the others', async () => {
  login = LOGIN
  answer = { ...LOGIN, json: { cameras: {} } }
  const nvr = client()
  const gone = new AbortController()
  const left = nvr.stats({ signal: gone.signal })
  const stayed = nvr.stats()
  gone.abort(new Error('gone'))
  await assert.rejects(left, /gone/)
  assert.deepEqual((await stayed).cameras, {})
  await nvr.transport.close()
})
