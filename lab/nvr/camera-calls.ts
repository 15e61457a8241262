/** Calls for one camera's still images: the latest frame and the previews. */
import { mayRead, requireCamera } from './camera-access.ts'
import { image, imageType } from './event-calls.ts'
import { type Answer, type Call, failure, json, queryInteger, Rejection, type Route, route } from './http-call.ts'
import { previewFileName, previewFrames, previewFrameTime, previewsBetween } from './previews.ts'
import { timesOf } from './recording-calls.ts'
import { latestImage, smallFrame } from './stills.ts'

const YEAR_S = 365 * 24 * 3600

export function cameraRoutes(): Route[] {
  return [
    route('GET', '/:camera/latest.:type', 'camera', latest),
    route('GET', '/preview/:camera/start/:start/end/:end', 'anyone', previews),
    route('GET', '/preview/:camera/start/:start/end/:end/frames', 'anyone', (call) => {
      const { from_s, to_s } = timesOf(call)
      return json(previewFrames(call.nvr, call.params['camera'] ?? '', from_s, to_s))
    }),
    route('GET', '/preview/:file/thumbnail.webp', 'anyone', previewFrame),
    route('GET', '/preview/:file/thumbnail.jpg', 'anyone', previewFrame),
  ]
}

async function latest(call: Call): Promise<Answer> {
  const { nvr, params, query } = call
  const type = imageType(params['type'] ?? '')
  const given = queryInteger(call, 'height', 0)
  const quality = queryInteger(call, 'quality', 70)
  const camera = nvr.camera(params['camera'] ?? '')
  if (camera === undefined) throw failure(404, 'Camera not found')
  const { width, height } = camera.detect
  if (given < 0) {
    throw new Rejection(400, `Invalid height / width requested :: ${given} / ${Math.trunc((given * width) / height)}`)
  }
  const boxes = Number(query.get('bbox') ?? 0) !== 0
  const bytes = await latestImage(nvr, camera, { type, quality, boxes, ...(given > 0 ? { height: given } : {}) })
  return image(type, bytes, 'no-store')
}

function previews(call: Call): Answer {
  const { nvr, params, caller } = call
  const { from_s, to_s } = timesOf(call)
  const id = params['camera'] ?? ''
  if (id !== 'all' && nvr.camera(id) === undefined && nvr.release === '0.17') {
    throw new Rejection(403, { detail: 'Access denied for camera' })
  }
  if (!mayRead(nvr, caller, id)) throw new Rejection(403, { detail: 'Access denied for camera' })
  const cameras = id === 'all' ? [...nvr.cameras.keys()] : [id]
  const found = cameras.flatMap((camera) => previewsBetween(nvr, camera, from_s, to_s))
  if (found.length === 0) throw failure(404, 'No previews found.')
  return json(
    found.map((preview) => ({
      camera: preview.camera,
      src: `/clips/previews/${preview.camera}/${previewFileName(preview)}`,
      type: 'video/mp4',
      start: preview.start_s,
      end: preview.end_s,
    })),
  )
}

async function previewFrame({ nvr, params, caller }: Call): Promise<Answer> {
  const name = params['file'] ?? ''
  requireCamera(nvr, caller, /^preview_(.+)-/.exec(name)?.[1] ?? '')
  if (nvr.release === '0.17' && !name.startsWith('preview_')) throw failure(400, 'Invalid preview filename')
  const found = previewFrameTime(nvr, name)
  if (found === null) throw failure(404, 'Image file not found')
  return image('webp', await smallFrame(nvr, found.camera, found.time_s), `private, max-age=${YEAR_S}`)
}
