// What becomes of calls to the platform in a storm on its line.
import type { Fate } from './platform-proxy.ts'

const ORDINARY: readonly [Fate, number][] = [
  ['lost', 0.12],
  ['cut', 0.12],
  ['late', 0.1],
  ['refuse', 0.06],
  ['delayed', 0.08],
]
const READ = /^(list|get|query|find)/

/** Of one call, by the next of the numbers from 0 to 1. Reads come through, but for some questions about jobs. */
export function fateOf(command: string, random: () => number): Fate {
  if (command === 'queryAsyncJobResult') return random() < 0.1 ? 'refuse' : 'pass'
  if (READ.test(command)) return 'pass'
  const drawn = random()
  let sum = 0
  for (const [fate, share] of ORDINARY) {
    sum += share
    if (drawn < sum) return fate
  }
  return 'pass'
}
