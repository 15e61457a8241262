// A camera as it was ordered: which streams of it the NVR opens, with the login inside of their addresses.
import { isIP } from 'node:net'
import type { CameraCreateBody } from '#src/contract/cam/instance.ts'
import { parseStreamUrl, streamUrlText } from '#src/drivers/onvif/stream-url.ts'
import { describeStream } from '#src/drivers/rtsp/describe.ts'
import type { Run } from '#src/jobs/define.ts'
import { invalidField, UpstreamError } from '#src/kernel/errors.ts'
import type { CamCameraRow, CamStore } from '#src/store/cam-instance.ts'
import { requireCameraAddress } from './camera-networks.ts'
import type { NvrCamera } from './nvr-config.ts'
import { vendorStreams } from './vendor-streams.ts'

export type CameraOrder = Omit<CamCameraRow, 'created_at'>
type Body = Omit<CameraCreateBody, 'id' | 'name'>

/** Throws for addresses that cameras may not have. */
export function cameraOrder(
  body: Body,
  { id, name }: { id: string; name: string },
  networks: readonly string[],
): CameraOrder {
  const { camera_ip: ip, username, password, camera_manufacturer = '', camera_model = '' } = body
  requireCameraAddress(ip, networks)
  const by_vendor = vendorStreams(camera_manufacturer, ip)
  const main = body.main_stream_url ?? ''
  // Whoever names a main stream and no other has a camera with one.
  const sub = body.sub_stream_url || (main === '' ? by_vendor.sub : '')
  const withLogin = (field: string, url: string): string => {
    if (url === '') return ''
    const parsed = parseStreamUrl(url)
    if (parsed === undefined || isIP(parsed.host) === 0)
      throw invalidField(`body.${field}`, 'must be an rtsp or http address with a literal IP address')
    requireCameraAddress(parsed.host, networks)
    return streamUrlText(parsed, { username, password })
  }
  return {
    id,
    name,
    ip,
    manufacturer: camera_manufacturer,
    model: camera_model,
    login: {
      username,
      password,
      main_stream_url: withLogin('main_stream_url', main === '' ? by_vendor.main : main),
      sub_stream_url: withLogin('sub_stream_url', sub),
      audio_stream_url: withLogin('audio_stream_url', body.audio_stream_url ?? ''),
    },
    is_h264: null,
  }
}

export type SeenStream = Pick<NvrCamera, 'is_h264' | 'has_audio'>

/** A camera that does not answer is set up all the same: then its live view is re-encoded, and has no sound. */
async function seenStream({ login }: Pick<CamCameraRow, 'login'>, signal: AbortSignal): Promise<SeenStream> {
  try {
    const { video_codec, audio_codec } = await describeStream(login.main_stream_url, { login, signal })
    return { is_h264: video_codec === 'H264', has_audio: audio_codec !== null }
  } catch (error) {
    if (error instanceof UpstreamError && !signal.aborted) return { is_h264: null, has_audio: false }
    throw error
  }
}

type StreamRun = Pick<
  Run<{ cam_store: Pick<CamStore, 'saveCamera'> }, unknown, SeenStream>,
  'deps' | 'save' | 'fenced' | 'note' | 'signal'
>

/** Reads what the main stream of the camera is, and keeps it for the job and with the camera. */
export async function recordStream(run: StreamRun, camera: CamCameraRow): Promise<void> {
  const seen = await seenStream(camera, run.signal)
  if (seen.is_h264 === null) await run.note('WARN', `Camera ${camera.ip} did not describe its main stream by RTSP.`)
  await run.save(seen)
  await run.fenced((trx) => run.deps.cam_store.saveCamera(trx, { ...camera, is_h264: seen.is_h264 }))
}

export function nvrCameraOf({ id, name, login }: CamCameraRow, seen: SeenStream): NvrCamera {
  const { main_stream_url, sub_stream_url, audio_stream_url } = login
  return { id, name, main_stream_url, sub_stream_url, audio_stream_url, ...seen }
}
