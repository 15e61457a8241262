// Idempotent answers: one row a key and caller, shared by all replicas (api-conventions.md, Changes).
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { ApiError } from '#src/kernel/errors.ts'
import type { Idempotency, IdempotentRequest, StoredAnswer } from '#src/kernel/http/idempotency.ts'
import type { Keyring } from '#src/kernel/keyring.ts'
import type { Operation } from '#src/kernel/http/context.ts'
import type { Database, Db, Trx } from './database.ts'
import { isAlive } from './replicas.ts'
import { ASSOCIATED_DATA } from './encrypted-places.ts'

const WAIT_MS = 10_000
const POLL_MS = 50

interface Store {
  database: Database
  replica_id: string
  /** Answers and requests may hold secrets: a token is shown once, a password is sent. */
  keyring: Keyring
}

export function createIdempotency(database: Database, replica_id: string, keyring: Keyring): Idempotency {
  const store: Store = { database, replica_id, keyring }
  return {
    async run(request, work) {
      if (await claim(store, request)) {
        return { answer: await runAndKeep(store, request, work), replayed: false }
      }
      const deadline = performance.now() + WAIT_MS
      for (;;) {
        const found = await findStored(store, request)
        if (found === 'gone' || found === 'never-began') {
          if (await takeOver(store, request)) {
            return { answer: await runAndKeep(store, request, work), replayed: false }
          }
        } else if (typeof found === 'object' && 'admitted' in found) {
          const resumed = { ...request, operation_id: found.admitted }
          if (await takeOver(store, resumed)) {
            return { answer: await runAndKeep(store, resumed, () => work(found.admitted)), replayed: true }
          }
        } else if (found !== 'running') {
          return { answer: found, replayed: true }
        }
        if (performance.now() > deadline) {
          throw new ApiError(
            'IDEMPOTENCY_KEY_IN_USE',
            `The first request with the Idempotency-Key ${request.key} is still running; ask again.`,
          )
        }
        await delay(POLL_MS, undefined, { signal: request.signal })
      }
    },
  }
}

async function claim({ database, replica_id, keyring }: Store, request: IdempotentRequest): Promise<boolean> {
  const row = await database.db
    .insertInto('idempotency')
    .values({
      caller_id: request.caller_id,
      key: request.key,
      operation: request.operation,
      request_hash: keyring.fingerprint(request.request),
      operation_id: request.operation_id,
      replica_id,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['caller_id', 'key'])
        .doUpdateSet((eb) => ({
          operation: eb.ref('excluded.operation'),
          request_hash: eb.ref('excluded.request_hash'),
          operation_id: eb.ref('excluded.operation_id'),
          replica_id: eb.ref('excluded.replica_id'),
          status: null,
          headers: null,
          body: null,
          created_at: sql<Date>`now()`,
        }))
        .where('idempotency.created_at', '<', sql<Date>`now() - interval '24 hours'`),
    )
    .returning('operation_id')
    .executeTakeFirst()
  return row !== undefined
}

async function runAndKeep(
  { database, keyring }: Store,
  request: IdempotentRequest,
  work: () => Promise<StoredAnswer>,
): Promise<StoredAnswer> {
  let answer: StoredAnswer
  try {
    answer = await work()
  } catch (error) {
    await forget(database, request)
    throw error
  }
  if (answer.status >= 500) {
    const begun = await beginningOf(database.db, request.operation_id)
    // A failure of ours before anything was begun may be tried again with the same key.
    if (begun === undefined) await forget(database, request)
    // The wait may have failed while the job goes on: a repeat is answered by what has become of the job.
    if (begun === 'job') await letGo(database, request)
    if (begun !== 'change') return answer
  }
  await database.db
    .updateTable('idempotency')
    .set({
      status: answer.status,
      headers: JSON.stringify(answer.headers),
      body: keyring.encrypt(JSON.stringify(answer.body ?? null), contextOf(request)),
    })
    .where('caller_id', '=', request.caller_id)
    .where('key', '=', request.key)
    .where('operation_id', '=', request.operation_id)
    .execute()
  return answer
}

const NO_REPLICA = '00000000-0000-0000-0000-000000000000'

/** The next request with the key takes it over, as after a crash. */
async function letGo(database: Database, request: IdempotentRequest): Promise<void> {
  await database.db
    .updateTable('idempotency')
    .set({ replica_id: NO_REPLICA })
    .where('caller_id', '=', request.caller_id)
    .where('key', '=', request.key)
    .where('operation_id', '=', request.operation_id)
    .execute()
}

