// Careful reading of JSON that a tool printed: what is not of the expected kind is null, never an exception and never a
// default value, because tools leave out keys, change their types between versions and print nothing at all.
export type JsonRecord = Record<string, unknown>

/** Undefined when the text is not JSON. Blank text is undefined too: several tools print nothing for "none". */
export function parseJson(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The record, or an empty one. */
export function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {}
}

/** The list, or an empty one. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** The member at the end of a path of keys. */
export function at(value: unknown, ...path: string[]): unknown {
  let inner = value
  for (const key of path) inner = isRecord(inner) ? inner[key] : undefined
  return inner
}

/** The first of several spellings of a key that is there. */
export function anyOf(value: unknown, ...keys: string[]): unknown {
  const record = recordOf(value)
  return record[keys.find((key) => record[key] !== undefined && record[key] !== null) ?? '']
}

/** Text without surrounding blanks; null when it is empty, missing or not text. */
export function textOf(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const text = value.trim()
  return text === '' ? null : text
}

/** A finite number, also when it is printed as text ("18446744073709551615", "2.5"); null for "n/a" and the like. */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'string' || !/^-?\d+(\.\d+)?$/.test(value.trim())) return null
  return Number(value)
}

export function integerOf(value: unknown): number | null {
  const number = numberOf(value)
  return number === null ? null : Math.trunc(number)
}

/** `true`, also as 1, "true", "yes" and "on"; null when it is neither. */
export function booleanOf(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value
  if (value === 1 || value === '1') return true
  if (value === 0 || value === '0') return false
  if (typeof value !== 'string') return null
  const word = value.trim().toLowerCase()
  if (['true', 'yes', 'on'].includes(word)) return true
  return ['false', 'no', 'off'].includes(word) ? false : null
}

export function textsOf(value: unknown): string[] {
  return listOf(value).flatMap((item) => textOf(item) ?? [])
}
