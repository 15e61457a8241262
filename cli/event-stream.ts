// A stream of server-sent events that survives lost connections: reconnects and resumes by the last event's id.
import { setTimeout as delay } from 'node:timers/promises'
import { requestOf } from '#src/contract/client.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { bodyText, headersOf, type PartialInput, answerError } from './call.ts'
import { type Connection, connectionError } from './connection.ts'
import { ConnectionError } from './failures.ts'
import { textOf } from './records.ts'
import { createSseParser, type StreamEvent } from './sse.ts'

export interface FollowOptions {
  signal: AbortSignal
  last_event_id?: string | undefined
  /** Told when a connection was lost and when the next one stands. */
  onReconnect?: (text: string) => void
  /** Silence after which a connection counts as dead; the server sends a comment every 15 s. */
  idle_ms?: number
}

const CONNECT_MS = 30_000
const IDLE_MS = 45_000
const RETRY_MS = 2_000
const RETRY_MAX_MS = 30_000

/** Ends when the signal is aborted. Throws when the first connection fails or the service refuses. */
export async function* followEvents(
  connection: Connection,
  route: RouteSpec,
  input: PartialInput,
  options: FollowOptions,
): AsyncGenerator<StreamEvent> {
  // After a reconnect an old `last_event_id` of the query would replay what was already seen: the header carries it alone.
  const { last_event_id: asked, ...query } = input.query ?? {}
  let last_id = options.last_event_id ?? textOf(asked)
  let retry_ms = RETRY_MS
  let failures = 0
  let connected = false
  while (!options.signal.aborted) {
    try {
      for await (const item of oneConnection(connection, route, { ...input, query }, last_id, options)) {
        if (connected && failures > 0) options.onReconnect?.('connected again')
        connected = true
        failures = 0
        if (item.retry_ms !== undefined) retry_ms = item.retry_ms
        if (item.event === undefined) continue
        last_id = item.event.id
        yield item.event
      }
    } catch (error) {
      if (options.signal.aborted) return
      if (!connected || !mayPass(error)) throw error
    }
    if (options.signal.aborted) return
    if (failures === 0) options.onReconnect?.('connection lost, trying again')
    failures += 1
    await delay(Math.min(RETRY_MAX_MS, retry_ms * 2 ** Math.min(failures - 1, 10)), undefined, {
      signal: options.signal,
    }).catch(() => undefined)
  }
}

interface Received {
  retry_ms: number | undefined
  /** Undefined: the connection stands, or sent a heartbeat. */
  event: StreamEvent | undefined
}

async function* oneConnection(
  connection: Connection,
  route: RouteSpec,
  input: PartialInput,
  last_id: string | undefined,
  options: FollowOptions,
): AsyncGenerator<Received> {
  const silent = new AbortController()
  const headers = {
    ...headersOf(input),
    accept: 'text/event-stream',
    ...(last_id === undefined ? {} : { 'last-event-id': last_id }),
  }
  const signal = AbortSignal.any([options.signal, silent.signal])
  const response = await connection.send(requestOf(route, input, { headers, signal }), {
    timeout_ms: CONNECT_MS,
    stream: true,
  })
  if (!response.ok || response.body === null) {
    throw answerError(response.status, await bodyText(response, connection.target.url), route)
  }
  const parser = createSseParser(last_id)
  const decoder = new TextDecoder()
  const watchdog = setTimeout(
    () => silent.abort(new ConnectionError('the stream fell silent', 'lost', undefined)),
    options.idle_ms ?? IDLE_MS,
  )
  try {
    yield { retry_ms: undefined, event: undefined }
    for await (const chunk of response.body) {
      watchdog.refresh()
      const events = parser.feed(decoder.decode(chunk, { stream: true }))
      if (events.length === 0) yield { retry_ms: parser.retry_ms, event: undefined }
      for (const event of events) yield { retry_ms: parser.retry_ms, event }
    }
  } catch (error) {
    throw connectionError(error, connection.target.url)
  } finally {
    clearTimeout(watchdog)
  }
}

/** A rejection stays a rejection; a lost connection, an overload or a failing service may pass. */
function mayPass(error: unknown): boolean {
  if (error instanceof ConnectionError) return true
  const status = error instanceof Error && 'status' in error ? error.status : undefined
  return typeof status === 'number' && (status === 429 || status >= 500)
}
