// One dedicated connection that LISTENs, reconnects by itself, and tells its readers when it was away, so that they catch
// up by query.
import pg from 'pg'
import type { Log } from '#src/kernel/log.ts'
import { connectionOptions, type DatabaseOptions } from './database.ts'

export interface Listener {
  /** Calls `heard` for each payload; `reconnected` after every (re)connection, when notices may have been missed. */
  on(channel: string, heard: (payload: string) => void, reconnected?: () => void): void
  start(): Promise<void>
  /** Since when nothing can be heard, in milliseconds of this process's clock; undefined while it listens. */
  deaf_since(): number | undefined
  close(): Promise<void>
}

const RECONNECT_MS = 500
/** A connection on which nothing happens may be forgotten on the way without a word; it is asked for an answer. */
const CHECK_MS = 10_000
const ANSWER_MS = 5000

interface Reader {
  heard: (payload: string) => void
  reconnected: (() => void) | undefined
}

export function createListener(
  connection: DatabaseOptions['connection'],
  log: Log,
  { check_ms = CHECK_MS, answer_ms = ANSWER_MS } = {},
): Listener {
  const readers = new Map<string, Reader[]>()
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let deaf_since: number | undefined = performance.now()
  let closed = false

  async function connect(): Promise<void> {
    const next = new pg.Client({
      ...connectionOptions(connection),
      application_name: 'groundplane listener',
      connectionTimeoutMillis: answer_ms,
      query_timeout: answer_ms,
      keepAlive: true,
    })
    next.on('error', (err) => lost(next, err))
    next.on('end', () => lost(next, undefined))
    next.on('notification', ({ channel, payload }) => {
      for (const reader of readers.get(channel) ?? []) reader.heard(payload ?? '')
    })
    try {
      await next.connect()
      for (const channel of readers.keys()) await next.query(`listen ${pg.escapeIdentifier(channel)}`)
    } catch (error) {
      next.end().catch(() => {})
      throw error
    }
    if (closed) return next.end()
    client = next
    deaf_since = undefined
    timer = setTimeout(check, check_ms, next)
    for (const reader of [...readers.values()].flat()) reader.reconnected?.()
  }

  function check(which: pg.Client): void {
    which.query('select 1').then(
      () => {
        if (which === client && !closed) timer = setTimeout(check, check_ms, which)
      },
      (error: Error) => lost(which, error),
    )
  }

  function lost(which: pg.Client, err: Error | undefined): void {
    if (which !== client || closed) return
    client = undefined
    deaf_since = performance.now()
    clearTimeout(timer)
    log.warn({ err }, 'database listener lost its connection')
    which.end().catch(() => {})
    retry()
  }

  function retry(): void {
    timer = setTimeout(() => {
      connect().catch((err: unknown) => {
        log.warn({ err }, 'database listener cannot connect')
        if (!closed) retry()
      })
    }, RECONNECT_MS)
  }

  return {
    on(channel, heard, reconnected) {
      readers.set(channel, [...(readers.get(channel) ?? []), { heard, reconnected }])
    },
    start: connect,
    deaf_since: () => deaf_since,
    async close() {
      closed = true
      clearTimeout(timer)
      await client?.end()
    },
  }
}
