// Reads fields of the platform's answers: numbers may come as text, null fields are left out, offsets have no colon.

/** One object of an answer, not yet trusted. */
export type Raw = Readonly<Record<string, unknown>>

export function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function textOf(raw: Raw, name: string): string | null {
  const value = raw[name]
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

/** Accepts `12.5`, `"12.5"`, `"12,5%"` and `"4.00 GiB"`'s leading number; anything else is not known. */
export function numberOf(raw: Raw, name: string): number | null {
  const value = raw[name]
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'string') return null
  const number = Number.parseFloat(value.replace(',', '.'))
  return Number.isFinite(number) ? number : null
}

export function integerOf(raw: Raw, name: string): number | null {
  const value = numberOf(raw, name)
  return value === null ? null : Math.round(value)
}

export function flagOf(raw: Raw, name: string): boolean | null {
  const value = raw[name]
  if (typeof value === 'boolean') return value
  if (value === 'true') return true
  return value === 'false' ? false : null
}

const BARE_OFFSET_FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}$/

/** `2025-08-12T12:00:42+0200` as RFC 3339 UTC with milliseconds. Runs twice for every row of a list. */
export function timeOf(raw: Raw, name: string): string | null {
  const value = raw[name]
  if (typeof value !== 'string') return null
  const time_ms = BARE_OFFSET_FORM.test(value) ? timeWithBareOffset(value) : Date.parse(value)
  return Number.isNaN(time_ms) ? null : new Date(time_ms).toISOString()
}

/** By position: the general parser takes several times as long. */
function timeWithBareOffset(text: string): number {
  const part = (from: number, to: number): number => Number(text.slice(from, to))
  const local = Date.UTC(part(0, 4), part(5, 7) - 1, part(8, 10), part(11, 13), part(14, 16), part(17, 19))
  const offset_minutes = part(20, 22) * 60 + part(22, 24)
  return local - (text[19] === '-' ? -offset_minutes : offset_minutes) * 60_000
}

export function rowsOf(raw: Raw, name: string): Raw[] {
  const value = raw[name]
  return Array.isArray(value) ? value.filter(isRaw) : []
}

export function objectOf(raw: Raw, name: string): Raw | null {
  const value = raw[name]
  return isRaw(value) ? value : null
}

/** A map of texts, as `details` is. */
export function mapOf(raw: Raw, name: string): Record<string, string> {
  const value = raw[name]
  const map: Record<string, string> = {}
  if (!isRaw(value)) return map
  for (const key of Object.keys(value)) {
    const text = textOf(value, key)
    if (text !== null) map[key] = text
  }
  return map
}

/** A list of texts, sent as an array or with commas. */
export function textsOf(raw: Raw, name: string): string[] {
  const value = raw[name]
  if (Array.isArray(value)) return value.filter((element) => typeof element === 'string')
  return typeof value === 'string' && value !== '' ? value.split(',').map((element) => element.trim()) : []
}
