// Handlers of src/contract/cam/instance.ts.
import { camInstance } from '#src/contract/cam/instance.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CamDeps } from '../deps.ts'
import { notYet } from '../not-yet.ts'
import { cameraProbe } from './probe.ts'

type Routes = typeof camInstance.routes

export function instanceHandlers(deps: CamDeps): Handlers<Routes, RequestContext> {
  return { ...notYet(camInstance.routes), cameraProbe: cameraProbe(deps) }
}
