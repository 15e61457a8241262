// The database of this node, asked and promoted by its own tools, as the account that it runs under.
import type { Host } from '#src/kernel/host.ts'

export interface StandbyState {
  in_recovery: boolean
  /** Write-ahead log is arriving from the primary. */
  streaming: boolean
  /** Received and not yet replayed. */
  lag_bytes: number
  /** Where the primary was reached last; empty for a primary. */
  primary_host: string
}

export interface DatabasePlace {
  account: string
  socket_dir: string
  port: number
}

const STATE = `select pg_is_in_recovery(),
  exists (select from pg_stat_wal_receiver where status = 'streaming'),
  coalesce(pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), 0)::bigint,
  current_setting('primary_conninfo')`

/** Null where the database of this node does not answer. */
export async function standbyState(host: Host, place: DatabasePlace): Promise<StandbyState | null> {
  const [recovery, streaming, lag, conninfo = ''] = (await query(host, place, STATE))?.split('|') ?? []
  if ((recovery !== 't' && recovery !== 'f') || lag === undefined || !/^-?\d+$/.test(lag)) return null
  const primary_host = /(?:^| )host=(?:'([^']*)'|(\S+))/.exec(conninfo)
  return {
    in_recovery: recovery === 't',
    streaming: streaming === 't',
    lag_bytes: Number(lag),
    primary_host: primary_host?.[1] ?? primary_host?.[2] ?? '',
  }
}

const PROMOTE_S = 60

/** True when it is a primary now. Safe to repeat. */
export async function promoteDatabase(host: Host, place: DatabasePlace): Promise<boolean> {
  await query(host, place, `select pg_promote(true, ${PROMOTE_S}) where pg_is_in_recovery()`, (PROMOTE_S + 10) * 1000)
  return (await standbyState(host, place))?.in_recovery === false
}

async function query(host: Host, { account, socket_dir, port }: DatabasePlace, sql: string, timeout_ms = 10_000) {
  const psql = [
    'psql',
    '-XAtq',
    '-v',
    'ON_ERROR_STOP=1',
    '-h',
    socket_dir,
    '-p',
    String(port),
    '-d',
    'postgres',
    '-c',
    sql,
  ]
  const args = ['--reuid', account, '--regid', account, '--init-groups', '--', ...psql]
  const { outcome, exit_code, stdout } = await host.run('setpriv', args, { timeout_ms })
  return outcome === 'exited' && exit_code === 0 ? stdout.trim() : null
}
