// Ends the session of somebody else.
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordChange } from '#src/store/app-events.ts'
import { endSession, findOpenSession } from '#src/store/sessions.ts'
import type { AuthDeps } from './deps.ts'
import { changeRights } from './rights-change.ts'

export async function sessionEnd(deps: AuthDeps, ctx: RequestContext, id: string): Promise<{ message: string }> {
  const session = await findOpenSession(deps.database.db, id)
  if (session === undefined) throw new ApiError('SESSION_NOT_FOUND', `Session ${id} not found, or it has ended.`)
  const about = {
    resource_type: 'SESSION',
    resource_uuid: id,
    description: `End session of ${session.username}`,
    tenant_id: session.tenant_id,
  }
  return recordChange(deps, ctx, about, async () => {
    await changeRights(deps, async (trx, revoke) => {
      await endSession(trx, session.hash)
      revoke([session.hash])
    })
    return { message: `The session of ${session.username} has ended.` }
  })
}
