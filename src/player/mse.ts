// Live video by MediaSource: the relay sends fragments over a WebSocket, which are appended to the video as they come.
import { type Attempt, watchAttempt } from './attempt.ts'

/** In the spelling that the relay compares them in. */
const CODECS = ['avc1.640029', 'mp4a.40.2', 'flac', 'opus']

/** So much must be there before it plays: with less, a browser drops every frame as late. */
const START_S = 0.5
/** Behind the newest frame: above the first it plays a little faster, above the second it jumps. */
const LATE_S = 1.5
const TOO_LATE_S = 4
const KEEP_S = 20
/** Fragments that wait to be appended; more means that the browser no longer keeps up. Many come at once at the beginning. */
const MAX_WAITING = 300

export function startMse(video: HTMLVideoElement, socket: WebSocket, shown: () => void): Attempt {
  const { end, attempt, onEnd } = watchAttempt(video, shown)
  const source = new MediaSource()
  const waiting: ArrayBuffer[] = []
  let buffer: SourceBuffer | undefined
  let is_started = false

  const append = (): void => {
    if (buffer === undefined || buffer.updating || source.readyState !== 'open') return
    const next = waiting.shift()
    try {
      if (next !== undefined) buffer.appendBuffer(next)
      else trim(buffer, video.currentTime)
      if (is_started && video.paused) return
      follow(video, buffer)
      if (!is_started && lead(video, buffer) >= START_S) {
        is_started = true
        // Refused, it is tried again with the next fragment.
        video.play().catch(() => (is_started = false))
      }
    } catch (error) {
      end(String(error))
    }
  }
  const offer = (): void => {
    if (socket.readyState !== WebSocket.OPEN || source.readyState !== 'open') return
    const value = CODECS.filter((codec) => MediaSource.isTypeSupported(`video/mp4; codecs="${codec}"`)).join()
    socket.send(JSON.stringify({ type: 'mse', value }))
  }
  source.addEventListener('sourceopen', offer, { once: true })
  source.addEventListener('sourceclose', () => end('The video was given another source.'))
  socket.addEventListener('open', offer)
  socket.addEventListener('close', ({ code, reason }) =>
    end(reason === '' ? `The connection ended (${code}).` : reason),
  )
  socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (typeof data !== 'string') {
      // Of a video that somebody paused nothing is kept beyond what is there.
      if (is_started && buffer !== undefined && video.paused && lead(video, buffer) > KEEP_S) return
      waiting.push(data)
      if (is_started && waiting.length > MAX_WAITING) end('The browser does not keep up with the frames.')
      else append()
      return
    }
    const { type, value } = JSON.parse(data) as { type: string; value: string }
    if (type !== 'mse' || buffer !== undefined) return
    try {
      buffer = source.addSourceBuffer(value)
    } catch (error) {
      end(String(error))
      return
    }
    buffer.mode = 'segments'
    buffer.addEventListener('updateend', append)
  })
  const address = URL.createObjectURL(source)
  video.src = address
  onEnd(() => {
    socket.close()
    URL.revokeObjectURL(address)
    video.playbackRate = 1
  })
  return attempt
}

function trim(buffer: SourceBuffer, position: number): void {
  const { buffered } = buffer
  if (buffered.length === 0) return
  const start = buffered.start(0)
  if (position - start > KEEP_S * 2) buffer.remove(start, position - KEEP_S)
}

/** Keeps close to the newest frame. */
function follow(video: HTMLVideoElement, { buffered }: SourceBuffer): void {
  if (buffered.length === 0) return
  const newest = buffered.end(buffered.length - 1)
  const oldest = buffered.start(buffered.length - 1)
  if (video.currentTime < oldest || newest - video.currentTime > TOO_LATE_S) {
    video.currentTime = Math.max(oldest, newest - LATE_S / 2)
  }
  video.playbackRate = newest - video.currentTime > LATE_S ? 1.1 : 1
}

function lead({ currentTime }: HTMLVideoElement, { buffered }: SourceBuffer): number {
  return buffered.length === 0 ? 0 : buffered.end(buffered.length - 1) - currentTime
}
