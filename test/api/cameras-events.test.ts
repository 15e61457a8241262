// Detections, reviews, motion, statistics and faces over HTTP, against the simulated NVR of both versions.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { after, afterEach, before, test } from 'node:test'
import { type CameraLab, startCameraLab } from '../support/camera-lab.ts'
import type { Reply } from '../support/http.ts'
import { onDatabase } from '../support/test-database.ts'

let lab: CameraLab
before(async () => {
  lab = await startCameraLab({ timetable: { person_every_s: 30 } })
})
after(() => lab?.close())
afterEach(async () => {
  await lab.nvrControl('release', { release: '0.17' })
  await lab.nvrControl('reset')
})

const NOW = Math.floor(Date.now() / 1000)
const get = (path: string): Promise<Reply> => lab.call('GET', path)

function refused({ status, body, text }: Reply, code: string, expected = 400): void {
  assert.deepEqual([status, body?.code], [expected, code], text)
}

async function media(path: string): Promise<{ status: number; type: string | null; bytes: Buffer }> {
  const answer = await fetch(`${lab.url}${path}`, { headers: { authorization: `Bearer ${lab.token}` } })
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    bytes: Buffer.from(await answer.arrayBuffer()),
  }
}

test('events are the newest first, by camera, label, time and number of rows, and blanks in a list do not count', async () => {
  const { status, body, text } = await get(`/cam/events?limit=20&before=${NOW - 60}`)
  assert.equal(status, 200, text)
  assert.equal(body.length, 20)
  for (const event of body) assert.ok(event.start_time < NOW - 60 && event.box.length === 4 && event.kind === 'object')
  assert.ok(body[0].start_time >= body[19].start_time)
  const { body: of_two } = await get('/cam/events?cameras=%20gate%20,yard,&labels=person,%20car&limit=50')
  assert.ok(of_two.length > 0)
  for (const { camera, label } of of_two)
    assert.ok(['gate', 'yard'].includes(camera) && ['person', 'car'].includes(label))
  assert.deepEqual((await get('/cam/events?cameras=ghost')).body, [])
  assert.ok((await get('/cam/events?limit=100000')).body.length <= 500)
  for (const { has_snapshot, has_clip } of (await get('/cam/events?has_snapshot=1&has_clip=1')).body)
    assert.ok(has_snapshot && has_clip)
  for (const wrong of ['limit=0', 'limit=-1', 'limit=x', 'after=x', 'has_snapshot=2', 'after=Infinity', 'labels='])
    refused(await get(`/cam/events?${wrong}`), 'CAM_INVALID_REQUEST_PAYLOAD')
})

test('thumbnails in the list are JPEGs in Base64, as the documents promise', async () => {
  const { status, body, text } = await get(`/cam/events?limit=3&include_thumbnails=1&before=${NOW - 120}`)
  assert.equal(status, 200, text.slice(0, 300))
  for (const { thumbnail } of body)
    assert.deepEqual([...Buffer.from(thumbnail, 'base64').subarray(0, 3)], [0xff, 0xd8, 0xff])
})

test('an event has its own record, thumbnail, snapshot and clip', async () => {
  const [event] = (await get(`/cam/events?limit=1&has_snapshot=1&has_clip=1&before=${NOW - 300}`)).body
  const one = await get(`/cam/events/${event.id}`)
  assert.deepEqual([one.status, one.body.id, one.body.camera], [200, event.id, event.camera], one.text)
  assert.ok(!('thumbnail' in one.body))
  for (const what of ['thumbnail', 'snapshot']) {
    const { status, type, bytes } = await media(`/cam/events/${event.id}/${what}`)
    assert.deepEqual([status, type, bytes[0], bytes[1]], [200, 'image/jpeg', 0xff, 0xd8], what)
  }
  const clip = await media(`/cam/events/${event.id}/clip`)
  assert.deepEqual([clip.status, clip.type, clip.bytes.toString('latin1', 4, 8)], [200, 'video/mp4', 'ftyp'])
})

test('an event that does not exist is not found, in the words of each route', async () => {
  const id = '1700000000.5-nosuch'
  refused(await get(`/cam/events/${id}`), 'CAM_EVENT_NOT_FOUND')
  refused(await get(`/cam/events/${id}/clip`), 'CAM_EVENT_NOT_FOUND')
  refused(await get(`/cam/events/${id}/thumbnail`), 'CAM_EVENT_NOT_FOUND')
  refused(await get(`/cam/events/${id}/snapshot`), 'CAM_EVENT_NOT_FOUND', 404)
  for (const wrong of ['x', '..', '1-', '1.5-AB', '1.5-a%2fb', '1.5-a%00', `1.5-${'a'.repeat(60)}`]) {
    const { status } = await get(`/cam/events/${wrong}`)
    assert.ok([400, 404].includes(status), `${wrong}: ${status}`)
  }
})

