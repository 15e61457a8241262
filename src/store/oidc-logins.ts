// Table oidc_login: sign-ins at the identity provider that have begun, found by the hash of their state, used once.
import { sql } from 'kysely'
import { credentialHash } from './credentials.ts'
import type { Db, Trx } from './database.ts'

export const OIDC_LOGIN_SECONDS = 600

export async function insertOidcLogin(trx: Trx, state: string, encrypted: string): Promise<void> {
  await trx
    .insertInto('oidc_login')
    .values({
      state_hash: credentialHash(state),
      sealed: encrypted,
      expires_at: sql<Date>`now() + make_interval(secs => ${OIDC_LOGIN_SECONDS})`,
    })
    .execute()
}

/** Takes the sign-in out, so that its answer cannot be used twice. */
export async function takeOidcLogin(db: Db, state: string): Promise<string | undefined> {
  const row = await db
    .deleteFrom('oidc_login')
    .where('state_hash', '=', credentialHash(state))
    .where('expires_at', '>', sql<Date>`now()`)
    .returning('sealed')
    .executeTakeFirst()
  return row?.sealed
}
