// One value as the text of a table cell.
import { bareText, isRecord } from './records.ts'
import { oneLine } from './terminal.ts'
import { momentOf, numberText } from './units.ts'

export interface CellStyle {
  /** Times in UTC instead of the local zone. */
  utc: boolean
  /** Longer text is cut; 0 leaves it whole. */
  max_width: number
}

/** What is not there is a dash, so that it never looks like a zero; `name` of the field says the unit of a number. */
export function cellText(value: unknown, style: CellStyle, name = ''): string {
  return cut(plain(value, style, name), style.max_width) || NOTHING
}

const NOTHING = '-'

export function isPlain(value: unknown): boolean {
  return !isRecord(value) && !(Array.isArray(value) && value.some((item) => typeof item === 'object' && item !== null))
}

/** `2026-11-20 04:12:45` in the zone of the terminal, or with a Z. */
export function timeText(time: string, utc: boolean): string {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return time
  if (utc) return `${date.toISOString().slice(0, 19).replace('T', ' ')}Z`
  const two = (part: number): string => String(part).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

function plain(value: unknown, style: CellStyle, name: string): string {
  if (value === null || value === undefined) return NOTHING
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') {
    const moment = momentOf(name, value)
    return moment === undefined ? (numberText(name, value) ?? String(value)) : timeText(moment, style.utc)
  }
  if (typeof value === 'string')
    return /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(value) ? timeText(value, style.utc) : oneLine(value)
  if (Array.isArray(value) && isPlain(value)) return value.map((item) => plain(item, style, name)).join(', ')
  if (isRecord(value) && Object.keys(value).length === 0) return NOTHING
  return oneLine(bareText(value))
}

function cut(text: string, width: number): string {
  return width === 0 || text.length <= width ? text : `${text.slice(0, width - 1)}…`
}
