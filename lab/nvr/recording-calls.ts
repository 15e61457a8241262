/** Calls about recordings: segments, summaries, clips, and the list that HLS is made from. */
import { requireCamera } from './camera-access.ts'
import { type Answer, type Call, failure, floatIn, json, queryFloat, Rejection, type Route, route, uncaught } from './http-call.ts' // biome-ignore format: one line
import type { RelayFaults } from './relay.ts'
import { fragmentsOf, type Piece, piecesBetween, recordingEncoder, segmentRow, segmentsBetween, summary } from './recordings.ts' // biome-ignore format: one line
import { groupStart_s } from './live-stream.ts'
import type { CameraState, NvrState } from './state.ts'
import { initSegment } from './video/mp4.ts'

const HOUR_S = 3600

export function recordingRoutes(faults: () => RelayFaults): Route[] {
  return [
    route('GET', '/:camera/recordings', 'camera', (call) => {
      const [after, before] = [queryFloat(call, 'after', call.nvr.started_s - HOUR_S), queryFloat(call, 'before', call.nvr.started_s)] // biome-ignore format: one line
      return json(segmentsBetween(call.nvr, call.params['camera'] ?? '', after, before).map(segmentRow))
    }),
    route('GET', '/:camera/recordings/summary', 'camera', summaryAnswer),
    route('GET', '/:camera/start/:start/end/:end/clip.mp4', 'camera', (call) =>
      clipOf(call.nvr, call.params['camera'] ?? '', timesOf(call), faults()),
    ),
    route('GET', '/vod/:camera/start/:start/end/:end', 'anyone', vodAnswer),
  ]
}

function summaryAnswer({ nvr, params, query }: Call): Answer {
  const zone = query.get('timezone') ?? 'utc'
  try {
    return json(summary(nvr, params['camera'] ?? '', zone))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    if (nvr.release === '0.16') throw uncaught()
    return json(summary(nvr, params['camera'] ?? '', 'utc'))
  }
}

export function timesOf({ params }: Call): Piece {
  return {
    from_s: floatIn('path', 'start_ts', params['start'] ?? ''),
    to_s: floatIn('path', 'end_ts', params['end'] ?? ''),
  }
}

/** An MP4 that is streamed while it is made: no length, no ranges, from the key frame before the start on. */
export function clipOf(nvr: NvrState, id: string, { from_s, to_s }: Piece, faults: RelayFaults): Answer {
  const empty: Answer = { status: 200, headers: { 'content-type': 'video/mp4' }, bytes: Buffer.alloc(0) }
  if (from_s > to_s) return empty
  const camera = nvr.camera(id)
  const pieces = piecesBetween(nvr, id, groupStart_s(from_s), to_s)
  if (camera === undefined || pieces.length === 0) {
    if (nvr.release === '0.16') return empty
    throw failure(400, 'No recordings found for the specified time range')
  }
  return { status: 200, headers: { 'content-type': 'video/mp4' }, stream: clipParts(nvr, camera, pieces, faults) }
}

async function* clipParts(
  nvr: NvrState,
  camera: CameraState,
  pieces: readonly Piece[],
  { padding_bytes }: RelayFaults,
): AsyncGenerator<Buffer> {
  const encoder = recordingEncoder(camera)
  yield initSegment(encoder)
  yield* fragmentsOf(nvr, camera, encoder, pieces, { start_ticks: 0, padding_bytes })
}

/** What nginx asks the program before it packages HLS. */
function vodAnswer(call: Call): Answer {
  const { from_s, to_s } = timesOf(call)
  const id = call.params['camera'] ?? ''
  requireCamera(call.nvr, call.caller, id)
  const pieces = piecesBetween(call.nvr, id, from_s, to_s)
  if (pieces.length === 0) throw new Rejection(404, { success: false, message: 'No recordings found.' })
  const durations = pieces.map((piece) => Math.round((piece.to_s - piece.from_s) * 1000))
  const clips = durations.map((duration, index) => ({
    type: 'source',
    path: `/media/frigate/recordings/${id}-${index}.mp4`,
    keyFrameDurations: [duration],
  }))
  return json({
    cache: false,
    discontinuity: false,
    consistentSequenceMediaInfo: true,
    durations,
    segment_duration: 10_000,
    sequences: [{ clips }],
  })
}
