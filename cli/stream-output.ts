// Messages of a live stream as lines: one sentence each for people, one JSON object each for programs.
import { cellText, timeText } from './cells.ts'
import { bareText, isRecord, type Json, textOf } from './records.ts'
import type { StreamEvent } from './sse.ts'
import { oneLine } from './terminal.ts'

export interface LineOptions {
  json: boolean
  utc: boolean
}

/** One line a change: undefined for a message that says of a thing what the last one about it said. */
export function createEventLines(options: LineOptions): (event: StreamEvent) => string | undefined {
  const last = new Map<string, string>()
  return (event) => {
    const data = dataOf(event.data)
    const id = isRecord(data) ? (textOf(data.correlation_id) ?? textOf(data.id)) : undefined
    if (options.json || !isRecord(data) || id === undefined) return eventLine(event, options)
    const key = `${event.event} ${id}`
    const said = sentence(event.event, data, options)
    if (last.get(key) === said) return undefined
    last.delete(key)
    last.set(key, said)
    for (const oldest of last.keys()) if (last.size > REMEMBERED) last.delete(oldest)
    return eventLine(event, options)
  }
}

/** Things whose last line is known: many more than run at once. */
const REMEMBERED = 2000

function eventLine(event: StreamEvent, options: LineOptions): string {
  const data = dataOf(event.data)
  if (options.json) return JSON.stringify({ id: event.id ?? null, event: event.event, data })
  if (!isRecord(data)) return `${oneLine(event.event)}  ${oneLine(bareText(data))}`
  const at = textOf(data.at) ?? textOf(data.updated_at) ?? textOf(data.completed_at) ?? textOf(data.created_at)
  const time = at === undefined ? '' : `${timeText(at, options.utc)}  `
  return `${time}${oneLine(event.event).padEnd(9)}  ${sentence(event.event, data, options)}`
}

function sentence(event: string, data: Json, options: LineOptions): string {
  const text = (name: string): string => oneLine(bareText(data[name] ?? '')) || '-'
  switch (event) {
    case 'vm-state':
      return `${text('name')}  ${text('old_state')} -> ${text('new_state')}  ${text('id')}`
    case 'job':
      return `${text('job_status')}  ${text('job_type')}  ${text('status')}  ${text('id')}`
    case 'app-event': {
      const error = textOf(data.error_message)
      const why = error === undefined ? '' : ` ${oneLine(error)}`
      return `${text('status')}  ${text('action')}  ${text('description')}${why}  ${text('resource_uuid')}  by ${text('username')}`
    }
    case 'ha':
      return `${text('status')}  ${text('action')}  ${text('message')}`
    default:
      return Object.entries(data)
        .filter(([name]) => name !== 'at')
        .map(([name, value]) => `${oneLine(name)}=${cellText(value, { utc: options.utc, max_width: 80 })}`)
        .join('  ')
  }
}

function dataOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
