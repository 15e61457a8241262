// The database servers of the management nodes, each asked at its own address: which one is the primary, who streams from it, and
// the changes that a member that joins or leaves needs.
import { sql } from 'kysely'
import type { Config } from '#src/kernel/config.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Log } from '#src/kernel/log.ts'
import { type DatabaseOptions, type Db, openDatabase } from './database.ts'
import { dropSlot, ensureSlot, type ReplicationSlot, replicationSlots, SlotInUseError } from './replication.ts'

export type ReplicationSettings = NonNullable<Config['database']['replication']>

export interface DatabaseServer {
  address: string
  is_primary: boolean
  system_identifier: string
  /** Write-ahead log that it has: written by a primary, received by a standby. */
  position: string
  /** Server that a standby receives from at this moment. */
  receives_from: string | null
}

/** A standby as its primary sees it. */
export interface StandbyView {
  address: string
  streaming: boolean
  behind_bytes: number
}

export interface DatabaseCluster {
  settings: ReplicationSettings
  /** Those that answer. */
  servers(addresses: readonly string[]): Promise<DatabaseServer[]>
  standbys(primary: string): Promise<StandbyView[]>
  slots(primary: string): Promise<ReplicationSlot[]>
  /** Both throw NODE_STATE when another node reads from it. */
  ensureSlot(primary: string, name: string, address: string): Promise<void>
  dropSlot(primary: string, name: string, address: string, signal: AbortSignal): Promise<void>
  /** Returns when it is a primary. */
  promote(address: string): Promise<void>
  /** Lets a standby stream from this primary, through its slot. */
  follow(address: string, primary: string, slot: string): Promise<void>
}

/** A host that lost its power is missed after 60 s (`wal_sender_timeout`). */
const DROP_PATIENCE_MS = 75_000
/** Below what one statement may take. */
const PROMOTE_S = 25

/** `connectionTo`: how the server at an address is reached; over the network when left out. */
export function createDatabaseCluster(
  settings: ReplicationSettings,
  log: Log,
  connectionTo = (address: string) => urlOf(settings, address),
): DatabaseCluster {
  const { username, password, port } = settings
  const at = async <T>(address: string, work: (db: Db) => Promise<T>): Promise<T> => {
    const { db, close } = openDatabase({ connection: connectionTo(address), pool_size: 1, log })
    try {
      return await work(db)
    } catch (error) {
      if (error instanceof SlotInUseError) throw new ApiError('NODE_STATE', error.message, { cause: error })
      throw error
    } finally {
      await close()
    }
  }
  return {
    settings,
    async servers(addresses) {
      const read = addresses.map((address) =>
        at(address, (db) => readServer(db, address)).catch((err: unknown) => {
          log.warn({ err, address }, 'database server of a management node does not answer')
        }),
      )
      return (await Promise.all(read)).filter((one) => one !== undefined)
    },
    standbys: (primary) => at(primary, readStandbys),
    slots: (primary) => at(primary, replicationSlots),
    ensureSlot: (primary, name, address) => at(primary, (db) => ensureSlot(db, name, address)),
    dropSlot: (primary, name, address, signal) =>
      at(primary, (db) => dropSlot(db, name, address, { patience_ms: DROP_PATIENCE_MS, signal })),
    promote: (address) =>
      at(address, async (db) => {
        await sql`select pg_promote(true, ${PROMOTE_S}) where pg_is_in_recovery()`.execute(db)
        if (!(await readServer(db, address)).is_primary) throw new Error(`the server at ${address} was not promoted`)
      }),
    follow: (address, primary, slot) =>
      at(address, async (db) => {
        const source = `host=${primary} port=${port} user=${username} application_name=${slot}`
        const { rows } = await sql<{ passfile: string | null }>`
          select substring(current_setting('primary_conninfo') from 'passfile=''?([^ '']+)') as passfile`.execute(db)
        const passfile = rows[0]?.passfile
        const conninfo =
          passfile == null ? `${source} password='${quoted(password)}'` : `${source} passfile=${passfile}`
        await sql`alter system set primary_conninfo to ${sql.lit(conninfo)}`.execute(db)
        await sql`alter system set primary_slot_name to ${sql.lit(slot)}`.execute(db)
        await sql`select pg_reload_conf()`.execute(db)
      }),
  }
}

function urlOf({ username, password, port }: ReplicationSettings, address: string): DatabaseOptions['connection'] {
  const host = address.includes(':') ? `[${address}]` : address
  return `postgres://${username}:${encodeURIComponent(password)}@${host}:${port}/postgres`
}

/** Within quotes of a connection string. */
const quoted = (text: string): string => text.replaceAll(/[\\']/g, '\\$&')

async function readServer(db: Db, address: string): Promise<DatabaseServer> {
  const { rows } = await sql<Omit<DatabaseServer, 'address'>>`
    select not pg_is_in_recovery() as is_primary,
      (select system_identifier::text from pg_control_system()) as system_identifier,
      (case when pg_is_in_recovery() then coalesce(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())
        else pg_current_wal_lsn() end)::text as position,
      (select sender_host from pg_stat_wal_receiver where status = 'streaming') as receives_from`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the server told nothing of itself')
  return { address, ...row }
}

async function readStandbys(db: Db): Promise<StandbyView[]> {
  const { rows } = await sql<StandbyView>`
    select host(client_addr) as address, state = 'streaming' as streaming,
      coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::float8 as behind_bytes
    from pg_stat_replication where client_addr is not null`.execute(db)
  return rows
}

/** Positions in the log, as text: less than zero when the first comes before the second. */
export function comparePositions(one: string, other: string): number {
  const number = (position: string): bigint => {
    const [high = '0', low = '0'] = position.split('/')
    return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
  }
  const difference = number(one) - number(other)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
