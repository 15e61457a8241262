/** Calls about events: what was detected, with its snapshot, thumbnail and clip. */
import { pathOf, rounded } from './activity.ts'
import { boxAt, type Pass } from './cameras.ts'
import { mayRead, requireCamera } from './camera-access.ts'
import { type Answer, type Call, failure, json, queryFloat, queryInteger, Rejection, type Route, route, unprocessable } from './http-call.ts' // biome-ignore format: one line
import { CONTENT_TYPES, type ImageType } from './images.ts'
import type { JsonObject } from './json.ts'
import { clipOf } from './recording-calls.ts'
import { hasRecording } from './recordings.ts'
import type { RelayFaults } from './relay.ts'
import type { CameraState, NvrState } from './state.ts'
import { eventSnapshot, eventThumbnail } from './stills.ts'

const DEFAULT_LIMIT = 100
const MONTH_S = 30 * 24 * 3600

export function eventRoutes(faults: () => RelayFaults): Route[] {
  return [
    route('GET', '/events', 'anyone', list),
    route('GET', '/events/:event', 'anyone', single),
    route('GET', '/events/:event/thumbnail.:type', 'anyone', thumbnail),
    route('GET', '/events/:event/snapshot.jpg', 'anyone', snapshot),
    route('GET', '/events/:event/clip.mp4', 'anyone', (call) => clip(call, faults())),
  ]
}

function list(call: Call): Answer {
  const { nvr, query, caller } = call
  const limit = queryInteger(call, 'limit', DEFAULT_LIMIT)
  const [after, before] = [queryFloat(call, 'after', -Infinity), queryFloat(call, 'before', Infinity)]
  const wanted = filters(call)
  const cameras = [...nvr.cameras.keys()].filter((id) => mayRead(nvr, caller, id))
  const passes = cameras
    .flatMap((id) => nvr.passes(id, after, before))
    .filter((pass) => pass.start_s > after && pass.start_s < before && wanted(pass))
    .toSorted((a, b) => (query.get('sort') === 'date_asc' ? a.start_s - b.start_s : b.start_s - a.start_s))
  const with_thumbnail = query.get('include_thumbnails') === '0' ? {} : { thumbnail: '' }
  return json(
    (limit < 0 ? passes : passes.slice(0, limit)).map((pass) => ({ ...eventRow(nvr, pass), ...with_thumbnail })),
  )
}

/** Lists are compared as they are: blanks count, and an empty list fits nothing. */
function filters(call: Call): (pass: Pass) => boolean {
  const { nvr, query } = call
  const fits = (name: string, value: string | null): boolean => {
    const text = query.get(name) ?? 'all'
    return text === 'all' || text.split(',').includes(value ?? 'None')
  }
  const flag = (name: string): boolean | null => {
    const value = queryInteger(call, name, null)
    return value === null ? null : value !== 0
  }
  const [snapshots, clips, running] = [flag('has_snapshot'), flag('has_clip'), flag('in_progress')]
  const id = query.get('event_id')
  return (pass) =>
    fits('cameras', query.get('cameras') === null ? (query.get('camera') ?? pass.camera) : pass.camera) &&
    (query.get('camera') === null || query.get('camera') === pass.camera) &&
    fits('labels', pass.label) &&
    fits('zones', null) &&
    fits('sub_labels', pass.sub_label) &&
    (id === null || id === pass.id) &&
    (snapshots === null || snapshots === hasSnapshot(nvr, pass)) &&
    (clips === null || clips === hasClip(nvr, pass)) &&
    (running === null || running === isRunning(pass))
}

function single(call: Call): Answer {
  const { nvr } = call
  const pass = passOf(call)
  if (pass === null) throw new Rejection(404, 'Event not found')
  const { id, label, sub_label, camera, start_time, end_time, false_positive, zones, has_clip, has_snapshot, retain_indefinitely, plus_id, data } = eventRow(nvr, pass) // biome-ignore format: one line
  return json({
    id, label, sub_label, camera, start_time, end_time, false_positive, zones, thumbnail: '', has_clip, has_snapshot, retain_indefinitely, plus_id,
    model_hash: '0123456789abcdef0123456789abcdef',
    detector_type: 'cpu',
    model_type: 'ssd',
    data,
  } as JsonObject) // biome-ignore format: one line
}

