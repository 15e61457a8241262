// Live power states of machines, through their BMCs or remote KVMs: one poller for each watched device, however many watch it.
// Nobody watches, nobody polls.
import { isDeepStrictEqual } from 'node:util'
import pLimit from 'p-limit'
import type { SseClient, StreamSource } from '#src/contract/answers.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import { sseFrame } from '#src/kernel/http/sse.ts'
import type { Log } from '#src/kernel/log.ts'
import type { BmcOrder } from './bmc-access.ts'

/** What a device says of the power of its machine. */
export interface PowerReading {
  power_state: string | null
}

/** Reads once. */
export type ReadPower<R extends PowerReading> = () => Promise<R>

export interface PowerStreams {
  /** Throws when the device may not or cannot be asked. */
  watch(order: BmcOrder): Promise<StreamSource>
  /** Something is about to happen to its power: it is read more often for a while. */
  hurry(bmc_ip: string): void
  /** Devices that are polled now. */
  polled(): number
  stop(): void
}

/** A reading with what the stream knows of it. */
type Message<R> = R & {
  bmc_ip: string
  previous: string | null
  observed_at: string
  source: 'poll' | 'cache'
  stale: boolean
}

interface Watched<R extends PowerReading> {
  order: BmcOrder
  read: ReadPower<R> | undefined
  opened_at: number
  clients: Set<SseClient>
  last: { reading: R; message: Message<R> } | undefined
  /** Code of the trouble that watchers know of. */
  trouble: { code: string; message: string } | undefined
  failures: number
  timer: NodeJS.Timeout | undefined
  is_polled: boolean
  hurry_until: number
  next_id: number
}

export interface PowerStreamOptions<R extends PowerReading> {
  /** What is watched, in sentences: `BMC`. */
  device: string
  /** Throws when the device may not be asked. Nothing is sent yet. */
  open(order: BmcOrder): Promise<ReadPower<R>>
  watch_ms: number
  log: Log
}

const WATCHERS_A_DEVICE = 50
const DEVICES_MOST = 500
const POLLS_AT_ONCE = 32
const HURRY_MS = 2000
const HURRY_FOR_MS = 120_000
const BACKOFF_MOST_MS = 60_000
/** Connections that nobody opens for ten minutes are closed (drivers/redfish/connections.ts). */
const REOPEN_MS = 5 * 60_000

export function createPowerStreams<R extends PowerReading>(options: PowerStreamOptions<R>): PowerStreams {
  const { device, open, watch_ms, log } = options
  const all = new Map<string, Watched<R>>()
  // After a start of the service, hundreds of handshakes at once would all time out.
  const limit = pLimit(POLLS_AT_ONCE)
  let stopped = false

  const send = (watched: Watched<R>, event: string, data: unknown): void => {
    const frame = sseFrame({ id: watched.next_id, event, data })
    watched.next_id += 1
    for (const client of watched.clients) client.send(frame)
  }
  const poll = async (watched: Watched<R>): Promise<void> => {
    const failure = await readOnce(watched, open).then(
      (last) => {
        const is_news = isNews(watched, last.reading)
        Object.assign(watched, { last, trouble: undefined, failures: 0 })
        if (is_news) send(watched, 'power', last.message)
        return undefined
      },
      (error: unknown) => asApiError(error, null),
    )
    if (failure === undefined) return
    watched.failures += 1
    watched.read = undefined
    if (watched.trouble?.code === failure.code) return
    log.warn({ bmc_ip: watched.order.bmc_ip, err: failure }, 'power state cannot be read')
    const { code, message } = failure
    watched.trouble = { code, message }
    send(watched, 'error', { bmc_ip: watched.order.bmc_ip, code, message })
  }
  const schedule = (watched: Watched<R>, after_ms: number): void => {
    // Two readings at once may end in the wrong order; the pause after this one is that of who is in a hurry.
    if (watched.is_polled) return
    clearTimeout(watched.timer)
    watched.timer = setTimeout(() => {
      watched.is_polled = true
      limit(() => poll(watched))
        .catch((err: unknown) => log.error({ err }, 'power poller failed'))
        .finally(() => {
          watched.is_polled = false
          if (!stopped && watched.clients.size > 0) schedule(watched, pauseOf(watched, watch_ms))
        })
    }, after_ms)
    watched.timer.unref()
  }
  const attach = (order: BmcOrder, read: ReadPower<R>, client: SseClient): (() => void) => {
    const watched = all.get(order.bmc_ip) ?? newWatched(order, read)
    all.set(order.bmc_ip, watched)
    const is_first = watched.clients.size === 0
    watched.clients.add(client)
    greet(watched, client)
    if (is_first) schedule(watched, 0)
    return () => {
      watched.clients.delete(client)
      if (watched.clients.size > 0) return
      clearTimeout(watched.timer)
      all.delete(order.bmc_ip)
    }
  }
  return {
    async watch(order) {
      requireRoom(all, device, order.bmc_ip)
      const read = await open(order)
      return { open: (client) => attach(order, read, client) }
    },
    hurry(bmc_ip) {
      const watched = all.get(bmc_ip)
      if (watched === undefined) return
      watched.hurry_until = performance.now() + HURRY_FOR_MS
      schedule(watched, Math.min(HURRY_MS, watch_ms))
    },
    polled: () => all.size,
    stop() {
      stopped = true
      for (const { timer } of all.values()) clearTimeout(timer)
      all.clear()
    },
  }
}

