// Consoles ask for the same long list every few seconds, and most often nothing has changed: when the platform answers a
// question with the very text of the last time, what was made of that text is given again.
import { LRUCache } from 'lru-cache'

export interface KeptAnswers<T> {
  of(question: string, text: string, make: () => T): T
}

/** Of the platform's texts; what is made of them takes about as much again. */
const MOST_CHARS = 4 * 1024 * 1024
const KEPT_FOR_MS = 60_000

/** Keep texts rather than objects: thousands of living objects make every collection of garbage slower. */
export function createKeptAnswers<T extends object>(): KeptAnswers<T> {
  const kept = new LRUCache<string, { text: string; made: T }>({
    maxSize: MOST_CHARS,
    sizeCalculation: ({ text }) => Math.max(1, text.length),
    ttl: KEPT_FOR_MS,
    ttlAutopurge: true,
  })
  return {
    of(question, text, make) {
      const known = kept.get(question)
      if (known?.text === text) return known.made
      const made = make()
      kept.set(question, { text, made })
      return made
    },
  }
}
