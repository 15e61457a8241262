// Every place of the database that holds encrypted text, so that a rotation of the key finds all of them.
import { type RawBuilder, sql } from 'kysely'
import type { Keyring } from '#src/kernel/keyring.ts'
import type { Db } from './database.ts'

/** A value of a key column as the driver gives and takes it. */
type KeyValue = string | Buffer

interface EncryptedPlace {
  table: string
  key: readonly string[]
  /** SQL: the encrypted text of a row, or null. */
  text: RawBuilder<string | null>
  /** SQL: `column = …` that puts another one there. */
  put(encrypted: string): RawBuilder<unknown>
  /** The associated data of the text (kernel/keyring.ts). */
  associated_data(key: readonly KeyValue[]): string
}

/** Binds an encrypted text to its row: moved to another one it cannot be decrypted. */
export const ASSOCIATED_DATA = {
  ca: 'node-authority',
  oidc_login: 'oidc_login',
  job: (id: string) => `job:${id}`,
  tenant: (id: string) => `tenant:${id}`,
  cam_instance: 'cam_instance',
  cam_camera: (id: string) => `cam_camera:${id}`,
  bmc: (bmc_ip: string) => `bmc:${bmc_ip}`,
  idempotency: (caller_id: string, key: string) => `idempotency:${caller_id}:${key}`,
} as const

const PLACES: readonly EncryptedPlace[] = [
  column('job', ['id'], 'input', ([id]) => ASSOCIATED_DATA.job(String(id))),
  column('job', ['id'], 'state', ([id]) => ASSOCIATED_DATA.job(String(id))),
  column('job', ['id'], 'result', ([id]) => ASSOCIATED_DATA.job(String(id))),
  column('job_signal', ['job_id', 'name'], 'payload', ([id]) => ASSOCIATED_DATA.job(String(id))),
  column('idempotency', ['caller_id', 'key'], 'body', ([caller_id, key]) =>
    ASSOCIATED_DATA.idempotency(String(caller_id), String(key)),
  ),
  column('oidc_login', ['state_hash'], 'sealed', () => ASSOCIATED_DATA.oidc_login),
  column('bmc', ['bmc_ip'], 'password', ([bmc_ip]) => ASSOCIATED_DATA.bmc(String(bmc_ip))),
  column('tenant', ['id'], 'admin_password', ([id]) => ASSOCIATED_DATA.tenant(String(id))),
  column('tenant', ['id'], 'auth_secret', ([id]) => ASSOCIATED_DATA.tenant(String(id))),
  column('cam_instance', ['id'], 'admin_password', () => ASSOCIATED_DATA.cam_instance),
  column('cam_instance', ['id'], 'next_admin_password', () => ASSOCIATED_DATA.cam_instance),
  column('cam_instance', ['id'], 'server_key', () => ASSOCIATED_DATA.cam_instance),
  column('cam_camera', ['id'], 'login', ([id]) => ASSOCIATED_DATA.cam_camera(String(id))),
  {
    table: 'setting',
    key: ['name'],
    text: sql`case when name = ${ASSOCIATED_DATA.ca} then value ->> 'sealed_key' end`,
    put: (encrypted) => sql`value = jsonb_set(value, '{sealed_key}', to_jsonb(${encrypted}::text))`,
    associated_data: () => ASSOCIATED_DATA.ca,
  },
]

const BATCH = 200

export interface Reencrypted {
  reencrypted: number
  /** Texts that no key of the file opens: they were lost before. */
  unreadable: { table: string; key: string }[]
}

/**
 * Encrypts with the newest key what an older one encrypted, a batch at a time. A text that changes meanwhile is left to whoever
 * changed it; so it may be called while replicas run, and again after it was interrupted.
 */
export async function reencryptAll(db: Db, keyring: Keyring): Promise<Reencrypted> {
  const total: Reencrypted = { reencrypted: 0, unreadable: [] }
  for (const place of PLACES) {
    let after: readonly KeyValue[] | undefined
    do {
      after = await reencryptBatch(db, keyring, place, after, total)
    } while (after !== undefined)
  }
  return total
}

/** Answers where the next batch begins; undefined after the last one. */
async function reencryptBatch(
  db: Db,
  keyring: Keyring,
  place: EncryptedPlace,
  after: readonly KeyValue[] | undefined,
  total: Reencrypted,
): Promise<readonly KeyValue[] | undefined> {
  const key = sql.join(place.key.map((name) => sql.ref(name)))
  const beyond = after === undefined ? sql`true` : sql`(${key}) > (${sql.join(after)})`
  const { rows } = await sql<Record<string, KeyValue> & { encrypted_text: string }>`
    select ${key}, ${place.text} as encrypted_text from ${sql.table(place.table)}
    where not starts_with(${place.text}, ${keyring.prefix()}) and ${beyond}
    order by ${key} limit ${BATCH}`.execute(db)
  for (const row of rows) {
    const values = keyOf(place, row)
    const fresh = reencrypt(keyring, row.encrypted_text, place.associated_data(values))
    if (fresh === undefined) {
      total.unreadable.push({ table: place.table, key: values.map(printable).join(' ') })
      continue
    }
    const { numAffectedRows = 0n } = await sql`
      update ${sql.table(place.table)} set ${place.put(fresh)}
      where (${key}) = (${sql.join(values)}) and ${place.text} = ${row.encrypted_text}`.execute(db)
    total.reencrypted += Number(numAffectedRows)
  }
  const last = rows.at(-1)
  return last === undefined || rows.length < BATCH ? undefined : keyOf(place, last)
}

function reencrypt(keyring: Keyring, encrypted: string, associated_data: string): string | undefined {
  let plain: string
  try {
    plain = keyring.decrypt(encrypted, associated_data)
  } catch {
    return undefined
  }
  return keyring.encrypt(plain, associated_data)
}

function column(
  table: string,
  key: readonly string[],
  name: string,
  associated_data: (key: readonly KeyValue[]) => string,
): EncryptedPlace {
  return {
    table,
    key,
    text: sql`${sql.ref(name)}`,
    put: (encrypted) => sql`${sql.ref(name)} = ${encrypted}`,
    associated_data,
  }
}

function keyOf(place: EncryptedPlace, row: Record<string, KeyValue>): KeyValue[] {
  return place.key.map((name) => row[name] ?? '')
}

function printable(value: KeyValue): string {
  return typeof value === 'string' ? value : value.toString('hex')
}
