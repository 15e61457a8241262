/** The simulated NVR's history: recordings, clips, HLS, previews, events, reviews and faces, all made from the time alone. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { until } from '../support/until.ts'
import { type NvrClient, startNvrClient } from './nvr-client.ts'

let nvr: NvrClient
const now_s = Math.floor(Date.now() / 1000)
before(async () => {
  nvr = await startNvrClient({ timetable: { person_every_s: 20 } })
})
after(() => nvr?.close())

async function rows(path: string): Promise<Record<string, unknown>[]> {
  const answer = await nvr.call(path, { headers: { 'x-cache-bypass': '1' } })
  assert.equal(answer.status, 200, path)
  return (await answer.json()) as Record<string, unknown>[]
}

async function bytes(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; type: string; body: Buffer }> {
  const answer = await nvr.call(path, { headers })
  return {
    status: answer.status,
    type: answer.headers.get('content-type') ?? '',
    body: Buffer.from(await answer.arrayBuffer()),
  }
}

/** Types of the boxes of an MP4, in their order. */
function boxes(file: Buffer): string[] {
  const types: string[] = []
  for (let at = 0; at < file.length; at += file.readUInt32BE(at)) types.push(file.toString('latin1', at + 4, at + 8))
  return types
}

test('a clip of any time is one MP4 without a length, and nothing recorded is an error in 0.17 and empty in 0.16', async () => {
  const answer = await nvr.call(`/api/yard/start/${now_s - 40}/end/${now_s - 30}/clip.mp4`)
  assert.deepEqual([answer.status, answer.headers.get('content-length')], [200, null])
  const types = boxes(Buffer.from(await answer.arrayBuffer()))
  assert.deepEqual(types.slice(0, 4), ['ftyp', 'moov', 'moof', 'mdat'])
  assert.ok(types.length >= 12)
  const missing = `/api/yard/start/100/end/200/clip.mp4`
  assert.equal((await bytes(missing)).status, 400)
  await nvr.control('release', { release: '0.16' })
  assert.deepEqual(await bytes(missing), { status: 200, type: 'video/mp4', body: Buffer.alloc(0) })
  await nvr.control('release', { release: '0.17' })
})

test('a client that leaves in the middle of a clip ends its making', async () => {
  const leaving = new AbortController()
  const answer = await nvr.call(`/api/yard/start/${now_s - 7200}/end/${now_s - 60}/clip.mp4`, {
    signal: leaving.signal,
  })
  assert.equal(answer.status, 200)
  await until('the clip is being made', () => nvr.lab.open.streams === 1)
  leaving.abort()
  await until('nothing is made any more', () => nvr.lab.open.streams === 0)
})

