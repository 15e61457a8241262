// Files and recordings that are passed on as the NVR has them. Paths are checked against the form of what there is: nothing else
// of a caller's path reaches the NVR.
import type { ProxyAnswer } from '#src/contract/answers.ts'
import type { cameraRecordings } from '#src/contract/cam/recordings.ts'
import type { Input } from '#src/contract/route.ts'
import type { Frigate } from '#src/drivers/frigate/client.ts'
import { ApiError, invalidField, UpstreamError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { requireCamera } from './camera-lookup.ts'
import type { CamDeps } from './deps.ts'

type Routes = typeof cameraRecordings.routes

/** previews/front/1.0-2.0.mp4, faces/Ada Lovelace/x.webp: never a dot in front, so neither `..` nor hidden files. */
const CLIP_SEGMENT = /^[\p{L}\p{N}_][\p{L}\p{N}_ .'@+,-]*$/u
const MAX_CLIP_SEGMENTS = 8
const SECONDS = '(\\d{1,10}(?:\\.\\d{1,6})?)'
const HLS_PATH = new RegExp(`^start/${SECONDS}/end/${SECONDS}/([A-Za-z0-9_-]{1,60}\\.(?:m3u8|mp4|m4s|ts))$`)

export function fileProxy({ currentNvr }: CamDeps) {
  return async ({ params }: Input<Routes['cameraFileGet']>, { signal }: RequestContext): Promise<ProxyAnswer> => {
    const parts = params.path.split('/')
    if (parts.length > MAX_CLIP_SEGMENTS || !parts.every((part) => CLIP_SEGMENT.test(part)))
      throw invalidField('path.path', 'is no path of a file below clips, as other answers give it')
    const missing = new ApiError('CAM_CLIP_NOT_FOUND', `File ${params.path} not found.`)
    // A folder is answered with a redirect to its listing, which is nobody's business.
    return {
      ...(await proxyOf(await currentNvr(), ['clips', ...parts], signal)),
      media_types: ['video/', 'image/', 'multipart/byteranges'],
      errorOf: (status) => ([301, 403, 404].includes(status) ? missing : undefined),
    }
  }
}

export function hlsProxy({ currentNvr }: CamDeps) {
  return async (
    { params, query: { ticket } }: Input<Routes['cameraHlsGet']>,
    { signal }: RequestContext,
  ): Promise<ProxyAnswer> => {
    const [, start, end] = HLS_PATH.exec(params.path) ?? []
    if (start === undefined || end === undefined)
      throw invalidField('path.path', 'begin with start/{unix seconds}/end/{unix seconds}/master.m3u8')
    if (Number(start) >= Number(end)) throw invalidField('path.path', `${start} must be before ${end}`)
    const nvr = await currentNvr()
    const id = await requireCamera(nvr, params.id, signal)
    return {
      ...(await proxyOf(nvr, ['vod', id, ...params.path.split('/')], signal)),
      // The NVR puts the query of a playlist behind every address in it. A player can send a ticket in no other way.
      ...(ticket === undefined ? {} : { query: { ticket } }),
      media_types: ['application/vnd.apple.mpegurl', 'video/'],
      async errorOf(status) {
        if (status !== 404) return undefined
        // While the NVR starts, it answers this instead of a failure.
        await requireUp(nvr, signal)
        return new ApiError('CAM_RECORDING_NOT_FOUND', `Camera ${id} has no recordings from ${start} to ${end}.`)
      },
    }
  }
}

async function proxyOf(nvr: Frigate, path: readonly string[], signal: AbortSignal): Promise<ProxyAnswer> {
  const { origin, tls } = nvr.transport.settings
  return { subsystem: 'NVR', origin, tls, path, ...(await nvr.authorize(signal)) }
}

async function requireUp(nvr: Frigate, signal: AbortSignal): Promise<void> {
  try {
    await nvr.config({ no_cache: true, signal })
  } catch (cause) {
    if (!(cause instanceof UpstreamError)) throw cause
    throw new UpstreamError({ upstream: 'NVR', operation: 'vod', failure: 'unavailable', cause })
  }
}