for (const release of ['0.17', '0.16'] as const) {
  test(`review segments are shown and marked as asked, with version ${release}`, async () => {
    await lab.nvrControl('release', { release })
    const list = async (query = ''): Promise<Record<string, unknown>[]> => {
      const { status, body, text } = await get(`/cam/review?before=${NOW - 60}&limit=40${query}`)
      assert.equal(status, 200, text)
      return body
    }
    const mark = (ids: unknown[], reviewed?: boolean): Promise<Reply> =>
      lab.call('POST', '/cam/reviews/viewed', { ids, reviewed })
    const all = await list()
    const [one, two] = all.map(({ id }) => id)
    assert.ok(all.length === 40 && all.every(({ thumb_path }) => String(thumb_path).startsWith('/cam/clips/review/')))
    const marked = await mark([one, two])
    assert.deepEqual([marked.status, marked.body], [200, { ids: [one, two], reviewed: true }], marked.text)
    assert.deepEqual((await list('&reviewed=1')).map(({ id }) => id), [one, two]) // biome-ignore format: one line
    assert.ok((await list('&reviewed=0')).every(({ id }) => id !== one && id !== two))
    assert.equal((await list()).find(({ id }) => id === one)?.has_been_reviewed, true)
    assert.equal((await mark([one, '1700000000.5-nosuch'], false)).status, 200)
    assert.deepEqual((await list('&reviewed=1')).map(({ id }) => id), [two]) // biome-ignore format: one line
    assert.ok((await list('&severity=alert')).every(({ severity }) => severity === 'alert'))
    assert.deepEqual(await list('&severity=significant_motion'), [])
    refused(await mark([]), 'CAM_INVALID_REQUEST_PAYLOAD')
    refused(await mark(['../../x']), 'CAM_INVALID_REQUEST_PAYLOAD')
    refused(await lab.call('POST', '/cam/reviews/viewed', {}), 'CAM_INVALID_REQUEST_PAYLOAD')
  })
}

test('the thumbnail of a review segment is where the segment says', async () => {
  const [segment] = (await get(`/cam/review?before=${NOW - 600}&limit=1`)).body
  assert.equal((await media(segment.thumb_path)).type, 'image/webp')
})

test('motion is counted in buckets of the scale, which has limits', async () => {
  const { status, body, text } = await get(
    `/cam/review/activity/motion?after=${NOW - 1800}&before=${NOW - 600}&scale=60&cameras=gate`,
  )
  assert.equal(status, 200, text)
  assert.ok(body.length > 0 && body.length <= 21)
  for (const { start_time, motion } of body) assert.ok(start_time % 60 === 0 && motion >= 0 && motion <= 100)
  for (const scale of ['14', '0', '-5', '3601', '1.5'])
    refused(await get(`/cam/review/activity/motion?scale=${scale}`), 'CAM_INVALID_REQUEST_PAYLOAD')
})

test('statistics name folders and processes in our words and show no command line', async () => {
  const { status, body, text } = await get('/cam/stats')
  assert.equal(status, 200, text)
  assert.ok(body.cameras.gate.camera_fps > 0)
  assert.ok(body.storage.recordings.total > 0)
  assert.match(body.nvr_version, /^0\.17\.\d+$/)
  assert.ok(!/frigate|cmdline|rtsp:/.test(text), text)
})

const JPEG = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(100, 7)])
const BOUNDARY = 'groundplane-test-boundary'

