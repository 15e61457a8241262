// Handlers of src/contract/cam/recordings.ts.
import { cameraRecordings } from '#src/contract/cam/recordings.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CamDeps } from './deps.ts'
import { notYet } from './not-yet.ts'

type Routes = typeof cameraRecordings.routes

export function recordingHandlers(_deps: CamDeps): Handlers<Routes, RequestContext> {
  return { ...notYet(cameraRecordings.routes) }
}
