// The one event stream of a browser, shared by its tabs: HTTP/1.1 gives a browser six connections to a service.

export interface StreamEvent {
  event: string
  data: Record<string, unknown>
}
export type StreamState = 'starting' | 'live' | 'lost' | 'ended'
/** From a tab: `start` once somebody is signed in, `signed-out` for all tabs, `bye` when it closes. */
export type ToWorker = { kind: 'start'; username: string } | { kind: 'signed-out' } | { kind: 'bye' }
export type FromWorker =
  | { kind: 'state'; state: StreamState; since: number }
  | { kind: 'events'; events: StreamEvent[] }
  | { kind: 'signed-out' }

const FIRST_PAUSE_MS = 500
const LAST_PAUSE_MS = 3000
/** The service sends a heartbeat every 15 s. */
const SILENCE_MS = 40_000

const ports = new Set<MessagePort>()
let state: StreamState = 'starting'
let since = Date.now()
let last_id = ''
let username = ''
let running: AbortController | undefined

function tell(message: FromWorker): void {
  for (const port of ports) port.postMessage(message)
}

function become(next: StreamState): void {
  if (next === state) return
  state = next
  since = Date.now()
  tell({ kind: 'state', state, since })
}

Object.assign(self, {
  onconnect({ ports: [port] }: MessageEvent) {
    if (port === undefined) return
    ports.add(port)
    port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
      if (data.kind === 'bye') ports.delete(port)
      else if (data.kind === 'signed-out') signedOut()
      else start(port, data.username)
    }
  },
})

function start(port: MessagePort, name: string): void {
  if (running !== undefined && name !== username) stop()
  username = name
  if (running === undefined) {
    running = new AbortController()
    void follow(running)
  }
  port.postMessage({ kind: 'state', state, since } satisfies FromWorker)
}

function stop(): void {
  running?.abort()
  running = undefined
  last_id = ''
  become('starting')
}

function signedOut(): void {
  stop()
  tell({ kind: 'signed-out' })
}

async function follow(mine: AbortController): Promise<void> {
  let pause_ms = FIRST_PAUSE_MS
  while (!mine.signal.aborted) {
    const outcome = await readOnce(mine.signal)
    if (mine.signal.aborted) return
    if (outcome === 'unauthenticated') {
      running = undefined
      become('ended')
      return
    }
    if (outcome === 'was live') pause_ms = FIRST_PAUSE_MS
    become('lost')
    await new Promise((resolve) => setTimeout(resolve, pause_ms * (0.75 + Math.random() / 2)))
    pause_ms = Math.min(pause_ms * 2, LAST_PAUSE_MS)
  }
}

async function readOnce(signal: AbortSignal): Promise<'unauthenticated' | 'was live' | 'failed'> {
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), SILENCE_MS)
  let outcome: 'was live' | 'failed' = 'failed'
  try {
    const headers: Record<string, string> = last_id === '' ? {} : { 'last-event-id': last_id }
    const response = await fetch('/events/sse', { headers, signal: AbortSignal.any([signal, silence.signal]) })
    if (response.status === 401) return 'unauthenticated'
    if (!response.ok || response.body === null) return 'failed'
    outcome = 'was live'
    become('live')
    let rest = ''
    for await (const text of chunks(response.body)) {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), SILENCE_MS)
      const blocks = (rest + text).split('\n\n')
      rest = blocks.pop() ?? ''
      const events = blocks.flatMap(eventOf)
      if (events.length > 0) tell({ kind: 'events', events })
    }
  } catch {
    // Cut, silent, or stopped: the loop above decides.
  } finally {
    clearTimeout(timer)
  }
  return outcome
}

async function* chunks(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield value
  }
}

function eventOf(block: string): StreamEvent[] {
  const fields = block.split('\n').map((line) => [line.split(':', 1)[0] ?? '', line.replace(/^[^:]*:? ?/, '')])
  const valueOf = (wanted: string): string | undefined => fields.find(([name]) => name === wanted)?.[1]
  last_id = valueOf('id') ?? last_id
  const data = valueOf('data')
  return data === undefined
    ? []
    : [{ event: valueOf('event') ?? 'message', data: JSON.parse(data) as StreamEvent['data'] }]
}
