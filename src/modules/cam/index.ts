// Cameras: the NVR behind /cam. `live` and `instance` have folders of their own.
import { cameraEvents } from '#src/contract/cam/events.ts'
import { cameraFaces } from '#src/contract/cam/faces.ts'
import { camInstance } from '#src/contract/cam/instance.ts'
import { cameraLive } from '#src/contract/cam/live.ts'
import { cameraPlayer } from '#src/contract/cam/player.ts'
import { cameraRecordings } from '#src/contract/cam/recordings.ts'
import { cameras } from '#src/contract/cam/cameras.ts'
import { bindJob } from '#src/jobs/define.ts'
import { createCamStore } from '#src/store/cam-instance.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { tableSource } from '../search-source.ts'
import { createCurrentNvr } from './current-nvr.ts'
import type { CamDeps } from './deps.ts'
import { cameraHandlers } from './cameras.ts'
import { eventHandlers } from './events.ts'
import { faceHandlers } from './faces.ts'
import { cameraCreateJob, cameraDeleteJob } from './instance/camera-change.job.ts'
import { nvrDeleteJob } from './instance/delete.job.ts'
import { instanceHandlers } from './instance/index.ts'
import { nvrInitializeJob } from './instance/initialize.job.ts'
import { createNvrWatcher } from './instance/watcher.ts'
import { liveHandlers, playerHandlers } from './live/index.ts'
import { cameraRecordingSetJob } from './recording-set.job.ts'
import { recordingHandlers } from './recordings.ts'

export function camModule(parts: Parts): Module {
  const cam_store = createCamStore(parts.database, parts.keyring)
  const deps: CamDeps = { ...parts, cam_store, currentNvr: createCurrentNvr({ ...parts, cam_store }) }
  return {
    areas: [
      serve(cameras, cameraHandlers(deps)),
      serve(cameraRecordings, recordingHandlers(deps)),
      serve(cameraLive, liveHandlers(deps)),
      serve(cameraPlayer, playerHandlers()),
      serve(cameraEvents, eventHandlers(deps)),
      serve(cameraFaces, faceHandlers(deps)),
      serve(camInstance, instanceHandlers(deps)),
    ],
    jobs: [
      bindJob(cameraRecordingSetJob, deps),
      bindJob(nvrInitializeJob, deps),
      bindJob(nvrDeleteJob, deps),
      bindJob(cameraCreateJob, deps),
      bindJob(cameraDeleteJob, deps),
    ],
    watchers: [createNvrWatcher(deps)],
    search: [tableSource(parts.database, 'camera', cameras, 'cameraList', () => ({}))],
  }
}
