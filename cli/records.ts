// Reading of JSON values whose shape is not known beforehand.

export type Json = Record<string, unknown>

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isRecordList(value: unknown): value is Json[] {
  return Array.isArray(value) && value.length > 0 && value.every(isRecord)
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Any JSON value as text: texts and numbers bare, the rest as JSON; nothing for what is missing. */
export function bareText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

export function parseJson(text: string): unknown {
  return text.trim() === '' ? null : JSON.parse(text)
}

/** Follows `a.b.c` into a record. */
export function valueAt(record: Json, path: string): unknown {
  let value: unknown = record
  for (const name of path.split('.')) value = isRecord(value) ? value[name] : undefined
  return value
}

/** What stands beside the rows in the answer of a list (api-conventions, Names and forms). */
export const LIST_FRAME: ReadonlySet<string> = new Set([
  'count', 'count_exact', 'total_count', 'page', 'page_size', 'has_more', 'next_id', 'summary', 'unavailable', 'success',
  'message', 'collected_at', 'generated_at', 'readings', 'more',
]) // biome-ignore format: a list of words

export interface ListAnswer {
  /** Name of the member that holds the rows; undefined when the answer itself is the array. */
  member: string | undefined
  rows: unknown[]
  frame: Json
}

/** The rows of a list answer; undefined when the answer is a single record. */
export function listOf(answer: unknown): ListAnswer | undefined {
  if (Array.isArray(answer)) return { member: undefined, rows: answer, frame: {} }
  if (!isRecord(answer)) return undefined
  const others = Object.keys(answer).filter((name) => !LIST_FRAME.has(name))
  const [member] = others
  if (member === undefined || others.length !== 1) return undefined
  const rows = answer[member]
  if (isRecord(rows) && member === 'data') return listOf(rows)
  if (!Array.isArray(rows)) return undefined
  return { member, rows, frame: answer }
}
