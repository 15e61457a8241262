/** Previews: a small video of each past hour, and single frames of the running one. */
import { FRAMES_PER_S } from './cameras.ts'
import { createScene } from './scene.ts'
import type { CameraState, NvrState } from './state.ts'
import { createEncoder, type EncodedFrame } from './video/h264.ts'
import { TICKS_PER_S, wholeFile } from './video/mp4.ts'

const HOUR_S = 3600
const SIZE = { width: 320, height: 176 }
/** A frame each so many seconds of the preview. */
const FRAME_EVERY_S = 4
const STILL_EVERY_S = 30
const MOVING_EVERY_S = 2

export interface Preview {
  camera: string
  start_s: number
  end_s: number
}

/** Hours that are over and touch the time. */
export function previewsBetween(nvr: NvrState, camera: string, from_s: number, to_s: number): Preview[] {
  const found: Preview[] = []
  const first = Math.max(Math.floor(from_s / HOUR_S) * HOUR_S, Math.ceil(nvr.historyStart_s() / HOUR_S) * HOUR_S)
  const running = Math.floor(Date.now() / 1000 / HOUR_S) * HOUR_S
  for (let start_s = first; start_s < Math.min(to_s, running); start_s += HOUR_S) {
    if (start_s + HOUR_S > from_s && nvr.recorded(camera, start_s, start_s + HOUR_S)) {
      found.push({ camera, start_s, end_s: start_s + HOUR_S })
    }
  }
  return found
}

export function previewFileName({ start_s, end_s }: Preview): string {
  return `${start_s}.0-${end_s}.0.mp4`
}

/** The video of an hour, in real time, with few frames. */
export function previewVideo(nvr: NvrState, camera: CameraState, { start_s, end_s }: Preview): Buffer {
  const encoder = createEncoder(SIZE.width, SIZE.height, FRAMES_PER_S)
  const scene = createScene(camera.scenery, SIZE)
  const frames: EncodedFrame[] = []
  for (let time_s = start_s; time_s < end_s; time_s += FRAME_EVERY_S) {
    frames.push(encoder.encode(scene.draw(time_s, nvr.passes(camera.id, time_s, time_s)), frames.length % 15 === 0))
  }
  return wholeFile(encoder, frames, FRAME_EVERY_S * TICKS_PER_S)
}

/** Names of the frames of the running hour. The real program compares them as text with the bounds it was given. */
export function previewFrames(nvr: NvrState, camera: string, from_s: number, to_s: number): string[] {
  const [low, high] = [from_s, to_s].map((time_s) => `preview_${camera}-${pythonText(time_s)}.webp`)
  return framesOfHour(nvr, camera)
    .map((time_s) => `preview_${camera}-${pythonText(time_s)}.webp`)
    .filter((name) => name >= (low ?? '') && name <= (high ?? ''))
}

/** The moment of a frame that exists; null otherwise. */
export function previewFrameTime(nvr: NvrState, name: string): { camera: CameraState; time_s: number } | null {
  const [, id = '', text = ''] = /^preview_(.+)-([0-9.]+)\.webp$/.exec(name) ?? []
  const camera = nvr.camera(id)
  const time_s = Number(text)
  if (camera === undefined || !framesOfHour(nvr, id).includes(time_s)) return null
  return { camera, time_s }
}

function framesOfHour(nvr: NvrState, camera: string): number[] {
  const now_s = Date.now() / 1000
  const times: number[] = []
  const passes = nvr.passes(camera, now_s - HOUR_S, now_s)
  for (let time_s = Math.floor(now_s / HOUR_S) * HOUR_S; time_s < now_s - 1; time_s += MOVING_EVERY_S) {
    const moving = passes.some((pass) => pass.start_s <= time_s && pass.end_s >= time_s)
    if (!nvr.recorded(camera, time_s, time_s)) continue
    if (moving || time_s % STILL_EVERY_S === 0) times.push(time_s + 0.5)
  }
  return times
}

function pythonText(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value)
}
