// The live stream: what transactions published, in commit order, to every subscriber of every replica; missed messages are
// replayed from the store. Positions are in commit order (store/database.ts), so the newest position seen is all a reader
// must remember.
import { sql } from 'kysely'
import type { SseClient, StreamSource } from '#src/contract/answers.ts'
import type { Log } from '#src/kernel/log.ts'
import { sseFrame } from '#src/kernel/http/sse.ts'
import { type Channel, type Database, LIVE_NOTIFY, STREAM_NOTIFY, type StreamMessage } from './database.ts'
import { type EventScope, isInEventScope } from './event-scope.ts'
import type { Listener } from './listener.ts'

export interface Subscription {
  channels: ReadonlySet<string>
  scope: EventScope
  /** Position of the last message the client saw; undefined starts with what comes next. */
  after: number | undefined
}

export interface Stream {
  start(): Promise<void>
  /** A source that first replays what was missed and then follows. */
  source(subscription: Subscription): StreamSource
  /** Sends a message that is not stored to the subscribers of every replica: progress between two stored states. */
  sendLive(message: StreamMessage): void
  /** Called in this process for every stored message. */
  onMessage(reader: (message: StreamMessage) => void): void
  close(): void
}

interface Row {
  position: number
  channel: string
  type: string
  tenant_id: string | null
  data: object
}

const PAGE = 500
/** PostgreSQL refuses a NOTIFY payload of 8,000 bytes or more; a longer live message is simply not sent. */
const MAX_LIVE_BYTES = 7800

export function createStream(database: Database, listener: Listener, log: Log): Stream {
  const followers = new Set<Follower>()
  const readers: ((message: StreamMessage) => void)[] = []
  let position = 0

  async function readNew(): Promise<void> {
    for (;;) {
      const rows = await readRows(database, position, undefined)
      for (const row of rows) {
        position = row.position
        const frame = sseFrame({ id: row.position, event: row.type, data: row.data })
        for (const follower of followers) if (row.position > follower.seen) offer(follower, row, frame)
        for (const reader of readers) reader(row as StreamMessage)
      }
      if (rows.length < PAGE) return
    }
  }

  function heardLive(payload: string): void {
    const message = JSON.parse(payload) as StreamMessage
    const frame = sseFrame({ event: message.type, data: message.data })
    for (const follower of followers) offer(follower, message, frame)
  }

  function open(subscription: Subscription, client: SseClient): () => void {
    const follower: Follower = { subscription, client, seen: subscription.after ?? position }
    const attach = (): void => void followers.add(follower)
    if (subscription.after === undefined) {
      // An id without data: the client can resume from here even if nothing arrives before it is cut off.
      client.send(`id: ${position}\n\n`)
      attach()
    } else {
      replay(database, follower, () => position).then(attach, (err: unknown) => {
        log.warn({ err }, 'stream cannot be replayed')
        client.end()
      })
    }
    return () => void followers.delete(follower)
  }

  return {
    async start() {
      position = (await storedPositions(database)).newest
      const catchUp = oneAtATime(readNew, (err) => log.warn({ err }, 'stream cannot be read'))
      listener.on(STREAM_NOTIFY, catchUp, catchUp)
      listener.on(LIVE_NOTIFY, heardLive)
    },
    source: (subscription) => ({ open: (client) => open(subscription, client) }),
    sendLive(message) {
      const payload = JSON.stringify(message)
      if (Buffer.byteLength(payload) > MAX_LIVE_BYTES) return
      sql`select pg_notify(${LIVE_NOTIFY}, ${payload})`
        .execute(database.db)
        .catch((err: unknown) => log.warn({ err }, 'live message not sent'))
    },
    onMessage: (reader) => void readers.push(reader),
    close: () => followers.clear(),
  }
}

const RETRY_MS = 500

/** One run at a time; a call that comes meanwhile makes it run once more, and so does a failure, a moment later. */
function oneAtATime(work: () => Promise<void>, failed: (error: unknown) => void): () => void {
  let running = false
  let again = false
  return function call(): void {
    if (running) {
      again = true
      return
    }
    running = true
    work()
      .catch((error: unknown) => {
        failed(error)
        setTimeout(call, RETRY_MS).unref()
      })
      .finally(() => {
        running = false
        if (!again) return
        again = false
        call()
      })
  }
}

function offer(follower: Follower, message: Omit<Row, 'position'>, frame: Buffer): void {
  if (wants(follower.subscription, message)) follower.client.send(frame)
}

interface Follower {
  subscription: Subscription
  client: SseClient
  /** Everything up to this position has been sent or is not wanted. */
  seen: number
}

/**
 * Sends what the follower missed, page by page at the client's own pace, until it has everything that this process has
 * delivered to the others. The caller attaches it in the same turn, so that nothing falls in between.
 */
async function replay(database: Database, follower: Follower, newest: () => number): Promise<void> {
  const stored = await storedPositions(database)
  if (follower.seen < stored.oldest - 1 || follower.seen > stored.newest) {
    const gap = { last_event_id: follower.seen, oldest_event_id: stored.oldest, newest_event_id: stored.newest }
    follower.client.send(sseFrame({ event: 'replay-gap', data: gap }))
    follower.seen = Math.min(follower.seen, stored.newest)
  }
  while (follower.seen < newest() && !follower.client.closed) {
    const rows = await readRows(database, follower.seen, newest())
    for (const row of rows) {
      if (wants(follower.subscription, row)) {
        follower.client.send(sseFrame({ id: row.position, event: row.type, data: row.data }))
      }
      follower.seen = row.position
    }
    if (rows.length < PAGE) follower.seen = Math.max(follower.seen, rows.at(-1)?.position ?? newest())
    await follower.client.drained()
  }
}

function wants({ channels, scope }: Subscription, message: Omit<Row, 'position'>): boolean {
  return channels.has(message.channel) && isInEventScope(scope, message)
}

async function readRows(database: Database, after: number, up_to: number | undefined): Promise<Row[]> {
  const rows = await database.db
    .selectFrom('stream_event')
    .select(['position', 'channel', 'type', 'tenant_id', 'data'])
    .where('position', '>', after)
    .$if(up_to !== undefined, (query) => query.where('position', '<=', up_to as number))
    .orderBy('position')
    .limit(PAGE)
    .execute()
  return rows as Row[]
}

/** Zero for both when nothing is stored. */
async function storedPositions(database: Database): Promise<{ oldest: number; newest: number }> {
  const row = await database.db
    .selectFrom('stream_event')
    .select(({ fn }) => [fn.min('position').as('oldest'), fn.max('position').as('newest')])
    .executeTakeFirst()
  return { oldest: row?.oldest ?? 0, newest: row?.newest ?? 0 }
}

export function channelsOf(text: string | undefined, known: readonly Channel[]): ReadonlySet<string> | string {
  if (text === undefined || text === '') return new Set(known)
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !known.some((channel) => channel === name))
  return unknown === undefined ? new Set(names) : unknown
}
