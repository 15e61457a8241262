// Consoles ask for the same long list every few seconds, and most often nothing has changed: when the platform answers a
// question with the very text of the last time, what was made of that text is given again. The list of virtual machines alone
// needs it: without, bench/vm-list.ts measures 1.7 times the platform's own time instead of 1.0.
import { crc32 } from 'node:zlib'
import { LRUCache } from 'lru-cache'

export interface AnswerCache<T> {
  of(question: string, text: string, make: () => T): T
}

interface Entry<T> {
  /** Of the last answer: only a question that was answered with the same twice is worth caching. */
  checksum: number
  answer: { text: string; made: T } | undefined
}

/** Of the platform's texts; what is made of them takes about as much again. */
const MAX_CHARS = 4 * 1024 * 1024
const TTL_MS = 60_000

/** For texts rather than objects: thousands of living objects make every collection of garbage slower. */
export function createAnswerCache<T extends object>(): AnswerCache<T> {
  const cache = new LRUCache<string, Entry<T>>({
    maxSize: MAX_CHARS,
    sizeCalculation: ({ answer }, question) => question.length + (answer?.text.length ?? 0),
    ttl: TTL_MS,
    ttlAutopurge: true,
  })
  return {
    of(question, text, make) {
      const known = cache.get(question)
      if (known?.answer?.text === text) return known.answer.made
      const checksum = crc32(text)
      const made = make()
      cache.set(question, { checksum, answer: known?.checksum === checksum ? { text, made } : undefined })
      return made
    },
  }
}
