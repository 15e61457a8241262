// Handlers of src/contract/cam/faces.ts.
import { cameraFaces } from '#src/contract/cam/faces.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CamDeps } from './deps.ts'
import { notYet } from './not-yet.ts'

type Routes = typeof cameraFaces.routes

export function faceHandlers(_deps: CamDeps): Handlers<Routes, RequestContext> {
  return { ...notYet(cameraFaces.routes) }
}