function form(parts: { name: string; filename?: string; bytes: Buffer }[]): Buffer<ArrayBuffer> {
  const written = parts.flatMap(({ name, filename, bytes }) => [
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n\r\n`,
    ),
    bytes,
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...written, Buffer.from(`--${BOUNDARY}--\r\n`)])
}

const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`

async function upload(name: string, body: Buffer<ArrayBuffer> | ReadableStream, type = FORM_TYPE): Promise<Reply> {
  const answer = await fetch(`${lab.url}/cam/faces/${name}`, {
    method: 'POST', body, duplex: 'half', headers: { authorization: `Bearer ${lab.token}`, 'content-type': type },
  } as RequestInit) // biome-ignore format: one record
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text, body: text === '' ? null : JSON.parse(text) }
}

const file = (bytes: Buffer, filename = 'ada.jpg'): Buffer<ArrayBuffer> => form([{ name: 'file', filename, bytes }])

test('a person is made, gets a face by upload and one from the inbox, and the library shows them', async () => {
  const { body: library } = await get('/cam/faces')
  const [inbox] = library.train
  assert.equal((await lab.call('POST', '/cam/faces/Grace%20Hopper/create')).body.name, 'Grace_Hopper')
  const sent = await upload('Grace%20Hopper', file(JPEG))
  assert.deepEqual([sent.status, sent.body], [200, { name: 'Grace_Hopper' }], sent.text)
  const named = await lab.call('POST', '/cam/faces/Grace%20Hopper/classify', { training_file: inbox })
  assert.deepEqual([named.status, named.body], [200, { name: 'Grace_Hopper' }], named.text)
  const { body: after_all } = await get('/cam/faces')
  assert.equal(after_all.Grace_Hopper.length, 2)
  assert.ok(!after_all.train.includes(inbox))
  const { type } = await media(`/cam/clips/faces/Grace_Hopper/${after_all.Grace_Hopper[1]}`)
  assert.equal(type, 'image/webp')
  const { rows } = await onDatabase(lab.database.connection, (client) =>
    client.query<{ action: string }>(
      `select action from app_event where resource_type = 'FACE' and status = 'SUCCESS'`,
    ),
  )
  assert.deepEqual(new Set(rows.map(({ action }) => action)), new Set(['faceCreate', 'faceUpload', 'faceClassify']))
})

test('an image without a face, a training file that is gone, and recognition that is off are 400 with the way out', async () => {
  // The NVR's own words, as it was recorded.
  for (const [words, detail] of [
    ['No face was detected.', /no face in the image of Ada/],
    ['Face recognition is not enabled.', /face_recognition\.enabled/],
    ['Something else.', /does not accept this for Ada/],
  ] as const) {
    await lab.nvrControl('fail', { command: '/api/faces/Ada/register', code: 400, text: words, times: 1 })
    const reply = await upload('Ada', file(JPEG))
    refused(reply, 'CAM_FACE_REJECTED')
    assert.match(reply.body.detail, detail)
  }
  const gone = await lab.call('POST', '/cam/faces/Ada/classify', { training_file: 'gone.webp' })
  refused(gone, 'CAM_FACE_REJECTED')
  assert.match(gone.body.detail, /GET \/cam\/faces/)
  await lab.nvrControl('fail', {
    command: '/api/faces/Ada/create',
    code: 400,
    text: 'Face recognition is not enabled.',
    times: 1,
  })
  refused(await lab.call('POST', '/cam/faces/Ada/create'), 'CAM_FACE_REJECTED')
})

test('no name of a person is a path, a header or the inbox', async () => {
  for (const name of [
    '..',
    '%2e%2e',
    'a%2fb',
    'a%5cb',
    '.hidden',
    'a%0d%0ab',
    'a%00',
    'train',
    'Train',
    '%20train%20',
    '%3Cb%3E',
    'x'.repeat(65),
    '-x',
  ]) {
    const replies = [
      await lab.call('POST', `/cam/faces/${name}/create`),
      await lab.call('POST', `/cam/faces/${name}/classify`, { training_file: 'x.webp' }),
    ]
    for (const { status } of replies) assert.ok([400, 404, 405].includes(status), `${name}: ${status}`)
  }
  for (const training_file of ['../x', 'a/b', '.x', 'a\r\nb', ''])
    refused(await lab.call('POST', '/cam/faces/Ada/classify', { training_file }), 'CAM_INVALID_REQUEST_PAYLOAD')
  const known = (await get('/cam/faces')).body
  assert.deepEqual(
    Object.keys(known).filter((name) => !/^(train|alice|Grace_Hopper)$/.test(name)),
    [],
  )
})

test('a form that is no form, has no file, two, other fields, or no image is 400 and reaches nobody', async () => {
  const wrong: [string, Buffer<ArrayBuffer>, string?][] = [
    ['no file', form([])],
    ['a text', form([{ name: 'file', bytes: JPEG }])],
    ['two files', form([{ name: 'file', filename: 'a', bytes: JPEG }, { name: 'file', filename: 'b', bytes: JPEG }])],
    ['another field', form([{ name: 'file', filename: 'a', bytes: JPEG }, { name: 'surprise', bytes: JPEG }])],
    ['no image', file(Buffer.from('<svg/>'))],
    ['empty', file(Buffer.alloc(0))],
    ['no boundary', file(JPEG), 'multipart/form-data'],
    ['half a form', file(JPEG).subarray(0, 120)],
    ['garbage', Buffer.alloc(1000, 1)],
  ] // biome-ignore format: a table
  for (const [what, body, type] of wrong) {
    const { status, body: problem, text } = await upload('Ada', body, type)
    assert.deepEqual([status, problem?.code], [400, 'CAM_INVALID_REQUEST_PAYLOAD'], `${what}: ${text}`)
  }
  refused(await lab.call('POST', '/cam/faces/Ada', { file: 'x' }), 'UNSUPPORTED_MEDIA_TYPE')
  refused(await lab.call('POST', '/cam/faces/Ada'), 'UNSUPPORTED_MEDIA_TYPE')
  refused(await upload('Ada', Buffer.from('{}'), 'text/plain'), 'UNSUPPORTED_MEDIA_TYPE')
  const elsewhere = await fetch(`${lab.url}/cam/reviews/viewed`, {
    method: 'POST', body: file(JPEG), headers: { authorization: `Bearer ${lab.token}`, 'content-type': FORM_TYPE },
  }) // biome-ignore format: one record
  assert.equal(elsewhere.status, 400)
  assert.ok(!Object.hasOwn((await get('/cam/faces')).body, 'Ada'))
})

test('a file name with a line break in it goes no further than the form', async () => {
  const sent = await upload('Ada', file(JPEG, 'a%0d%0aX-Injected: 1;b'))
  assert.equal(sent.status, 200, sent.text)
})

const MIB = 1024 * 1024
const image = (bytes: number): Buffer => Buffer.concat([JPEG, Buffer.alloc(bytes - JPEG.length)])

test('an image of 10 MiB is taken; a larger one is 413 whether its length is announced, is not, or never ends', async () => {
  assert.equal((await upload('Large', file(image(10 * MIB)))).status, 200)
  refused(await upload('Large', file(image(10 * MIB + 1))), 'FILE_TOO_LARGE', 413)
  refused(await upload('Large', file(image(11 * MIB))), 'FILE_TOO_LARGE', 413)
  const chunked = new ReadableStream({
    start(controller) {
      controller.enqueue(file(image(11 * MIB)))
      controller.close()
    },
  })
  refused(await upload('Large', chunked), 'FILE_TOO_LARGE', 413)
  assert.equal((await get('/cam/faces')).body.Large.length, 1)
})

test('a form without end is answered, then cut off, and costs no memory', { timeout: 300_000 }, async () => {
  const { hostname, port } = new URL(lab.url)
  const call = request({
    hostname, port, path: '/cam/faces/Endless', method: 'POST', agent: false,
    headers: { authorization: `Bearer ${lab.token}`, 'content-type': FORM_TYPE, 'transfer-encoding': 'chunked' },
  }) // biome-ignore format: one record
  let sent = 0
  let open = true
  call.on('error', () => {})
  call.on('close', () => {
    open = false
  })
  const answered = once(call, 'response')
  call.write(form([{ name: 'file', filename: 'a', bytes: JPEG }]).subarray(0, -BOUNDARY.length - 8))
  const chunk = Buffer.alloc(MIB)
  const before_bytes = process.memoryUsage().arrayBuffers
  const pump = (async () => {
    while (open && sent < 500 * MIB) {
      if (!call.write(chunk)) await Promise.race([once(call, 'drain'), once(call, 'close')]).catch(() => {})
      sent += chunk.length
    }
  })()
  const [answer] = (await answered) as [{ statusCode: number; resume(): void }]
  answer.resume()
  assert.equal(answer.statusCode, 413)
  await pump
  assert.ok(sent < 100 * MIB, `${sent / MIB} MiB were read`)
  assert.ok(process.memoryUsage().arrayBuffers - before_bytes < 64 * MIB)
  call.destroy()
  assert.ok(!Object.hasOwn((await get('/cam/faces')).body, 'Endless'))
})

test('an upload with the same key is done once, and one of other bytes with that key is refused', async () => {
  const send = async (bytes: Buffer): Promise<number> => {
    const answer = await fetch(`${lab.url}/cam/faces/Keyed`, {
      method: 'POST', body: file(bytes),
      headers: { authorization: `Bearer ${lab.token}`, 'content-type': FORM_TYPE, 'idempotency-key': 'face-1' },
    }) // biome-ignore format: one record
    await answer.text()
    return answer.status
  }
  assert.deepEqual([await send(JPEG), await send(JPEG), await send(image(200))], [200, 200, 409])
  assert.equal((await get('/cam/faces')).body.Keyed.length, 1)
})
