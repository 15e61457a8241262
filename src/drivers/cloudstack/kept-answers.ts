// Consoles ask for the same long list every few seconds, and most often nothing has changed: when the platform answers a
// question with the very text of the last time, what was made of that text is given again.
import { crc32 } from 'node:zlib'
import { LRUCache } from 'lru-cache'

export interface KeptAnswers<T> {
  of(question: string, text: string, make: () => T): T
}

interface Kept<T> {
  /** Of the last answer: only a question that was answered with the same twice is worth keeping the answer. */
  checksum: number
  answer: { text: string; made: T } | undefined
}

/** Of the platform's texts; what is made of them takes about as much again. */
const MOST_CHARS = 4 * 1024 * 1024
const KEPT_FOR_MS = 60_000

/** Keep texts rather than objects: thousands of living objects make every collection of garbage slower. */
export function createKeptAnswers<T extends object>(): KeptAnswers<T> {
  const kept = new LRUCache<string, Kept<T>>({
    maxSize: MOST_CHARS,
    sizeCalculation: ({ answer }, question) => question.length + (answer?.text.length ?? 0),
    ttl: KEPT_FOR_MS,
    ttlAutopurge: true,
  })
  return {
    of(question, text, make) {
      const known = kept.get(question)
      if (known?.answer?.text === text) return known.answer.made
      const checksum = crc32(text)
      const made = make()
      kept.set(question, { checksum, answer: known?.checksum === checksum ? { text, made } : undefined })
      return made
    },
  }
}
