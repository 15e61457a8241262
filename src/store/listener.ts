// One dedicated connection that LISTENs, reconnects by itself, and tells its readers when it was away, so that they catch
// up by query.
import pg from 'pg'
import type { Log } from '#src/kernel/log.ts'
import { connectionOptions, type DatabaseOptions } from './database.ts'

export interface Listener {
  /** Calls `heard` for each payload; `reconnected` after every (re)connection, when notices may have been missed. */
  on(channel: string, heard: (payload: string) => void, reconnected?: () => void): void
  start(): Promise<void>
  close(): Promise<void>
}

const RECONNECT_MS = 500

export function createListener(connection: DatabaseOptions['connection'], log: Log): Listener {
  const readers = new Map<string, { heard: (payload: string) => void; reconnected: (() => void) | undefined }[]>()
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  async function connect(): Promise<void> {
    const next = new pg.Client({ ...connectionOptions(connection), application_name: 'groundplane listener' })
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
    client = next
    for (const reader of [...readers.values()].flat()) reader.reconnected?.()
  }

  function lost(which: pg.Client, err: Error | undefined): void {
    if (which !== client || closed) return
    client = undefined
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
    async close() {
      closed = true
      clearTimeout(timer)
      await client?.end()
    },
  }
}