async function thumbnail(call: Call): Promise<Answer> {
  const { nvr, params } = call
  const type = imageType(params['type'] ?? '')
  const pass = passOf(call)
  if (pass === null) throw failure(404, 'Event not found')
  const bytes = await eventThumbnail(nvr, cameraOf(nvr, pass), pass, type)
  return image(type, bytes, `private, max-age=${MONTH_S}`)
}

async function snapshot(call: Call): Promise<Answer> {
  const { nvr } = call
  let pass: Pass | null
  try {
    pass = passOf(call)
  } catch {
    throw failure(404, 'Unknown error occurred')
  }
  if (pass === null) throw failure(404, 'Live frame not available')
  if (!hasSnapshot(nvr, pass) && !isRunning(pass)) throw failure(404, 'Snapshot not available')
  const bytes = await eventSnapshot(nvr, cameraOf(nvr, pass), pass, { type: 'jpg', boxes: true })
  return image('jpg', bytes, `private, max-age=${isRunning(pass) ? 0 : MONTH_S}`)
}

function clip(call: Call, faults: RelayFaults): Answer {
  const { nvr } = call
  const padding_s = queryInteger(call, 'padding', 0)
  const pass = passOf(call)
  if (pass === null) throw failure(404, 'Event not found')
  if (!hasClip(nvr, pass)) throw failure(404, 'Clip not available')
  const to_s = isRunning(pass) ? Date.now() / 1000 : pass.end_s
  return clipOf(nvr, pass.camera, { from_s: pass.start_s - padding_s, to_s: to_s + padding_s }, faults)
}

/** Null when there is none; rejected when the caller's role does not have the camera. */
function passOf({ nvr, params, caller }: Call): Pass | null {
  const pass = nvr.passById(params['event'] ?? '')
  if (pass !== null && pass.id !== params['event']) return null
  if (pass !== null) requireCamera(nvr, caller, pass.camera)
  return pass
}

function cameraOf(nvr: NvrState, pass: Pass): CameraState {
  const camera = nvr.camera(pass.camera)
  if (camera === undefined) throw failure(404, 'Event not found')
  return camera
}

export function imageType(text: string): ImageType {
  if (Object.hasOwn(CONTENT_TYPES, text)) return text as ImageType // these are its keys
  throw unprocessable('enum', ['path', 'extension'], "Input should be 'webp', 'png', 'jpg' or 'jpeg'", text)
}

export function image(type: ImageType, bytes: Buffer, cache: string): Answer {
  return { status: 200, headers: { 'content-type': CONTENT_TYPES[type], 'cache-control': cache }, bytes }
}

function isRunning({ end_s }: Pass): boolean {
  return end_s > Date.now() / 1000
}

function hasSnapshot(nvr: NvrState, pass: Pass): boolean {
  return pass.has_snapshot && nvr.camera(pass.camera)?.switches.snapshots === true
}

function hasClip(nvr: NvrState, pass: Pass): boolean {
  return isRunning(pass) || hasRecording(nvr, pass.camera, pass.start_s, pass.end_s)
}

function eventRow(nvr: NvrState, pass: Pass): JsonObject {
  const running = isRunning(pass)
  const { left, top, right, bottom } = boxAt(pass, running ? Date.now() / 1000 : (pass.start_s + pass.end_s) / 2)
  const [width, height] = [rounded(right - left), rounded(bottom - top)]
  return {
    id: pass.id,
    camera: pass.camera,
    label: pass.label,
    zones: [],
    start_time: pass.start_s,
    end_time: running ? null : pass.end_s,
    has_clip: hasClip(nvr, pass),
    has_snapshot: hasSnapshot(nvr, pass),
    plus_id: '',
    retain_indefinitely: false,
    sub_label: running ? null : pass.sub_label,
    top_score: null,
    false_positive: false,
    box: [],
    data: {
      box: [rounded(left), rounded(top), width, height],
      region: [0, 0, 1, 1],
      score: pass.score,
      top_score: pass.score,
      attributes: [],
      type: 'object',
      max_severity: pass.label === 'person' ? 'alert' : 'detection',
      path_data: pathOf(pass, Date.now() / 1000),
      average_estimated_speed: 0,
      velocity_angle: 0,
      recognized_license_plate: null,
      recognized_license_plate_score: null,
      area: Math.round(width * height * 640 * 360),
      ratio: Math.round((width / height) * 100) / 100,
    },
  }
}
