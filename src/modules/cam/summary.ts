// The hours with recordings in the time zone of the caller. The NVR knows one difference to UTC for all days (0.16), or moves the
// clock up to a day late (0.17); so it is asked in a zone that never changes, and each of its hours is dated here.
import type { RecordingSummaryEntry } from '#src/contract/cam/recordings.ts'
import type { SummaryDay } from '#src/drivers/frigate/shapes.ts'
import { invalidField } from '#src/kernel/errors.ts'

type Hour = RecordingSummaryEntry['hours'][number]

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Zones without summer time whose hours begin with those of the caller's zone, by the minutes that both are off the hours of UTC. */
const STEADY_ZONES: Readonly<Record<number, { name: string; offset_ms: number }>> = {
  0: { name: 'UTC', offset_ms: 0 },
  30: { name: 'Asia/Kolkata', offset_ms: 5.5 * HOUR_MS },
  45: { name: 'Asia/Kathmandu', offset_ms: 5.75 * HOUR_MS },
}

export interface SummaryZone {
  /** What the NVR is asked in. */
  asked: string
  /** The newest day first. */
  daysOf(rows: readonly SummaryDay[]): RecordingSummaryEntry[]
}

export function summaryZone(timezone: string): SummaryZone {
  const format = formatIn(timezone)
  const minutes = (((localTime(format, Date.now()) - minuteOf(Date.now())) / MINUTE_MS) % 60) + 60
  const { name, offset_ms } = STEADY_ZONES[minutes % 60] ?? { name: 'UTC', offset_ms: 0 }
  return {
    asked: name,
    daysOf(rows) {
      const days = new Map<string, Map<string, Hour>>()
      for (const { day, hours } of rows) {
        for (const { hour, ...row } of hours) {
          const moment = Date.parse(`${day}T${hour}:00:00Z`) - offset_ms
          const local = new Date(localTime(format, moment)).toISOString()
          add(days, local.slice(0, 10), local.slice(11, 13), row)
        }
      }
      return [...days].map(([day, hours]) => dayOf(day, [...hours.values()])).sort((a, b) => (a.day < b.day ? 1 : -1))
    },
  }
}

function formatIn(timezone: string): Intl.DateTimeFormat {
  const wrong = invalidField(
    'query.timezone',
    `${JSON.stringify(timezone)} is no IANA time zone, such as Europe/Berlin`,
  )
  // A bare difference such as +02:00 is none either, although it would do here.
  if (/^[+-]/.test(timezone)) throw wrong
  try {
    return new Intl.DateTimeFormat('en-GB', {
      timeZone: timezone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit',
    }) // biome-ignore format: one record
  } catch {
    throw wrong
  }
}

/** The clock of the zone at a moment, to the minute, as if it were one of UTC. */
function localTime(format: Intl.DateTimeFormat, moment: number): number {
  const [day = 1, month = 1, year = 0, hour = 0, minute = 0] = (format.format(moment).match(/\d+/g) ?? []).map(Number)
  return Date.UTC(year, month - 1, day, hour, minute)
}

function minuteOf(moment: number): number {
  return Math.floor(moment / MINUTE_MS) * MINUTE_MS
}

/** The hour that comes twice when the clock is set back is one row with what was recorded in both. */
function add(
  days: Map<string, Map<string, Hour>>,
  day: string,
  hour: string,
  row: Omit<SummaryDay['hours'][number], 'hour'>,
): void {
  const hours = days.get(day) ?? new Map<string, Hour>()
  days.set(day, hours)
  const before = hours.get(hour)
  hours.set(hour, {
    hour,
    events: (before?.events ?? 0) + (row.events ?? 0),
    motion: sum(before?.motion, row.motion),
    objects: sum(before?.objects, row.objects),
    duration: (before?.duration ?? 0) + (row.duration ?? 0),
  })
}

function sum(a: number | null | undefined, b: number | null | undefined): number | null {
  if (typeof a !== 'number') return b ?? null
  return a + (b ?? 0)
}

function dayOf(day: string, hours: readonly Hour[]): RecordingSummaryEntry {
  return { day, events: hours.reduce((all, { events }) => all + events, 0), hours: hours.toSorted(byHourDown) }
}

const byHourDown = (a: Hour, b: Hour): number => (a.hour < b.hour ? 1 : -1)
