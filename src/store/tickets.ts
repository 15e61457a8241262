// Table ticket: for one stream, or for a path. A ticket remembers the credential that asked for it, so that it ends with that one.
import { sql } from 'kysely'
import { Type } from 'typebox'
import Value from 'typebox/value'
import type { Caller } from '#src/kernel/http/context.ts'
import { credentialHash, newCredential, storedCaller } from './credentials.ts'
import type { Db, Trx } from './database.ts'

const STREAM_TICKET = /^gpt_[\w-]{43}$/
const PATH_TICKET = /^gpp_[\w-]{43}$/
const STREAM_LIFE_SECONDS = 60
const PATH_LIFE_SECONDS = 3600

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
  const ticket = newCredential(use.path === null ? 'gpt_' : 'gpp_')
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
      expires_at: sql<Date>`now() + make_interval(secs => ${use.path === null ? STREAM_LIFE_SECONDS : PATH_LIFE_SECONDS})`,
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
  return STREAM_TICKET.test(ticket) && request.is_stream ? useStreamTicket(db, credentialHash(ticket)) : undefined
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
async function useStreamTicket(db: Db, hash: Buffer): Promise<TicketUse | undefined> {
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
