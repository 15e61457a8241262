// Reads fields of the platform's answers: numbers may come as text, null fields are left out, offsets have no colon.

/** One object of an answer, not yet trusted. */
export type Raw = Readonly<Record<string, unknown>>

export function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function textOf(raw: Raw, name: string): string | null {
  return asText(raw[name])
}

export function asText(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

/** Accepts `12.5`, `"12.5"`, `"12,5%"` and `"4.00 GiB"`'s leading number; anything else is not known. */
export function numberOf(raw: Raw, name: string): number | null {
  return asNumber(raw[name])
}

function asNumber(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'string') return null
  const number = Number.parseFloat(value.replace(',', '.'))
  return Number.isFinite(number) ? number : null
}

export function integerOf(raw: Raw, name: string): number | null {
  return asInteger(raw[name])
}

export function asInteger(value: unknown): number | null {
  const number = asNumber(value)
  return number === null ? null : Math.round(number)
}

export function flagOf(raw: Raw, name: string): boolean | null {
  return asFlag(raw[name])
}

export function asFlag(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value
  if (value === 'true') return true
  return value === 'false' ? false : null
}

/** The platform's own form: whole seconds, an offset of whole hours or any minutes, without a colon. */
const PLATFORM_TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d[+-]\d{4}$/

/** `2025-08-12T12:00:42+0200` as RFC 3339 UTC with milliseconds. Runs twice for every row of a list. */
export function timeOf(raw: Raw, name: string): string | null {
  return asTime(raw[name])
}

export function asTime(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const platform_time = PLATFORM_TIME.test(value)
  // Most often only the hour differs: dates that the general parser must make take ten times as long.
  if (platform_time && value.endsWith('00')) {
    const offset_hours = twoDigits(value, 20)
    const hour = twoDigits(value, 11) + (value[19] === '-' ? offset_hours : -offset_hours)
    if (hour >= 0 && hour < 24) {
      return `${value.slice(0, 11)}${hour < 10 ? '0' : ''}${hour}${value.slice(13, 19)}.000Z`
    }
  }
  const time_ms = Date.parse(platform_time ? `${value.slice(0, 22)}:${value.slice(22)}` : value)
  return Number.isNaN(time_ms) ? null : new Date(time_ms).toISOString()
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO
}

const ZERO = 48

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
