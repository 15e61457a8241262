// The cameras of the NVR, the switches that work at once, and the newest frame of each.
import type { Camera, CameraToggleResult, cameras } from '#src/contract/cam/cameras.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { Frigate } from '#src/drivers/frigate/client.ts'
import type { CameraConfig, NvrConfig, StatsAnswer } from '#src/drivers/frigate/shapes.ts'
import type { CameraSwitch } from '#src/drivers/frigate/switches.ts'
import { ApiError, invalidField, UpstreamError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordOperation } from '../operation.ts'
import { cameraNotFound, configOf, requireCamera, switchesOf } from './camera-lookup.ts'
import type { CamDeps } from './deps.ts'
import { setRecording } from './recording-switch.ts'

type Routes = typeof cameras.routes
type ToggleInput = Input<Routes['cameraDetectSet']>

export function cameraHandlers(deps: CamDeps): Handlers<Routes, RequestContext> {
  const { currentNvr } = deps
  const toggle = (name: CameraSwitch) => async (input: ToggleInput, ctx: RequestContext) => {
    const enabled = wantedState(input)
    const { id } = input.params
    const subject = {
      resource_id: id,
      description: `Turning ${SWITCHES[name]} of camera ${id} ${enabled ? 'on' : 'off'}.`,
    }
    return recordOperation(deps, ctx, 'CAMERA', subject, async () =>
      setSwitch(await currentNvr(), id, name, enabled, ctx.signal),
    )
  }
  return {
    async cameraList(_input, { signal }) {
      const nvr = await currentNvr()
      const fresh = { no_cache: true, signal }
      const [config, stats] = await Promise.all([nvr.config(fresh), nvr.stats(fresh)])
      return Object.entries(config.cameras).map(([id, camera]) => cameraOf(id, camera, config, stats))
    },
    cameraAudioSet: toggle('audio'),
    cameraDetectSet: toggle('detect'),
    cameraMotionSet: toggle('motion'),
    cameraRecordingSet: (input, ctx) => setRecording(deps, input.params.id, wantedState(input), ctx),
    async cameraLatestGet({ params }, { signal }) {
      const nvr = await currentNvr()
      const id = await requireCamera(nvr, params.id, signal)
      const image = await nvr.image('latest', `/api/${id}/latest.jpg`, signal)
      if (image === undefined) throw cameraNotFound(id, [])
      return { media_type: 'image/jpeg', body: image }
    },
  }
}

const SWITCHES: Readonly<Record<CameraSwitch, string>> = {
  audio: 'audio detection',
  detect: 'object detection',
  motion: 'motion detection',
}

function wantedState({ body }: { body: { enabled?: boolean } | undefined }): boolean {
  if (body?.enabled === undefined) throw invalidField('body.enabled', 'is missing: say true or false')
  return body.enabled
}

async function setSwitch(
  nvr: Frigate,
  id: string,
  name: CameraSwitch,
  enabled: boolean,
  signal: AbortSignal,
): Promise<CameraToggleResult> {
  const before = await configOf(nvr, id, signal)
  checkSwitch(id, before, name, enabled)
  const confirmed = await nvr.setSwitch(id, name, enabled, signal)
  const after = switchesOf(id, await configOf(nvr, id, signal))
  if (after[`${name}_enabled`] === enabled) return after
  // Nobody else is asked whether it was refused: it says so by saying nothing.
  if (!confirmed) throw refused(id, name, enabled, 'the NVR did not confirm it')
  throw new UpstreamError({
    upstream: 'NVR', operation: 'feed', failure: 'error', detail: `${id}/${name} was confirmed, but its configuration shows the old state`,
  }) // biome-ignore format: one record
}

/** What the NVR is known to refuse in silence. */
function checkSwitch(id: string, { detect, audio }: CameraConfig, name: CameraSwitch, enabled: boolean): void {
  if (name === 'motion' && !enabled && detect.enabled)
    throw refused(id, name, enabled, 'object detection is on and needs it; turn that off first')
  if (name === 'audio' && enabled && audio?.enabled_in_config !== true)
    throw refused(id, name, enabled, 'the camera has no stream for it in the configuration of the NVR')
}

function refused(id: string, name: CameraSwitch, enabled: boolean, why: string): ApiError {
  const wish = `${SWITCHES[name]} of camera ${id} cannot be turned ${enabled ? 'on' : 'off'}`
  return new ApiError('CAM_TOGGLE_REFUSED', `${wish}: ${why}.`)
}

function cameraOf(id: string, camera: CameraConfig, { go2rtc }: NvrConfig, { cameras: counters }: StatsAnswer): Camera {
  const { detect, record, audio, snapshots, zones, objects } = camera
  const stats = counters?.[id]
  const { id: _id, ...switches } = switchesOf(id, camera)
  return {
    id,
    name: camera.friendly_name ?? id,
    enabled: camera.enabled,
    ...switches,
    record_configured: record.enabled_in_config ?? record.enabled,
    audio_configured: audio?.enabled_in_config ?? false,
    snapshots_enabled: snapshots?.enabled ?? false,
    detect_width: integerOf(detect.width),
    detect_height: integerOf(detect.height),
    detect_fps: integerOf(detect.fps),
    zones: Object.keys(zones ?? {}),
    labels: objects?.track ?? [],
    live_source: Object.hasOwn(go2rtc?.streams ?? {}, `${id}_live`) ? 'reencoded' : 'main',
    camera_fps: stats?.camera_fps ?? null,
    process_fps: stats?.process_fps ?? null,
    skipped_fps: stats?.skipped_fps ?? null,
    detection_fps: stats?.detection_fps ?? null,
  }
}

function integerOf(value: number | null | undefined): number | null {
  return value === null || value === undefined ? null : Math.round(value)
}
