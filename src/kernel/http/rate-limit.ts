// A token bucket a caller, in memory: each replica limits by itself.
import { LRUCache } from 'lru-cache'
import { ApiError } from '../errors.ts'

export interface RateLimiter {
  /** Throws RATE_LIMITED with Retry-After when the caller has no token left. */
  take(caller: string): void
}

interface Bucket {
  tokens: number
  at: number
}

const MAX_CALLERS = 50_000

export function createRateLimiter(
  per_second: number,
  burst: number,
  clock: () => number = () => performance.now(),
): RateLimiter {
  const buckets = new LRUCache<string, Bucket>({ max: MAX_CALLERS })
  return {
    take(caller) {
      const now = clock()
      const bucket = buckets.get(caller)
      if (bucket === undefined) {
        buckets.set(caller, { tokens: burst - 1, at: now })
        return
      }
      const tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * per_second)
      bucket.at = now
      bucket.tokens = tokens
      if (tokens < 1) {
        const retry_after_s = Math.ceil((1 - tokens) / per_second)
        throw new ApiError('RATE_LIMITED', `Too many requests; try again in ${retry_after_s} s.`, { retry_after_s })
      }
      bucket.tokens -= 1
    },
  }
}
