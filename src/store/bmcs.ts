// Tables bmc, bmc_inventory and boot_image: how BMCs are reached, what was collected of their machines, what they may fetch.
import { createHash } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { BmcInventory } from '#src/contract/bmc/machine.ts'
import type { BmcRecord } from '#src/contract/bmc/records.ts'
import type { Db, Trx } from './database.ts'
import type { Tables } from './tables.ts'

export type BmcRow = Selectable<Tables['bmc']>

export interface SeenCertificate {
  fingerprint: string
  subject: string
  issuer: string
  valid_from: string
  valid_to: string
}

export function findBmc(db: Db, bmc_ip: string): Promise<BmcRow | undefined> {
  return db.selectFrom('bmc').selectAll().where('bmc_ip', '=', bmc_ip).executeTakeFirst()
}

export interface NewBmc {
  bmc_ip: string
  username: string
  /** Encrypted. */
  password: string
  port: number | null
  tls_mode: BmcRow['tls_mode']
  system_id: string | null
}

/** A certificate that is pinned stays so. */
export async function putBmc(db: Db, bmc: NewBmc): Promise<void> {
  const { bmc_ip: _key, ...values } = bmc
  await db
    .insertInto('bmc')
    .values(bmc)
    .onConflict((conflict) => conflict.column('bmc_ip').doUpdateSet({ ...values, updated_at: sql`now()` }))
    .execute()
}

