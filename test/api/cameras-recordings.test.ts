// Recordings over HTTP: what there is, clips and HLS as they come, files with ranges, and paths that lead nowhere else.
import assert from 'node:assert/strict'
import { type IncomingMessage, request, type RequestListener } from 'node:http'
import { after, afterEach, before, test } from 'node:test'
import { type CameraLab, startCameraLab } from '../support/camera-lab.ts'
import { startFakeNvr, withLoginAndCamera } from '../support/fake-nvr.ts'
import type { Reply } from '../support/http.ts'
import { until } from '../support/until.ts'

let lab: CameraLab
before(async () => {
  lab = await startCameraLab()
})
after(() => lab?.close())
afterEach(() => lab.nvrControl('reset'))

const NOW = Math.floor(Date.now() / 1000)
const HOUR_AGO = NOW - 3600

const get = (path: string): Promise<Reply> => lab.call('GET', path)
const gate = (path: string): Promise<Reply> => get(`/cam/cameras/gate/${path}`)

function refused({ status, body, text }: Reply, code: string, expected = 400): void {
  assert.deepEqual([status, body?.code], [expected, code], text)
}

interface Raw {
  status: number
  headers: IncomingMessage['headers']
  bytes: Buffer
}

/** Sends the path and headers as they are written: fetch() would resolve them first. */
function raw(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(lab.url)
    const all = { authorization: `Bearer ${lab.token}`, ...headers }
    request({ hostname, port, path, method, headers: all, agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, bytes: Buffer.concat(chunks) }),
      )
    })
      .on('error', reject)
      .end()
  })
}

async function askedOfNvr(): Promise<string[]> {
  const calls = ((await (await fetch(`${lab.nvr.control_url}/calls`)).json()) as { calls: { command: string }[] }).calls
  return calls.map(({ command }) => command)
}

test('segments are those of the window, and without one those of the last day', async () => {
  const { status, body, text } = await gate(`recording/segments?after=${HOUR_AGO}&before=${HOUR_AGO + 60}`)
  assert.equal(status, 200, text)
  assert.ok(body.length >= 5 && body.length <= 8, `${body.length} segments`)
  for (const { start_time, end_time, duration } of body) assert.ok(end_time > start_time && duration <= 11)
  assert.ok((await gate('recording/segments')).body.length > 1000)
  refused(await gate(`recording/segments?after=${NOW}&before=${HOUR_AGO}`), 'CAM_INVALID_REQUEST_PAYLOAD')
  refused(await get('/cam/cameras/ghost/recording/segments'), 'CAM_CAMERA_NOT_FOUND')
})

test('the summary has the newest day first, in the time zone of the caller, and refuses one that does not exist', async () => {
  const { status, body, text } = await gate('recording/summary?timezone=Asia/Tokyo')
  assert.equal(status, 200, text)
  const days = body.map(({ day }: { day: string }) => day)
  assert.deepEqual(
    days,
    [...days].sort((a, b) => b.localeCompare(a)),
  )
  // Of the day that has just begun nothing may be recorded yet.
  const dayOf = (ms: number) => new Intl.DateTimeFormat('en-CA', { timeZone: 'Asia/Tokyo' }).format(ms)
  assert.ok([dayOf(Date.now() - 60_000), dayOf(Date.now())].includes(days[0]), days[0])
  const reply = await gate('recording/summary?timezone=Mars/Base')
  refused(reply, 'CAM_INVALID_REQUEST_PAYLOAD')
  assert.match(reply.body.detail, /Mars\/Base.*Europe\/Berlin/)
  // No zone, and version 0.16 fails when it is asked for one of these.
  for (const none of ['%2B02:00', '-0330', '%00']) refused(await gate(`recording/summary?timezone=${none}`), 'CAM_INVALID_REQUEST_PAYLOAD') // biome-ignore format: one line
})

