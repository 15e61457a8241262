// Handlers of src/contract/cam/instance.ts.
import type { camInstance } from '#src/contract/cam/instance.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CamDeps } from '../deps.ts'
import { cameraChangeHandlers } from './camera-changes.ts'
import { lifecycleHandlers } from './lifecycle.ts'
import { passwordHandlers } from './password.ts'
import { cameraProbe } from './probe.ts'
import { templateHandlers } from './template.ts'

export function instanceHandlers(deps: CamDeps): Handlers<typeof camInstance.routes, RequestContext> {
  return {
    cameraProbe: cameraProbe(deps),
    ...lifecycleHandlers(deps),
    ...cameraChangeHandlers(deps),
    ...passwordHandlers(deps),
    ...templateHandlers(deps),
  }
}
