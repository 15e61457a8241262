// SMART of NVMe disks: one health log with fixed members. smartctl gives Celsius and numbers (nvme-cli gives neither).
import { at, integerOf } from '../untrusted-json.ts'
import type { SmartFacts } from './smart-facts.ts'

/** One data unit is a thousand sectors of 512 bytes. */
const UNIT_BYTES = 512_000
const WARNINGS = [
  'available spare below its threshold',
  'temperature beyond its threshold',
  'reliability degraded by media or internal errors',
  'the media is read-only',
  'the backup of volatile memory failed',
  'the persistent memory region is read-only',
]
const SPARE_MARGIN_PERCENT = 10

export function nvmeFacts(report: unknown): SmartFacts {
  const log = at(report, 'nvme_smart_health_information_log')
  const number = (name: string): number | null => integerOf(at(log, name))
  const critical = number('critical_warning') ?? 0
  const media_errors = number('media_errors')
  const spare = number('available_spare')
  const threshold = number('available_spare_threshold')
  const units = number('data_units_written')
  const warnings: string[] = []
  if (media_errors !== null && media_errors > 0) warnings.push(`${media_errors} media errors`)
  if (spare !== null && threshold !== null && spare < threshold + SPARE_MARGIN_PERCENT) {
    warnings.push(`available spare ${spare} %, threshold ${threshold} %`)
  }
  return {
    error_count: number('num_err_log_entries'),
    pending_sectors: null,
    reallocated_sectors: null,
    uncorrectable_sectors: media_errors,
    power_on_hours: number('power_on_hours'),
    temperature: number('temperature'),
    wear_level_percent: number('percentage_used'),
    bytes_written: units === null ? null : units * UNIT_BYTES,
    failures: WARNINGS.filter((_text, bit) => (critical & (1 << bit)) !== 0).map((text) => `critical warning: ${text}`),
    warnings,
  }
}