/** As a real NVR was recorded to date segments around the end of summer time, in UTC and (wrongly: 01:30 UTC in hour 03) in Berlin. */
const RECORDED_HOURS: Record<string, [day: string, hours: string[]][]> = {
  UTC: [
    ['2026-10-25', ['23', '22', '01', '00']],
    ['2026-10-24', ['22', '21']],
  ],
  'Asia/Kolkata': [
    ['2026-10-26', ['05', '04']],
    ['2026-10-25', ['07', '06', '04', '03']],
  ],
  'Europe/Berlin': [
    ['2026-10-25', ['03', '02', '00', '23']],
    ['2026-10-24', ['23']],
    ['2026-10-26', ['00']],
  ],
}

test('each hour of a summary is that of the clock on the wall, also on the day on which the clock is set back', async (t) => {
  const handle: RequestListener = (request, response) => {
    const { searchParams } = new URL(`http://nvr${request.url}`)
    const days = RECORDED_HOURS[searchParams.get('timezone') ?? ''] ?? []
    const figures = { events: 1, motion: 9, objects: null, duration: 10 }
    const rows = days.map(([day, hours]) => ({ day, events: hours.length, hours: hours.map((hour) => ({ hour, ...figures })) }))
    response.end(JSON.stringify(searchParams.get('timezone') === 'Asia/Kathmandu' ? [{ day: 'soon', hours: [{ hour: '1' }] }] : rows))
  } // biome-ignore format: long records
  const fake = await startFakeNvr(withLoginAndCamera(handle), { host: '127.0.0.3', port: Number(new URL(lab.nvr.url).port) }) // biome-ignore format: one line
  t.after(async () => {
    await lab.useNvr(lab.nvr)
    fake.close()
  })
  await lab.useNvr(fake)
  const hoursIn = async (zone: string): Promise<string[]> => {
    const { body, text } = await gate(`recording/summary?timezone=${zone}`)
    assert.ok(Array.isArray(body), text)
    return body.flatMap(({ day, hours }: { day: string; hours: { hour: string; duration: number }[] }) =>
      hours.map(({ hour, duration }) => `${day} ${hour} ${duration}`),
    )
  }
  assert.deepEqual(await hoursIn('Europe/Berlin'), [
    '2026-10-26 00 10', '2026-10-25 23 10', '2026-10-25 02 20', '2026-10-25 00 10', '2026-10-24 23 10',
  ]) // biome-ignore format: a list
  assert.deepEqual((await hoursIn('America/St_Johns')).slice(0, 2), ['2026-10-25 21 10', '2026-10-25 20 10'])
  const [newest] = (await gate('recording/summary?timezone=europe/berlin')).body
  assert.deepEqual(newest, {
    day: '2026-10-26', events: 1, hours: [{ hour: '00', events: 1, motion: 9, objects: null, duration: 10 }],
  }) // biome-ignore format: one record
  // What has no date is no answer.
  refused(await gate('recording/summary?timezone=Asia/Kathmandu'), 'NVR_ERROR', 502)
})

