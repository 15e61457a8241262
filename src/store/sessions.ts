// Table session: opaque console sessions, which can be ended because they are looked up.
import { randomUUIDv7 } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { OpenSession } from '#src/contract/auth/open-sessions.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import {
  credentialHash,
  csrfTokenOf,
  heldCredential,
  type LiveCredential,
  newCredential,
  type Rejection,
  roleOf,
  storedCaller,
} from './credentials.ts'
import { findLiveToken } from './api-tokens.ts'
import type { Db, Trx } from './database.ts'
import type { Tables } from './tables.ts'

/** How far apart two writes of seen_at of one session are at least. */
const TOUCH_SECONDS = 60

export interface NewSession {
  secret: string
  csrf_token: string
  expires_at: Date
}

/** With a token's hash the session has the rights of that API token, and ends with it. */
export async function insertSession(
  trx: Trx,
  caller: Caller,
  life_ms: number,
  token_hash: Buffer | null = null,
): Promise<NewSession> {
  const secret = newCredential('gps_')
  const csrf_token = csrfTokenOf(secret)
  const { expires_at } = await trx
    .insertInto('session')
    .values({
      id: randomUUIDv7(),
      hash: credentialHash(secret),
      csrf_hash: credentialHash(csrf_token),
      user_id: caller.user_id,
      token_hash,
      caller: JSON.stringify(caller),
      expires_at: sql<Date>`now() + make_interval(secs => ${life_ms / 1000})`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return { secret, csrf_token, expires_at }
}

export async function findLiveSession(
  db: Db,
  hash: Buffer,
): Promise<(LiveCredential & { unused: boolean }) | Rejection> {
  const row = await db
    .selectFrom('session')
    .leftJoin('user_account', 'user_account.id', 'session.user_id')
    .select([
      'session.csrf_hash', 'session.user_id', 'session.token_hash', 'session.caller', 'session.ended_at',
      'user_account.role', 'user_account.tenant_id', 'user_account.username', 'user_account.disabled_at',
      sql<number>`(extract(epoch from session.expires_at - now()) * 1000)::float8`.as('remaining_ms'),
      sql<boolean>`session.seen_at < now() - make_interval(secs => ${TOUCH_SECONDS})`.as('unused'),
    ]) // biome-ignore format: a list of columns
    .where('session.hash', '=', hash)
    .executeTakeFirst()
  if (row === undefined) return 'unknown'
  if (row.ended_at !== null) return 'revoked'
  if (row.remaining_ms <= 0) return 'expired'
  if (row.disabled_at !== null) return 'disabled'
  const caller = row.token_hash === null ? callerNow(row) : await tokenCaller(db, row.token_hash)
  if (typeof caller === 'string') return caller
  return {
    caller,
    credential: heldCredential('session', hash, row.remaining_ms),
    remaining_ms: row.remaining_ms,
    csrf_hash: row.csrf_hash,
    unused: row.unused,
  }
}

async function tokenCaller(db: Db, token_hash: Buffer): Promise<Caller | Rejection> {
  const found = await findLiveToken(db, token_hash)
  return typeof found === 'string' ? found : { ...found.caller, kind: 'session' }
}

export async function touchSession(db: Db, hash: Buffer): Promise<void> {
  await db
    .updateTable('session')
    .set({ seen_at: sql<Date>`now()` })
    .where('hash', '=', hash)
    .where(sql<boolean>`seen_at < now() - make_interval(secs => ${TOUCH_SECONDS})`)
    .execute()
}

export async function sessionExpiry(db: Db, hash: Buffer): Promise<Date | undefined> {
  const row = await db.selectFrom('session').select('expires_at').where('hash', '=', hash).executeTakeFirst()
  return row?.expires_at
}

export interface SessionFilter {
  username?: string
  user_id?: number
}

/** Those that still let somebody in. */
export async function listSessions(
  db: Db,
  filter: SessionFilter,
  page: { page: number; page_size: number },
): Promise<{ sessions: OpenSession[]; count: number }> {
  const matching = openSessions(db)
    .$if(filter.user_id !== undefined, (query) => query.where('session.user_id', '=', filter.user_id ?? 0))
    .$if(filter.username !== undefined, (query) =>
      query.where(sql<boolean>`lower(${USERNAME}) = lower(${filter.username})`),
    )
  const { count } = await matching.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const rows = await matching
    .select(SHOWN)
    .orderBy('session.created_at', 'desc')
    .orderBy('session.id', 'desc')
    .limit(page.page_size)
    .offset((page.page - 1) * page.page_size)
    .execute()
  return { sessions: rows.map(sessionView), count }
}

export async function findOpenSession(db: Db, id: string): Promise<(OpenSession & { hash: Buffer }) | undefined> {
  const row = await openSessions(db)
    .select([...SHOWN, 'session.hash'])
    .where('session.id', '=', id)
    .executeTakeFirst()
  return row === undefined ? undefined : { ...sessionView(row), hash: row.hash }
}

const USERNAME = sql<string>`coalesce(user_account.username, session.caller ->> 'username')`

const SHOWN = [
  'session.id', 'session.user_id', 'session.token_hash', 'session.caller', 'session.created_at', 'session.seen_at', 'session.expires_at',
  'user_account.role', 'user_account.tenant_id', 'user_account.username',
] as const // biome-ignore format: a list of columns

function openSessions(db: Db) {
  return db
    .selectFrom('session')
    .leftJoin('user_account', 'user_account.id', 'session.user_id')
    .where('session.ended_at', 'is', null)
    .where('session.expires_at', '>', sql<Date>`now()`)
    .where('user_account.disabled_at', 'is', null)
}

type ShownRow = Pick<
  Selectable<Tables['session']>,
  'id' | 'user_id' | 'token_hash' | 'caller' | 'created_at' | 'seen_at' | 'expires_at'
> & {
  role: string | null
  tenant_id: string | null
  username: string | null
}

function sessionView(row: ShownRow): OpenSession {
  const { role, tenant_id, username } = callerNow(row)
  return {
    id: row.id,
    username,
    role: roleOf(role ?? ''),
    tenant_id,
    user_id: row.user_id,
    created_at: row.created_at.toISOString(),
    seen_at: row.seen_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
  }
}

/** A local user's rights are those of the user now; somebody else's, and those of a token, are those of the sign-in. */
function callerNow(row: Pick<ShownRow, 'token_hash' | 'caller' | 'role' | 'tenant_id' | 'username'>): Caller {
  const stored = storedCaller(row.caller)
  if (row.token_hash !== null || row.role === null || row.username === null) return stored
  return { ...stored, role: roleOf(row.role), tenant_id: row.tenant_id, username: row.username }
}

/** True when this call ended it. */
export async function endSession(trx: Trx, hash: Buffer): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('session')
    .set({ ended_at: sql<Date>`now()` })
    .where('hash', '=', hash)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Sessions that were opened with this API token. */
export async function sessionsOfToken(trx: Trx, token_hash: Buffer): Promise<Buffer[]> {
  const rows = await trx
    .selectFrom('session')
    .select('hash')
    .where('token_hash', '=', token_hash)
    .where('ended_at', 'is', null)
    .execute()
  return rows.map((row) => row.hash)
}

/** Ends a user's sessions, all but the one that asks; answers the hashes of those that ended. */
export async function endSessionsOf(trx: Trx, user_id: number, except: Buffer | undefined): Promise<Buffer[]> {
  const rows = await trx
    .updateTable('session')
    .set({ ended_at: sql<Date>`now()` })
    .where('user_id', '=', user_id)
    .where('ended_at', 'is', null)
    .$if(except !== undefined, (query) => query.where('hash', '<>', except ?? Buffer.alloc(0)))
    .returning('hash')
    .execute()
  return rows.map((row) => row.hash)
}
