// Table api_token: made once, found by hash, revoked for good.
import { randomUUIDv7 } from 'node:crypto'
import { type Selectable, type SelectQueryBuilder, sql } from 'kysely'
import type { ApiToken, TOKEN_COLUMNS } from '#src/contract/auth/tokens.ts'
import type { ListOrder } from '#src/kernel/sorted.ts'
import {
  commonRights,
  credentialHash,
  heldCredential,
  type LiveCredential,
  newCredential,
  type Rejection,
  type Rights,
  roleOf,
} from './credentials.ts'
import type { Db, Trx } from './database.ts'
import { listOrder } from './list-order.ts'
import type { Tables } from './tables.ts'

const SHOWN_CHARACTERS = 9
/** How far apart two writes of last_used_at of one token are at least. */
const TOUCH_SECONDS = 60

export const TOKEN_FORM = /^gp_[\w-]{43}$/

export interface TokenSpec extends Rights {
  name: string
  user_id: number | null
  created_by: string
  expires_at: Date | null
}

const STATE = sql<ApiToken['state']>`case
  when api_token.revoked_at is not null then 'REVOKED'
  when api_token.expires_at <= now() then 'EXPIRED'
  else 'ACTIVE' end`

/** Answers the token itself, which is stored nowhere. */
export async function insertToken(trx: Trx, spec: TokenSpec): Promise<{ token: string; view: ApiToken }> {
  const token = newCredential('gp_')
  const row = await trx
    .insertInto('api_token')
    .values({
      id: randomUUIDv7(),
      name: spec.name,
      hash: credentialHash(token),
      prefix: token.slice(0, SHOWN_CHARACTERS),
      role: spec.role,
      tenant_id: spec.tenant_id,
      user_id: spec.user_id,
      created_by: spec.created_by,
      expires_at: spec.expires_at,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return { token, view: tokenView({ ...row, state: 'ACTIVE' }) }
}

export async function findLiveToken(db: Db, hash: Buffer): Promise<(LiveCredential & { unused: boolean }) | Rejection> {
  const row = await db
    .selectFrom('api_token')
    .leftJoin('user_account', 'user_account.id', 'api_token.user_id')
    .select([
      'api_token.id', 'api_token.name', 'api_token.role', 'api_token.tenant_id', 'api_token.user_id',
      'user_account.role as user_role', 'user_account.tenant_id as user_tenant_id',
      'user_account.username', 'user_account.disabled_at', STATE.as('state'),
      sql<number | null>`(extract(epoch from api_token.expires_at - now()) * 1000)::float8`.as('remaining_ms'),
      sql<boolean>`api_token.last_used_at is null
        or api_token.last_used_at < now() - make_interval(secs => ${TOUCH_SECONDS})`.as('unused'),
    ]) // biome-ignore format: a list of columns
    .where('api_token.hash', '=', hash)
    .executeTakeFirst()
  if (row === undefined) return 'unknown'
  if (row.state !== 'ACTIVE') return row.state === 'REVOKED' ? 'revoked' : 'expired'
  if (row.disabled_at !== null) return 'disabled'
  const own = { role: roleOf(row.role), tenant_id: row.tenant_id }
  const rights =
    row.user_role === null ? own : commonRights(own, { role: roleOf(row.user_role), tenant_id: row.user_tenant_id })
  if (rights === undefined) return 'disabled'
  return {
    caller: { kind: 'token', id: row.id, ...rights, user_id: row.user_id, username: row.username ?? row.name },
    credential: heldCredential('token', hash, row.remaining_ms),
    remaining_ms: row.remaining_ms,
    csrf_hash: undefined,
    unused: row.unused,
  }
}

export async function touchToken(db: Db, hash: Buffer): Promise<void> {
  await db
    .updateTable('api_token')
    .set({ last_used_at: sql<Date>`now()` })
    .where('hash', '=', hash)
    .where(sql<boolean>`(last_used_at is null or last_used_at < now() - make_interval(secs => ${TOUCH_SECONDS}))`)
    .execute()
}

export interface TokenFilter extends ListOrder<(typeof TOKEN_COLUMNS)[number]> {
  name?: string
  role?: string
  tenant_id?: string
  state?: ApiToken['state']
  user_id?: number
}

const COLUMNS = {
  name: sql`lower(name)`,
  role: sql`role`,
  created_at: sql`created_at`,
  expires_at: sql`expires_at`,
  last_used_at: sql`last_used_at`,
}

export async function listTokens(
  db: Db,
  filter: TokenFilter,
  page: { page: number; page_size: number },
): Promise<{ tokens: ApiToken[]; count: number }> {
  const matching = filtered(db.selectFrom('api_token'), filter)
  const { count } = await matching.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const rows = await matching
    .selectAll()
    .select(STATE.as('state'))
    .orderBy(listOrder(filter, COLUMNS, sql`created_at desc, id desc`, sql`id`))
    .limit(page.page_size)
    .offset((page.page - 1) * page.page_size)
    .execute()
  return { tokens: rows.map(tokenView), count }
}

function filtered<O>(query: SelectQueryBuilder<Tables, 'api_token', O>, filter: TokenFilter) {
  return query
    .$if(filter.name !== undefined, (q) =>
      q.where(sql<boolean>`position(lower(${filter.name ?? ''}) in lower(api_token.name)) > 0`),
    )
    .$if(filter.role !== undefined, (q) => q.where('api_token.role', '=', filter.role ?? ''))
    .$if(filter.tenant_id !== undefined, (q) => q.where('api_token.tenant_id', '=', filter.tenant_id ?? ''))
    .$if(filter.state !== undefined, (q) => q.where(sql<boolean>`${STATE} = ${filter.state}`))
    .$if(filter.user_id !== undefined, (q) => q.where('api_token.user_id', '=', filter.user_id ?? 0))
}

export async function findToken(db: Db, id: string): Promise<ApiToken | undefined> {
  const row = await db
    .selectFrom('api_token')
    .selectAll()
    .select(STATE.as('state'))
    .where('id', '=', id)
    .executeTakeFirst()
  return row === undefined ? undefined : tokenView(row)
}

/** Answers the hash of the token when this call revoked it; undefined when it was revoked before. */
export async function revokeToken(trx: Trx, id: string): Promise<Buffer | undefined> {
  const row = await trx
    .updateTable('api_token')
    .set({ revoked_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning('hash')
    .executeTakeFirst()
  return row?.hash
}

function tokenView(row: Selectable<Tables['api_token']> & { state: ApiToken['state'] }): ApiToken {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    role: roleOf(row.role),
    tenant_id: row.tenant_id,
    state: row.state,
    user_id: row.user_id,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
  }
}
