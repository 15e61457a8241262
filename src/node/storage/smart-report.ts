// Reads one answer of smartctl and judges it. The exit code is a bit mask and not a verdict: the text is always parsed.
import type { DiskSmartInfo } from '#src/contract/storage/host.ts'
import { anyOf, at, booleanOf, listOf, textOf } from '../untrusted-json.ts'
import { ataFacts } from './smart-ata.ts'
import { NO_FACTS, type SmartFacts } from './smart-facts.ts'
import { nvmeFacts } from './smart-nvme.ts'
import { scsiFacts } from './smart-scsi.ts'

export interface SmartSubject {
  device: string
  type: 'ssd' | 'nvme' | 'hdd'
  size_bytes: number
  model: string | null
  serial: string | null
  virtual: boolean
  raid_volume: boolean
}

const WEAR_LIMIT_PERCENT = 90
const HOT_C = { hdd: 60, ssd: 70, nvme: 70 }
const SHORTEST_LIFE_H = 24

/** The disk is asleep and was left so: the earlier report still stands. */
export function isAsleep(report: unknown): boolean {
  const messages = listOf(at(report, 'smartctl', 'messages')).flatMap((one) => textOf(at(one, 'string')) ?? [])
  return at(report, 'smart_status') === undefined && messages.some((text) => /in (STANDBY|SLEEP).* mode/i.test(text))
}

export function smartInfo(report: unknown, subject: SmartSubject): DiskSmartInfo {
  const passed = booleanOf(at(report, 'smart_status', 'passed'))
  if (passed === null) return withoutSmart(report, subject)
  const facts = factsOf(report)
  const failures = [...(passed ? [] : ['the disk itself says that it is failing']), ...facts.failures]
  const warnings = [...facts.warnings, ...limits(facts, subject)]
  return {
    ...identity(report, subject),
    status: failures.length > 0 ? 'Critical' : warnings.length > 0 ? 'Warning' : 'OK',
    status_reason: [...failures, ...warnings],
    has_failure: failures.length > 0,
    ...numbers(facts),
    dwpd: driveWritesPerDay(facts, subject),
  }
}

/** SMART could not be read at all: a warning for a disk that should have it, no verdict for one that cannot. */
export function unreadSmart(subject: SmartSubject, reason: string): DiskSmartInfo {
  return {
    ...identity(undefined, subject),
    status: subject.virtual ? null : 'Warning',
    status_reason: [reason],
    has_failure: null,
    ...numbers(NO_FACTS),
    dwpd: null,
  }
}

function withoutSmart(report: unknown, subject: SmartSubject): DiskSmartInfo {
  const raid = subject.raid_volume || /\braid\b/i.test(textOf(at(report, 'product')) ?? '')
  const reason = subject.virtual
    ? 'virtual disk: it has no SMART'
    : raid
      ? 'SMART not supported: a RAID volume hides its disks'
      : (openError(report) ?? 'SMART not supported')
  return { ...unreadSmart(subject, reason), ...identity(report, subject) }
}

function openError(report: unknown): string | null {
  const messages = listOf(at(report, 'smartctl', 'messages'))
  const error = messages.find((one) => textOf(at(one, 'severity')) === 'error')
  const text = textOf(at(error, 'string'))
  return text === null ? null : `SMART not readable: ${text}`
}

function factsOf(report: unknown): SmartFacts {
  if (at(report, 'nvme_smart_health_information_log') !== undefined) return nvmeFacts(report)
  return textOf(at(report, 'device', 'protocol')) === 'SCSI' ? scsiFacts(report) : ataFacts(report)
}

function limits(facts: SmartFacts, subject: SmartSubject): string[] {
  const { reallocated_sectors, wear_level_percent, temperature } = facts
  const found: string[] = []
  if (reallocated_sectors !== null && reallocated_sectors > 0) found.push(`${reallocated_sectors} sectors reallocated`)
  if (wear_level_percent !== null && wear_level_percent >= WEAR_LIMIT_PERCENT) {
    found.push(`${wear_level_percent} % of the endurance used`)
  }
  if (temperature !== null && temperature >= HOT_C[subject.type]) found.push(`${temperature} °C`)
  return found
}

function driveWritesPerDay(facts: SmartFacts, subject: SmartSubject): number | null {
  const { bytes_written, power_on_hours } = facts
  if (bytes_written === null || power_on_hours === null || power_on_hours < SHORTEST_LIFE_H) return null
  return Math.round((bytes_written / subject.size_bytes / (power_on_hours / 24)) * 1000) / 1000
}

function identity(report: unknown, subject: SmartSubject): Pick<DiskSmartInfo, 'device' | 'model' | 'serial'> {
  return {
    device: subject.device,
    model: textOf(anyOf(report, 'model_name', 'scsi_model_name')) ?? subject.model,
    serial: textOf(at(report, 'serial_number')) ?? subject.serial,
  }
}

function numbers(facts: SmartFacts) {
  const { bytes_written: _bytes, failures: _failures, warnings: _warnings, ...rest } = facts
  return rest
}
