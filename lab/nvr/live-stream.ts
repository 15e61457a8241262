/** One stream of a camera while somebody watches: frames are drawn and encoded once, at the pace of the clock, for all viewers. */
import { FRAMES_PER_S, type Pass } from './cameras.ts'
import type { Scene } from './scene.ts'
import { createEncoder, type EncodedFrame, type Encoder } from './video/h264.ts'

/** A key frame every two seconds, at the same moments for live view and recordings. */
export const FRAMES_PER_GROUP = 2 * FRAMES_PER_S

export interface LiveFrame extends EncodedFrame {
  /** The frame's number since 1970: its time is this divided by the rate. */
  number: number
}

export interface LiveStream {
  encoder: Encoder
  viewers(): number
  /**
   * Frames arrive from a key frame on. With a backlog, this is one that is as many seconds old: a browser that gets no
   * backlog shows every frame but its clock stands. The real relay sends none; then the first frame comes with the next
   * key frame.
   */
  watch(options: { backlog_s: number; onFrame: (frame: LiveFrame) => void }): () => void
  close(): void
}

export function createLiveStream(scene: Scene, passes: (from_s: number, to_s: number) => Pass[]): LiveStream {
  const encoder = createEncoder(scene.width, scene.height, FRAMES_PER_S)
  const watchers = new Set<(frame: LiveFrame) => void>()
  /** The last two groups at least, each beginning with a key frame. */
  let recent: LiveFrame[] = []
  let next = 0
  let timer: NodeJS.Timeout | null = null

  const drawNext = (): void => {
    const time_s = next / FRAMES_PER_S
    const drawn = scene.draw(time_s, passes(time_s, time_s))
    const frame = { ...encoder.encode(drawn, next % FRAMES_PER_GROUP === 0), number: next }
    if (frame.key && recent.length > 2 * FRAMES_PER_GROUP) recent = recent.slice(-FRAMES_PER_GROUP)
    recent.push(frame)
    next++
    for (const onFrame of watchers) onFrame(frame)
  }
  /** By the clock, not by counting ticks: a timer that comes late draws all that is due. */
  const catchUp = (): void => {
    const now = Math.floor((Date.now() / 1000) * FRAMES_PER_S)
    // A machine that slept does not draw hours.
    if (now - next > 4 * FRAMES_PER_GROUP) next = groupStart(now)
    while (next <= now) drawNext()
    timer = setTimeout(catchUp, Math.max(5, (next * 1000) / FRAMES_PER_S - Date.now()))
    timer.unref()
  }
  const stop = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    recent = []
  }
  return {
    encoder,
    viewers: () => watchers.size,
    watch: ({ backlog_s, onFrame }) => {
      if (timer === null) {
        next = groupStart(Math.floor((Date.now() / 1000 - backlog_s) * FRAMES_PER_S))
        catchUp()
      }
      const viewer = backlogFirst(recent, next - backlog_s * FRAMES_PER_S, onFrame)
      if (backlog_s > 0) for (const frame of recent) viewer(frame)
      watchers.add(viewer)
      return () => {
        watchers.delete(viewer)
        if (watchers.size === 0) stop()
      }
    },
    close: () => {
      watchers.clear()
      stop()
    },
  }
}

/** Lets frames pass from the youngest key frame on that is old enough; without one, from the next key frame. */
function backlogFirst(
  recent: readonly LiveFrame[],
  wanted: number,
  onFrame: (frame: LiveFrame) => void,
): (frame: LiveFrame) => void {
  const start = recent.findLast(({ key, number }) => key && number <= wanted)?.number ?? 0
  let started = false
  return (frame) => {
    started ||= frame.key && frame.number >= start
    if (started) onFrame(frame)
  }
}

/** The moment of the key frame at or before a time. */
export function groupStart_s(time_s: number): number {
  return groupStart(Math.floor(time_s * FRAMES_PER_S)) / FRAMES_PER_S
}

function groupStart(number: number): number {
  return Math.floor(number / FRAMES_PER_GROUP) * FRAMES_PER_GROUP
}
