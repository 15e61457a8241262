// A token bucket a caller, in memory: each replica limits by itself.
import { isIPv6 } from 'node:net'
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

/** Whom an address is counted as. Of IPv6 everybody has 2^64 addresses of one network, so the network counts. */
export function addressCaller(address: string): string {
  if (!isIPv6(address)) return address
  const mapped = /^(?:0*:)+ffff:(\d+(?:\.\d+){3})$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::')
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const [before, after] = [groups(head), groups(tail ?? '')]
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const network = [...before, ...Array.from({ length: zeros }, () => '0'), ...after].slice(0, 4)
  return `${network.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

export function createRateLimiter(
  per_second: number,
  burst: number,
  clock: () => number = () => performance.now(),
): RateLimiter {
  // Not `max`: that takes the memory of all at once, before there is a single caller.
  const buckets = new LRUCache<string, Bucket>({ maxSize: MAX_CALLERS, sizeCalculation: () => 1 })
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
