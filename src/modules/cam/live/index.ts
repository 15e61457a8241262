// Handlers of src/contract/cam/live.ts: the relay and the feed of the NVR, connected through to browsers that never meet them.
import type { cameraLive } from '#src/contract/cam/live.ts'
import type { cameraPlayer } from '#src/contract/cam/player.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { Frigate } from '#src/drivers/frigate/client.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { SocketEnd } from '#src/kernel/http/socket-end.ts'
import { connectUpstream } from '#src/kernel/http/socket-upstream.ts'
import { requireCamera } from '../camera-lookup.ts'
import type { CamDeps } from '../deps.ts'
import { feedFilter } from './feed-filter.ts'
import { createLiveStreams } from './live-streams.ts'
import { createPlayerFiles } from './player-files.ts'
import { webrtcFilter } from './webrtc-filter.ts'

type Routes = typeof cameraLive.routes

/** Statistics come every minute. */
const FEED_SILENCE_MS = 150_000

export function liveHandlers({
  currentNvr,
  log,
}: Pick<CamDeps, 'currentNvr' | 'log'>): Handlers<Routes, RequestContext> {
  const streams = createLiveStreams(log)
  return {
    async cameraLiveOpen({ params }, { signal }) {
      const nvr = await currentNvr()
      const src = await streamOf(nvr, params.id, signal)
      const connect = async (within: AbortSignal): Promise<SocketEnd> =>
        connectUpstream(await nvr.socket('/live/mse/api/ws', { src }, within), 'live', within)
      return streams.viewer(`${nvr.transport.settings.origin} ${src}`, connect, signal)
    },
    async cameraWebrtcOpen({ params }, { signal }) {
      const nvr = await currentNvr()
      const src = await streamOf(nvr, params.id, signal)
      return { ...(await nvr.socket('/live/webrtc/api/ws', { src }, signal)), filter: webrtcFilter }
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
