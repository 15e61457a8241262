// Every place of the database that holds sealed text, so that a rotation of the key finds all of them.
import { type RawBuilder, sql } from 'kysely'
import type { SecretBox } from '#src/kernel/secrets.ts'
import type { Db } from './database.ts'

/** A value of a key column as the driver gives and takes it. */
type KeyValue = string | Buffer

interface SealedPlace {
  table: string
  key: readonly string[]
  /** SQL: the sealed text of a row, or null. */
  text: RawBuilder<string | null>
  /** SQL: `column = …` that puts another one there. */
  put(sealed: string): RawBuilder<unknown>
  /** What the text was sealed under (kernel/secrets.ts). */
  context(key: readonly KeyValue[]): string
}

/** What a text is sealed for: sealed text that is moved to another row does not open there. */
export const SEAL_CONTEXTS = {
  authority: 'node-authority',
  oidc_login: 'oidc_login',
  job: (id: string) => `job:${id}`,
  tenant: (id: string) => `tenant:${id}`,
  idempotency: (caller_id: string, key: string) => `idempotency:${caller_id}:${key}`,
} as const

const PLACES: readonly SealedPlace[] = [
  column('job', ['id'], 'input', ([id]) => SEAL_CONTEXTS.job(String(id))),
  column('job', ['id'], 'state', ([id]) => SEAL_CONTEXTS.job(String(id))),
  column('idempotency', ['caller_id', 'key'], 'body', ([caller_id, key]) =>
    SEAL_CONTEXTS.idempotency(String(caller_id), String(key)),
  ),
  column('oidc_login', ['state_hash'], 'sealed', () => SEAL_CONTEXTS.oidc_login),
  column('tenant', ['id'], 'admin_password', ([id]) => SEAL_CONTEXTS.tenant(String(id))),
  column('tenant', ['id'], 'auth_secret', ([id]) => SEAL_CONTEXTS.tenant(String(id))),
  {
    table: 'setting',
    key: ['name'],
    text: sql`case when name = ${SEAL_CONTEXTS.authority} then value ->> 'sealed_key' end`,
    put: (sealed) => sql`value = jsonb_set(value, '{sealed_key}', to_jsonb(${sealed}::text))`,
    context: () => SEAL_CONTEXTS.authority,
  },
]

const BATCH = 200

export interface Resealed {
  resealed: number
  /** Texts that no key of the file opens: they were lost before. */
  unreadable: { table: string; key: string }[]
}

/**
 * Seals with the newest key what an older one sealed, a batch at a time. A text that changes meanwhile is left to whoever
 * changed it; so it may be called while replicas run, and again after it was interrupted.
 */
export async function resealAll(db: Db, secrets: SecretBox): Promise<Resealed> {
  const total: Resealed = { resealed: 0, unreadable: [] }
  for (const place of PLACES) {
    let after: readonly KeyValue[] | undefined
    do {
      after = await resealBatch(db, secrets, place, after, total)
    } while (after !== undefined)
  }
  return total
}

/** Answers where the next batch begins; undefined after the last one. */
async function resealBatch(
  db: Db,
  secrets: SecretBox,
  place: SealedPlace,
  after: readonly KeyValue[] | undefined,
  total: Resealed,
): Promise<readonly KeyValue[] | undefined> {
  const key = sql.join(place.key.map((name) => sql.ref(name)))
  const beyond = after === undefined ? sql`true` : sql`(${key}) > (${sql.join(after)})`
  const { rows } = await sql<Record<string, KeyValue> & { sealed_text: string }>`
    select ${key}, ${place.text} as sealed_text from ${sql.table(place.table)}
    where not starts_with(${place.text}, ${secrets.prefix()}) and ${beyond}
    order by ${key} limit ${BATCH}`.execute(db)
  for (const row of rows) {
    const values = keyOf(place, row)
    const fresh = reseal(secrets, row.sealed_text, place.context(values))
    if (fresh === undefined) {
      total.unreadable.push({ table: place.table, key: values.map(printable).join(' ') })
      continue
    }
    const { numAffectedRows = 0n } = await sql`
      update ${sql.table(place.table)} set ${place.put(fresh)}
      where (${key}) = (${sql.join(values)}) and ${place.text} = ${row.sealed_text}`.execute(db)
    total.resealed += Number(numAffectedRows)
  }
  const last = rows.at(-1)
  return last === undefined || rows.length < BATCH ? undefined : keyOf(place, last)
}

function reseal(secrets: SecretBox, sealed: string, context: string): string | undefined {
  let plain: string
  try {
    plain = secrets.open(sealed, context)
  } catch {
    return undefined
  }
  return secrets.seal(plain, context)
}

function column(
  table: string,
  key: readonly string[],
  name: string,
  context: (key: readonly KeyValue[]) => string,
): SealedPlace {
  return { table, key, text: sql`${sql.ref(name)}`, put: (sealed) => sql`${sql.ref(name)} = ${sealed}`, context }
}

function keyOf(place: SealedPlace, row: Record<string, KeyValue>): KeyValue[] {
  return place.key.map((name) => row[name] ?? '')
}

function printable(value: KeyValue): string {
  return typeof value === 'string' ? value : value.toString('hex')
}
