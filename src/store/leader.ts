// Work that one replica at a time does for all: whoever holds an advisory lock does it, until the lock or the way to the
// database is lost, and then another.
import { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { Background } from '#src/kernel/background.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Database } from './database.ts'

export interface LeaderOptions {
  database: Database
  /** One of LOCKS. */
  lock: number
  /** For the log, and for who looks at the connections of the database. */
  name: string
  log: Log
  background: Background
  /** Tests are in a hurry. */
  timing?: Partial<LeaderTiming>
}

export interface LeaderTiming {
  /** How often a replica without the lock asks for it, and begins again after a failure. */
  retry_ms: number
  /** How often the holder makes sure that it still has its connection, and how long an answer may take. */
  check_ms: number
  answer_ms: number
  /** How long who takes over waits for the one before to notice. */
  settle_ms: number
}

export interface Leader {
  start(): void
  /** Ends the work, waits for it, and leaves the lock to others. */
  stop(): Promise<void>
}

const TIMING: LeaderTiming = { retry_ms: 2000, check_ms: 1000, answer_ms: 3000, settle_ms: 500 }
/**
 * PostgreSQL gives the lock of a silent peer away no sooner than after this many seconds, and by then the holder, which
 * waits check_ms and answer_ms, has stopped. Without effect on a connection by a local socket, which cannot fall silent.
 */
const SERVER_PATIENCE = 'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3'

/**
 * `lead` is called with the lock held, and must end when its signal is aborted: by `stop`, or because the lock is lost.
 * When it ends by itself or fails it is called again, here or elsewhere.
 */
export function createLeader(options: LeaderOptions, lead: (held: AbortSignal) => Promise<void>): Leader {
  const ending = new AbortController()
  const timing = { ...TIMING, ...options.timing }
  let ended: Promise<void> | undefined
  return {
    start() {
      ended ??= campaign({ ...options, timing }, lead, ending.signal)
    },
    async stop() {
      ending.abort()
      await ended
    },
  }
}

type Timed = LeaderOptions & { timing: LeaderTiming }

async function campaign(options: Timed, lead: (held: AbortSignal) => Promise<void>, stop: AbortSignal): Promise<void> {
  const { log, name, timing, background } = options
  while (!stop.aborted) {
    try {
      await holdOnce(options, stop, async (held) => {
        log.info({ leader: name }, 'this replica holds the lock')
        await lead(held)
      })
    } catch (err) {
      if (!stop.aborted) background.report(taskOf(name), err)
    }
    await pause(timing.retry_ms, undefined, { signal: stop }).catch(() => {})
  }
  // What has stopped fails no more.
  background.report(taskOf(name))
}

const taskOf = (name: string): string => `leader-${name}`

/** Waits for the lock on a connection of its own, so that it is free as soon as the process or the connection is gone. */
async function holdOnce(
  { database, lock, name, timing, background }: Timed,
  stop: AbortSignal,
  work: (held: AbortSignal) => Promise<void>,
): Promise<void> {
  const lost = new AbortController()
  const lose = (): void => lost.abort(new Error('the connection that held the lock is lost'))
  const socket = new Socket()
  const client = new pg.Client({
    ...database.pool.options,
    stream: () => socket,
    application_name: `groundplane ${name}`,
    query_timeout: timing.answer_ms,
  })
  client.on('error', lose)
  client.on('end', lose)
  const held = AbortSignal.any([stop, lost.signal])
  // Work that fails at once has the lock each time: it goes well only when it has gone on for a moment, or waits its turn.
  const well = (): void => background.report(taskOf(name))
  try {
    await client.connect()
    await client.query(SERVER_PATIENCE)
    const waited = await take(client, lock, timing, held, well)
    if (waited) await pause(timing.settle_ms, undefined, { signal: held })
    const done = new AbortController()
    const checks = keepChecking(client, timing, AbortSignal.any([held, done.signal]), well).catch(lose)
    try {
      await work(held)
    } finally {
      done.abort()
      await checks
    }
  } finally {
    await close(client, socket)
  }
}

/** True when somebody else held it meanwhile. */
async function take(
  client: pg.Client,
  lock: number,
  timing: LeaderTiming,
  held: AbortSignal,
  well: () => void,
): Promise<boolean> {
  for (let waited = false; ; waited = true) {
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [lock])
    if (rows[0]?.held === true) return waited
    well()
    await pause(timing.retry_ms, undefined, { signal: held })
  }
}

/** Throws when the connection does not answer in time. */
async function keepChecking(
  client: pg.Client,
  { check_ms }: LeaderTiming,
  until: AbortSignal,
  well: () => void,
): Promise<void> {
  while (!until.aborted) {
    await pause(check_ms, undefined, { signal: until }).catch(() => {})
    if (until.aborted) return
    await client.query('select 1')
    well()
  }
}

const CLOSE_MS = 1000

/** A connection that fell silent does not answer a goodbye either. */
async function close(client: pg.Client, socket: Socket): Promise<void> {
  const late = setTimeout(() => socket.destroy(), CLOSE_MS)
  await client.end().catch(() => {})
  clearTimeout(late)
}
