// A recording from some moment on, by HLS: the browser's own where it has one, hls.js otherwise.
import type Hls from 'hls.js'
import type { Api } from './api.ts'

/** `auto`: hls.js where the browser has no HLS of its own. */
export type HlsChoice = 'auto' | 'native' | 'hls.js'

export interface Segment {
  start_time: number
  end_time: number
}

export interface Recording {
  /** Unix seconds of what is shown now. */
  now(): number
}

/** As much as is loaded at once from where somebody sought to. */
const WINDOW_S = 3_600
const HLS_TYPE = 'application/vnd.apple.mpegurl'

export interface RecordingOptions {
  api: Api
  camera: string
  from: number
  hls: HlsChoice
  /** Ends it. Once aborted, the video belongs to somebody else and is not touched. */
  signal: AbortSignal
}

type Failed = (reason: string) => void

export async function playRecording(
  video: HTMLVideoElement,
  { api, camera, from, hls, signal }: RecordingOptions,
  failed: Failed,
): Promise<Recording> {
  const path = `/cam/cameras/${encodeURIComponent(camera)}/recording`
  const until = Math.min(from + WINDOW_S, Math.floor(Date.now() / 1000))
  const segments = await api.get<Segment[]>(`${path}/segments`, { after: from, before: until }, signal)
  const spans = spansOf(segments, from, until)
  const [first] = spans
  if (first === undefined) throw new Error('There is no recording at this time.')
  const playlist = `${path}/hls/start/${from}/end/${until}/master.m3u8`
  const is_native = hls === 'native' || (hls === 'auto' && video.canPlayType(HLS_TYPE) !== '')
  if (is_native) playNative(video, api.url(playlist), signal, failed)
  else await playHls(video, { api, playlist, signal }, failed)
  video.play().catch(() => {})
  return { now: () => wallTime(spans, video.currentTime) }
}

interface Span {
  start: number
  end: number
}

/** Recorded times within the window, in order. Times without a recording are left out of what is played. */
export function spansOf(segments: readonly Segment[], from: number, until: number): Span[] {
  return segments
    .map(({ start_time, end_time }) => ({ start: Math.max(start_time, from), end: Math.min(end_time, until) }))
    .filter(({ start, end }) => end > start)
    .sort((a, b) => a.start - b.start)
}

/** What was recorded at a position of the playback. */
export function wallTime(spans: readonly Span[], position: number): number {
  let left = position
  for (const { start, end } of spans) {
    if (left <= end - start) return start + left
    left -= end - start
  }
  return spans.at(-1)?.end ?? 0
}

function playNative(video: HTMLVideoElement, address: string, signal: AbortSignal, failed: Failed): void {
  const onError = (): void => failed(video.error?.message ?? 'The recording cannot be played.')
  video.addEventListener('error', onError, { signal })
  video.src = address
}

async function playHls(
  video: HTMLVideoElement,
  { api, playlist, signal }: { api: Api; playlist: string; signal: AbortSignal },
  failed: Failed,
): Promise<void> {
  const { default: Player } = (await import('./hls.mjs' as string)) as { default: typeof Hls }
  signal.throwIfAborted()
  // The page allows no scripts from memory, and with them no worker of hls.js.
  const player = new Player({
    enableWorker: false,
    xhrSetup(request, address) {
      const { pathname } = new URL(address, location.origin)
      request.open('GET', api.url(pathname), true)
    },
  })
  player.on(Player.Events.ERROR, (_event, { fatal, details }) => {
    if (fatal) failed(`The recording cannot be played (${details}).`)
  })
  player.loadSource(api.url(playlist))
  player.attachMedia(video)
  signal.addEventListener('abort', () => player.destroy(), { once: true })
}
