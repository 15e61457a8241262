// Counters of every device each 5 s in a ring of 13 samples: rates over the last minute, and when a carrier changed.
// Requests only read the ring.
import type { Host } from '#src/kernel/host.ts'
import { at, listOf, numberOf, textOf } from '../untrusted-json.ts'
import { type CarrierLog, createCarrierLog, type LastChange } from './carrier-log.ts'
import { parseCounters } from './links.ts'
import { readJson } from './reading.ts'
import { readTimeState } from './time-sync.ts'

const INTERVAL_MS = 5_000
/** 13 samples span 60 s. */
const SLOTS = 13
/** The time daemon is asked with every twelfth sample: once a minute. */
const SAMPLES_A_CLOCK_CHECK = 12

export interface LinkSample {
  ifname: string
  ifindex: number
  rx_bytes: number
  tx_bytes: number
  carrier_changes: number
  errors: Readonly<Record<string, number>>
  /** Receive + transmit errors + collisions. */
  error_total: number
}

/** Change of one device over the samples that belong together. */
export interface LinkWindow {
  seconds: number
  rx_mbps: number
  tx_mbps: number
  errors_per_second: number
  /** Growth of each error counter that grew. */
  errors: Readonly<Record<string, number>>
}

/** What collectors read of the sampler. */
export interface NetSamples {
  /** Null with fewer than two samples of this very device. */
  window(ifindex: number): LinkWindow | null
  /** Null before the first sample. */
  lastChange(ifname: string, ifindex: number): LastChange | null
  /** Carrier changes seen within the last `window_s` seconds. */
  carrierChanges(ifname: string, ifindex: number, window_s: number): number
  /** Seconds since the clock was last seen synchronised, or since the start; null while it is (`synced`: as read now). */
  unsyncedFor(synced: boolean | null): number | null
  /** Why the last sample failed; null when it did not. */
  readonly failure: string | null
}

export interface NetSampler extends NetSamples {
  start(): void
  /** Waits for a sample that is being taken. */
  stop(): Promise<void>
  /** Takes one sample now. */
  tick(): Promise<void>
}

export interface NetSamplerOptions {
  /** Where carrier changes are kept over restarts of the service; left out: only in memory. */
  state_path?: string
  /** As in the configuration of the node; left out: the socket of the time daemon. */
  time_daemon_address?: string
}

interface Sample {
  at_ms: number
  links: ReadonlyMap<number, LinkSample>
}

export function createNetSampler(host: Host, options: NetSamplerOptions = {}): NetSampler {
  const ring: Sample[] = []
  const carriers: CarrierLog = createCarrierLog(host, options.state_path)
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let failure: string | null = null
  let synced_at_ms = host.monotonic()
  let samples = 0
  const sample = async (): Promise<void> => {
    await carriers.load()
    if (samples % SAMPLES_A_CLOCK_CHECK === 0) {
      const { synced } = await readTimeState(host, options.time_daemon_address)
      if (synced.ok && synced.value) synced_at_ms = host.monotonic()
    }
    samples += 1
    const reading = await readJson(host, 'ip', ['-j', '-s', '-s', 'link', 'show'], { timeout_ms: INTERVAL_MS })
    failure = reading.ok ? null : reading.reason
    if (!reading.ok) return
    const links = new Map(
      listOf(reading.value)
        .flatMap(parseSample)
        .map((link) => [link.ifindex, link]),
    )
    ring.push({ at_ms: host.monotonic(), links })
    if (ring.length > SLOTS) ring.shift()
    await carriers.see([...links.values()])
  }
  const tick = (): Promise<void> => {
    running ??= sample().finally(() => {
      running = undefined
    })
    return running
  }
  const beat = (): void => {
    tick().catch((error: unknown) => {
      failure = error instanceof Error ? error.message : 'the sample failed'
    })
  }
  return {
    get failure() {
      return failure
    },
    window: (ifindex) => windowOf(ring, ifindex),
    lastChange: (ifname, ifindex) => carriers.lastChange(ifname, ifindex),
    carrierChanges: (ifname, ifindex, window_s) => carriers.changes(ifname, ifindex, window_s),
    unsyncedFor(synced) {
      if (synced === true) synced_at_ms = host.monotonic()
      return synced === true ? null : (host.monotonic() - synced_at_ms) / 1000
    },
    start() {
      if (timer !== undefined) return
      beat()
      timer = setInterval(beat, INTERVAL_MS)
      timer.unref()
    },
    async stop() {
      clearInterval(timer)
      timer = undefined
      await running?.catch(() => {})
    },
    tick,
  }
}

function parseSample(row: unknown): LinkSample[] {
  const ifname = textOf(at(row, 'ifname'))
  const ifindex = numberOf(at(row, 'ifindex'))
  if (ifname === null || ifindex === null || at(row, 'link_type') === 'loopback') return []
  const counters = parseCounters(at(row, 'stats64'))
  const { rx_bytes, tx_bytes, carrier_changes, errors } = counters
  const error_total = counters.rx_errors + counters.tx_errors + counters.collisions
  return [{ ifname, ifindex, rx_bytes, tx_bytes, carrier_changes, errors, error_total }]
}

/** From the newest sample back, as long as it is the same device and no counter ran backwards. */
function windowOf(ring: readonly Sample[], ifindex: number): LinkWindow | null {
  const newest = ring.at(-1)
  const last = newest?.links.get(ifindex)
  if (newest === undefined || last === undefined) return null
  let first = { at_ms: newest.at_ms, link: last }
  for (const sample of ring.slice(0, -1).reverse()) {
    const link = sample.links.get(ifindex)
    if (link === undefined || ranBackwards(link, first.link)) break
    first = { at_ms: sample.at_ms, link }
  }
  const seconds = (newest.at_ms - first.at_ms) / 1000
  if (seconds <= 0) return null
  const mbps = (bytes: number): number => Math.round((bytes * 8) / seconds / 1e3) / 1e3
  return {
    seconds,
    rx_mbps: mbps(last.rx_bytes - first.link.rx_bytes),
    tx_mbps: mbps(last.tx_bytes - first.link.tx_bytes),
    errors_per_second: (last.error_total - first.link.error_total) / seconds,
    errors: growth(first.link.errors, last.errors),
  }
}

function ranBackwards(earlier: LinkSample, later: LinkSample): boolean {
  return (
    earlier.ifname !== later.ifname ||
    later.rx_bytes < earlier.rx_bytes ||
    later.tx_bytes < earlier.tx_bytes ||
    later.error_total < earlier.error_total
  )
}

function growth(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Record<string, number> {
  const grown = Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)] as const)
  return Object.fromEntries(grown.filter(([, by]) => by > 0))
}