async function forget(database: Database, request: IdempotentRequest): Promise<void> {
  await database.db
    .deleteFrom('idempotency')
    .where('caller_id', '=', request.caller_id)
    .where('key', '=', request.key)
    .where('operation_id', '=', request.operation_id)
    .execute()
}

/**
 * `running`: its process is alive. `gone`: the row vanished. `never-began`: its process died before it had written a job or
 * an event, so the work may be done now. `admitted`: it died after it had admitted a job. Otherwise the stored answer.
 */
async function findStored(
  { database, keyring }: Store,
  request: IdempotentRequest,
): Promise<StoredAnswer | 'running' | 'gone' | 'never-began' | { admitted: string }> {
  const row = await database.db
    .selectFrom('idempotency')
    .selectAll()
    .select(isAlive('idempotency.replica_id').as('alive'))
    .where('caller_id', '=', request.caller_id)
    .where('key', '=', request.key)
    .executeTakeFirst()
  if (row === undefined) return 'gone'
  if (row.operation !== request.operation || !row.request_hash.equals(keyring.fingerprint(request.request))) {
    throw new ApiError(
      'IDEMPOTENCY_KEY_REUSED',
      `The Idempotency-Key ${request.key} was used with another request within the last 24 hours; choose a new one.`,
    )
  }
  if (row.status !== null) {
    return {
      status: row.status,
      headers: row.headers ?? {},
      body: row.body === null ? null : JSON.parse(keyring.decrypt(row.body, contextOf(request))),
    }
  }
  if (row.alive) return 'running'
  const begun = await beginningOf(database.db, row.operation_id)
  if (begun === 'job') return { admitted: row.operation_id }
  if (begun === 'change') {
    throw new ApiError(
      'IDEMPOTENCY_KEY_IN_USE',
      'The first request with this key was interrupted; read the resource, then use a new key.',
    )
  }
  return 'never-began'
}

/**
 * Part of the transaction that writes the first trace of an operation. A process that was frozen may find its key with a
 * repeat that has begun meanwhile: then this fails, and nothing is written. Else nobody takes the key until it is.
 */
export async function holdKey(trx: Trx, { caller, idempotency_key, operation_id }: Operation): Promise<void> {
  if (idempotency_key === null) return
  const own = await trx
    .selectFrom('idempotency')
    .select('key')
    .where('caller_id', '=', caller.id)
    .where('key', '=', idempotency_key)
    .where('operation_id', '=', operation_id)
    .forUpdate()
    .executeTakeFirst()
  if (own !== undefined) return
  throw new ApiError(
    'IDEMPOTENCY_KEY_IN_USE',
    'This request took so long that a repeat with the same Idempotency-Key was begun instead of it; this one changed nothing. Send it again for the answer of the other one.',
  )
}

/** Only from a dead process, and only while what it has written is what the caller believes. */
async function takeOver(store: Store, request: IdempotentRequest): Promise<boolean> {
  const { database, replica_id } = store
  const taken = await database.db.transaction().execute(async (trx) => {
    const row = await trx
      .selectFrom('idempotency')
      .select('operation_id')
      .where('caller_id', '=', request.caller_id)
      .where('key', '=', request.key)
      .where('status', 'is', null)
      .where(({ not }) => not(isAlive('idempotency.replica_id')))
      .forUpdate()
      .executeTakeFirst()
    if (row === undefined) return false
    // Looked at again now that the row is locked: its process may have written the beginning a moment ago.
    const resumes = row.operation_id === request.operation_id
    if (!resumes && (await beginningOf(trx, row.operation_id)) !== undefined) return false
    await trx
      .updateTable('idempotency')
      .set({ replica_id, operation_id: request.operation_id, created_at: sql<Date>`now()` })
      .where('caller_id', '=', request.caller_id)
      .where('key', '=', request.key)
      .execute()
    return true
  })
  return taken || (await claim(store, request))
}

function contextOf(request: IdempotentRequest): string {
  return ASSOCIATED_DATA.idempotency(request.caller_id, request.key)
}

/** What the operation has written: the event of a job names no replica, because any may carry the job on. */
async function beginningOf(db: Db, operation_id: string): Promise<'job' | 'change' | undefined> {
  const event = await db
    .selectFrom('app_event')
    .select('replica_id')
    .where('correlation_id', '=', operation_id)
    .executeTakeFirst()
  if (event === undefined) return undefined
  return event.replica_id === null ? 'job' : 'change'
}
