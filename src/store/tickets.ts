// Table ticket: one stream each. A ticket remembers the credential that asked for it, so that it ends with that one.
import { sql } from 'kysely'
import { Type } from 'typebox'
import Value from 'typebox/value'
import type { Caller } from '#src/kernel/http/context.ts'
import { credentialHash, newCredential, storedCaller } from './credentials.ts'
import type { Db, Trx } from './database.ts'

export const TICKET_FORM = /^gpt_[\w-]{43}$/
const LIFE_SECONDS = 60

export interface TicketUse {
  /** As it was when the ticket was made. */
  caller: Caller
  /** Hash of the token or session that asked; null when it was neither. */
  source: Buffer | null
  /** Without a source: when the access token that asked expires, in milliseconds since 1970. */
  expires_at_ms: number | null
}

export async function insertTicket(trx: Trx, use: TicketUse): Promise<{ ticket: string; expires_at: Date }> {
  const ticket = newCredential('gpt_')
  const { expires_at } = await trx
    .insertInto('ticket')
    .values({
      hash: credentialHash(ticket),
      caller: JSON.stringify({
        ...use.caller,
        source: use.source?.toString('hex') ?? null,
        expires_at_ms: use.expires_at_ms,
      }),
      expires_at: sql<Date>`now() + make_interval(secs => ${LIFE_SECONDS})`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return { ticket, expires_at }
}

/** Uses a ticket up. One statement decides, so that of two requests with the same ticket one gets nothing. */
export async function useTicket(db: Db, hash: Buffer): Promise<TicketUse | undefined> {
  const row = await db
    .updateTable('ticket')
    .set({ used_at: sql<Date>`now()` })
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning('caller')
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { source, expires_at_ms = null } = Value.Parse(Source, row.caller)
  return {
    caller: storedCaller(row.caller),
    source: source === null ? null : Buffer.from(source, 'hex'),
    expires_at_ms,
  }
}

const Source = Type.Object({
  source: Type.Union([Type.String(), Type.Null()]),
  // Tickets of the version before have none.
  expires_at_ms: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
})
