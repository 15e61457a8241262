// GET and DELETE /cam/current, POST /cam/initialize and /cam/current/retry.
import { randomUUID } from 'node:crypto'
import { camInstance } from '#src/contract/cam/instance.ts'
import type { CamInstance } from '#src/contract/cam/instance.ts'
import type { Input } from '#src/contract/route.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { createAuditLog } from '#src/store/audit.ts'
import type { Publish } from '#src/store/app-events.ts'
import type { CamInstanceRow, NvrState } from '#src/store/cam-instance.ts'
import type { Trx } from '#src/store/database.ts'
import type { CamDeps } from '../deps.ts'
import { acceptedNvrJob } from './accepted.ts'
import { cameraOrder } from './camera-order.ts'
import { nvrDeleteJob } from './delete.job.ts'
import { nvrInitializeJob } from './initialize.job.ts'
import { offeringsFor, zoneOfNetwork } from './platform.ts'
import { settledInstance } from './settle.ts'

type Routes = typeof camInstance.routes
/** The first camera; further ones are named by whoever adds them. */
const FIRST_CAMERA = { id: 'camera-1', name: 'Camera 1' }

export function lifecycleHandlers(deps: CamDeps) {
  return {
    nvrGet: nvrGet(deps),
    nvrInitialize: nvrInitialize(deps),
    nvrRetry: nvrRetry(deps),
    nvrDelete: nvrDelete(deps),
  }
}

function nvrGet(deps: CamDeps) {
  const audit = createAuditLog(deps.database.db)
  return async (_input: unknown, ctx: RequestContext): Promise<CamInstance | null> => {
    const row = await settledInstance(deps)
    if (row === undefined) return null
    const shows_password = ctx.caller.role === 'admin' && row.admin_password !== null
    if (shows_password) await auditReading(audit, ctx)
    return instanceView(row, shows_password)
  }
}

/** Reads are not audited; a password that is shown is. */
async function auditReading(audit: ReturnType<typeof createAuditLog>, ctx: RequestContext): Promise<void> {
  const { request_id, operation, caller, remote_address } = ctx
  const { method, path } = camInstance.routes.nvrGet
  const entry = { request_id, correlation_id: null, operation, method, path, caller, remote_address }
  await audit.finish(await audit.begin(entry), 200, null)
}

function instanceView(row: CamInstanceRow, shows_password: boolean): CamInstance {
  const { id, name, state, error_message, next_action, camera_ip, cores, memory_mb, gpu_count, network_id, zone_id } =
    row
  return {
    id, name, state, error_message, next_action, camera_ip, cores, memory_mb, gpu_count, network_id, zone_id,
    created_at: row.created_at.toISOString(),
    vm_id: row.vm_id,
    vm_ip_address: row.vm_ip_address,
    nvr_version: row.nvr_version,
    nvr_admin_password: shows_password ? row.admin_password : null,
    admin_password_acknowledged: row.admin_password_acknowledged,
    job_id: row.job_id,
  } // biome-ignore format: one record
}

function nvrInitialize(deps: CamDeps) {
  const { cam_store, cloudstack, config, jobs } = deps
  return ({ body }: Input<Routes['nvrInitialize']>, ctx: RequestContext) => {
    const id = randomUUID()
    return acceptedNvrJob(
      deps,
      ctx,
      () => id,
      async () => {
        if ((await cam_store.instance()) !== undefined) throw exists()
        if (body.gpu_count > 0 && body.vgpu_profile_id === '')
          throw invalidField('body.vgpu_profile_id', 'is needed with a gpu_count above 0')
        const camera = cameraOrder(body, FIRST_CAMERA, config.cam.camera_networks)
        const { cores, memory_mb, gpu_count, vgpu_profile_id, recording_disk_gb, network_id, camera_ip } = body
        const size = { cores, memory_mb, gpu_count, vgpu_profile_id }
        const zone_id = await zoneOfNetwork(cloudstack, network_id, ctx.signal)
        await offeringsFor(cloudstack, size, config.cam, ctx.signal)
        const name = `nvr-${id.slice(-8)}`
        await jobs.admit(nvrInitializeJob, {
          operation: ctx,
          input: { instance_id: id },
          description: 'The NVR is being provisioned.',
          resource_id: id,
          resource_name: name,
          metadata: { ...size, recording_disk_gb, network_id, camera_ip },
          also: async (trx) => {
            const order = {
              id,
              name,
              ...size,
              recording_disk_gb,
              network_id,
              zone_id,
              camera_ip,
              job_id: ctx.operation_id,
            }
            if (!(await cam_store.create(trx, order))) throw exists()
            await cam_store.saveCamera(trx, camera)
          },
        })
      },
    )
  }
}

function exists(): ApiError {
  return new ApiError('CAM_ALREADY_INITIALIZED', 'There is an NVR already; GET /cam/current shows it.')
}

function nvrRetry(deps: CamDeps) {
  const { jobs } = deps
  return async (_input: unknown, ctx: RequestContext) => {
    const row = await requireInstance(deps)
    return acceptedNvrJob(
      deps,
      ctx,
      () => row.id,
      async () => {
        if (row.state !== 'failed') {
          throw new ApiError('CAM_STATE', `The NVR is ${row.state}; only a provisioning that failed can be retried.`)
        }
        await jobs.admit(nvrInitializeJob, {
          operation: ctx,
          input: { instance_id: row.id },
          description: 'The provisioning of the NVR goes on.',
          resource_id: row.id,
          resource_name: row.name,
          also: takenBy(deps, row, 'provisioning', ctx),
        })
      },
    )
  }
}

function nvrDelete(deps: CamDeps) {
  const { jobs } = deps
  return async ({ query }: Input<Routes['nvrDelete']>, ctx: RequestContext) => {
    const row = await requireInstance(deps)
    return acceptedNvrJob(
      deps,
      ctx,
      () => row.id,
      async () => {
        if (query.confirm !== row.id) throw invalidField('query.confirm', `must be the id of the NVR, ${row.id}`)
        const { disks } = query
        await jobs.admit(nvrDeleteJob, {
          operation: ctx,
          input: { instance_id: row.id, vm_id: row.vm_id, destroys_disks: disks === 'destroy' },
          description: 'The NVR is being deleted.',
          resource_id: row.id,
          resource_name: row.name,
          metadata: { disks },
          also: takenBy(deps, row, 'deleting', ctx),
        })
      },
    )
  }
}

/** Written with the admission of the job that has the row from then on. */
function takenBy({ cam_store }: CamDeps, { id }: CamInstanceRow, state: NvrState, { operation_id }: RequestContext) {
  const change = { state, job_id: operation_id, error_message: '', next_action: '' }
  return async (trx: Trx, publish: Publish) => void (await cam_store.changeIn(trx, publish, id, change))
}

/** Throws CAM_NOT_INITIALIZED. */
export async function requireInstance(deps: Pick<CamDeps, 'cam_store' | 'jobs'>): Promise<CamInstanceRow> {
  const row = await settledInstance(deps)
  if (row === undefined)
    throw new ApiError('CAM_NOT_INITIALIZED', 'There is no NVR: provision one with POST /cam/initialize.')
  return row
}
