// The facts that the three disk protocols have in common, as one of them tells them.
import { at, integerOf } from '../untrusted-json.ts'

/** What a protocol tells, before it is judged. Null: it does not tell. */
export interface SmartFacts {
  error_count: number | null
  pending_sectors: number | null
  reallocated_sectors: number | null
  uncorrectable_sectors: number | null
  power_on_hours: number | null
  temperature: number | null
  wear_level_percent: number | null
  bytes_written: number | null
  /** Each a sentence. */
  failures: string[]
  warnings: string[]
}

export const NO_FACTS: SmartFacts = {
  error_count: null,
  pending_sectors: null,
  reallocated_sectors: null,
  uncorrectable_sectors: null,
  power_on_hours: null,
  temperature: null,
  wear_level_percent: null,
  bytes_written: null,
  failures: [],
  warnings: [],
}

/** `temperature.current` is degrees Celsius in every protocol; 0 stands for "no sensor". */
export function temperatureOf(report: unknown): number | null {
  const current = integerOf(at(report, 'temperature', 'current'))
  return current === 0 ? null : current
}