function requireRoom(all: ReadonlyMap<string, { clients: ReadonlySet<SseClient> }>, device: string, bmc_ip: string) {
  const watched = all.get(bmc_ip)
  const full = watched === undefined ? all.size >= DEVICES_MOST : watched.clients.size >= WATCHERS_A_DEVICE
  if (!full) return
  const what = watched === undefined ? `${DEVICES_MOST} ${device}s are` : `${device} ${bmc_ip} is`
  throw new ApiError('RATE_LIMITED', `${what} watched already; close a stream first.`, { retry_after_s: 30 })
}

/** What is known by now, so that nobody waits for the next poll. */
function greet<R extends PowerReading>({ order: { bmc_ip }, last, trouble, next_id }: Watched<R>, client: SseClient) {
  if (last !== undefined) {
    const cached: Message<R> = { ...last.message, source: 'cache', stale: true }
    client.send(sseFrame({ id: next_id, event: 'power', data: cached }))
  }
  if (trouble !== undefined) client.send(sseFrame({ id: next_id, event: 'error', data: { bmc_ip, ...trouble } }))
}

function newWatched<R extends PowerReading>(order: BmcOrder, read: ReadPower<R>): Watched<R> {
  return {
    order, read, opened_at: performance.now(), clients: new Set(), last: undefined, trouble: undefined, failures: 0, timer: undefined,
    is_polled: false, hurry_until: 0, next_id: 1,
  } // biome-ignore format: a record
}

async function readOnce<R extends PowerReading>(watched: Watched<R>, open: PowerStreamOptions<R>['open']) {
  const { order, last } = watched
  if (watched.read === undefined || performance.now() - watched.opened_at > REOPEN_MS) {
    watched.read = await open(order)
    watched.opened_at = performance.now()
  }
  const reading = await watched.read()
  const message: Message<R> = {
    ...reading,
    bmc_ip: order.bmc_ip,
    previous: last?.reading.power_state ?? null,
    observed_at: new Date().toISOString(),
    source: 'poll',
    stale: false,
  }
  return { reading, message }
}

/** The first fresh state, every change, and the end of a trouble. */
function isNews<R extends PowerReading>({ last, trouble }: Watched<R>, reading: R): boolean {
  return last === undefined || trouble !== undefined || !isDeepStrictEqual(last.reading, reading)
}

/** Devices that are asked in step, or too often, look dead: jitter, and backing off while they fail. */
function pauseOf(
  { failures, hurry_until }: Pick<Watched<PowerReading>, 'failures' | 'hurry_until'>,
  watch_ms: number,
): number {
  const usual = performance.now() < hurry_until ? Math.min(HURRY_MS, watch_ms) : watch_ms
  const backed_off = Math.min(usual * 2 ** Math.min(failures, 6), Math.max(BACKOFF_MOST_MS, usual))
  return backed_off * (0.9 + Math.random() * 0.2)
}
