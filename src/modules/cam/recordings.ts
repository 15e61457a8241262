// Recordings: what there is by segment, hour and day, previews of it, clips made on the way, HLS, and the tree of files.
import type { RecordingSegment, cameraRecordings } from '#src/contract/cam/recordings.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import { decimal } from '#src/drivers/frigate/reads.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { requireCamera } from './camera-lookup.ts'
import { openClip } from './clips.ts'
import type { CamDeps } from './deps.ts'
import { fileProxy, hlsProxy } from './media-proxy.ts'
import { summaryZone } from './summary.ts'
import { windowOf } from './windows.ts'

type Routes = typeof cameraRecordings.routes

const DOWNLOAD_CAP_S = 30 * 60
/** Names of preview frames are compared as text, so both ends must have as many digits as the times in them. */
const FIRST_TEN_DIGITS = 1_000_000_000
const PREVIEW_FRAME = /^preview_([A-Za-z0-9_-]+)-[0-9.]+\.webp$/
const CLIPS = '/clips/'

export function recordingHandlers(deps: CamDeps): Handlers<Routes, RequestContext> {
  const { currentNvr } = deps
  return {
    async cameraPreviewFrameList({ params, query }, { signal }) {
      const { after, before } = windowOf(query)
      const nvr = await currentNvr()
      const id = await requireCamera(nvr, params.id, signal)
      const ends = [after, before].map((time) => Math.max(time, FIRST_TEN_DIGITS)) as [number, number]
      const names = await nvr.frames(id, ...ends, signal)
      return names.filter((name) => PREVIEW_FRAME.exec(name)?.[1] === id)
    },
    async cameraPreviewList({ params, query }, { signal }) {
      const { after, before } = windowOf(query)
      const nvr = await currentNvr()
      const id = await requireCamera(nvr, params.id, signal)
      const previews = await nvr.previews(id, after, before, signal)
      return previews
        .filter(({ src }) => src.startsWith(CLIPS))
        .map(({ camera, src, type, start, end }) => ({ camera, src: `/cam${src}`, type, start, end }))
    },
    async cameraPreviewFrameGet({ params: { filename } }, { signal }) {
      const nvr = await currentNvr()
      const [, camera = ''] = PREVIEW_FRAME.exec(filename) ?? []
      await requireCamera(nvr, camera, signal)
      const image = await nvr.image('frame', `/api/preview/${filename}/thumbnail.webp`, signal)
      if (image === undefined)
        throw new ApiError('CAM_CLIP_NOT_FOUND', `Preview frame ${filename} is not there any more.`)
      return { media_type: 'image/webp', body: image }
    },
    async cameraClipGet(input, { signal }) {
      const { start, end } = clipWindow(input)
      const nvr = await currentNvr()
      const id = await requireCamera(nvr, input.params.id, signal)
      const path = `/api/${id}/start/${decimal(start)}/end/${decimal(end)}/clip.mp4`
      const clip = await openClip(nvr, path, signal)
      if (clip === undefined)
        throw new ApiError('CAM_RECORDING_NOT_FOUND', `Camera ${id} has no recordings from ${start} to ${end}.`)
      const name = `${id}-${decimal(start)}-${decimal(end)}.mp4`
      if (input.query.download !== '1') return clip
      return { ...clip, headers: { 'content-disposition': `attachment; filename="${name}"` } }
    },
    cameraHlsGet: hlsProxy(deps),
    async cameraSegmentList({ params, query }, { signal }) {
      const window = windowOf(query)
      const nvr = await currentNvr()
      const id = await requireCamera(nvr, params.id, signal)
      return (await nvr.segments(id, { ...window }, signal)).map(segmentOf)
    },
    async cameraRecordingSummaryGet({ params, query: { timezone = 'UTC' } }, { signal }) {
      const zone = summaryZone(timezone)
      const nvr = await currentNvr()
      const id = await requireCamera(nvr, params.id, signal)
      return zone.daysOf(await nvr.summary(id, { timezone: zone.asked }, signal))
    },
    cameraFileGet: fileProxy(deps),
  }
}

function clipWindow({ query }: Input<Routes['cameraClipGet']>): { start: number; end: number } {
  const { start, end, download } = query
  if (start === undefined) throw invalidField('query.start', 'is missing')
  if (end === undefined) throw invalidField('query.end', 'is missing')
  if (start >= end) throw invalidField('query.start', `must be before query.end (${end})`)
  if (download === '1' && end - start > DOWNLOAD_CAP_S) {
    const asked = `${Math.ceil((end - start) / 60)} minutes were asked for`
    throw new ApiError('CAM_CLIP_TOO_LONG', `A download may have 30 minutes; ${asked}. Ask for several parts.`)
  }
  return { start, end }
}

type Segment = Awaited<ReturnType<Awaited<ReturnType<CamDeps['currentNvr']>>['segments']>>[number]

function segmentOf({ id, start_time, end_time, duration, segment_size, motion, objects }: Segment): RecordingSegment {
  return {
    id,
    start_time,
    end_time,
    duration: duration ?? end_time - start_time,
    segment_size_mb: segment_size ?? null,
    motion: motion ?? null,
    objects: objects ?? null,
  }
}
