// Parser of server-sent events, fed with text as it arrives (WHATWG HTML, 9.2.6).

export interface StreamEvent {
  /** Name of the event; `message` when the server gave none. */
  event: string
  data: string
  /** Id of this event or of the last one before it that had one. */
  id: string | undefined
}

export interface SseParser {
  feed(text: string): StreamEvent[]
  /** Milliseconds the server asks to wait before a new connection. */
  readonly retry_ms: number | undefined
}

export function createSseParser(last_event_id?: string): SseParser {
  let rest = ''
  let at_start = true
  let data: string[] = []
  let event = ''
  let id = last_event_id
  let retry_ms: number | undefined

  const dispatch = (): StreamEvent[] => {
    const out = data.length === 0 ? [] : [{ event: event || 'message', data: data.join('\n'), id }]
    data = []
    event = ''
    return out
  }
  const takeField = (line: string): void => {
    const colon = line.indexOf(':')
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'data') data.push(value)
    else if (name === 'event') event = value
    else if (name === 'id' && !value.includes('\0')) id = value
    else if (name === 'retry' && /^\d+$/.test(value)) retry_ms = Number(value)
  }
  return {
    feed(text) {
      rest += at_start ? text.replace(/^\uFEFF/, '') : text
      if (text !== '') at_start = false
      // A carriage return at the end may be the first half of a line break.
      const held = rest.endsWith('\r') ? '\r' : ''
      const lines = rest.slice(0, rest.length - held.length).split(/\r\n|\n|\r/)
      rest = (lines.pop() ?? '') + held
      return lines.flatMap((line) => {
        if (line === '') return dispatch()
        if (!line.startsWith(':')) takeField(line)
        return []
      })
    },
    get retry_ms() {
      return retry_ms
    },
  }
}