test('previews lead to files of this API, and a window without any is an empty list', async () => {
  const { status, body, text } = await gate(`previews?after=${NOW - 3 * 3600}&before=${NOW - 3600}`)
  assert.equal(status, 200, text)
  assert.match(body[0].src, /^\/cam\/clips\/previews\/gate\//)
  assert.deepEqual((await gate('previews?after=100&before=200')).body, [])
  refused(await get('/cam/cameras/ghost/previews'), 'CAM_CAMERA_NOT_FOUND')
})

test('preview frames are listed from any start of a window and sent as WebP', async () => {
  // Their names are compared as text: 9 would be after all of them.
  const { status, body, text } = await gate('preview-frames?after=9')
  assert.equal(status, 200, text)
  assert.ok(body.length > 0 || new Date().getUTCMinutes() <= 1, 'frames of this hour')
  refused(await get('/cam/cameras/ghost/preview-frames'), 'CAM_CAMERA_NOT_FOUND')
  if (body.length > 0) {
    const frame = await raw(`/cam/preview-frames/${body[0]}`)
    assert.deepEqual([frame.status, frame.headers['content-type']], [200, 'image/webp'])
    assert.equal(frame.bytes.toString('latin1', 8, 12), 'WEBP')
  }
  refused(await get('/cam/preview-frames/preview_gate-1.5.webp'), 'CAM_CLIP_NOT_FOUND')
  refused(await get('/cam/preview-frames/preview_ghost-1.5.webp'), 'CAM_CAMERA_NOT_FOUND')
  refused(await get('/cam/preview-frames/other.webp'), 'CAM_INVALID_REQUEST_PAYLOAD')
})

const clip = (from: number, to: number, more = ''): string =>
  `/cam/cameras/gate/recording/clip?start=${from}&end=${to}${more}`

test('a clip is an MP4; as a download it has a file name and 30 minutes at most', async () => {
  const shown = await raw(clip(HOUR_AGO, HOUR_AGO + 5))
  assert.deepEqual([shown.status, shown.headers['content-type']], [200, 'video/mp4'])
  assert.equal(shown.headers['content-disposition'], undefined)
  assert.equal(shown.bytes.toString('latin1', 4, 8), 'ftyp')
  const saved = await raw(clip(HOUR_AGO, HOUR_AGO + 5, '&download=1'))
  assert.equal(saved.headers['content-disposition'], `attachment; filename="gate-${HOUR_AGO}-${HOUR_AGO + 5}.mp4"`)
  const long = await get(clip(HOUR_AGO - 1801, HOUR_AGO, '&download=1'))
  refused(long, 'CAM_CLIP_TOO_LONG')
  assert.match(long.body.detail, /30 minutes.*31/)
  assert.equal((await raw(clip(HOUR_AGO - 1800, HOUR_AGO - 1799, '&download=1'))).status, 200)
})

test('a clip of a window without recordings is not found with every version, and a window that ends before it starts is none', async () => {
  refused(await get(clip(100, 200)), 'CAM_RECORDING_NOT_FOUND')
  await lab.nvrControl('release', { release: '0.16' })
  refused(await get(clip(100, 200)), 'CAM_RECORDING_NOT_FOUND')
  await lab.nvrControl('release', { release: '0.17' })
  refused(await get(clip(200, 100)), 'CAM_INVALID_REQUEST_PAYLOAD')
  refused(await get('/cam/cameras/gate/recording/clip?start=5'), 'CAM_INVALID_REQUEST_PAYLOAD')
  refused(await get('/cam/cameras/gate/recording/clip?end=5'), 'CAM_INVALID_REQUEST_PAYLOAD')
  refused(await get('/cam/cameras/gate/recording/clip?start=1&end=inf'), 'CAM_INVALID_REQUEST_PAYLOAD')
  refused(await get('/cam/cameras/ghost/recording/clip?start=1&end=2'), 'CAM_CAMERA_NOT_FOUND')
})

test('a client that leaves in the middle of a clip ends it on the NVR, too', async () => {
  await lab.nvrControl('relay', { padding_bytes: 200_000 })
  const gone = new AbortController()
  const answer = await fetch(`${lab.url}${clip(HOUR_AGO - 1000, HOUR_AGO)}`, {
    signal: gone.signal, headers: { authorization: `Bearer ${lab.token}` },
  }) // biome-ignore format: one record
  await answer.body?.getReader().read()
  await until('the NVR streams nothing else', () => lab.nvr.open.streams === 1)
  gone.abort()
  await until('the NVR streams nothing', () => lab.nvr.open.streams === 0)
})

test('who asks for the head of a clip alone leaves nothing running on the NVR', async () => {
  await lab.nvrControl('relay', { padding_bytes: 200_000 })
  const head = await raw(clip(HOUR_AGO - 1000, HOUR_AGO), {}, 'HEAD')
  assert.deepEqual([head.status, head.headers['content-type'], head.bytes.length], [200, 'video/mp4', 0])
  await until('the NVR streams nothing', () => lab.nvr.open.streams === 0)
})

test('HLS plays from the first playlist to the segments by its own relative addresses, with ranges of them', async () => {
  const base = `/cam/cameras/gate/recording/hls/start/${HOUR_AGO}/end/${HOUR_AGO + 30}/`
  const master = await raw(`${base}master.m3u8`)
  assert.deepEqual([master.status, master.headers['content-type']], [200, 'application/vnd.apple.mpegurl'])
  const index = master.bytes.toString().trim().split('\n').at(-1) ?? ''
  const list = (await raw(`${base}${index}`)).bytes.toString()
  const [, init = ''] = /URI="([^"]+)"/.exec(list) ?? []
  const segment = list.split('\n').find((line) => line.endsWith('.m4s')) ?? ''
  assert.equal((await raw(`${base}${init}`)).bytes.toString('latin1', 4, 8), 'ftyp')
  const first = await raw(`${base}${segment}`)
  assert.deepEqual([first.status, first.headers['content-type']], [200, 'video/mp4'])
  assert.equal(first.bytes.toString('latin1', 4, 8), 'moof')
  const size = first.bytes.length
  const part = await raw(`${base}${segment}`, { range: 'bytes=2-9' })
  assert.deepEqual([part.status, part.headers['content-range']], [206, `bytes 2-9/${size}`])
  assert.deepEqual(part.bytes, first.bytes.subarray(2, 10))
  const beyond = await raw(`${base}${segment}`, { range: `bytes=${size}-` })
  assert.deepEqual([beyond.status, beyond.headers['content-range']], [416, `bytes */${size}`])
})

