// Handlers of src/contract/cam/live.ts.
import { cameraLive } from '#src/contract/cam/live.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CamDeps } from '../deps.ts'
import { notYet } from '../not-yet.ts'

type Routes = typeof cameraLive.routes

export function liveHandlers(_deps: CamDeps): Handlers<Routes, RequestContext> {
  return { ...notYet(cameraLive.routes) }
}
