// Limits the handshakes that are under way: TLS handshakes cost processor time on both sides, and a thousand begun at once would all be
// late together.

/** Handshakes that are worked on side by side. */
const SIDE_BY_SIDE = 32
/** A call that is not answered by then waits for its node and not for us: the next one may begin. */
const BUSY_MS = 200

export interface HandshakeLimiter {
  /** Waits for a place; the answer releases it. */
  take(): Promise<() => void>
}

export function createHandshakeLimiter(): HandshakeLimiter {
  const waiting: (() => void)[] = []
  let busy = 0
  const next = (): void => {
    while (busy < SIDE_BY_SIDE && waiting.length > 0) waiting.shift()?.()
  }
  return {
    take() {
      const { promise, resolve } = Promise.withResolvers<() => void>()
      waiting.push(() => {
        busy += 1
        let held = true
        const release = (): void => {
          clearTimeout(timer)
          if (!held) return
          held = false
          busy -= 1
          next()
        }
        const timer = setTimeout(release, BUSY_MS)
        resolve(release)
      })
      next()
      return promise
    },
  }
}
