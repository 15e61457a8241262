// Handlers of src/contract/cam/cameras.ts.
import { cameras } from '#src/contract/cam/cameras.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CamDeps } from './deps.ts'
import { notYet } from './not-yet.ts'

type Routes = typeof cameras.routes

export function cameraHandlers(_deps: CamDeps): Handlers<Routes, RequestContext> {
  return { ...notYet(cameras.routes) }
}
