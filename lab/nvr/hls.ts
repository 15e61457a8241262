/** HLS of a recording as nginx packages it: two playlists, an init part, and a segment for each piece on the disk. */
import { type Answer, type Call, Rejection, type Route, route } from './http-call.ts'
import { timesOf } from './recording-calls.ts'
import { fragmentsOf, type Piece, piecesBetween, recordingEncoder } from './recordings.ts'
import { ranged } from './ranges.ts'
import { html } from './request-handler.ts'
import type { CameraState } from './state.ts'
import { initSegment, TICKS_PER_S } from './video/mp4.ts'
import { FRAMES_PER_S } from './cameras.ts'

export function hlsRoutes(): Route[] {
  return [
    route('GET', '/vod/:camera/start/:start/end/:end/:file', 'camera', async (call) => {
      const times = readable(() => timesOf(call))
      const camera = call.nvr.camera(call.params['camera'] ?? '')
      return serve(
        call,
        camera,
        times === null ? [] : piecesBetween(call.nvr, camera?.id ?? '', times.from_s, times.to_s),
      )
    }),
    route('GET', '/vod/event/:event/:file', 'anyone', async (call) => {
      const pass = call.nvr.passById(call.params['event'] ?? '')
      const pieces = pass === null ? [] : piecesBetween(call.nvr, pass.camera, pass.start_s, pass.end_s)
      return serve(call, pass === null ? undefined : call.nvr.camera(pass.camera), pieces)
    }),
  ]
}

/** nginx answers 404 to whatever the program does not know, and to what it cannot read. */
function readable<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof Rejection) return null
    throw error
  }
}

async function serve(call: Call, camera: CameraState | undefined, pieces: readonly Piece[]): Promise<Answer> {
  const { file = '' } = call.params
  // Whatever the query was comes back on every name of a playlist.
  const query = call.query.size > 0 ? `?${call.query.toString()}` : ''
  if (camera === undefined || pieces.length === 0) return html(404)
  const encoder = recordingEncoder(camera)
  if (file === 'master.m3u8') {
    const { width, height, codec } = encoder
    const attributes = `PROGRAM-ID=1,BANDWIDTH=200000,RESOLUTION=${width}x${height},FRAME-RATE=${FRAMES_PER_S}.000,CODECS="${codec}"`
    return playlist(['#EXTM3U', `#EXT-X-STREAM-INF:${attributes}`, `index-v1.m3u8${query}`])
  }
  if (file === 'index.m3u8' || file === 'index-v1.m3u8') return playlist(mediaPlaylist(pieces, query))
  if (file === 'init-v1.mp4') return video(call, initSegment(encoder))
  const number = Number(/^seg-(\d+)-v1\.m4s$/.exec(file)?.[1] ?? 0)
  const piece = pieces[number - 1]
  if (piece === undefined) return html(404)
  const before = pieces.slice(0, number - 1).reduce((all, one) => all + frames(one), 0)
  const start_ticks = (before * TICKS_PER_S) / FRAMES_PER_S
  const parts: Buffer[] = []
  for await (const part of fragmentsOf(call.nvr, camera, encoder, [piece], { start_ticks, padding_bytes: 0 }))
    parts.push(part)
  return video(call, Buffer.concat(parts))
}

function mediaPlaylist(pieces: readonly Piece[], query: string): string[] {
  return [
    '#EXTM3U',
    '#EXT-X-TARGETDURATION:10',
    '#EXT-X-ALLOW-CACHE:YES',
    '#EXT-X-PLAYLIST-TYPE:VOD',
    '#EXT-X-VERSION:6',
    '#EXT-X-MEDIA-SEQUENCE:1',
    `#EXT-X-MAP:URI="init-v1.mp4${query}"`,
    ...pieces.flatMap((piece, index) => [
      `#EXTINF:${(frames(piece) / FRAMES_PER_S).toFixed(3)},`,
      `seg-${index + 1}-v1.m4s${query}`,
    ]),
    '#EXT-X-ENDLIST',
  ]
}

/** As many as are drawn for it. */
function frames({ from_s, to_s }: Piece): number {
  return Math.max(1, Math.ceil(to_s * FRAMES_PER_S) - Math.ceil(from_s * FRAMES_PER_S))
}

function playlist(lines: readonly string[]): Answer {
  const headers = { 'content-type': 'application/vnd.apple.mpegurl', 'cache-control': 'no-store' }
  return { status: 200, headers, bytes: Buffer.from(`${lines.join('\n')}\n`) }
}

function video({ headers }: Call, bytes: Buffer): Answer {
  return ranged(
    bytes,
    { 'content-type': 'video/mp4', 'cache-control': 'no-store', 'accept-ranges': 'bytes' },
    headers.range,
  )
}
