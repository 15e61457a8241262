// A background read: it runs by itself every interval, requests look only at its last result, tests call refresh().
export interface Poller<T> {
  start(): void
  /** Waits for a read that is under way. */
  stop(): Promise<void>
  /** Reads now; joins a read that is under way. */
  refresh(): Promise<void>
  last(): Poll<T>
}

export interface Poll<T> {
  /** Undefined until the first read ended well. A later failure keeps the last good value, with its time. */
  value: T | undefined
  /** Wall clock of the last read that ended well. */
  read_at: number | null
  /** Milliseconds since then, on the clock that never steps. */
  age_ms: number | null
  /** Older than three intervals, or the last attempt failed. */
  stale: boolean
  /** Why the last attempt failed; null when it ended well or none was made. */
  failure: string | null
}

/** What a read answers: a value, or why there is none now. Throwing is for defects. */
export type PollResult<T> = { value: T } | { failure: string }

export interface PollerOptions<T> {
  interval_ms: number
  clock: { now(): number; monotonic(): number }
  read: (previous: T | undefined) => Promise<PollResult<T>>
  /** A defect in a read: reported once each time, the poller goes on. */
  onDefect?: (error: unknown) => void
}

export function createPoller<T>(options: PollerOptions<T>): Poller<T> {
  const { clock, interval_ms } = options
  let value: T | undefined
  let good: { wall: number; monotonic: number } | undefined
  let failure: string | null = null
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const read = async (): Promise<void> => {
    try {
      const result = await options.read(value)
      failure = 'failure' in result ? result.failure : null
      if ('failure' in result) return
      value = result.value
      good = { wall: clock.now(), monotonic: clock.monotonic() }
    } catch (error) {
      failure = 'the read failed inside the service; the log has the cause'
      options.onDefect?.(error)
    } finally {
      running = undefined
    }
  }
  const refresh = (): Promise<void> => {
    running ??= read()
    return running
  }
  const again = async (): Promise<void> => {
    await refresh()
    if (timer !== undefined) timer = setTimeout(() => void again(), interval_ms).unref()
  }
  return {
    refresh,
    start() {
      timer ??= setTimeout(() => void again(), 0).unref()
    },
    async stop() {
      clearTimeout(timer)
      timer = undefined
      await running
    },
    last() {
      const age_ms = good === undefined ? null : clock.monotonic() - good.monotonic
      const stale = failure !== null || (age_ms !== null && age_ms > 3 * interval_ms)
      return { value, read_at: good?.wall ?? null, age_ms, stale, failure }
    },
  }
}
