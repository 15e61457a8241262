// SMART of all disks, one at a time: slow disks must not be asked together, and sleeping ones stay asleep.
import type { DiskSmartInfo } from '#src/contract/storage/host.ts'
import type { Host } from '#src/kernel/host.ts'
import { parseJson } from '../untrusted-json.ts'
import type { PollResult } from '../poller.ts'
import type { InventoryDisk } from './inventory.ts'
import { isAsleep, smartInfo, unreadSmart } from './smart-report.ts'

export interface SmartReading {
  info: DiskSmartInfo
  /** When the disk was last really read; null when it never was. */
  read_at: number | null
}

/** By serial number where there is one: kernel names change between boots. */
export type SmartReadings = ReadonlyMap<string, SmartReading>

const TIMEOUT_MS = 30_000

export function smartKey(disk: Pick<InventoryDisk, 'serial' | 'device'>): string {
  return disk.serial ?? disk.device
}

export async function readSmart(
  host: Host,
  disks: readonly InventoryDisk[],
  previous: SmartReadings | undefined,
): Promise<PollResult<SmartReadings>> {
  const readings = new Map<string, SmartReading>()
  for (const disk of disks) {
    // One after the other on purpose.
    readings.set(smartKey(disk), await readDisk(host, disk, previous?.get(smartKey(disk))))
  }
  return { value: readings }
}

async function readDisk(host: Host, disk: InventoryDisk, before: SmartReading | undefined): Promise<SmartReading> {
  const ran = await host.run('smartctl', ['--json=c', '-x', '-n', 'standby,0', disk.device], { timeout_ms: TIMEOUT_MS })
  const failed = (reason: string): SmartReading => before ?? { info: unreadSmart(disk, reason), read_at: null }
  if (ran.outcome === 'missing') return { info: unreadSmart(disk, 'smartctl not installed'), read_at: null }
  if (ran.outcome !== 'exited') return failed(`SMART not readable: no answer within ${TIMEOUT_MS / 1000} s`)
  const report = parseJson(ran.stdout)
  if (report === undefined) return failed('SMART not readable: smartctl printed no report')
  if (isAsleep(report)) return failed('the disk is asleep and has not been read since the service started')
  const info = smartInfo(report, disk)
  // A report without SMART is no health check.
  return { info, read_at: info.has_failure === null ? null : host.now() }
}
