// Waits for a condition instead of a time.
import { setTimeout as delay } from 'node:timers/promises'

const DEADLINE_MS = 90_000
const PAUSE_MS = 25

/** A pause that took longer was the machine's: it stood still, so what is waited for could not happen either. */
const LONGEST_PAUSE_MS = 1000

/** Asks again and again until the answer is neither undefined nor false; fails with the last error after the deadline. */
export async function until<T>(
  what: string,
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  deadline_ms: number = DEADLINE_MS,
): Promise<T> {
  let waited_ms = 0
  let last: unknown
  for (;;) {
    const asked = performance.now()
    try {
      const answer = await ask()
      if (answer !== undefined && answer !== false) return answer
      last = undefined
    } catch (error) {
      last = error
    }
    if (waited_ms > deadline_ms) throw new Error(`waited ${deadline_ms} ms in vain until ${what}`, { cause: last })
    await delay(PAUSE_MS)
    waited_ms += Math.min(performance.now() - asked, LONGEST_PAUSE_MS)
  }
}
