// Sizes as benchmark tools write them: bytes, or a number with a binary unit.
const UNITS: Record<string, number> = { '': 1, b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 }

/** Bytes, or null when the text is no size. */
export function sizeBytes(text: string): number | null {
  const match = /^(\d{1,15})([bkmgt]?)$/i.exec(text)
  const unit = UNITS[match?.[2]?.toLowerCase() ?? '']
  if (match === null || unit === undefined) return null
  const bytes = Number(match[1]) * unit
  return Number.isSafeInteger(bytes) ? bytes : null
}
