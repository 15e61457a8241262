// Live view that lasts: tries MediaSource, then WebRTC, then single frames, and begins again when what it has is lost.
import type { Api } from './api.ts'
import type { Attempt } from './attempt.ts'
import { startMse } from './mse.ts'
import { startStills } from './stills.ts'
import { startWebrtc } from './webrtc.ts'

export type Way = 'mse' | 'webrtc' | 'jpeg'
export const WAYS: readonly Way[] = ['mse', 'webrtc', 'jpeg']

export interface Screen {
  video: HTMLVideoElement
  /** In place of the video while single frames are shown. */
  image: HTMLImageElement
}

export interface LiveState {
  way: Way
  is_shown: boolean
  /** Why the last attempt ended; empty while there was none. */
  reason: string
}

export interface LiveOptions {
  api: Api
  camera: string
  ways?: readonly Way[]
  /** Which way worked last, kept by who shows the same camera again. */
  memory?: { worked: Way | undefined }
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000
/** A failure that takes no longer may be that of a moment: the way is tried once more before the next one. */
const QUICK_MS = 3_000

/** Answers how to stop. */
export function showLive(
  screen: Screen,
  { api, camera, ways = WAYS, memory = { worked: undefined } }: LiveOptions,
  changed: (state: LiveState) => void,
): () => void {
  let attempt: Attempt | undefined
  let is_stopped = false
  const run = async (): Promise<void> => {
    let round: Way[] = []
    let pause_ms = FIRST_PAUSE_MS
    let reason = ''
    while (!is_stopped) {
      if (round.length === 0) round = roundOf(ways, memory.worked)
      const way = round.shift() ?? 'mse'
      const started = performance.now()
      changed({ way, is_shown: false, reason })
      attempt = start(way, screen, api, camera, () => {
        screen.image.hidden = way !== 'jpeg'
        // Single frames are a makeshift, after which moving video is tried again.
        if (way !== 'jpeg') memory.worked = way
        changed({ way, is_shown: true, reason })
      })
      const ending = await attempt.ended
      reason = ending.reason
      if (ending.had_frame) round = []
      // Of a way that never worked, a second failure would cost as much time as the first.
      else if (memory.worked !== way && performance.now() - started > QUICK_MS)
        round = round.filter((next) => next !== way)
      // What worked is tried again at once; where nothing does, each attempt waits longer.
      pause_ms = ending.had_frame ? FIRST_PAUSE_MS : Math.min(pause_ms * 2, LONGEST_PAUSE_MS)
      if (!is_stopped) await new Promise((resume) => setTimeout(resume, pause_ms))
    }
  }
  void run()
  return () => {
    is_stopped = true
    attempt?.stop()
    screen.image.hidden = true
  }
}

/** What is tried one after the other. What worked before comes first, and is not given up for a failure or two. */
function roundOf(ways: readonly Way[], worked: Way | undefined): Way[] {
  const first = worked ?? ways[0] ?? 'mse'
  const tries = worked === undefined ? [first, first] : [first, first, first, first]
  return [...tries, ...ways.filter((way) => way !== first)]
}

function start(way: Way, { video, image }: Screen, api: Api, camera: string, shown: () => void): Attempt {
  const path = `/cam/cameras/${encodeURIComponent(camera)}`
  switch (way) {
    case 'mse':
      return startMse(video, api.socket(`${path}/live`), shown)
    case 'webrtc':
      return startWebrtc(video, api.socket(`${path}/webrtc`), shown)
    case 'jpeg':
      return startStills(image, () => api.url(`${path}/latest`), shown)
  }
}
