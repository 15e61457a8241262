// What every stored credential shares: how one is made and hashed, whom it stands for, and how its end is announced.
import { createHmac, hash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { Type } from 'typebox'
import Value from 'typebox/value'
import { type CallerRole, ROLES } from '#src/contract/auth/rights.ts'
import type { HeldCredential } from '#src/kernel/http/access.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import { type Db, REVOKE_NOTIFY, type Trx } from './database.ts'
import { LOCKS } from './locks.ts'

/** Why a credential of ours is rejected; only its holder can learn it, because only the holder can ask. */
export type Rejection = 'unknown' | 'revoked' | 'expired' | 'disabled'

export interface LiveCredential {
  caller: Caller
  credential: HeldCredential
  /** Milliseconds until it expires, by the database clock; null: it does not. */
  remaining_ms: number | null
  /** Sessions: hash of the token that every change must carry. */
  csrf_hash: Buffer | undefined
}

/** 256 random bits after a prefix that says what the text is for. */
export function newCredential(prefix: string): string {
  return prefix + randomBytes(32).toString('base64url')
}

/** A plain hash is enough, because what is hashed is 256 random bits and no password. */
export function credentialHash(credential: string): Buffer {
  return hash('sha256', credential, 'buffer')
}

export function heldCredential(
  kind: HeldCredential['kind'],
  hash: Buffer,
  remaining_ms: number | null,
): HeldCredential {
  return { kind, key: hash.toString('hex'), expires_at_ms: remaining_ms === null ? null : Date.now() + remaining_ms }
}

/** The form in which a hash travels in memory and in notices. */
export function credentialKey(credential: string): string {
  return hash('sha256', credential, 'hex')
}

/** Made from the session's own secret, so that a console which was loaded again can be told it once more. */
export function csrfTokenOf(session_secret: string): string {
  return createHmac('sha256', session_secret).update('csrf').digest('base64url')
}

/** Says to every replica, when the transaction commits, that these credentials must be read afresh. */
export async function announceRevoked(trx: Trx, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  await sql`select pg_notify(${REVOKE_NOTIFY}, key) from unnest(${keys}::text[]) as key`.execute(trx)
}

/** One admin at a time may be taken away, so that two requests cannot remove the last two. */
export async function lockAdmins(trx: Trx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCKS.admins})`.execute(trx)
}

export async function adminUserExists(trx: Trx): Promise<boolean> {
  const row = await trx
    .selectFrom('user_account')
    .select('id')
    .where('role', '=', 'admin')
    .where('tenant_id', 'is', null)
    .where('disabled_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Whether a program could still act as admin: a live token, made by no user or by an enabled admin. */
export async function adminTokenExists(trx: Trx): Promise<boolean> {
  const row = await trx
    .selectFrom('api_token')
    .leftJoin('user_account', 'user_account.id', 'api_token.user_id')
    .select('api_token.id')
    .where('api_token.role', '=', 'admin')
    .where('api_token.tenant_id', 'is', null)
    .where('api_token.revoked_at', 'is', null)
    .where(sql<boolean>`(api_token.expires_at is null or api_token.expires_at > now())`)
    .where(
      sql<boolean>`(api_token.user_id is null or (user_account.disabled_at is null and user_account.role = 'admin' and user_account.tenant_id is null))`,
    )
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export async function anyCallerExists(trx: Db): Promise<boolean> {
  const { rows } = await sql<{ known: boolean }>`
    select exists (select from api_token) or exists (select from user_account) as known`.execute(trx)
  return rows[0]?.known ?? false
}

export interface Rights {
  role: CallerRole
  tenant_id: string | null
}

/**
 * The rights that both allow: the lower role, the narrower tenant. Undefined when they are scoped to different tenants,
 * because then nothing is left.
 */
export function commonRights(one: Rights, other: Rights): Rights | undefined {
  if (one.tenant_id !== null && other.tenant_id !== null && one.tenant_id !== other.tenant_id) return undefined
  const role = ROLES.indexOf(one.role) <= ROLES.indexOf(other.role) ? one.role : other.role
  return { role, tenant_id: one.tenant_id ?? other.tenant_id }
}

export function roleOf(text: string): CallerRole {
  const role = ROLES.find((name) => name === text)
  if (role === undefined) throw new Error(`the database holds an unknown role: ${text}`)
  return role
}

const StoredCaller = Type.Object({
  kind: Type.Enum(['token', 'session', 'oidc']),
  id: Type.String(),
  role: Type.Enum([...ROLES]),
  tenant_id: Type.Union([Type.String(), Type.Null()]),
  user_id: Type.Union([Type.Integer(), Type.Null()]),
  username: Type.String(),
})

/** Reads a caller that a session or ticket was stored with. */
export function storedCaller(stored: unknown): Caller {
  return Value.Parse(StoredCaller, stored)
}
