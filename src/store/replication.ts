// Physical replication slots of the cluster's database, by the connection to its primary: what a joining management node needs,
// and what must not be left behind by one that goes, because a slot nobody reads from fills the disk of the primary.
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import type { Db } from './database.ts'

export interface ReplicationSlot {
  name: string
  active: boolean
  /** Of the standby that reads from it; null while none does, or over a local socket. */
  client_address: string | null
  /** `lost`: the primary no longer has what the standby needs, which must be copied again. */
  wal_status: string | null
  /** Write-ahead log that is kept for it. */
  retained_bytes: number | null
}

/** Somebody else reads from the slot. The message is for people. */
export class SlotInUseError extends Error {
  override readonly name = 'SlotInUseError'
}

export async function replicationSlots(db: Db): Promise<ReplicationSlot[]> {
  const { rows } = await sql<ReplicationSlot>`
    select slot.slot_name as name, slot.active, host(reader.client_addr) as client_address, slot.wal_status,
      pg_wal_lsn_diff(pg_current_wal_lsn(), slot.restart_lsn)::bigint as retained_bytes
    from pg_replication_slots slot left join pg_stat_replication reader on reader.pid = slot.active_pid
    where slot.slot_type = 'physical' order by 1`.execute(db)
  return rows
}

/** Made when it is absent, and from then on log is kept for it. Throws SlotInUseError when another node reads from it. */
export async function ensureSlot(db: Db, name: string, node_address: string): Promise<void> {
  const slot = await findSlot(db, name)
  if (slot !== undefined) return requireOf(slot, node_address)
  await sql`select pg_create_physical_replication_slot(${name}, true)`.execute(db)
}

export interface DropOptions {
  /** A host that lost its power keeps its slot until the primary misses it (`wal_sender_timeout`). */
  patience_ms: number
  signal: AbortSignal
}

const RETRY_MS = 500
const UNDEFINED_OBJECT = '42704'
const OBJECT_IN_USE = '55006'

/** Ends the connection of this node alone. Done as well when the slot is gone already. One checkpoint lets old log go. */
export async function dropSlot(db: Db, name: string, node_address: string, options: DropOptions): Promise<void> {
  const end = performance.now() + options.patience_ms
  for (;;) {
    const slot = await findSlot(db, name)
    if (slot === undefined) break
    requireOf(slot, node_address)
    if (await dropNow(db, name, node_address)) break
    if (performance.now() > end) throw new SlotInUseError(`The slot ${name} is still in use by ${node_address}.`)
    await pause(RETRY_MS, undefined, { signal: options.signal })
  }
  await sql`checkpoint`.execute(db)
}

async function dropNow(db: Db, name: string, node_address: string): Promise<boolean> {
  await sql`
    select pg_terminate_backend(reader.pid)
    from pg_replication_slots slot join pg_stat_replication reader on reader.pid = slot.active_pid
    where slot.slot_name = ${name} and host(reader.client_addr) = ${node_address}`.execute(db)
  try {
    await sql`select pg_drop_replication_slot(${name})`.execute(db)
    return true
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
    if (error.code === UNDEFINED_OBJECT) return true
    if (error.code === OBJECT_IN_USE) return false
    throw error
  }
}

async function findSlot(db: Db, name: string): Promise<ReplicationSlot | undefined> {
  return (await replicationSlots(db)).find((slot) => slot.name === name)
}

function requireOf({ name, active, client_address }: ReplicationSlot, node_address: string): void {
  if (!active || client_address === node_address) return
  throw new SlotInUseError(
    `The slot ${name} is in use by ${client_address ?? 'a program on the primary'}, not ${node_address}.`,
  )
}
