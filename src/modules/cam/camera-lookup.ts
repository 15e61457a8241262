// Finds the camera that a request names, before anything of the request becomes part of a path on the NVR.
import type { CameraToggleResult } from '#src/contract/cam/cameras.ts'
import type { Frigate } from '#src/drivers/frigate/client.ts'
import type { CameraConfig } from '#src/drivers/frigate/shapes.ts'
import { ApiError } from '#src/kernel/errors.ts'

/** Answers the id, which is one of the NVR's own. */
export async function requireCamera(nvr: Frigate, id: string, signal: AbortSignal): Promise<string> {
  const ids = await nvr.cameraIds(signal, id)
  if (ids.includes(id)) return id
  throw cameraNotFound(id, ids)
}

export function cameraNotFound(id: string, ids: readonly string[]): ApiError {
  const known = ids.length === 0 ? 'no cameras' : ids.join(', ')
  return new ApiError('CAM_CAMERA_NOT_FOUND', `Camera ${id} not found: the NVR has ${known}.`)
}

/** As the NVR runs it at this moment. */
export async function configOf(nvr: Frigate, id: string, signal: AbortSignal): Promise<CameraConfig> {
  const { cameras: all } = await nvr.config({ no_cache: true, signal })
  const camera = Object.hasOwn(all, id) ? all[id] : undefined
  if (camera === undefined) throw cameraNotFound(id, Object.keys(all))
  return camera
}

export function switchesOf(id: string, camera: CameraConfig): CameraToggleResult {
  return {
    id,
    detect_enabled: camera.detect.enabled,
    motion_enabled: camera.motion?.enabled ?? false,
    record_enabled: camera.record.enabled,
    audio_enabled: camera.audio?.enabled ?? false,
  }
}
