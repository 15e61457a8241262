/**
 * The simulated NVR against recordings of the real one: each recorded request, message and configuration file gives the recorded
 * kind of answer, apart from the list of reasons. The README beside the fixtures says how they were made.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { readConfigFile } from '../../lab/nvr/config-file.ts'
import type { Timetable } from '../../lab/nvr/cameras.ts'
import { signToken } from '../../lab/nvr/sessions.ts'
import { until } from '../support/until.ts'
import { type Feed, type NvrClient, startNvrClient } from './nvr-client.ts'
import { OTHER_ANSWERS, OTHER_MEDIA, OTHER_TOPICS } from './nvr-recorded-differences.ts'

type Release = '0.16' | '0.17'

interface Exchange {
  release: Release
  name: string
  as?: string
  method: string
  path: string
  headers?: Record<string, string>
  json?: unknown
  text?: string
  multipart?: string
  status: number
  type?: string
  answer?: { text?: string; json?: unknown; keys?: string[]; list?: string[] | 'texts'; detail?: unknown[] }
}

interface TopicExchange {
  release: Release
  name: string
  as: string
  sent: unknown
  frames: [string, unknown?][]
  closed?: number
}

interface MediaExchange {
  name: string
  url: string
  sent: unknown[]
  received: [string, unknown][]
  closed_by: string
}

const FIXTURES = new URL('../fixtures/nvr/', import.meta.url)
/** When the real programs were recorded; times of requests are moved as far as that is past. */
const RECORDED_S = { '0.17': 1_795_300_809, '0.16': 1_795_300_848 }
const PASSWORDS = { admin: 'Adm1nPlaceholder', view1: 'View1Placeholder', gate1: 'Gate1Placeholder' }
const USERS = [
  { name: 'view1', role: 'viewer', password: PASSWORDS.view1 },
  { name: 'gate1', role: 'gatekeeper', password: PASSWORDS.gate1 },
]

const closes: (() => Promise<unknown>)[] = []
after(async () => {
  for (const close of closes) await close()
})

function lines<T>(file: string): T[] {
  const text = readFileSync(new URL(file, FIXTURES), 'utf8')
  return text.trim().split('\n').map((line) => JSON.parse(line) as T) // biome-ignore format: our own files, written by the reduction
}

async function recordedSite(release: Release, timetable: Partial<Timetable>): Promise<NvrClient> {
  const nvr = await startNvrClient({
    release,
    config_file: readFileSync(new URL(`config-${release}.yml`, FIXTURES), 'utf8'),
    admin_password: PASSWORDS.admin,
    users: release === '0.17' ? USERS : USERS.slice(0, 1),
    timetable,
  })
  closes.push(() => nvr.close())
  return nvr
}

test('every recorded configuration file is judged as the real releases judge it', () => {
  for (const { name, text, ...verdicts } of lines<{ name: string; text: string } & Record<Release, string>>(
    'configs.ndjson',
  )) {
    for (const release of ['0.16', '0.17'] as const) {
      assert.equal(readConfigFile(text, release).outcome, verdicts[release], `${name} in ${release}`)
    }
  }
})

for (const release of ['0.17', '0.16'] as const) {
  test(`every recorded request is answered as ${release} answered it`, async () => {
    const nvr = await recordedSite(release, { person_every_s: 400, car_every_s: 600 })
    const sessions = new Map([['admin', nvr.call]])
    for (const { name, password } of nvr.lab.state.users.values())
      sessions.set(name, (await nvr.as(name, password)).call)
    const ids = await replacements(nvr)
    const different = new Map<string, string>()
    for (const exchange of lines<Exchange>('exchanges.ndjson').filter((one) => one.release === release)) {
      if (exchange.name.startsWith('safe-mode:')) breakFile(nvr)
      if (exchange.name.startsWith('faces:')) turnFacesOn(nvr, !exchange.name.endsWith('disabled'))
      const difference = await compare(nvr, sessions.get(exchange.as ?? 'admin') ?? nvr.call, exchange, ids)
      if (difference !== null) different.set(exchange.name, difference)
    }
    assertExplained(different, OTHER_ANSWERS)
  })

  test(`every recorded message to the topics is followed by the frames of ${release}`, async () => {
    // Nobody passes, so that nothing is published in between.
    const nvr = await recordedSite(release, { person_every_s: 1e9, car_every_s: 1e9 })
    const different = new Map<string, string>()
    for (const exchange of lines<TopicExchange>('topics.ndjson').filter((one) => one.release === release)) {
      const session = exchange.as === 'admin' ? nvr : await nvr.as('view1', PASSWORDS.view1)
      const difference = await compareTopic(session, exchange)
      if (difference !== null) different.set(exchange.name, difference)
      if (/^restart( as viewer)?$/.test(exchange.name)) await until('it restarts or not', () => settled(nvr, exchange))
      await nvr.control('phase', { phase: 'ready' })
    }
    assertExplained(different, OTHER_TOPICS)
  })
}

