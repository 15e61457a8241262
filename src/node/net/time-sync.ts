// Whether the clock follows a time source: chrony, else systemd-timesyncd, else nobody.
import type { Host } from '#src/kernel/host.ts'
import { lost, found, type Reading, runFailure } from './reading.ts'

export interface TimeState {
  synced: Reading<boolean>
  /** Milliseconds the local clock is ahead. */
  offset_ms: Reading<number>
  source: Reading<string>
  /** Any time daemon answered. */
  daemon: boolean
}

export async function readTimeState(host: Host, daemon_address: string | undefined): Promise<TimeState> {
  const where = daemon_address === undefined ? [] : ['-h', daemon_address]
  const chrony = await host.run('chronyc', ['-c', '-n', ...where, 'tracking'], { timeout_ms: 3_000 })
  const failure = runFailure('chronyc', chrony)
  if (failure === null) return parseTracking(chrony.stdout)
  const fallback = await readTimesyncd(host)
  return fallback ?? nobody(chrony.outcome === 'missing' ? 'no time daemon is installed' : 'no time daemon answers')
}

/** Columns of `chronyc -c tracking`: 2 source, 3 stratum, 5 offset in seconds (negative: local clock fast), 14 leap. */
export function parseTracking(csv: string): TimeState {
  const columns = csv.trim().split(',')
  const source = columns[1] ?? ''
  const stratum = Number(columns[2])
  const offset_s = Number(columns[4])
  const leap = columns[13]
  if (leap === undefined || columns[4] === '') return nobody('the time daemon printed something unknown', true)
  const synced =
    ['Normal', 'Insert second', 'Delete second'].includes(leap) && stratum >= 1 && stratum <= 15 && source !== ''
  if (!synced) return notSynced('the clock follows no source yet')
  return {
    synced: found(true),
    offset_ms: Number.isFinite(offset_s)
      ? found(offset_s === 0 ? 0 : -1000 * offset_s)
      : lost('the offset is not a number'),
    source: found(source),
    daemon: true,
  }
}

async function readTimesyncd(host: Host): Promise<TimeState | null> {
  const sync = await host.run('timedatectl', ['show', '-p', 'NTPSynchronized', '--value'], { timeout_ms: 3_000 })
  if (runFailure('timedatectl', sync) !== null) return null
  const status = await host.run('timedatectl', ['show-timesync', '--all'], { timeout_ms: 3_000 })
  if (runFailure('timedatectl', status) !== null) return null
  return parseTimesync(sync.stdout, status.stdout)
}

/** timesyncd prints its stamps in whole seconds: no offset can be made of them. */
export function parseTimesync(synchronized: string, status: string): TimeState {
  if (synchronized.trim() !== 'yes') return notSynced('the clock follows no source yet')
  const server = /^ServerName=(.+)$/m.exec(status)?.[1] ?? /^ServerAddress=(.+)$/m.exec(status)?.[1]
  return {
    synced: found(true),
    offset_ms: lost('this time daemon does not tell the offset'),
    source: server === undefined ? lost('this time daemon does not name its source') : found(server),
    daemon: true,
  }
}

function notSynced(reason: string): TimeState {
  return { synced: found(false), offset_ms: lost(reason), source: lost(reason), daemon: true }
}

function nobody(reason: string, daemon = false): TimeState {
  return { synced: lost(reason), offset_ms: lost(reason), source: lost(reason), daemon }
}
