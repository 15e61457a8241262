// The password of the NVR's admin. A new one is stored beside the old before the NVR is asked to take it, and which of the two it
// took is asked afterwards: whatever is interrupted, the right one is stored.
import { camInstance } from '#src/contract/cam/instance.ts'
import type { Input } from '#src/contract/route.ts'
import { NVR_USER } from '#src/drivers/frigate/session.ts'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { CamInstanceRow } from '#src/store/cam-instance.ts'
import { LOCKS } from '#src/store/locks.ts'
import { withSessionLock } from '#src/store/session-lock.ts'
import { recordOperation, resourceType } from '../../operation.ts'
import type { CamDeps } from '../deps.ts'
import { requireInstance } from './lifecycle.ts'

type Routes = typeof camInstance.routes

export type PasswordDeps = Pick<CamDeps, 'database' | 'cam_store' | 'currentNvr'>

const LOCK = { lock: LOCKS.nvr, key: 1, name: 'nvr password', wait_ms: 20_000 }
/** Shorter ones are refused by newer releases of the NVR, and should be by older ones. */
const MIN_LENGTH = 12

export function passwordHandlers(deps: CamDeps) {
  const { cam_store, currentNvr, database } = deps
  const record = <T>(
    ctx: RequestContext,
    operation: keyof Routes,
    row: CamInstanceRow,
    doing: string,
    done: string,
    work: () => Promise<T>,
  ) =>
    recordOperation(
      deps,
      ctx,
      resourceType(camInstance.routes[operation]),
      { resource_id: row.id, resource_name: row.name, description: doing, done },
      work,
    )
  return {
    async nvrPasswordRotate({ body }: Input<Routes['nvrPasswordRotate']>, ctx: RequestContext) {
      const row = await requireInstance(deps)
      if (body.new_password.length < MIN_LENGTH)
        throw new ApiError('CAM_PASSWORD_INVALID', `The new password needs ${MIN_LENGTH} characters at least.`)
      const rotate = () =>
        withSessionLock(database, LOCK, () => changePassword(deps, row.id, body.new_password, ctx.signal))
      await record(
        ctx,
        'nvrPasswordRotate',
        row,
        'Changing the admin password of the NVR.',
        'The admin password of the NVR is changed.',
        rotate,
      )
      const nvr = await currentNvr()
      await nvr.transport.session.token(ctx.signal)
      return { admin_password_acknowledged: true }
    },

    async nvrPasswordAcknowledge(_input: unknown, ctx: RequestContext) {
      const row = await requireInstance(deps)
      const acknowledge = () => cam_store.change(row.id, { admin_password_acknowledged: true })
      await record(
        ctx,
        'nvrPasswordAcknowledge',
        row,
        'Acknowledging the admin password of the NVR.',
        'The admin password of the NVR was recorded by an operator.',
        acknowledge,
      )
      return { admin_password_acknowledged: true }
    },

    async nvrPasswordVerify({ body }: Input<Routes['nvrPasswordVerify']>, ctx: RequestContext) {
      const row = await requireInstance(deps)
      if (row.state !== 'running')
        throw new ApiError('CAM_STATE', `The NVR is ${row.state}; its password can be checked while it is running.`)
      if (row.vm_ip_address === null)
        throw new ApiError('CAM_ADDRESS_UNKNOWN', 'The virtual machine of the NVR has no address yet.')
      const verify = () =>
        withSessionLock(database, LOCK, async () => {
          const nvr = await currentNvr()
          if (!(await nvr.transport.session.tryPassword(body.password, ctx.signal)))
            throw new ApiError('CAM_PASSWORD_REJECTED', 'The NVR rejects this password; the stored one stays.')
          await cam_store.change(row.id, { admin_password: body.password, next_admin_password: null })
        })
      await record(
        ctx,
        'nvrPasswordVerify',
        row,
        'Checking the admin password of the NVR.',
        'The admin password of the NVR is stored.',
        verify,
      )
      return { admin_password_acknowledged: row.admin_password_acknowledged }
    },
  }
}

async function changePassword(deps: PasswordDeps, id: string, password: string, signal: AbortSignal): Promise<void> {
  const { cam_store, currentNvr } = deps
  await findOutPassword(deps, signal)
  await cam_store.change(id, { next_admin_password: password })
  const nvr = await currentNvr()
  const old_password = nvr.transport.settings.password
  const path = `/api/users/${NVR_USER}/password`
  try {
    await nvr.transport.call('password', path, { method: 'PUT', body: { password, old_password }, signal })
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    if (error.status === undefined || error.status >= 500) {
      // The NVR may have taken it all the same.
      if (await findOutPassword(deps, signal)) return acknowledged(deps, id)
      throw error
    }
    await cam_store.change(id, { next_admin_password: null })
    if (error.status === 400)
      throw new ApiError('CAM_PASSWORD_INVALID', 'The NVR does not accept this password; choose another.', {
        cause: error,
      })
    if (error.status === 401) {
      const message =
        'The NVR rejects the stored password; POST /cam/current/admin-password/verify stores the right one.'
      throw new ApiError('CAM_AUTH_FAILED', message, { cause: error })
    }
    throw error
  }
  await cam_store.change(id, { admin_password: password, next_admin_password: null })
  return acknowledged(deps, id)
}

/** Whoever chose a password knows it. */
async function acknowledged({ cam_store }: PasswordDeps, id: string): Promise<void> {
  await cam_store.change(id, { admin_password_acknowledged: true })
}

/** After a change that was interrupted. True: the NVR took the new one. The caller holds the lock. */
async function findOutPassword({ cam_store, currentNvr }: PasswordDeps, signal: AbortSignal): Promise<boolean> {
  const row = await cam_store.instance()
  const next = row?.next_admin_password ?? null
  if (row === undefined || next === null) return false
  const nvr = await currentNvr()
  const taken = await nvr.transport.session.tryPassword(next, signal)
  await cam_store.change(row.id, { next_admin_password: null, ...(taken ? { admin_password: next } : {}) })
  return taken
}

/** For the watcher: a process that died in the middle of a change leaves it to this. */
export async function settlePassword(deps: PasswordDeps, signal: AbortSignal): Promise<void> {
  const row = await deps.cam_store.instance()
  if (row === undefined || row.next_admin_password === null) return
  await withSessionLock(deps.database, LOCK, () => findOutPassword(deps, signal))
}