test('every recorded message to the relay is answered in kind', async () => {
  const nvr = await startNvrClient()
  closes.push(() => nvr.close())
  await nvr.control('camera', { id: 'yard', offline: true })
  const different = new Map<string, string>()
  // What the simulator cannot play is not asked for.
  const played = lines<MediaExchange>('relay.ndjson').filter(
    ({ name }) => !OTHER_MEDIA.some((one) => one.name.test(name)),
  )
  for (const exchange of played) {
    const difference = await compareMedia(nvr, exchange)
    if (difference !== null) different.set(exchange.name, difference)
  }
  assertExplained(different, [])
})

const used = new Set<RegExp>()

test('each reason to answer otherwise is needed', () => {
  const unused = [...OTHER_ANSWERS, ...OTHER_TOPICS].filter(({ name }) => !used.has(name))
  assert.deepEqual(unused, [])
})

function assertExplained(
  different: ReadonlyMap<string, string>,
  known: readonly { name: RegExp; reason: string }[],
): void {
  for (const one of known) if ([...different.keys()].some((name) => one.name.test(name))) used.add(one.name)
  const unexplained = [...different].filter(([name]) => !known.some((one) => one.name.test(name)))
  assert.deepEqual(unexplained.map(([name, difference]) => `${name}: ${difference}`), []) // biome-ignore format: one line
}

/** The two files of the inbox, in either recording. */
const INBOX_FILES = [/17953\d{5}\.123456-aaaaaa-17953\d{3}(?:08|47)\.5-unknown-0\.0\.webp/g, /17953\d{5}\.123456-aaaaaa-17953\d{3}(?:17|56)\.5-unknown-0\.0\.webp/g] // biome-ignore format: one line

/** Ids of the simulator for those of the recording. */
async function replacements(nvr: NvrClient): Promise<[RegExp, string][]> {
  const first = async (path: string): Promise<string> => {
    const rows = (await (await nvr.call(path)).json()) as { id: string }[]
    const id = rows[0]?.id
    if (id === undefined) throw new Error(`nothing at ${path}`)
    return id
  }
  // Their recordings are on the disk.
  const finished = `/api/events?limit=1&before=${Math.floor(Date.now() / 1000) - 60}`
  const review = await first('/api/review?cameras=cam1&limit=1')
  return [
    [/17953\d{5}\.123456-aaaaaa/g, await first(`${finished}&cameras=cam1&labels=person&has_snapshot=1`)],
    [/17953\d{5}\.5-bbbbbb/g, await first(`${finished}&cameras=cam1&has_snapshot=0`)],
    [/17953\d{5}\.5-cccccc/g, await first(`${finished}&cameras=cam2`)],
    [/17953\d{5}\.1-r[12]\w{4}/g, review],
    [/17953\d{5}\.1-r3cccc/g, await first('/api/review?cameras=cam2&limit=1')],
    ...[...(nvr.lab.state.faces.get('train')?.keys() ?? [])].map((name, index): [RegExp, string] => [
      INBOX_FILES[index] ?? /$^/,
      name,
    ]),
  ].toReversed() as [RegExp, string][]
}

const PREVIEW_FRAME = 'preview_cam1-1795298410.5.webp'

/** Asked for when it is needed: at the end of an hour its frames are gone. */
async function previewFrame(nvr: NvrClient): Promise<string> {
  const path = '/api/preview/cam1/start/1000000000/end/2000000000/frames'
  return until('there is a frame of this hour', async () => {
    const names = (await (await nvr.call(path, { headers: { 'x-cache-bypass': '1' } })).json()) as string[]
    return names.at(-1)
  })
}

/** A key that nobody knows: 0.17 then runs without cameras. */
function breakFile({ lab }: NvrClient): void {
  if (lab.state.reading.outcome !== 'runs') return
  lab.state.file += 'surprise: 1\n'
  lab.state.boot()
}

/** The recording begins with face recognition off. */
function turnFacesOn({ lab }: NvrClient, on: boolean): void {
  if (lab.state.faceRecognition() === on) return
  lab.state.file = lab.state.file.replace(/face_recognition:\n {2}enabled: \w+/, `face_recognition:\n  enabled: ${on}`)
  lab.state.boot()
}

