// Who acts at this service for one tenant alone: its users, and tokens that are limited to it.
import { sql } from 'kysely'
import { announceRevoked } from './credentials.ts'
import type { Db, Trx } from './database.ts'

export async function callersOf(db: Db, tenant_id: string): Promise<{ users: string[]; tokens: string[] }> {
  const [users, tokens] = await Promise.all([
    db.selectFrom('user_account').select('username').where('tenant_id', '=', tenant_id).orderBy('username').execute(),
    db
      .selectFrom('api_token')
      .select('name')
      .where('tenant_id', '=', tenant_id)
      .where('revoked_at', 'is', null)
      .orderBy('name')
      .execute(),
  ])
  return { users: users.map((row) => row.username), tokens: tokens.map((row) => row.name) }
}

/** Users go with their tokens and sessions; tokens without a user are revoked, and stay in the list as such. */
export async function endCallersOf(trx: Trx, tenant_id: string): Promise<void> {
  const users = sql`select id from user_account where tenant_id = ${tenant_id}`
  const sessions = await sql<{ hash: Buffer }>`
    update session set ended_at = now() where ended_at is null
      and (user_id in (${users}) or caller ->> 'tenant_id' = ${tenant_id}) returning hash`.execute(trx)
  const tokens = await sql<{ hash: Buffer }>`
    update api_token set revoked_at = now() where revoked_at is null
      and (user_id in (${users}) or tenant_id = ${tenant_id}) returning hash`.execute(trx)
  await trx.deleteFrom('user_account').where('tenant_id', '=', tenant_id).execute()
  await announceRevoked(
    trx,
    [...sessions.rows, ...tokens.rows].map((row) => row.hash.toString('hex')),
  )
}
