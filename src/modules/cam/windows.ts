// Windows of time that requests name, with what is meant where they leave an end out.
import { invalidField } from '#src/kernel/errors.ts'

const DAY_S = 86_400

export interface Window {
  after: number
  before: number
}

/** The NVR's own defaults are of the time at which it was started, so both ends are always named. */
export function windowOf(query: { after?: number | undefined; before?: number | undefined }): Window {
  const before = query.before ?? nowInSeconds()
  const after = query.after ?? Math.max(0, before - DAY_S)
  if (after > before) throw invalidField('query.after', `must not be after query.before (${before})`)
  return { after, before }
}

export function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

/** Names separated by commas as the NVR wants them: it trims nothing, and takes an empty name for one. */
export function nameList(text: string | undefined): string | undefined {
  const names = (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return names.length === 0 ? undefined : names.join(',')
}
