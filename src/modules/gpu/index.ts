// GPUs: what the platform knows of them, and the jobs that change what a node makes of its own.
import { gpu } from '#src/contract/gpu.ts'
import { bindJob } from '#src/jobs/define.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { platformRows } from '../platform-rows.ts'
import { gpuDeviceRepinInflight, gpuDeviceRepinStatus } from './change-status.ts'
import { gpuDeviceConvert, gpuDeviceRepin, vgpuProfileSync } from './changes.ts'
import { gpuDeviceConvertJob } from './convert.job.ts'
import { createGpuNodes } from './gpu-nodes.ts'
import { gpuLists, gpuRows } from './gpu-rows.ts'
import { vgpuProfileSyncJob } from './profile-sync.job.ts'
import { gpuDeviceRepinJob } from './repin.job.ts'

export function gpuModule(parts: Parts): Module {
  const { cloudstack, database, agents } = parts
  const deps = { ...parts, nodes: createGpuNodes(database.db, agents) }
  return {
    areas: [
      serve(gpu, {
        ...platformRows(gpu, deps, gpuRows(cloudstack)),
        ...gpuLists(cloudstack),
        gpuDeviceConvert: gpuDeviceConvert(deps),
        gpuDeviceRepin: gpuDeviceRepin(deps),
        gpuDeviceRepinInflight: gpuDeviceRepinInflight(deps),
        gpuDeviceRepinStatus: gpuDeviceRepinStatus(deps),
        vgpuProfileSync: vgpuProfileSync(deps),
      }),
    ],
    jobs: [bindJob(gpuDeviceConvertJob, deps), bindJob(gpuDeviceRepinJob, deps), bindJob(vgpuProfileSyncJob, deps)],
  }
}
