/** The files below /clips as nginx serves them: ranges, conditions, and a page for folders. */
import type { IncomingHttpHeaders } from 'node:http'
import { type Answer, type Call, type Route } from './http-call.ts'
import { faceFile } from './faces.ts'
import { previewFileName, previewsBetween, previewVideo } from './previews.ts'
import { html } from './request-handler.ts'
import type { NvrState } from './state.ts'
import { eventSnapshot, eventThumbnail, smallFrame } from './stills.ts'

const WEEK_S = 7 * 24 * 3600
const BOUNDARY = '00000000000000000042'

interface StoredFile {
  type: string
  bytes: Buffer
  changed_s: number
}

export function clipsRoutes(): Route[] {
  // An hour is drawn once for the many ranges in which a player fetches it.
  const videos = new Map<string, Buffer>()
  return [
    { method: 'GET', pattern: /^\/clips\/(?<path>.*)$/, access: 'anyone', handle: async (call) => serve(call, videos) },
  ]
}

async function serve({ nvr, params, headers }: Call, videos: Map<string, Buffer>): Promise<Answer> {
  const { path = '' } = params
  if (path === '' || path.endsWith('/')) return { ...html(200) }
  const file = await fileAt(nvr, path, videos)
  return file === null ? html(404) : conditional(file, headers)
}

async function fileAt(nvr: NvrState, path: string, videos: Map<string, Buffer>): Promise<StoredFile | null> {
  const [, hour_camera = '', start = ''] = /^previews\/([^/]+)\/(\d+)\.0-\d+\.0\.mp4$/.exec(path) ?? []
  const camera = nvr.camera(hour_camera)
  if (camera !== undefined) {
    const preview = previewsBetween(nvr, hour_camera, Number(start), Number(start) + 1)[0]
    if (preview === undefined || !path.endsWith(previewFileName(preview))) return null
    const bytes = videos.get(path) ?? previewVideo(nvr, camera, preview)
    remember(videos, path, bytes)
    return { type: 'video/mp4', bytes, changed_s: preview.end_s }
  }
  const face = /^faces\/([^/]+)\/([^/]+)$/.exec(path)
  if (face !== null) return faceFile(nvr, face[1] ?? '', face[2] ?? '')
  return eventFile(nvr, path)
}

/** Files of an event or of its review item, by the id in the name. */
async function eventFile(nvr: NvrState, path: string): Promise<StoredFile | null> {
  const id = /(\d+(?:\.\d+)?-[a-z0-9]{6})(?:-clean)?\.(?:webp|jpg)$/.exec(path)?.[1]
  const pass = id === undefined ? null : nvr.passById(id)
  const camera = pass === null ? undefined : nvr.camera(pass.camera)
  if (pass === null || camera === undefined) return null
  const stored = (type: string, bytes: Buffer): StoredFile => ({ type, bytes, changed_s: Math.ceil(pass.end_s) })
  switch (path) {
    case `review/thumb-${camera.id}-${pass.review_id}.webp`:
      return stored('image/webp', await smallFrame(nvr, camera, Math.min(pass.start_s + 4, Date.now() / 1000)))
    case `thumbs/${camera.id}/${pass.id}.webp`:
      return stored('image/webp', await eventThumbnail(nvr, camera, pass, 'webp'))
    case `${camera.id}-${pass.id}.jpg`:
      return stored('image/jpeg', await eventSnapshot(nvr, camera, pass, { type: 'jpg', boxes: true }))
    case `${camera.id}-${pass.id}-clean.webp`:
      return stored('image/webp', await eventSnapshot(nvr, camera, pass, { type: 'webp', boxes: false }))
    default:
      return null
  }
}

function remember(videos: Map<string, Buffer>, path: string, bytes: Buffer): void {
  videos.delete(path)
  videos.set(path, bytes)
  const oldest = videos.keys().next().value
  if (videos.size > 4 && oldest !== undefined) videos.delete(oldest)
}

function conditional({ type, bytes, changed_s }: StoredFile, headers: IncomingHttpHeaders): Answer {
  const changed = new Date(changed_s * 1000).toUTCString()
  const etag = `"${changed_s.toString(16)}-${bytes.length.toString(16)}"`
  const common = {
    'content-type': type,
    'last-modified': changed,
    etag,
    'accept-ranges': 'bytes',
    'cache-control': `max-age=${WEEK_S}, public`,
  }
  const unchanged =
    headers['if-none-match'] === undefined
      ? headers['if-modified-since'] !== undefined && Date.parse(headers['if-modified-since']) >= changed_s * 1000
      : headers['if-none-match'] === '*' || headers['if-none-match'].includes(etag)
  if (unchanged) return { status: 304, headers: common }
  const if_range = headers['if-range']
  const whole = { status: 200, headers: common, bytes }
  if (headers.range === undefined || (if_range !== undefined && if_range !== etag && if_range !== changed)) return whole
  const ranges = parseRanges(headers.range, bytes.length)
  if (ranges === null) return whole
  const [first, ...more] = ranges
  if (first === undefined) {
    const page = html(416)
    return { ...page, headers: { ...page.headers, 'content-range': `bytes */${bytes.length}` } }
  }
  if (more.length > 0) return severalRanges(ranges, common, type, bytes)
  const [from, to] = first
  return {
    status: 206,
    headers: { ...common, 'content-range': `bytes ${from}-${to}/${bytes.length}` },
    bytes: bytes.subarray(from, to + 1),
  }
}

function severalRanges(
  ranges: readonly [number, number][],
  common: Record<string, string>,
  type: string,
  bytes: Buffer,
): Answer {
  const parts = ranges.flatMap(([from, to]) => [
    Buffer.from(
      `\r\n--${BOUNDARY}\r\nContent-Type: ${type}\r\nContent-Range: bytes ${from}-${to}/${bytes.length}\r\n\r\n`,
    ),
    bytes.subarray(from, to + 1),
  ])
  return {
    status: 206,
    headers: { ...common, 'content-type': `multipart/byteranges; boundary=${BOUNDARY}` },
    bytes: Buffer.concat([...parts, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]),
  }
}

/** First and last byte of each range that can be served; none when all lie beyond; null when it is no list of ranges. */
function parseRanges(header: string, length: number): [number, number][] | null {
  const list = /^bytes=(.+)$/.exec(header)?.[1]
  if (list === undefined) return null
  const ranges: [number, number][] = []
  for (const text of list.split(',')) {
    const [, from = '', to = ''] = /^\s*(\d*)-(\d*)\s*$/.exec(text) ?? []
    if (from === '' && to === '') return []
    const start = from === '' ? Math.max(0, length - Number(to)) : Number(from)
    const end = from === '' || to === '' ? length - 1 : Math.min(Number(to), length - 1)
    if (start <= end && start < length) ranges.push([start, end])
  }
  return ranges
}
