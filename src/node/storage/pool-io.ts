// Throughput and latency of the local pools over a few seconds. The first report of the tool is the mean since import and
// says nothing about now, so it is left out (-y).
import type { Pool } from '#src/contract/storage/host.ts'
import type { Host } from '#src/kernel/host.ts'
import { numberOf } from '../untrusted-json.ts'
import type { PollResult } from '../poller.ts'

export type PoolIo = ReadonlyMap<string, NonNullable<Pool['io_stats']>>

const WINDOW_S = 5
const TIMEOUT_MS = 20_000

/** `names`: pools that can be asked; a suspended one would block the command. */
export async function readPoolIo(host: Host, names: readonly string[]): Promise<PollResult<PoolIo>> {
  if (names.length === 0) return { value: new Map() }
  const args = ['iostat', '-Hpl', '-y', ...names, String(WINDOW_S), '1']
  const ran = await host.run('zpool', args, { timeout_ms: TIMEOUT_MS })
  if (ran.outcome !== 'exited' || ran.exit_code !== 0) return { failure: 'zpool iostat gave no report' }
  return { value: parsePoolIo(ran.stdout) }
}

export function parsePoolIo(text: string): PoolIo {
  const pools = new Map<string, NonNullable<Pool['io_stats']>>()
  for (const line of text.split('\n')) {
    const [name, , , ...columns] = line.split('\t')
    const [reads, writes, read_bytes, written_bytes, read_ns, write_ns] = columns.map(numberOf)
    if (name === undefined || reads == null || writes == null || read_bytes == null || written_bytes == null) continue
    pools.set(name, {
      operations_read: reads,
      operations_write: writes,
      total_read_mbs: Math.round(read_bytes / 1e6),
      total_write_mbs: Math.round(written_bytes / 1e6),
      read_latency_ms: milliseconds(read_ns),
      write_latency_ms: milliseconds(write_ns),
    })
  }
  return pools
}

/** "-" stands for "no sample". */
function milliseconds(nanoseconds: number | null | undefined): number | null {
  return nanoseconds == null ? null : Math.round(nanoseconds / 1000) / 1000
}
