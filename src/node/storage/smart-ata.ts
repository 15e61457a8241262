// SMART of ATA disks: the attribute table by id, the device statistics, the error and self-test logs.
import { anyOf, at, booleanOf, integerOf, listOf, textOf } from '../untrusted-json.ts'
import { type SmartFacts, temperatureOf } from './smart-facts.ts'

interface Attribute {
  name: string
  value: number | null
  raw: number | null
  when_failed: string
}

/** Attributes whose normalised value counts down from 100 as the flash wears, the best known first. */
const WEAR_ATTRIBUTES = [231, 233, 202, 177, 173]
/** No disk writes faster over its whole life: a larger figure is another unit. */
const FASTEST_BYTES_PER_HOUR = 2e9 * 3600

export function ataFacts(report: unknown): SmartFacts {
  const attributes = attributesOf(report)
  const raw = (id: number): number | null => attributes.get(id)?.raw ?? null
  const pending = raw(197)
  const offline = raw(198)
  // Raw 9 may pack minutes beside the hours.
  const power_on_hours = integerOf(at(report, 'power_on_time', 'hours'))
  return {
    error_count: integerOf(at(anyOf(at(report, 'ata_smart_error_log'), 'summary', 'extended'), 'count')),
    pending_sectors: pending,
    reallocated_sectors: raw(5),
    uncorrectable_sectors: offline ?? raw(187),
    power_on_hours,
    temperature: temperatureOf(report),
    wear_level_percent: wear(report, attributes),
    bytes_written: bytesWritten(report, attributes, power_on_hours),
    failures: [
      ...named(attributes, 'now').map((name) => `attribute ${name} is failing now`),
      ...(lastSelfTestFailed(report) ? ['the last self-test failed'] : []),
      ...(pending !== null && pending > 0 ? [`${pending} pending sectors`] : []),
      ...(offline !== null && offline > 0 ? [`${offline} uncorrectable sectors`] : []),
    ],
    warnings: named(attributes, 'past').map((name) => `attribute ${name} failed in the past`),
  }
}

function attributesOf(report: unknown): Map<number, Attribute> {
  const found = new Map<number, Attribute>()
  for (const row of listOf(at(report, 'ata_smart_attributes', 'table'))) {
    const id = integerOf(at(row, 'id'))
    if (id === null) continue
    found.set(id, {
      name: textOf(at(row, 'name')) ?? String(id),
      value: integerOf(at(row, 'value')),
      raw: integerOf(at(row, 'raw', 'value')),
      when_failed: textOf(at(row, 'when_failed')) ?? '',
    })
  }
  return found
}

function named(attributes: ReadonlyMap<number, Attribute>, when_failed: string): string[] {
  return [...attributes.values()].filter((one) => one.when_failed === when_failed).map((one) => one.name)
}

/** An aborted test has no verdict and is no failure. */
function lastSelfTestFailed(report: unknown): boolean {
  const log = anyOf(at(report, 'ata_smart_self_test_log'), 'standard', 'extended')
  return booleanOf(at(listOf(at(log, 'table'))[0], 'status', 'passed')) === false
}

function statistic(report: unknown, page: number, name: string): number | null {
  const found = listOf(at(report, 'ata_device_statistics', 'pages')).find((one) => at(one, 'number') === page)
  const row = listOf(at(found, 'table')).find((one) => textOf(at(one, 'name')) === name)
  return integerOf(at(row, 'value'))
}

function wear(report: unknown, attributes: ReadonlyMap<number, Attribute>): number | null {
  const used = statistic(report, 7, 'Percentage Used Endurance Indicator')
  if (used !== null) return used
  // On rotating disks these ids mean other things.
  if (integerOf(at(report, 'rotation_rate')) !== 0) return null
  for (const id of WEAR_ATTRIBUTES) {
    const left = attributes.get(id)?.value
    if (left !== undefined && left !== null && left <= 100) return 100 - left
  }
  return null
}

function bytesWritten(
  report: unknown,
  attributes: ReadonlyMap<number, Attribute>,
  hours: number | null,
): number | null {
  const sectors = statistic(report, 1, 'Logical Sectors Written')
  if (sectors !== null) return sectors * (integerOf(at(report, 'logical_block_size')) ?? 512)
  const written = attributes.get(241)
  // Some vendors count GiB or 32 MiB under this id: only names that say blocks, and plausible figures, are trusted.
  if (written?.raw === undefined || written.raw === null || !/LBA|sector/i.test(written.name)) return null
  const bytes = written.raw * 512
  return hours !== null && bytes > hours * FASTEST_BYTES_PER_HOUR ? null : bytes
}
