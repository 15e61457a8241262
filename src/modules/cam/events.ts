// Handlers of src/contract/cam/events.ts.
import { cameraEvents } from '#src/contract/cam/events.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CamDeps } from './deps.ts'
import { notYet } from './not-yet.ts'

type Routes = typeof cameraEvents.routes

export function eventHandlers(_deps: CamDeps): Handlers<Routes, RequestContext> {
  return { ...notYet(cameraEvents.routes) }
}
