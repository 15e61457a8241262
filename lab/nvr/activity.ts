/** What the NVR knows of a pass at a moment, in the shapes of its messages and answers. */
import { boxAt, type Pass, standsStill } from './cameras.ts'
import type { Json, JsonObject } from './json.ts'
import { pixelsOf } from './scene.ts'
import type { CameraState } from './state.ts'

/** The pixels of an object in the detection stream: left, top, right, bottom. */
export function detectionBox(pass: Pass, camera: CameraState, time_s: number): number[] {
  const { left, top, right, bottom } = pixelsOf(boxAt(pass, time_s), camera.detect)
  return [left, top, right, bottom]
}

/** One side of an `events` message. */
export function trackedObject(pass: Pass, camera: CameraState, time_s: number): JsonObject {
  const ended = time_s > pass.end_s
  const frame_s = Math.min(time_s, pass.end_s)
  const box = detectionBox(pass, camera, frame_s)
  const [left = 0, top = 0, right = 0, bottom = 0] = box
  const still = standsStill(pass, frame_s)
  return {
    id: pass.id,
    camera: pass.camera,
    frame_time: frame_s,
    snapshot: {
      frame_time: frame_s,
      box,
      area: (right - left) * (bottom - top),
      region: box,
      score: pass.score,
      attributes: [],
    },
    label: pass.label,
    sub_label: ended ? pass.sub_label : null,
    top_score: pass.score,
    false_positive: false,
    start_time: pass.start_s,
    end_time: ended ? pass.end_s : null,
    score: pass.score,
    box,
    area: (right - left) * (bottom - top),
    ratio: Math.round(((right - left) / Math.max(1, bottom - top)) * 100) / 100,
    region: [0, 0, camera.detect.width, camera.detect.height],
    active: !still && !ended,
    stationary: still,
    motionless_count: still ? 10 : 0,
    position_changes: still ? 0 : 1,
    current_zones: [],
    entered_zones: [],
    has_clip: camera.switches.recordings,
    has_snapshot: camera.switches.snapshots,
    attributes: {},
    current_attributes: [],
    path_data: pathOf(pass, frame_s),
    pending_loitering: false,
    max_severity: 'alert',
  }
}

/** The points where it was, a second apart: the middle of its lower edge, as parts of the frame, and when. */
export function pathOf(pass: Pass, until_s: number): Json {
  const points: Json[] = []
  for (let time_s = pass.start_s; time_s <= Math.min(until_s, pass.end_s); time_s++) {
    const { left, right, bottom } = boxAt(pass, time_s)
    points.push([[rounded((left + right) / 2), rounded(bottom)], time_s])
  }
  return points
}

export function rounded(part: number): number {
  return Math.round(part * 10_000) / 10_000
}

/** A review item: one for each pass, from a little before it to a little after. */
export function reviewItem(pass: Pass, now_s: number): JsonObject {
  const over = now_s > pass.end_s + 2
  return {
    id: pass.review_id,
    camera: pass.camera,
    start_time: pass.start_s - 0.125,
    end_time: over ? pass.end_s + 2 : null,
    severity: pass.label === 'person' ? 'alert' : 'detection',
    thumb_path: `/media/frigate/clips/review/thumb-${pass.camera}-${pass.review_id}.webp`,
    data: {
      detections: [pass.id],
      objects: [pass.label],
      sub_labels: pass.sub_label === null ? [] : [pass.sub_label],
      zones: [],
      audio: [],
      thumb_time: pass.start_s + 4,
      metadata: null,
    },
  }
}
