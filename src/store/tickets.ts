// Table ticket: for one stream, for a path, or to sign in once. A ticket remembers the credential that asked for it, so that it ends with that one.
import { sql } from 'kysely'
import { Type } from 'typebox'
import Value from 'typebox/value'
import type { Caller } from '#src/kernel/http/context.ts'
import { credentialHash, newCredential, storedCaller } from './credentials.ts'
import type { Db, Trx } from './database.ts'

const STREAM_TICKET = /^gpt_[\w-]{43}$/
const PATH_TICKET = /^gpp_[\w-]{43}$/
const SIGN_IN_CODE = /^gpl_[\w-]{43}$/
const STREAM_LIFE_SECONDS = 60
const PATH_LIFE_SECONDS = 3600
const SIGN_IN_LIFE_SECONDS = 3600

export interface TicketUse {
  /** As it was when the ticket was made. */
  caller: Caller
  /** Hash of the token or session that asked; null when it was neither. */
  source: Buffer | null
  /** Without a source: when the access token that asked expires, in milliseconds since 1970. */
  expires_at_ms: number | null
  /** Where it counts again and again; null: it opens one stream. */
  path: string | null
}

export async function insertTicket(trx: Trx, use: TicketUse): Promise<{ ticket: string; expires_at: Date }> {
  const kind =
    use.path === null
      ? { prefix: 'gpt_', life_seconds: STREAM_LIFE_SECONDS }
      : { prefix: 'gpp_', life_seconds: PATH_LIFE_SECONDS }
  return insert(trx, use, kind)
}

/** What a sign-in link ends with: opens one session, with the rights of the API token of this hash. */
export async function insertSignInCode(trx: Trx, caller: Caller, token_hash: Buffer): Promise<string> {
  const use = { caller, source: token_hash, expires_at_ms: null, path: null }
  return (await insert(trx, use, { prefix: 'gpl_', life_seconds: SIGN_IN_LIFE_SECONDS })).ticket
}

/** Hash of the API token behind the code; undefined where it is used, expired or not known. */
export async function useSignInCode(db: Db, code: string): Promise<Buffer | undefined> {
  if (!SIGN_IN_CODE.test(code)) return undefined
  return (await useOnce(db, credentialHash(code)))?.source ?? undefined
}

async function insert(
  trx: Trx,
  use: TicketUse,
  { prefix, life_seconds }: { prefix: string; life_seconds: number },
): Promise<{ ticket: string; expires_at: Date }> {
  const ticket = newCredential(prefix)
  const { expires_at } = await trx
    .insertInto('ticket')
    .values({
      hash: credentialHash(ticket),
      caller: JSON.stringify({
        ...use.caller,
        source: use.source?.toString('hex') ?? null,
        expires_at_ms: use.expires_at_ms,
        path: use.path,
      }),
      expires_at: sql<Date>`now() + make_interval(secs => ${life_seconds})`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return { ticket, expires_at }
}

/** What a ticket allows for this request; undefined where it counts for nothing. That for one stream is used up by it. */
export async function useTicket(
  db: Db,
  ticket: string,
  request: { is_stream: boolean; path: string },
): Promise<TicketUse | undefined> {
  if (PATH_TICKET.test(ticket)) {
    const use = await findPathTicket(db, credentialHash(ticket))
    return use?.path != null && isWithin(request.path, use.path) ? use : undefined
  }
  return STREAM_TICKET.test(ticket) && request.is_stream ? useOnce(db, credentialHash(ticket)) : undefined
}

async function findPathTicket(db: Db, hash: Buffer): Promise<TicketUse | undefined> {
  const row = await db
    .selectFrom('ticket')
    .select('caller')
    .where('hash', '=', hash)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return row === undefined ? undefined : storedUse(row.caller)
}

function isWithin(path: string, allowed: string): boolean {
  const folder = allowed.endsWith('/') ? allowed : `${allowed}/`
  return path === allowed || path.startsWith(folder)
}

/** One statement decides, so that of two requests with the same ticket one gets nothing. */
async function useOnce(db: Db, hash: Buffer): Promise<TicketUse | undefined> {
  const row = await db
    .updateTable('ticket')
    .set({ used_at: sql<Date>`now()` })
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning('caller')
    .executeTakeFirst()
  return row === undefined ? undefined : storedUse(row.caller)
}

function storedUse(stored: unknown): TicketUse {
  const { source, expires_at_ms = null, path = null } = Value.Parse(Source, stored)
  return {
    caller: storedCaller(stored),
    source: source === null ? null : Buffer.from(source, 'hex'),
    expires_at_ms,
    path,
  }
}

const Source = Type.Object({
  source: Type.Union([Type.String(), Type.Null()]),
  // Tickets of the version before have none.
  expires_at_ms: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  path: Type.Optional(Type.Union([Type.String(), Type.Null()])),
})
