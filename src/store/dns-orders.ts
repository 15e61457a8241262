// What name servers cannot keep: ids and times of records, comments and the status word of zones.
import { type Selectable, sql } from 'kysely'
import type { Db } from './database.ts'
import type { Tables } from './tables.ts'

export type ZoneNote = Selectable<Tables['dns_zone']>
export type RecordNote = Selectable<Tables['dns_record']>

/** What tells a record from every other one. */
export interface RecordKey {
  zone: string
  fqdn: string
  type: string
  /** Value with priority, weight and port, as one text. */
  content: string
}

export function zoneNotes(db: Db): Promise<ZoneNote[]> {
  return db.selectFrom('dns_zone').selectAll().execute()
}

export type ZoneWrite = Partial<Pick<ZoneNote, 'comment' | 'network_id' | 'status'>>

export async function saveZone(db: Db, name: string, change: ZoneWrite): Promise<void> {
  await db
    .insertInto('dns_zone')
    .values({ name, ...change })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ ...change, updated_at: sql`now()` }))
    .execute()
}

export async function countTransfer(db: Db, name: string): Promise<void> {
  await saveZone(db, name, {})
  await db.updateTable('dns_zone').set({ transfers: sql`transfers + 1` }).where('name', '=', name).execute()
}

/** With the ids of its records. */
export async function forgetZone(db: Db, name: string): Promise<void> {
  await db.deleteFrom('dns_record').where('zone', '=', name).execute()
  await db.deleteFrom('dns_zone').where('name', '=', name).execute()
}

/** Ids live on under the new name. */
export async function renameZoneNotes(db: Db, name: string, new_name: string): Promise<void> {
  // Of a zone of this name that somebody deleted on the server.
  await forgetZone(db, new_name)
  await db.updateTable('dns_zone').set({ name: new_name, updated_at: sql`now()` }).where('name', '=', name).execute()
  await db
    .updateTable('dns_record')
    .set({ zone: new_name, fqdn: sql`left(fqdn, length(fqdn) - ${name.length}) || ${new_name}` })
    .where('zone', '=', name)
    .execute()
}

/** A row for each record, made for those that have none yet; in the order given. */
export async function recordNotes(db: Db, keys: readonly RecordKey[], newId: () => string): Promise<RecordNote[]> {
  if (keys.length === 0) return []
  const wanted = JSON.stringify(keys.map((key) => ({ id: newId(), ...key })))
  const { rows } = await sql<RecordNote>`
    with wanted as (
      select * from jsonb_to_recordset(${wanted}::jsonb) as row(id uuid, zone text, fqdn text, type text, content text)
    ), made as (
      insert into dns_record (id, zone, fqdn, type, content)
      select id, zone, fqdn, type, content from wanted
      on conflict (zone, fqdn, type, md5(content)) do nothing
      returning *
    )
    select * from made
    union all
    select known.* from dns_record known join wanted using (zone, fqdn, type)
     where known.content = wanted.content`.execute(db)
  const found = new Map(rows.map((row) => [keyText(row), row]))
  return keys.flatMap((key) => found.get(keyText(key)) ?? [])
}

/** Address records with one of these values, as they were last shown. */
export function notesOfAddresses(db: Db, addresses: readonly string[]): Promise<RecordNote[]> {
  return db
    .selectFrom('dns_record')
    .selectAll()
    .where('type', 'in', ['A', 'AAAA'])
    .where(sql<boolean>`content = any(${[...addresses]}::text[])`)
    .execute()
}

export function keyText({ zone, fqdn, type, content }: RecordKey): string {
  return JSON.stringify([zone, fqdn, type, content])
}

export function recordNote(db: Db, zone: string, id: string): Promise<RecordNote | undefined> {
  return db.selectFrom('dns_record').selectAll().where('zone', '=', zone).where('id', '=', id).executeTakeFirst()
}

/** The record goes on under its id with other words; one that had these words before gives way. */
export async function moveRecordNote(db: Db, id: string, key: RecordKey, comment: string | undefined): Promise<void> {
  const { zone, fqdn, type, content } = key
  await db
    .deleteFrom('dns_record')
    .where('zone', '=', zone)
    .where('fqdn', '=', fqdn)
    .where('type', '=', type)
    .where('content', '=', content)
    .where('id', '<>', id)
    .execute()
  const change = comment === undefined ? {} : { comment }
  await db
    .updateTable('dns_record')
    .set({ ...key, ...change, updated_at: sql`now()` })
    .where('id', '=', id)
    .execute()
}

export async function forgetRecord(db: Db, id: string): Promise<void> {
  await db.deleteFrom('dns_record').where('id', '=', id).execute()
}
