// Handlers of src/contract/cam/live.ts: the relay and the feed of the NVR, connected through to browsers that never meet them.
import type { SocketUpstream } from '#src/contract/answers.ts'
import type { cameraLive } from '#src/contract/cam/live.ts'
import type { cameraPlayer } from '#src/contract/cam/player.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { Frigate } from '#src/drivers/frigate/client.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { requireCamera } from '../camera-lookup.ts'
import type { CamDeps } from '../deps.ts'
import { feedFilter } from './feed-filter.ts'
import { mseFilter } from './mse-filter.ts'
import { createPlayerFiles } from './player-files.ts'
import { webrtcFilter } from './webrtc-filter.ts'

type Routes = typeof cameraLive.routes

/**
 * The relay stops sending for good to a reader that was slow for 5 seconds, and closes nothing; a source that is re-encoded may
 * take 3 seconds to begin, and a camera 10 until its next key frame.
 */
const MEDIA_SILENCE_MS = 15_000
/** Statistics come every minute. */
const FEED_SILENCE_MS = 150_000

export function liveHandlers({ currentNvr }: Pick<CamDeps, 'currentNvr'>): Handlers<Routes, RequestContext> {
  const relay = async (path: string, id: string, ctx: RequestContext): Promise<SocketUpstream> => {
    const nvr = await currentNvr()
    return nvr.socket(path, { src: await streamOf(nvr, id, ctx.signal) }, ctx.signal)
  }
  return {
    async cameraLiveOpen({ params }, ctx) {
      const upstream = await relay('/live/mse/api/ws', params.id, ctx)
      return { ...upstream, filter: mseFilter, silence_ms: MEDIA_SILENCE_MS }
    },
    async cameraWebrtcOpen({ params }, ctx) {
      return { ...(await relay('/live/webrtc/api/ws', params.id, ctx)), filter: webrtcFilter }
    },
    async cameraEventStreamOpen(_input, ctx) {
      const nvr = await currentNvr()
      return { ...(await nvr.socket('/ws', {}, ctx.signal)), filter: () => feedFilter, silence_ms: FEED_SILENCE_MS }
    },
  }
}

/**
 * The relay takes an unknown name for the address of a source and opens it: it is asked for a camera of the NVR and nothing else. What
 * browsers cannot play has a re-encoded stream beside it.
 */
async function streamOf(nvr: Frigate, camera_id: string, signal: AbortSignal): Promise<string> {
  const id = await requireCamera(nvr, camera_id, signal)
  const { go2rtc } = await nvr.config({ signal })
  return Object.hasOwn(go2rtc?.streams ?? {}, `${id}_live`) ? `${id}_live` : id
}

export function playerHandlers(): Handlers<typeof cameraPlayer.routes, RequestContext> {
  const files = createPlayerFiles()
  return {
    cameraPlayerPage: () => files.page(),
    cameraPlayerFile: ({ params }) => files.file(params.file),
  }
}
