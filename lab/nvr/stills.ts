/** Still images that the NVR has: the latest frame, snapshots and thumbnails of events, thumbnails of reviews, preview frames. */
import { boxAt, type Pass } from './cameras.ts'
import { encodeImage, type ImageType } from './images.ts'
import { createScene, outline, pixelsOf } from './scene.ts'
import type { CameraState, NvrState } from './state.ts'
import { createFrame, fill, type Frame, type Rectangle } from './video/frame.ts'

const THUMBNAIL_PX = 175
const PREVIEW_PX = 180

export interface LatestOptions {
  type: ImageType
  height?: number
  quality: number
  boxes: boolean
}

/** A camera that sends nothing has an image that says so; the answer is a success all the same. */
export async function latestImage(nvr: NvrState, camera: CameraState, options: LatestOptions): Promise<Buffer> {
  const { type, quality, height = camera.detect.height } = options
  if (camera.offline || !camera.switches.enabled) return encodeImage(noSignal(camera), { type, height, quality })
  const now_s = Date.now() / 1000
  const passes = nvr.passes(camera.id, now_s, now_s)
  const frame = createScene(camera.scenery, camera.detect).draw(now_s, passes)
  if (options.boxes) for (const pass of passes) outline(frame, boxAt(pass, now_s))
  return encodeImage(frame, { type, height, quality })
}

/** The frame at the best moment, or now when it is still there, with a box around what was detected. */
export async function eventSnapshot(
  nvr: NvrState,
  camera: CameraState,
  pass: Pass,
  { type, boxes }: { type: ImageType; boxes: boolean },
): Promise<Buffer> {
  const time_s = bestMoment_s(pass)
  const frame = drawnAt(nvr, camera, time_s)
  if (boxes) outline(frame, boxAt(pass, time_s))
  return encodeImage(frame, { type })
}

/** A square around the object. */
export async function eventThumbnail(nvr: NvrState, camera: CameraState, pass: Pass, type: ImageType): Promise<Buffer> {
  const time_s = bestMoment_s(pass)
  const crop = squareAround(pixelsOf(boxAt(pass, time_s), camera.detect), camera.detect)
  return encodeImage(drawnAt(nvr, camera, time_s), { type, crop, height: THUMBNAIL_PX })
}

export async function smallFrame(nvr: NvrState, camera: CameraState, time_s: number): Promise<Buffer> {
  return encodeImage(drawnAt(nvr, camera, time_s), { type: 'webp', height: PREVIEW_PX })
}

/** A face for the library: everybody has the colours of the name. */
export async function faceImage(name: string): Promise<Buffer> {
  const tone = 110 + ((name.codePointAt(0) ?? 0) % 60)
  const frame = createFrame(96, 96, { y: 60, u: 128, v: 128 })
  fill(frame, { left: 24, top: 12, right: 72, bottom: 84 }, { y: tone + 40, u: 110, v: 150 })
  for (const left of [34, 54]) fill(frame, { left, top: 34, right: left + 8, bottom: 42 }, { y: 30, u: 128, v: 128 })
  fill(frame, { left: 36, top: 62, right: 60, bottom: 68 }, { y: 80, u: 110, v: 180 })
  return encodeImage(frame, { type: 'webp' })
}

function drawnAt(nvr: NvrState, camera: CameraState, time_s: number): Frame {
  return createScene(camera.scenery, camera.detect).draw(time_s, nvr.passes(camera.id, time_s, time_s))
}

function bestMoment_s({ start_s, end_s }: Pass): number {
  return Math.min(Date.now() / 1000, (start_s + end_s) / 2)
}

function squareAround({ left, top, right, bottom }: Rectangle, size: { width: number; height: number }): Rectangle {
  const side = Math.min(size.width, size.height, Math.round(Math.max(right - left, bottom - top) * 1.2))
  const start = (from: number, to: number, limit: number): number =>
    Math.max(0, Math.min(limit - side, Math.round((from + to - side) / 2)))
  const [x, y] = [start(left, right, size.width), start(top, bottom, size.height)]
  return { left: x, top: y, right: x + side, bottom: y + side }
}

function noSignal({ detect }: CameraState): Frame {
  const frame = createFrame(detect.width, detect.height, { y: 30, u: 128, v: 128 })
  const band = {
    left: 0,
    top: Math.round(detect.height * 0.45),
    right: detect.width,
    bottom: Math.round(detect.height * 0.55),
  }
  fill(frame, band, { y: 120, u: 100, v: 200 })
  return frame
}