test('HLS has a playlist of segments that follow one another, each with the query of the playlist', async () => {
  const base = `/vod/yard/start/${now_s - 95}/end/${now_s - 60}`
  const master = (await bytes(`${base}/master.m3u8?t=1`)).body.toString()
  assert.match(master, /CODECS="avc1\.42E01F"\nindex-v1\.m3u8\?t=1\n$/)
  const index = (await bytes(`${base}/index-v1.m3u8`)).body.toString()
  const durations = [...index.matchAll(/#EXTINF:([\d.]+)/g)].map(([, seconds]) => Number(seconds))
  assert.equal(
    durations.reduce((all, one) => all + one, 0),
    35,
  )
  const segments = index.match(/seg-\d+-v1\.m4s/g) ?? []
  assert.equal(segments.length, durations.length)
  assert.deepEqual(boxes((await bytes(`${base}/init-v1.mp4`)).body), ['ftyp', 'moov'])
  const second = await bytes(`${base}/${segments[1]}`)
  assert.equal(second.type, 'video/mp4')
  // The second begins where the first ends: the time stands in its first `tfdt`.
  const at = second.body.indexOf('tfdt') + 8
  assert.equal(Number(second.body.readBigUInt64BE(at)), (durations[0] ?? 0) * 90_000)
  assert.equal((await bytes(`${base}/seg-99-v1.m4s`)).status, 404)
  assert.equal((await bytes('/vod/yard/start/1/end/2/master.m3u8')).status, 404)
})

test('an hour that is over has a preview with ranges and conditions, the running one has single frames', async () => {
  const [preview] = await rows(`/api/preview/yard/start/${now_s - 7200}/end/${now_s}`)
  const src = String(preview?.['src'])
  const whole = await nvr.call(src)
  const file = Buffer.from(await whole.arrayBuffer())
  assert.deepEqual(boxes(file), ['ftyp', 'moov', 'mdat'])
  const part = await bytes(src, { range: 'bytes=4-7' })
  assert.deepEqual([part.status, part.body.toString()], [206, 'ftyp'])
  assert.deepEqual((await bytes(src, { range: 'bytes=-4' })).body, file.subarray(-4))
  assert.equal((await bytes(src, { range: `bytes=${file.length}-` })).status, 416)
  assert.match((await bytes(src, { range: 'bytes=0-1,4-7' })).type, /^multipart\/byteranges/)
  assert.equal((await bytes(src, { 'if-none-match': whole.headers.get('etag') ?? '' })).status, 304)
  assert.equal((await bytes(`/api/preview/nosuch/start/1/end/${now_s}`)).status, 403)
  const names = (await rows(`/api/preview/yard/start/${now_s - 3600}/end/${now_s}/frames`)) as unknown as string[]
  for (const name of names.slice(0, 1))
    assert.equal((await bytes(`/api/preview/${name}/thumbnail.webp`)).type, 'image/webp')
  assert.equal((await bytes('/api/preview/preview_yard-1.5.webp/thumbnail.webp')).status, 404)
})

test('an event has its image, its clip, its review item, and is the object that is drawn', async () => {
  const [event] = await rows(`/api/events?limit=1&cameras=yard&labels=person&has_snapshot=1&in_progress=0`)
  const id = String(event?.['id'])
  assert.equal((await bytes(`/api/events/${id}/thumbnail.jpg`)).type, 'image/jpeg')
  assert.equal((await bytes(`/api/events/${id}/snapshot.jpg`)).type, 'image/jpeg')
  assert.deepEqual(boxes((await bytes(`/api/events/${id}/clip.mp4`)).body).slice(0, 2), ['ftyp', 'moov'])
  const start_s = Number(event?.['start_time'])
  const [review] = await rows(`/api/review?cameras=yard&labels=person&after=${start_s + 1}&before=${start_s + 2}`)
  assert.partialDeepStrictEqual(review, { data: { detections: [id] } })
  const thumb = String(review?.['thumb_path']).replace('/media/frigate', '')
  assert.equal((await bytes(thumb)).type, 'image/webp')
  assert.deepEqual(await rows('/api/events?cameras='), [])
  assert.equal((await rows('/api/events?limit=-1')).length > 1000, true)
})

test('what was reviewed is marked for the user, and 0.16 reads the filter the other way', async () => {
  const [item] = await rows('/api/review?limit=1')
  const id = String(item?.['id'])
  const body = JSON.stringify({ ids: [id], reviewed: true })
  await nvr.call('/api/reviews/viewed', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  assert.deepEqual(
    (await rows('/api/review?reviewed=1')).map((one) => one['id']),
    [id],
  )
  await nvr.control('release', { release: '0.16' })
  assert.ok((await rows('/api/review?reviewed=1')).length > 1)
  assert.ok(!(await rows('/api/review')).some((one) => one['id'] === id))
  await nvr.control('release', { release: '0.17' })
})

test('days and hours of recordings follow the zone of the reader', async () => {
  const hours = async (zone: string) => {
    const days = (await rows(`/api/yard/recordings/summary?timezone=${zone}`)) as { hours: { hour: string }[] }[]
    return Number(days[0]?.hours[0]?.hour)
  }
  assert.equal(((await hours('Asia/Tokyo')) - (await hours('utc')) + 24) % 24, 9)
  assert.equal(await hours('Mars/Base'), await hours('utc'))
  const [first, ...more] = await rows(`/api/yard/recordings?after=${now_s - 60}&before=${now_s - 20}`)
  assert.ok(more.length >= 3 && typeof first?.['motion'] === 'number')
})

test('while recording is off nothing is recorded, and a camera that is away still has an image', async () => {
  const feed = await nvr.socket('/ws')
  feed.send({ topic: 'gate/recordings/set', payload: 'OFF' })
  await until('it is off', () => feed.texts.some(({ topic }) => topic === 'gate/recordings/state'))
  assert.equal(nvr.lab.state.recorded('gate', Date.now() / 1000 - 0.001, Date.now() / 1000), false)
  assert.equal(nvr.lab.state.recorded('gate', now_s - 60, now_s - 50), true)
  const seen = await bytes('/api/gate/latest.jpg')
  await nvr.control('camera', { id: 'gate', offline: true })
  const away = await bytes('/api/gate/latest.jpg')
  assert.deepEqual([away.status, away.type], [200, 'image/jpeg'])
  assert.notDeepEqual(away.body, seen.body)
  feed.socket.close()
})

test('a face is stored under its name, taken from the inbox, and a missing one is found out', async () => {
  const upload = async (name: string) => {
    const form = new FormData()
    form.append('file', new Blob(['image']), name)
    const { headers, body } = new Request('http://x/', { method: 'POST', body: form })
    const type = headers.get('content-type') ?? ''
    const answer = await nvr.call('/api/faces/bob/register', { method: 'POST', headers: { 'content-type': type }, body: Buffer.from(await new Response(body).arrayBuffer()) }) // biome-ignore format: one line
    return answer.status
  }
  assert.equal(await upload('a.jpg'), 200)
  assert.equal(await upload('no-face.jpg'), 400)
  const faces = (await rows('/api/faces')) as unknown as Record<string, string[]>
  const [inbox] = faces['train'] ?? []
  assert.equal(faces['bob']?.length, 1)
  const classify = async () =>
    (await nvr.call('/api/faces/train/bob/classify', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ training_file: inbox }) })).status // biome-ignore format: one line
  assert.deepEqual([await classify(), await classify()], [200, 404])
  assert.equal((await bytes(`/clips/faces/alice/alice-1.webp`)).type, 'image/webp')
})
