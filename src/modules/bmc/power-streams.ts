// Live power states: one poller for each watched BMC, however many watch it. Nobody watches, nobody polls.
import pLimit from 'p-limit'
import type { PowerMessage } from '#src/contract/bmc/power.ts'
import type { SseClient, StreamSource } from '#src/contract/answers.ts'
import type { Bmc } from '#src/drivers/redfish/bmc.ts'
import { readPower } from '#src/drivers/redfish/power.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import { sseFrame } from '#src/kernel/http/sse.ts'
import type { Log } from '#src/kernel/log.ts'
import type { BmcAccess, BmcOrder } from '../bmc-access.ts'

export interface PowerStreams {
  /** Throws when the BMC may not or cannot be asked. */
  watch(order: BmcOrder): Promise<StreamSource>
  /** Something is about to happen to its power: it is read more often for a while. */
  hurry(bmc_ip: string): void
  /** BMCs that are polled now. */
  polled(): number
  stop(): void
}

interface Watched {
  order: BmcOrder
  bmc: Bmc | undefined
  opened_at: number
  clients: Set<SseClient>
  last: PowerMessage | undefined
  /** Code of the trouble that watchers know of. */
  trouble: { code: string; message: string } | undefined
  failures: number
  timer: NodeJS.Timeout | undefined
  hurry_until: number
  next_id: number
}

export interface PowerStreamOptions {
  bmcs: Pick<BmcAccess, 'open'>
  watch_ms: number
  log: Log
}

const WATCHERS_A_BMC = 50
const BMCS_MOST = 500
const POLLS_AT_ONCE = 32
const HURRY_MS = 2000
const HURRY_FOR_MS = 120_000
const BACKOFF_MOST_MS = 60_000
/** Connections that nobody opens for ten minutes are closed (drivers/redfish/connections.ts). */
const REOPEN_MS = 5 * 60_000
const TIMEOUT_MS = 15_000

export function createPowerStreams({ bmcs, watch_ms, log }: PowerStreamOptions): PowerStreams {
  const all = new Map<string, Watched>()
  // After a start of the service, hundreds of handshakes at once would all time out.
  const limit = pLimit(POLLS_AT_ONCE)
  let stopped = false

  const send = (watched: Watched, event: string, data: unknown): void => {
    const frame = sseFrame({ id: watched.next_id, event, data })
    watched.next_id += 1
    for (const client of watched.clients) client.send(frame)
  }
  const poll = async (watched: Watched): Promise<void> => {
    const failure = await readOnce(watched, bmcs).then(
      (message) => {
        const is_news = isNews(watched, message)
        watched.last = message
        watched.trouble = undefined
        watched.failures = 0
        if (is_news) send(watched, 'power', message)
        return undefined
      },
      (error: unknown) => asApiError(error, null),
    )
    if (failure === undefined) return
    watched.failures += 1
    watched.bmc = undefined
    if (watched.trouble?.code === failure.code) return
    log.warn({ bmc_ip: watched.order.bmc_ip, err: failure }, 'power state cannot be read')
    const { code, message } = failure
    watched.trouble = { code, message }
    send(watched, 'error', { bmc_ip: watched.order.bmc_ip, code, message })
  }
  const schedule = (watched: Watched, after_ms: number): void => {
    clearTimeout(watched.timer)
    watched.timer = setTimeout(() => {
      limit(() => poll(watched))
        .catch((err: unknown) => log.error({ err }, 'power poller failed'))
        .finally(() => {
          if (!stopped && watched.clients.size > 0) schedule(watched, pauseOf(watched, watch_ms))
        })
    }, after_ms)
    watched.timer.unref()
  }
  const attach = (order: BmcOrder, bmc: Bmc, client: SseClient): (() => void) => {
    const watched = all.get(order.bmc_ip) ?? newWatched(order, bmc)
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
      const watched = all.get(order.bmc_ip)
      const full = watched === undefined ? all.size >= BMCS_MOST : watched.clients.size >= WATCHERS_A_BMC
      if (full) {
        const what = watched === undefined ? `${BMCS_MOST} BMCs are` : `BMC ${order.bmc_ip} is`
        throw new ApiError('RATE_LIMITED', `${what} watched already; close a stream first.`, { retry_after_s: 30 })
      }
      const bmc = await bmcs.open(order)
      return { open: (client) => attach(order, bmc, client) }
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

/** What is known by now, so that nobody waits for the next poll. */
function greet({ order: { bmc_ip }, last, trouble, next_id }: Watched, client: SseClient): void {
  if (last !== undefined) {
    const cached: PowerMessage = { ...last, source: 'cache', stale: true }
    client.send(sseFrame({ id: next_id, event: 'power', data: cached }))
  }
  if (trouble !== undefined) client.send(sseFrame({ id: next_id, event: 'error', data: { bmc_ip, ...trouble } }))
}

function newWatched(order: BmcOrder, bmc: Bmc): Watched {
  return {
    order, bmc, opened_at: performance.now(), clients: new Set(), last: undefined, trouble: undefined, failures: 0, timer: undefined,
    hurry_until: 0, next_id: 1,
  } // biome-ignore format: a record
}

async function readOnce(watched: Watched, bmcs: Pick<BmcAccess, 'open'>): Promise<PowerMessage> {
  const { order, last } = watched
  if (watched.bmc === undefined || performance.now() - watched.opened_at > REOPEN_MS) {
    watched.bmc = await bmcs.open(order)
    watched.opened_at = performance.now()
  }
  const { power_on, power_state } = await readPower(watched.bmc, { once: true, timeout_ms: TIMEOUT_MS })
  return {
    bmc_ip: order.bmc_ip,
    power_on,
    power_state,
    previous: last?.power_state ?? null,
    observed_at: new Date().toISOString(),
    source: 'poll',
    stale: false,
  }
}

/** The first fresh state, every change, and the end of a trouble. */
function isNews({ last, trouble }: Watched, { power_state }: PowerMessage): boolean {
  return last === undefined || trouble !== undefined || last.power_state !== power_state
}

/** BMCs that are asked in step, or too often, look dead: jitter, and backing off while they fail. */
function pauseOf({ failures, hurry_until }: Watched, watch_ms: number): number {
  const usual = performance.now() < hurry_until ? Math.min(HURRY_MS, watch_ms) : watch_ms
  const backed_off = Math.min(usual * 2 ** Math.min(failures, 6), Math.max(BACKOFF_MOST_MS, usual))
  return backed_off * (0.9 + Math.random() * 0.2)
}
