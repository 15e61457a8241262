// Reads server-sent events for tests, and can drop the connection and resume as a browser does.
export interface SseMessage {
  id: string | undefined
  event: string
  // biome-ignore lint: asserted field by field
  data: any // oxlint-disable-line typescript/no-explicit-any -- asserted field by field
}

export interface SseReader {
  messages: SseMessage[]
  /** Newest id seen, also from an id without a message. */
  last_id: string | undefined
  status: number
  ended: Promise<void>
  close(): void
}

export async function openStream(url: string, token: string | null, last_id?: string): Promise<SseReader> {
  const abort = new AbortController()
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` }
  if (last_id !== undefined) headers['last-event-id'] = last_id
  const response = await fetch(url, { headers, signal: abort.signal })
  const reader: SseReader = {
    messages: [],
    last_id,
    status: response.status,
    ended: Promise.resolve(),
    close: () => abort.abort(),
  }
  reader.ended = read(response, reader).catch(() => {})
  return reader
}

async function read(response: Response, reader: SseReader): Promise<void> {
  const decoder = new TextDecoder()
  let buffer = ''
  for await (const chunk of response.body ?? []) {
    buffer += decoder.decode(chunk, { stream: true })
    for (let end = buffer.indexOf('\n\n'); end !== -1; end = buffer.indexOf('\n\n')) {
      accept(buffer.slice(0, end), reader)
      buffer = buffer.slice(end + 2)
    }
  }
}

function accept(block: string, reader: SseReader): void {
  const fields = new Map(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  const id = fields.get('id')
  if (id !== undefined) reader.last_id = id
  const data = fields.get('data')
  if (data !== undefined) reader.messages.push({ id, event: fields.get('event') ?? 'message', data: JSON.parse(data) })
}
