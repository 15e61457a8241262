// Whose turn it is to connect: TLS handshakes cost processor time on both sides, and a thousand begun at once would all be
// late together.

/** Handshakes that are worked on side by side. */
const SIDE_BY_SIDE = 32
/** A call that is not answered by then waits for its node and not for us: the next one may begin. */
const BUSY_MS = 200

export interface ConnectingTurns {
  /** Waits for a turn; the answer gives it back. */
  take(): Promise<() => void>
}

export function createConnectingTurns(): ConnectingTurns {
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
        const give = (): void => {
          clearTimeout(timer)
          if (!held) return
          held = false
          busy -= 1
          next()
        }
        const timer = setTimeout(give, BUSY_MS)
        resolve(give)
      })
      next()
      return promise
    },
  }
}
