// Messages of a live stream as lines: one sentence each for people, one JSON object each for programs.
import { cellText, timeText } from './cells.ts'
import { bareText, isRecord, type Json, textOf } from './records.ts'
import type { StreamEvent } from './sse.ts'
import { oneLine } from './terminal.ts'

export interface LineOptions {
  json: boolean
  utc: boolean
}

export function eventLine(event: StreamEvent, options: LineOptions): string {
  const data = dataOf(event.data)
  if (options.json) return JSON.stringify({ id: event.id ?? null, event: event.event, data })
  if (!isRecord(data)) return `${oneLine(event.event)}  ${oneLine(bareText(data))}`
  const at = textOf(data.at) ?? textOf(data.updated_at) ?? textOf(data.completed_at) ?? textOf(data.created_at)
  const time = at === undefined ? '' : `${timeText(at, options.utc)}  `
  return `${time}${oneLine(event.event).padEnd(9)}  ${sentence(event.event, data, options)}`
}

function sentence(event: string, data: Json, options: LineOptions): string {
  const text = (name: string): string => oneLine(bareText(data[name] ?? '-'))
  switch (event) {
    case 'vm-state':
      return `${text('name')}  ${text('old_state')} -> ${text('new_state')}  ${text('id')}`
    case 'job':
      return `${text('job_type')}  ${text('job_status')}  ${text('progress')} %  ${text('status')}  ${text('id')}`
    case 'app-event': {
      const error = textOf(data.error_message)
      return `${text('status')}  ${text('action')}  ${text('description')}${error === undefined ? '' : `: ${oneLine(error)}`}`
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