async function compare(
  nvr: NvrClient,
  call: NvrClient['call'],
  exchange: Exchange,
  ids: readonly [RegExp, string][],
): Promise<string | null> {
  const moved_s = Math.floor(Date.now() / 1000) - RECORDED_S[exchange.release]
  const fit = (text: string): string => {
    const with_ids = ids.reduce((all, [recorded, id]) => all.replace(recorded, id), text)
    return with_ids === text ? text.replace(/\b179[45]\d{6}\b/g, (time) => String(Number(time) + moved_s)) : with_ids
  }
  const tokens = (text: string): string =>
    text.replace(/JWT\(sub=(\w+),role=(\w+),exp=(\d+)[^)]*\)/g, (_all, name: string, role: string, exp: string) =>
      signToken(nvr.lab.state, name, role, Number(exp) - RECORDED_S[exchange.release]),
    )
  const path = exchange.path.includes(PREVIEW_FRAME)
    ? exchange.path.replace(PREVIEW_FRAME, await previewFrame(nvr))
    : exchange.path === '/auth'
      ? '/profile'
      : fit(exchange.path)
  const headers: Record<string, string> = { 'x-cache-bypass': '1' }
  if (exchange.as === undefined) headers['cookie'] = ''
  for (const [name, value] of Object.entries(exchange.headers ?? {})) headers[name] = tokens(value)
  const body = exchange.text === '<file>' ? Buffer.from(nvr.lab.state.file) : bodyOf(exchange, fit, headers)
  const answer = await call(`/api${path}`, {
    method: exchange.method,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  if (exchange.type !== undefined && answer.status === exchange.status) {
    // Some of them go on for days.
    await answer.body?.cancel()
    const type = answer.headers.get('content-type')
    return type === exchange.type ? null : `type ${type} instead of ${exchange.type}`
  }
  const bytes = Buffer.from(await answer.arrayBuffer())
  if (answer.status === 200 && exchange.path.endsWith('restart')) {
    await until('it restarts', () => nvr.lab.phase() === 'down')
    await nvr.control('phase', { phase: 'ready' })
  }
  const expected = exchange.path === '/auth' && exchange.status === 202 ? 200 : exchange.status
  if (answer.status !== expected)
    return `status ${answer.status} instead of ${expected}: ${bytes.toString('utf8').slice(0, 100)}`
  return exchange.path === '/auth' ? null : compareBody(bytes.toString('utf8'), exchange.answer ?? {}, fit)
}

function bodyOf(
  { name, json, text, multipart }: Exchange,
  fit: (text: string) => string,
  headers: Record<string, string>,
): string | undefined {
  if (multipart !== undefined) {
    headers['content-type'] = 'multipart/form-data; boundary=x'
    return `--x\r\nContent-Disposition: form-data; name="${multipart}"; filename="${name.endsWith('no face') ? 'no-face' : 'a'}.jpg"\r\n\r\nimage\r\n--x--\r\n`
  }
  if (text !== undefined) return text
  if (json === undefined) return undefined
  headers['content-type'] ??= 'application/json'
  return fit(JSON.stringify(json))
}

function compareBody(
  text: string,
  expected: NonNullable<Exchange['answer']>,
  fit: (text: string) => string,
): string | null {
  if (expected.text !== undefined) {
    return text.startsWith(expected.text.slice(0, 20)) || text === expected.text ? null : `text ${text.slice(0, 60)}`
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return `no JSON: ${text.slice(0, 60)}`
  }
  const same = (is: unknown, wanted: unknown, what: string): string | null =>
    sorted(is) === sorted(wanted) ? null : `${what} ${JSON.stringify(is)} instead of ${JSON.stringify(wanted)}`
  if (expected.detail !== undefined) {
    const [detail] = (value as { detail: { type: string; loc: unknown[] }[] }).detail
    return same([detail?.type, detail?.loc], expected.detail, 'detail')
  }
  if (expected.keys !== undefined) return missing(expected.keys, value)
  if (expected.list === undefined) {
    const wanted = expected.json ?? null
    return wanted === null ? null : same(value, JSON.parse(fit(JSON.stringify(wanted))), 'body')
  }
  if (!Array.isArray(value)) return 'no list'
  if (expected.list === 'texts') return null
  if (expected.list.length === 0) return value.length === 0 ? null : `${value.length} rows instead of none`
  return value.length === 0 ? 'no rows' : missing(expected.list, value[0])
}

/** The order of members does not count. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  )
}

function missing(keys: readonly string[], value: unknown): string | null {
  const given = new Set(Object.keys(value as object))
  const absent = keys.filter((key) => !given.has(key))
  return absent.length === 0 ? null : `without ${absent.join(', ')}`
}

/** A question that is always answered marks the end of the frames that a message causes. */
async function compareTopic(session: Pick<NvrClient, 'socket'>, exchange: TopicExchange): Promise<string | null> {
  const feed = await session.socket('/ws')
  const own = exchange.name === 'modelState' || exchange.name.startsWith('modelState') ? 2 : exchange.frames.some(([topic]) => topic === 'model_state') ? 2 : 1 // biome-ignore format: one line
  const { sent } = exchange
  const binary = typeof sent === 'string' ? /^b'(.*)'$/s.exec(sent)?.[1] : undefined
  if (binary !== undefined) feed.socket.send(Buffer.from(binary))
  else feed.send(sent)
  feed.send({ topic: 'modelState', payload: '' })
  const over = () => feed.texts.filter(({ topic }) => topic === 'model_state').length >= own || feed.closed() !== null
  await until(`the frames after ${exchange.name}`, over)
  const closed = feed.closed()
  const frames = feed.texts.filter(({ topic = '' }) => !/^(events|reviews|\w+\/(person|car|all|motion|review_status).*)$/.test(topic) || wanted(exchange, topic)) // biome-ignore format: one line
  feed.socket.close()
  if (exchange.closed !== undefined) return closed === exchange.closed ? null : `closed with ${closed}`
  if (closed !== null) return exchange.name.includes('restart') ? null : `closed with ${closed}`
  const got = frames.slice(0, -1).map(({ topic, payload }) => [topic, payload])
  const expected = exchange.frames
  const alike = got.length === expected.length && expected.every(([topic, ...payload], index) => JSON.stringify(payload.length === 0 ? [topic] : [topic, ...payload]) === JSON.stringify(payload.length === 0 ? [got[index]?.[0]] : got[index])) // biome-ignore format: one line
  return alike ? null : `${JSON.stringify(got).slice(0, 200)} instead of ${JSON.stringify(expected).slice(0, 200)}`
}

/** 0.16 lets viewers restart it. */
function settled({ lab }: NvrClient, { release, as }: TopicExchange): boolean {
  return lab.phase() === 'down' || (release === '0.17' && as !== 'admin')
}

function wanted({ frames }: TopicExchange, topic: string): boolean {
  return frames.some(([one]) => one === topic)
}

const STREAMS: Readonly<Record<string, string>> = { cam264: 'gate', cam264_v: 'gate', cam265: 'depot', cam265_live: 'depot_live', dead: 'yard' } // biome-ignore format: one line

async function compareMedia(nvr: NvrClient, exchange: MediaExchange): Promise<string | null> {
  const url = exchange.url.replace('/api/ws', '/live/mse/api/ws').replace(/src=(\w+)(?=$|&)/, (all, name: string) => (STREAMS[name] === undefined ? all : `src=${STREAMS[name]}`)) // biome-ignore format: one line
  const feed = await nvr.socket(url)
  for (const sent of exchange.sent) {
    if (typeof sent === 'object' && sent !== null && 'binary' in sent) feed.socket.send(Buffer.from([1, 2, 3]))
    else feed.send(sent)
  }
  const expected = exchange.received.map(([type, value]) => kindOf(type, value))
  const done = (): boolean =>
    feed.closed() !== null || (exchange.closed_by === 'client' && kinds(feed).length >= new Set(expected).size)
  // What nothing answers is followed by something that is answered.
  const silent = exchange.received.length === 0 && exchange.closed_by === 'client'
  if (silent) feed.send({ type: 'mse', value: 'avc1.640029' })
  await until(`the answers to ${exchange.name}`, () => (silent ? kinds(feed).length > 0 : done()))
  const [closed, got] = [feed.closed(), kinds(feed)]
  feed.socket.close()
  if (exchange.closed_by === 'server') return closed === 1006 ? null : `closed with ${closed}`
  if (silent) return got[0] === 'mse' ? null : `${got[0]} to something that is not answered`
  const fitting = JSON.stringify([...new Set(expected)]) === JSON.stringify(got.slice(0, new Set(expected).size))
  return fitting ? null : `${JSON.stringify(got)} instead of ${JSON.stringify(expected)}`
}

function kinds(feed: Feed): string[] {
  const texts = feed.texts.map(({ type = '', value }) => kindOf(type, value))
  return [...new Set([...texts, ...feed.media.map((part) => part.toString('latin1', 4, 8))])]
}

/** The words of errors count, apart from addresses; of video only the codec's family. */
function kindOf(type: string, value: unknown): string {
  if (type === 'media') return String((value as string[])[0])
  if (type === 'error') return `error ${String(value).replace(/tcp \S+/, 'tcp')}`
  return type
}
