// Handlers of the GPU area.
import { gpu } from '#src/contract/gpu.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { platformRows } from '../platform-rows.ts'
import { gpuDeviceRepinInflight, gpuDeviceRepinStatus } from './change-status.ts'
import { type GpuDeps, gpuDeviceConvert, gpuDeviceRepin, vgpuProfileSync } from './changes.ts'
import { gpuLists, gpuRows } from './gpu-rows.ts'

export function gpuHandlers(deps: GpuDeps): Handlers<typeof gpu.routes, RequestContext> {
  const { cloudstack } = deps
  const rows = platformRows(gpu, deps, gpuRows(cloudstack))
  return {
    ...rows,
    ...gpuLists(cloudstack),
    gpuDeviceConvert: gpuDeviceConvert(deps),
    gpuDeviceRepin: gpuDeviceRepin(deps),
    gpuDeviceRepinInflight: gpuDeviceRepinInflight(deps),
    gpuDeviceRepinStatus: gpuDeviceRepinStatus(deps),
    vgpuProfileSync: vgpuProfileSync(deps),
  }
}