test('the head of a playlist and of a file is that of the whole, without a body', async () => {
  const playlist = `/cam/cameras/gate/recording/hls/start/${HOUR_AGO}/end/${HOUR_AGO + 30}/master.m3u8`
  for (const path of [playlist, await previewPath()]) {
    const [whole, head] = [await raw(path), await raw(path, {}, 'HEAD')]
    assert.deepEqual([head.status, head.bytes.length], [200, 0], path)
    for (const name of ['content-type', 'content-length', 'etag'])
      assert.equal(head.headers[name], whole.headers[name], `${name} of ${path}`)
  }
})

test('HLS of a window without recordings is not found, but 502 while the NVR starts and answers the same', async () => {
  const path = '/cam/cameras/gate/recording/hls/start/100/end/200/master.m3u8'
  refused(await get(path), 'CAM_RECORDING_NOT_FOUND')
  await lab.nvrControl('phase', { phase: 'starting' })
  try {
    refused(await get(path), 'NVR_UNAVAILABLE', 502)
  } finally {
    await lab.nvrControl('phase', { phase: 'ready' })
  }
  refused(await get(path.replace('gate', 'ghost')), 'CAM_CAMERA_NOT_FOUND')
})

async function previewPath(): Promise<string> {
  return (await gate(`previews?after=${NOW - 3 * 3600}&before=${NOW - 3600}`)).body[0].src
}

