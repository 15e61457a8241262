// POST /cam/cameras and DELETE /cam/cameras/{id}.
import type { camInstance } from '#src/contract/cam/instance.ts'
import type { Input } from '#src/contract/route.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CamDeps } from '../deps.ts'
import { acceptedNvrJob } from './accepted.ts'
import { cameraCreateJob, cameraDeleteJob } from './camera-change.job.ts'
import { cameraOrder } from './camera-order.ts'
import { requireInstance } from './lifecycle.ts'
import { liveConfig } from './nvr-state.ts'

type Routes = typeof camInstance.routes

/** Streams of a camera are named after it with these ends: another camera would meet them. */
const ENDS_OF_STREAMS = /_(?:sub|live|audio)$/

export function cameraChangeHandlers(deps: CamDeps) {
  const { cam_store, jobs, config, currentNvr } = deps
  const requireRunning = async () => {
    const row = await requireInstance(deps)
    if (row.state === 'running' || row.state === 'restarting') return row
    throw new ApiError('CAM_STATE', `The NVR is ${row.state}; its cameras can be changed while it is running.`)
  }
  const camerasOf = async (signal: AbortSignal) => (await liveConfig(await currentNvr(), signal)).camera_ids
  return {
    async cameraCreate({ body }: Input<Routes['cameraCreate']>, ctx: RequestContext) {
      const row = await requireRunning()
      return acceptedNvrJob(
        deps,
        ctx,
        () => row.id,
        async () => {
          const { id, name = id } = body
          if (ENDS_OF_STREAMS.test(id))
            throw new ApiError(
              'CAM_INVALID_REQUEST_PAYLOAD',
              `body.id: must not end in _sub, _live or _audio, as ${id} does`,
            )
          const camera = cameraOrder(body, { id, name }, config.cam.camera_networks)
          const known = [...(await camerasOf(ctx.signal)), ...(await cam_store.cameras()).map((one) => one.id)]
          if (known.includes(id)) throw new ApiError('CAM_CAMERA_EXISTS', `The NVR has a camera ${id} already.`)
          await jobs.admit(cameraCreateJob, {
            operation: ctx,
            input: { instance_id: row.id, camera_id: id, adds: true },
            description: `Camera ${id} is being added.`,
            resource_id: id,
            resource_name: name,
            metadata: { id, camera_ip: body.camera_ip },
            also: (trx) => cam_store.saveCamera(trx, camera),
          })
        },
      )
    },

    async cameraDelete({ params: { id } }: Input<Routes['cameraDelete']>, ctx: RequestContext) {
      const row = await requireRunning()
      return acceptedNvrJob(
        deps,
        ctx,
        () => row.id,
        async () => {
          const known = [...(await camerasOf(ctx.signal)), ...(await cam_store.cameras()).map((one) => one.id)]
          if (!known.includes(id)) throw new ApiError('CAM_CAMERA_NOT_FOUND', `The NVR has no camera ${id}.`)
          await jobs.admit(cameraDeleteJob, {
            operation: ctx,
            input: { instance_id: row.id, camera_id: id, adds: false },
            description: `Camera ${id} is being removed.`,
            resource_id: id,
            resource_name: id,
          })
        },
      )
    },
  }
}