export async function deleteBmc(db: Db, bmc_ip: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('bmc').where('bmc_ip', '=', bmc_ip).executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** The fingerprint that counts: the stored one, or this one when it is the first. Of several replicas one is the first. */
export async function pinFirst(db: Db, bmc_ip: string, seen: SeenCertificate, by: string): Promise<string> {
  const known = await findBmc(db, bmc_ip)
  if (known?.fingerprint != null) return known.fingerprint
  const pin = pinOf(seen, by)
  await db
    .insertInto('bmc')
    .values({ bmc_ip, ...pin })
    .onConflict((conflict) => conflict.column('bmc_ip').doUpdateSet(pin).where('bmc.fingerprint', 'is', null))
    .execute()
  return (await findBmc(db, bmc_ip))?.fingerprint ?? seen.fingerprint
}

/** False: there is no record. */
export async function replacePin(db: Db, bmc_ip: string, seen: SeenCertificate, by: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('bmc')
    .set(pinOf(seen, by))
    .where('bmc_ip', '=', bmc_ip)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

function pinOf(seen: SeenCertificate, pinned_by: string) {
  const { fingerprint, ...certificate } = seen
  return { fingerprint, certificate: JSON.stringify(certificate), pinned_by, pinned_at: new Date() }
}

export async function listBmcs(
  db: Db,
  { page, page_size }: { page: number; page_size: number },
  defaults: BmcDefaults,
): Promise<{ bmcs: BmcRecord[]; count: number }> {
  const rows = await records(db)
    .orderBy('bmc.bmc_ip')
    .offset((page - 1) * page_size)
    .limit(page_size)
    .execute()
  const { count } = await db
    .selectFrom('bmc')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return { bmcs: rows.map((row) => recordOf(row, defaults)), count: Number(count) }
}

export async function findBmcRecord(db: Db, bmc_ip: string, defaults: BmcDefaults): Promise<BmcRecord | undefined> {
  const row = await records(db).where('bmc.bmc_ip', '=', bmc_ip).executeTakeFirst()
  return row === undefined ? undefined : recordOf(row, defaults)
}

export interface BmcDefaults {
  port: number
}

function records(db: Db) {
  return db
    .selectFrom('bmc')
    .leftJoin('node', 'node.bmc_ip', 'bmc.bmc_ip')
    .selectAll('bmc')
    .select(sql<string | null>`coalesce(node.fqdn, node.hostname, node.node_ip)`.as('node'))
    .select(
      sql<Date | null>`(select max(collected_at) from bmc_inventory i where i.bmc_ip = bmc.bmc_ip)`.as('inventory_at'),
    )
}

type RecordRow = BmcRow & { node: string | null; inventory_at: Date | null }

function recordOf(row: RecordRow, { port }: BmcDefaults): BmcRecord {
  return {
    bmc_ip: row.bmc_ip,
    port: row.port ?? port,
    username: row.username,
    tls_mode: row.tls_mode,
    certificate: certificateOf(row),
    system_id: row.system_id,
    node: row.node,
    updated_at: row.updated_at.toISOString(),
    inventory_at: row.inventory_at?.toISOString() ?? null,
  }
}

export function certificateOf(row: BmcRow): BmcRecord['certificate'] {
  const { fingerprint, certificate, pinned_by, pinned_at } = row
  if (fingerprint === null || certificate === null || pinned_at === null) return null
  return { fingerprint, ...certificate, pinned_by: pinned_by ?? '', pinned_at: pinned_at.toISOString() }
}

type Collected = Omit<BmcInventory, 'changes'>

/** Stores it beside the ones before; answers the newest of those. */
export async function addInventory(db: Db, inventory: Collected): Promise<Collected | undefined> {
  const { bmc_ip } = inventory
  const before = await lastInventory(db, bmc_ip)
  await db
    .insertInto('bmc_inventory')
    .values({ bmc_ip, inventory: JSON.stringify(inventory) })
    .execute()
  return before
}

export async function lastInventory(db: Db, bmc_ip: string): Promise<Collected | undefined> {
  const row = await db
    .selectFrom('bmc_inventory')
    .select('inventory')
    .where('bmc_ip', '=', bmc_ip)
    .orderBy('collected_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.inventory
}

/** Lets whoever knows the secret fetch the file, for the time of a job. */
export async function grantBootImage(
  trx: Trx,
  grant: { capability: string; job_id: string; file: string; hours: number },
) {
  await trx
    .insertInto('boot_image')
    .values({
      hash: hashOf(grant.capability),
      job_id: grant.job_id,
      file: grant.file,
      expires_at: sql<Date>`now() + make_interval(hours => ${grant.hours})`,
    })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute()
}

export async function revokeBootImages(db: Db, job_id: string): Promise<void> {
  await db.updateTable('boot_image').set({ expires_at: sql<Date>`now()` }).where('job_id', '=', job_id).execute()
}

/** The file that the secret is good for now. */
export async function findBootImage(db: Db, capability: string): Promise<{ file: string } | undefined> {
  return db
    .selectFrom('boot_image')
    .select('file')
    .where('hash', '=', hashOf(capability))
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
}

export async function recordFetch(db: Db, capability: string, fetched_by: string, bytes: number): Promise<void> {
  await db
    .updateTable('boot_image')
    .set({ fetched_at: sql<Date>`now()`, fetched_by, fetched_bytes: sql`fetched_bytes + ${bytes}` })
    .where('hash', '=', hashOf(capability))
    .execute()
}

/** Our own check of the address is no evidence. */
export async function forgetFetches(db: Db, job_id: string): Promise<void> {
  await db
    .updateTable('boot_image')
    .set({ fetched_at: null, fetched_by: null, fetched_bytes: 0 })
    .where('job_id', '=', job_id)
    .execute()
}

/** Who fetched of the images of a job, and when; undefined while nobody has. */
export async function fetchOf(db: Db, job_id: string): Promise<{ fetched_at: Date; fetched_by: string } | undefined> {
  const row = await db
    .selectFrom('boot_image')
    .select(['fetched_at', 'fetched_by'])
    .where('job_id', '=', job_id)
    .where('fetched_at', 'is not', null)
    .executeTakeFirst()
  return row?.fetched_at == null ? undefined : { fetched_at: row.fetched_at, fetched_by: row.fetched_by ?? '' }
}

function hashOf(capability: string): Buffer {
  return createHash('sha256').update(capability).digest()
}
