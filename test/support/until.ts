// Waits for a condition instead of a time.
import { setTimeout as delay } from 'node:timers/promises'

const DEADLINE_MS = 30_000
const PAUSE_MS = 25

/** Asks again and again until the answer is neither undefined nor false; fails with the last error after the deadline. */
export async function until<T>(
  what: string,
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  deadline_ms: number = DEADLINE_MS,
): Promise<T> {
  const end = performance.now() + deadline_ms
  let last: unknown
  for (;;) {
    try {
      const answer = await ask()
      if (answer !== undefined && answer !== false) return answer
      last = undefined
    } catch (error) {
      last = error
    }
    if (performance.now() > end) throw new Error(`waited ${deadline_ms} ms in vain until ${what}`, { cause: last })
    await delay(PAUSE_MS)
  }
}
