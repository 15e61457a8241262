/** The files below /clips as nginx serves them: ranges, conditions, and a page for folders. */
import type { IncomingHttpHeaders } from 'node:http'
import { type Answer, type Call, type Route } from './http-call.ts'
import { faceFile } from './faces.ts'
import { previewFileName, previewsBetween, previewVideo } from './previews.ts'
import { ranged } from './ranges.ts'
import { html } from './request-handler.ts'
import type { NvrState } from './state.ts'
import { eventSnapshot, eventThumbnail, smallFrame } from './stills.ts'

const WEEK_S = 7 * 24 * 3600

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
  const is_changed = if_range !== undefined && if_range !== etag && if_range !== changed
  return ranged(bytes, common, is_changed ? undefined : headers.range)
}
