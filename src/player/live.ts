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

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000

/** Answers how to stop. */
export function showLive(
  screen: Screen,
  { api, camera, ways = WAYS }: { api: Api; camera: string; ways?: readonly Way[] },
  changed: (state: LiveState) => void,
): () => void {
  let attempt: Attempt | undefined
  let is_stopped = false
  const run = async (): Promise<void> => {
    let turn = 0
    let pause_ms = FIRST_PAUSE_MS
    let reason = ''
    while (!is_stopped) {
      const way = ways[turn % ways.length] ?? 'mse'
      changed({ way, is_shown: false, reason })
      attempt = start(way, screen, api, camera, () => {
        screen.image.hidden = way !== 'jpeg'
        changed({ way, is_shown: true, reason })
      })
      const ending = await attempt.ended
      reason = ending.reason
      // What worked is tried again at once; where nothing does, each round waits longer.
      turn = ending.had_frame ? 0 : turn + 1
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
