// Turns recording on or off: the NVR reads that at its start only, so it restarts, which a job follows to its end.
import type { CameraRecordingResult } from '#src/contract/cam/cameras.ts'
import { throwIfFailed } from '#src/jobs/run.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordOperation } from '../operation.ts'
import { configOf, switchesOf } from './camera-lookup.ts'
import type { CamDeps } from './deps.ts'
import { requireInstance } from './instance/lifecycle.ts'
import { cameraRecordingSetJob } from './recording-set.job.ts'

export async function setRecording(
  deps: CamDeps,
  camera_id: string,
  enabled: boolean,
  ctx: RequestContext,
): Promise<CameraRecordingResult> {
  const { currentNvr, cam_store, jobs } = deps
  const camera = await configOf(await currentNvr(), camera_id, ctx.signal)
  const answer = { ...switchesOf(camera_id, camera), record_enabled: enabled, correlation_id: ctx.operation_id }
  const { record } = camera
  const description = `Turning recording of camera ${camera_id} ${enabled ? 'on' : 'off'}.`
  if (!ctx.resumed && record.enabled === enabled && record.enabled_in_config === enabled) {
    const subject = { resource_id: camera_id, description, done: `Recording of camera ${camera_id} was so already.` }
    return recordOperation(deps, ctx, 'CAMERA', subject, async () => ({
      ...answer,
      restarting: false,
      status: 'SUCCESS' as const,
      job_id: null,
    }))
  }
  if (!ctx.resumed) {
    const instance = await requireInstance(deps)
    await jobs.admit(cameraRecordingSetJob, {
      operation: ctx,
      input: { instance_id: instance.id, camera_id, enabled, before: record.enabled_in_config ?? record.enabled },
      description: `${description} The NVR restarts for it.`,
      resource_id: camera_id,
      resource_name: camera_id,
      also: async (trx, publish) => {
        await cam_store.changeIn(trx, publish, instance.id, { state: 'restarting' })
      },
    })
  }
  const job = await jobs.wait(ctx.operation_id, { timeout_ms: ctx.wait_seconds * 1000, signal: ctx.signal })
  throwIfFailed(job)
  const done = job.job_status === 'completed'
  return { ...answer, restarting: !done, status: done ? 'SUCCESS' : 'IN_PROGRESS', job_id: ctx.operation_id }
}
