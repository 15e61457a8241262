// One attempt to show live video, whichever way: what all ways have in common.

export interface Ending {
  /** Whether anything was seen: a way that shows nothing is given up for the next one. */
  had_frame: boolean
  reason: string
}

export interface Attempt {
  readonly ended: Promise<Ending>
  stop(): void
}

const FIRST_FRAME_MS = 10_000
const STALLED_MS = 6_000
const CHECK_MS = 500

export interface Watched {
  /** Ends the attempt; only the first reason counts. */
  end(reason: string): void
  readonly attempt: Attempt
  /** Called once when it ends, however. */
  onEnd(release: () => void): void
}

/** Follows the position of the video: an attempt ends when no frame comes, or the video stands still. */
export function watchAttempt(video: HTMLVideoElement, shown: () => void): Watched {
  const { promise: ended, resolve } = Promise.withResolvers<Ending>()
  const releases: (() => void)[] = []
  let had_frame = false
  let is_over = false
  let still_ms = 0
  let checked_at = performance.now()
  let position = video.currentTime
  const end = (reason: string): void => {
    if (is_over) return
    is_over = true
    clearInterval(timer)
    for (const release of releases) release()
    resolve({ had_frame, reason })
  }
  const timer = setInterval(() => {
    const now = performance.now()
    // A page that stood still itself could not show anything.
    still_ms += Math.min(now - checked_at, CHECK_MS * 2)
    checked_at = now
    // Nobody sees a hidden page, and the browser may stop its video.
    if (document.hidden || (video.paused && had_frame)) still_ms = 0
    if (video.currentTime !== position && video.videoWidth > 0) {
      position = video.currentTime
      still_ms = 0
      if (!had_frame) shown()
      had_frame = true
    }
    if (still_ms > (had_frame ? STALLED_MS : FIRST_FRAME_MS)) end('No frame came for too long.')
  }, CHECK_MS)
  const onError = (): void => {
    // Without an error it tells of what the video had before.
    if (video.error !== null) end(video.error.message || 'The video cannot be played.')
  }
  video.addEventListener('error', onError)
  releases.push(() => video.removeEventListener('error', onError))
  return {
    end,
    attempt: { ended, stop: () => end('stopped') },
    onEnd: (release) => releases.push(release),
  }
}
