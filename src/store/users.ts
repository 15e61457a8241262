// Table user_account: local users, and the hashes of every credential that hangs on one.
import { type Selectable, type SelectQueryBuilder, sql } from 'kysely'
import type { User, USER_COLUMNS } from '#src/contract/auth/users.ts'
import type { ListOrder } from '#src/kernel/sorted.ts'
import { type Rights, roleOf } from './credentials.ts'
import type { Db, Trx } from './database.ts'
import { listOrder } from './list-order.ts'
import type { Tables } from './tables.ts'

export type UserRow = Selectable<Tables['user_account']>

export async function insertUser(
  trx: Trx,
  user: Rights & { username: string; password_hash: string },
): Promise<UserRow> {
  return trx.insertInto('user_account').values(user).returningAll().executeTakeFirstOrThrow()
}

export async function findUserByName(db: Db, username: string): Promise<UserRow | undefined> {
  return db
    .selectFrom('user_account')
    .selectAll()
    .where(sql<boolean>`lower(username) = lower(${username})`)
    .executeTakeFirst()
}

export async function findUser(db: Db, id: number): Promise<UserRow | undefined> {
  return db.selectFrom('user_account').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Reads the row and keeps others from changing it until the transaction ends. */
export async function lockUser(trx: Trx, id: number): Promise<UserRow | undefined> {
  return trx.selectFrom('user_account').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

export interface UserFilter extends ListOrder<(typeof USER_COLUMNS)[number]> {
  username?: string
  role?: string
  tenant_id?: string
  disabled?: boolean
}

const COLUMNS = {
  username: sql`lower(username)`,
  role: sql`role`,
  created_at: sql`created_at`,
  last_login_at: sql`last_login_at`,
}

export async function listUsers(
  db: Db,
  filter: UserFilter,
  page: { page: number; page_size: number },
): Promise<{ users: User[]; count: number }> {
  const matching = filtered(db.selectFrom('user_account'), filter)
  const { count } = await matching.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const rows = await matching
    .selectAll()
    .orderBy(listOrder(filter, COLUMNS, sql`lower(username)`, sql`id`))
    .limit(page.page_size)
    .offset((page.page - 1) * page.page_size)
    .execute()
  return { users: rows.map(userView), count }
}

function filtered<O>(query: SelectQueryBuilder<Tables, 'user_account', O>, filter: UserFilter) {
  return query
    .$if(filter.username !== undefined, (q) =>
      q.where(sql<boolean>`position(lower(${filter.username ?? ''}) in lower(username)) > 0`),
    )
    .$if(filter.role !== undefined, (q) => q.where('role', '=', filter.role ?? ''))
    .$if(filter.tenant_id !== undefined, (q) => q.where('tenant_id', '=', filter.tenant_id ?? ''))
    .$if(filter.disabled !== undefined, (q) => q.where('disabled_at', filter.disabled ? 'is not' : 'is', null))
}

export interface UserChange {
  role?: string
  tenant_id?: string | null
  password_hash?: string
  disabled?: boolean
}

export async function updateUser(trx: Trx, id: number, change: UserChange): Promise<UserRow> {
  const { disabled, ...columns } = change
  return trx
    .updateTable('user_account')
    .set({
      ...columns,
      ...(disabled === undefined ? {} : { disabled_at: disabled ? sql<Date>`coalesce(disabled_at, now())` : null }),
      // An update needs a column even when nothing is left to change.
      username: sql<string>`username`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deleteUser(trx: Trx, id: number): Promise<void> {
  await trx.deleteFrom('user_account').where('id', '=', id).execute()
}

export async function markLogin(trx: Trx, id: number): Promise<void> {
  await trx.updateTable('user_account').set({ last_login_at: sql<Date>`now()` }).where('id', '=', id).execute()
}

/** Hashes of all tokens and sessions whose rights follow this user's. */
export async function credentialsOfUser(trx: Trx, id: number): Promise<Buffer[]> {
  const { rows } = await sql<{ hash: Buffer }>`
    select hash from api_token where user_id = ${id} and revoked_at is null
    union all
    select hash from session where user_id = ${id} and ended_at is null`.execute(trx)
  return rows.map((row) => row.hash)
}

export function userView(row: UserRow): User {
  return {
    id: row.id,
    username: row.username,
    role: roleOf(row.role),
    tenant_id: row.tenant_id,
    disabled: row.disabled_at !== null,
    disabled_at: row.disabled_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    last_login_at: row.last_login_at?.toISOString() ?? null,
  }
}