test('files have ranges and conditions: one, from the end, several, beyond, and those that are none', async () => {
  const path = await previewPath()
  const whole = await raw(path)
  assert.deepEqual([whole.status, whole.headers['content-type'], whole.headers['accept-ranges']], [200, 'video/mp4', 'bytes']) // biome-ignore format: one line
  const size = whole.bytes.length
  const part = await raw(path, { range: 'bytes=10-19' })
  assert.deepEqual([part.status, part.headers['content-range']], [206, `bytes 10-19/${size}`])
  assert.deepEqual(part.bytes, whole.bytes.subarray(10, 20))
  const tail = await raw(path, { range: 'bytes=-5' })
  assert.deepEqual([tail.status, tail.bytes], [206, whole.bytes.subarray(-5)])
  const several = await raw(path, { range: 'bytes=0-1,4-5' })
  assert.equal(several.status, 206)
  assert.match(String(several.headers['content-type']), /^multipart\/byteranges/)
  const beyond = await raw(path, { range: `bytes=${size}-` })
  assert.deepEqual([beyond.status, beyond.headers['content-range']], [416, `bytes */${size}`])
  assert.equal(JSON.parse(beyond.bytes.toString()).code, 'RANGE_NOT_SATISFIABLE')
  for (const none of ['bytes=5-1', 'bytes=a-b', 'lines=1-2', 'bytes=']) {
    const { status } = await raw(path, { range: none })
    assert.ok([200, 206, 416].includes(status), `${none}: ${status}`)
  }
  const same = await raw(path, { 'if-none-match': String(whole.headers.etag) })
  assert.deepEqual([same.status, same.bytes.length], [304, 0])
})

const HOSTILE = [
  '..%2fconfig', '%2e%2e/api/config', 'previews/../../api/config', 'previews/%2e%2e/%2e%2e/api/config', '..%5capi', 'previews//x.mp4',
  '/api/config', 'http://192.0.2.1/x', '//192.0.2.1/x', 'faces/', 'faces/train/', '.htaccess', 'faces/.hidden/x', 'a%0d%0aX-Injected:1', 'a%09b', 'x%7f',
  'previews/%00/x', 'a/b/c/d/e/f/g/h/i', `${'a/'.repeat(1000)}x`, `${'a'.repeat(501)}`, '%', '%ff', 'a?b=..%2f..', 'a%3fb', 'a%23b', 'a;b', '%252e%252e/api',
] // biome-ignore format: a list

test('no spelling of a path below clips or HLS reaches the NVR as anything but a file there', async () => {
  await lab.nvrControl('reset')
  for (const path of HOSTILE) {
    const { status, bytes } = await raw(`/cam/clips/${path}`)
    assert.equal(status, 400, `clips/${path}: ${status} ${bytes.toString().slice(0, 200)}`)
    const hls = await raw(`/cam/cameras/gate/recording/hls/${path}`)
    assert.equal(hls.status, 400, `hls/${path}: ${hls.status} ${hls.bytes.toString().slice(0, 200)}`)
  }
  for (const path of [
    'start/1/end/2/../../../../api/config', 'start/1/end/2/%2e%2e', 'start/1/end/2/', 'start/1e3/end/2e3/master.m3u8', 'start/2/end/1/master.m3u8',
    'start/nan/end/inf/master.m3u8', 'start/1/end/2/master.m3u8/x', 'event/1.0-abc/master.m3u8', 'start/1/end/2/master.html', 'start/-1/end/2/master.m3u8',
  ]) {
    const { status } = await raw(`/cam/cameras/gate/recording/hls/${path}`)
    assert.equal(status, 400, path)
  } // biome-ignore format: a list
  for (const id of ['..', '%2e%2e', 'gate%2f..', 'http:', 'gate%00', 'gate%0d%0a', 'x'.repeat(65), 'gate%3fsrc=x']) {
    const { status } = await raw(`/cam/cameras/${id}/latest`)
    assert.ok([400, 404].includes(status), `${id}: ${status}`)
  }
  // '?' ends the path: the file `a` was asked for, without the query.
  assert.deepEqual(
    [...new Set(await askedOfNvr())].filter((path) => !/^\/(clips\/a$|api\/(login|config)$)/.test(path)),
    [],
  )
})

test('a file that is not there and a folder are not found, whoever asks', async () => {
  refused(await get('/cam/clips/previews/gate/1.0-2.0.mp4'), 'CAM_CLIP_NOT_FOUND')
  refused(await get('/cam/clips/faces'), 'CAM_CLIP_NOT_FOUND')
})
