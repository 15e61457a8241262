// The time before now, as a strip: when there are recordings, what is worth a review, and where the player is. A slider for the
// keyboard and for those who do not see it.
import type { Api } from './api.ts'
import type { Segment } from './recording.ts'

export interface Review {
  start_time: number
  end_time: number | null
  severity: string
  objects: string[]
}

export interface Timeline {
  /** Where the player is; `undefined`: live. */
  show(at: number | undefined): void
  refresh(): Promise<void>
  stop(): void
}

const SPAN_S = 3_600
const REFRESH_MS = 30_000
const STEPS_S: Readonly<Record<string, number>> = { ArrowLeft: -10, ArrowRight: 10, PageDown: -300, PageUp: 300 }
const COLOURS = { recording: '#4a6a8a', detection: '#e0a030', alert: '#e04040', here: '#ffffff' }

/** `sought` is told where to play from; `undefined`: live. */
export function createTimeline(
  canvas: HTMLCanvasElement,
  { api, camera }: { api: Api; camera: string },
  sought: (at: number | undefined) => void,
): Timeline {
  let end = now()
  let at: number | undefined
  let segments: Segment[] = []
  let reviews: Review[] = []

  const seek = (wanted: number): void =>
    sought(wanted >= end - 1 ? undefined : Math.max(end - SPAN_S, Math.floor(wanted)))
  const onKey = (event: KeyboardEvent): void => {
    const step = STEPS_S[event.key]
    if (step !== undefined) seek((at ?? now()) + step)
    else if (event.key === 'Home') seek(end - SPAN_S)
    else if (event.key === 'End') sought(undefined)
    else return
    event.preventDefault()
  }
  const onClick = ({ offsetX }: MouseEvent): void => seek(end - SPAN_S + (offsetX / canvas.clientWidth) * SPAN_S)
  const draw = (): void => {
    canvas.width = canvas.clientWidth
    canvas.height = canvas.clientHeight
    const brush = canvas.getContext('2d')
    if (brush === null) return
    const bar = (start: number, stop: number, top: number, height: number): void => {
      const left = ((start - (end - SPAN_S)) / SPAN_S) * canvas.width
      brush.fillRect(left, top, Math.max(1, ((stop - start) / SPAN_S) * canvas.width), height)
    }
    brush.fillStyle = COLOURS.recording
    for (const { start_time, end_time } of segments) bar(start_time, end_time, 20, canvas.height - 20)
    for (const { start_time, end_time, severity } of reviews) {
      brush.fillStyle = severity === 'alert' ? COLOURS.alert : COLOURS.detection
      bar(start_time, end_time ?? end, 4, 12)
    }
    brush.fillStyle = COLOURS.here
    bar(at ?? end - 2, (at ?? end - 2) + 2, 0, canvas.height)
    canvas.setAttribute('aria-valuemin', String(Math.floor(end - SPAN_S)))
    canvas.setAttribute('aria-valuemax', String(Math.floor(end)))
    canvas.setAttribute('aria-valuenow', String(Math.floor(at ?? end)))
    canvas.setAttribute('aria-valuetext', at === undefined ? 'live' : new Date(at * 1000).toLocaleString())
  }
  const refresh = async (): Promise<void> => {
    const before = now()
    const window = { after: before - SPAN_S, before }
    const path = `/cam/cameras/${encodeURIComponent(camera)}/recording/segments`
    ;[segments, reviews] = await Promise.all([
      api.get<Segment[]>(path, window),
      api.get<Review[]>('/cam/review', { ...window, cameras: camera, limit: 500 }),
    ])
    end = before
    draw()
  }
  canvas.addEventListener('keydown', onKey)
  canvas.addEventListener('click', onClick)
  // What cannot be read now is read the next time.
  const timer = setInterval(() => refresh().catch(() => {}), REFRESH_MS)
  return {
    show(wanted) {
      at = wanted
      draw()
    },
    refresh,
    stop() {
      clearInterval(timer)
      canvas.removeEventListener('keydown', onKey)
      canvas.removeEventListener('click', onClick)
    },
  }
}

function now(): number {
  return Math.floor(Date.now() / 1000)
}
