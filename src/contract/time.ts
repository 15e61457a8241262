// What counts as a time in a request: the one place that decides it.

/** In words, for messages. */
export const TIME_FORM = 'an RFC 3339 time such as 2026-11-20T03:12:45Z, of a real day, without leap second'

const PARTS = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:Z|[+-](\d{2}):(\d{2}))$/
const MAX_OFFSET_MINUTES = 14 * 60
/** The first and last instant that both JavaScript and the database write with a year of four digits. */
const [FIRST_MS, LAST_MS] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')]

export function isTime(text: string): boolean {
  const [, year, month, day, hour, minute, second, offset_hours = 0, offset_minutes = 0] = PARTS.exec(text) ?? []
  if (year === undefined) return false
  // A day that does not exist, such as 30 February, comes back as another one.
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  const real = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
  const time_ms = Date.parse(text)
  return (
    real &&
    Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60 && Number(offset_minutes) < 60 &&
    Number(offset_hours) * 60 + Number(offset_minutes) <= MAX_OFFSET_MINUTES &&
    time_ms >= FIRST_MS && time_ms <= LAST_MS
  ) // biome-ignore format: one condition a line would hide the rule
}
