// Changes of local users. The last admin stays one, so that nobody locks everybody out.
import type { Static } from 'typebox'
import type { User, userRoutes } from '#src/contract/auth/users.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordChange } from '#src/store/app-events.ts'
import { adminUserExists, lockAdmins } from '#src/store/credentials.ts'
import { type Trx, violates } from '#src/store/database.ts'
import { endSessionsOf } from '#src/store/sessions.ts'
import {
  credentialsOfUser,
  deleteUser,
  findUser,
  insertUser,
  lockUser,
  updateUser,
  type UserRow,
  userView,
} from '#src/store/users.ts'
import type { AuthDeps } from './deps.ts'
import { changeRights } from './rights-change.ts'

type CreateBody = Static<typeof userRoutes.userCreate.body>
type UpdateBody = Static<typeof userRoutes.userUpdate.body>

export function userCreate(deps: AuthDeps, ctx: RequestContext, body: CreateBody): Promise<User> {
  const { username, role } = body
  const about = { resource_type: 'USER', description: `Create user ${username}`, tenant_id: body.tenant_id ?? null }
  return recordChange(deps, ctx, about, async (note) => {
    const password_hash = await deps.passwords.hash(body.password)
    try {
      const row = await deps.database.transact((trx) =>
        insertUser(trx, { username, role, tenant_id: body.tenant_id ?? null, password_hash }),
      )
      note.resource_uuid = String(row.id)
      return userView(row)
    } catch (error) {
      if (violates(error, 'user_account_username')) throw new ApiError('USER_EXISTS', `A user ${username} exists.`)
      throw error
    }
  })
}

export async function userUpdate(deps: AuthDeps, ctx: RequestContext, id: number, body: UpdateBody): Promise<User> {
  const { password, ...rights } = body
  const before = foundUser(await findUser(deps.database.db, id), id)
  return recordChange(deps, ctx, aboutUser(before, `Change ${Object.keys(body).join(', ')} of`), async () => {
    const password_hash = password === undefined ? undefined : await deps.passwords.hash(password)
    const row = await changeRights(deps, async (trx, revoke) => {
      await lockAdmins(trx)
      const was_admin = isAdmin(foundUser(await lockUser(trx, id), id))
      const after = await updateUser(trx, id, { ...rights, ...(password_hash === undefined ? {} : { password_hash }) })
      if (was_admin) await requireAdmin(trx, before.username)
      revoke(await credentialsOfUser(trx, id))
      if (password_hash !== undefined || rights.disabled === true) await endSessionsOf(trx, id, undefined)
      return after
    })
    return userView(row)
  })
}

export async function userDelete(deps: AuthDeps, ctx: RequestContext, id: number): Promise<{ message: string }> {
  const before = foundUser(await findUser(deps.database.db, id), id)
  return recordChange(deps, ctx, aboutUser(before, 'Delete'), async () => {
    await changeRights(deps, async (trx, revoke) => {
      await lockAdmins(trx)
      const was_admin = isAdmin(foundUser(await lockUser(trx, id), id))
      revoke(await credentialsOfUser(trx, id))
      await deleteUser(trx, id)
      if (was_admin) await requireAdmin(trx, before.username)
    })
    return { message: `User ${before.username} is deleted.` }
  })
}

/** Asked at the end of the transaction that took an admin away, so that it is undone when the answer is no. */
async function requireAdmin(trx: Trx, username: string): Promise<void> {
  if (!(await adminUserExists(trx))) {
    throw new ApiError('LAST_ADMIN', `User ${username} is the last enabled admin; make another one first.`)
  }
}

function isAdmin(user: UserRow): boolean {
  return user.role === 'admin' && user.disabled_at === null && user.tenant_id === null
}

function aboutUser(user: UserRow, verb: string) {
  const description = `${verb} user ${user.username}`
  return { resource_type: 'USER', resource_uuid: String(user.id), description, tenant_id: user.tenant_id }
}

export function foundUser(user: UserRow | undefined, id: number): UserRow {
  if (user === undefined) throw new ApiError('USER_NOT_FOUND', `User ${id} not found.`)
  return user
}
