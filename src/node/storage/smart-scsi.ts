// SMART of SAS and SCSI disks: grown defects and the error counters of reading, writing and verifying.
import { at, integerOf } from '../untrusted-json.ts'
import { type SmartFacts, temperatureOf } from './smart-facts.ts'

export function scsiFacts(report: unknown): SmartFacts {
  const uncorrected = ['read', 'write', 'verify'].flatMap(
    (kind) => integerOf(at(report, 'scsi_error_counter_log', kind, 'total_uncorrected_errors')) ?? [],
  )
  const total = uncorrected.length === 0 ? null : uncorrected.reduce((sum, one) => sum + one, 0)
  return {
    error_count: total,
    pending_sectors: null,
    reallocated_sectors: integerOf(at(report, 'scsi_grown_defect_list')),
    uncorrectable_sectors: total,
    power_on_hours: integerOf(at(report, 'power_on_time', 'hours')),
    temperature: temperatureOf(report),
    wear_level_percent: integerOf(at(report, 'scsi_percentage_used_endurance_indicator')),
    // The log counts gigabytes that were processed, which includes verification.
    bytes_written: null,
    failures: total !== null && total > 0 ? [`${total} errors that could not be corrected`] : [],
    warnings: [],
  }
}
