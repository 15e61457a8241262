// Makes and revokes API tokens. No token has more right than the caller who made it.
import type { Static } from 'typebox'
import type { ApiToken, tokenRoutes } from '#src/contract/auth/tokens.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { findToken, insertToken, revokeToken } from '#src/store/api-tokens.ts'
import { recordChange } from '#src/store/app-events.ts'
import { adminTokenExists, adminUserExists, lockAdmins, type Rights } from '#src/store/credentials.ts'
import { sessionsOfToken } from '#src/store/sessions.ts'
import type { AuthDeps } from './deps.ts'
import { changeRights } from './rights-change.ts'

type CreateBody = Static<typeof tokenRoutes.tokenCreate.body>

const DAY_MS = 86_400_000
const LATEST = Date.UTC(9999, 0, 1)

export function tokenCreate(
  deps: AuthDeps,
  ctx: RequestContext,
  body: CreateBody,
): Promise<ApiToken & { token: string }> {
  // Only an admin of all tenants comes here, so nobody gives more right than it has.
  const rights: Rights = { role: body.role, tenant_id: body.tenant_id ?? null }
  const expires_at = expiryOf(body)
  const about = {
    resource_type: 'TOKEN',
    description: `Create ${rights.role} token ${body.name}`,
    tenant_id: rights.tenant_id,
  }
  return recordChange(deps, ctx, about, async (note) => {
    const { user_id, username } = ctx.caller
    const spec = { name: body.name, ...rights, user_id, created_by: username, expires_at }
    const { token, view } = await deps.database.transact((trx) => insertToken(trx, spec))
    note.resource_uuid = view.id
    return { ...view, token }
  })
}

export async function tokenRevoke(deps: AuthDeps, ctx: RequestContext, id: string): Promise<{ message: string }> {
  const before = foundToken(await findToken(deps.database.db, id), id)
  const about = {
    resource_type: 'TOKEN',
    resource_uuid: id,
    description: `Revoke token ${before.name}`,
    tenant_id: before.tenant_id,
  }
  return recordChange(deps, ctx, about, async () => {
    await changeRights(deps, async (trx, revoke) => {
      await lockAdmins(trx)
      const admins_before = before.role === 'admin' && (await adminTokenExists(trx))
      const hash = await revokeToken(trx, id)
      if (hash === undefined) return
      revoke([hash, ...(await sessionsOfToken(trx, hash))])
      if (admins_before && !(await adminTokenExists(trx)) && !(await adminUserExists(trx))) {
        throw new ApiError(
          'LAST_ADMIN',
          `Token ${before.name} is the last way in for an admin; make an admin user or token first.`,
        )
      }
    })
    return { message: `Token ${before.name} is revoked.` }
  })
}

function expiryOf(body: CreateBody): Date | null {
  if (body.expires_at !== undefined && body.expires_in_days !== undefined) {
    throw invalidField('body.expires_in_days', 'send either this or expires_at')
  }
  if (body.expires_in_days !== undefined) return new Date(Date.now() + body.expires_in_days * DAY_MS)
  if (body.expires_at === undefined) return null
  const expires_at = new Date(body.expires_at)
  if (!(expires_at.getTime() > Date.now())) throw invalidField('body.expires_at', 'must be in the future')
  if (expires_at.getTime() > LATEST) throw invalidField('body.expires_at', 'must be before the year 9999')
  return expires_at
}

export function foundToken(token: ApiToken | undefined, id: string): ApiToken {
  if (token === undefined) throw new ApiError('TOKEN_NOT_FOUND', `Token ${id} not found.`)
  return token
}
