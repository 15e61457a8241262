// Draws what is detected over the video, at the time at which the video shows it.
import type { Detection } from './feed.ts'

/** Of the image that objects are detected in. */
export interface DetectSize {
  width: number
  height: number
}

export interface Overlay {
  set(id: string, detection: Detection | undefined): void
  clear(): void
  stop(): void
}

interface Track {
  /** Oldest first; `undefined` is the end of the object. */
  seen: { at: number; detection: Detection | undefined }[]
}

/** An object of which nothing more is heard is no longer drawn. */
const FORGET_MS = 10_000

/** `delay_ms`: by how much the video is behind what arrives now. */
export function createOverlay(canvas: HTMLCanvasElement, size: DetectSize, delay_ms: () => number): Overlay {
  const tracks = new Map<string, Track>()
  let frame = 0
  let is_blank = true
  const draw = (): void => {
    frame = requestAnimationFrame(draw)
    const brush = canvas.getContext('2d')
    if (brush === null) return
    if (canvas.width !== canvas.clientWidth) canvas.width = canvas.clientWidth
    if (canvas.height !== canvas.clientHeight) canvas.height = canvas.clientHeight
    const detections = current(tracks, performance.now() - delay_ms())
    if (is_blank && detections.length === 0) return
    is_blank = detections.length === 0
    brush.clearRect(0, 0, canvas.width, canvas.height)
    for (const detection of detections) {
      outline(brush, detection, canvas.width / size.width, canvas.height / size.height)
    }
  }
  draw()
  return {
    set(id, detection) {
      const track = tracks.get(id) ?? { seen: [] }
      track.seen.push({ at: performance.now(), detection })
      tracks.set(id, track)
    },
    clear: () => tracks.clear(),
    stop: () => cancelAnimationFrame(frame),
  }
}

function current(tracks: Map<string, Track>, at: number): Detection[] {
  const shown: Detection[] = []
  for (const [id, { seen }] of tracks) {
    while (seen[1] !== undefined && seen[1].at <= at) seen.shift()
    const [oldest] = seen
    if (oldest === undefined || oldest.at > at) continue
    if (oldest.detection === undefined || at - oldest.at > FORGET_MS) tracks.delete(id)
    else shown.push(oldest.detection)
  }
  return shown
}

function outline(brush: CanvasRenderingContext2D, { box, label }: Detection, across: number, down: number): void {
  const [left, top, right, bottom] = box
  brush.strokeStyle = '#00ff66'
  brush.lineWidth = 2
  brush.strokeRect(left * across, top * down, (right - left) * across, (bottom - top) * down)
  brush.font = '14px sans-serif'
  brush.fillStyle = '#00ff66'
  brush.fillText(label, left * across + 2, Math.max(14, top * down - 4))
}
