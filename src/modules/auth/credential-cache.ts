// Credentials that were looked up a moment ago, so that most requests ask no database. A revoked one leaves at once.
import { LRUCache } from 'lru-cache'
import type { LiveCredential } from '#src/store/credentials.ts'
import { REVOKE_NOTIFY } from '#src/store/database.ts'
import type { Listener } from '#src/store/listener.ts'

export interface CredentialCache {
  get(key: string): LiveCredential | undefined
  /** Looks up once for all who ask at the same time; what `load` answers is cached, what it throws is not. */
  fetch(key: string, load: () => Promise<LiveCredential>): Promise<LiveCredential>
  /** The credential must be read afresh, also by a look-up that is under way. */
  drop(key: string): void
  clear(): void
}

const MAX_ENTRIES = 10_000
/** How long a revocation could go unseen where its notice was lost together with the listener's connection. */
const MAX_AGE_MS = 10_000

interface Lookup {
  answer: Promise<LiveCredential>
  /** What it finds may be true no more: it is not cached, and nobody else joins it. */
  stale: boolean
}

export function createCredentialCache(): CredentialCache {
  // Not `max`: that takes the memory of all at once.
  const entries = new LRUCache<string, LiveCredential>({
    maxSize: MAX_ENTRIES, sizeCalculation: () => 1, ttl: MAX_AGE_MS, ttlResolution: 0,
  }) // biome-ignore format: one record
  const running = new Map<string, Lookup>()

  function start(key: string, load: () => Promise<LiveCredential>): Lookup {
    const lookup: Lookup = {
      stale: false,
      answer: load().then(
        (found) => {
          const ttl = Math.min(MAX_AGE_MS, Math.floor(found.remaining_ms ?? MAX_AGE_MS))
          if (!lookup.stale && ttl > 0) entries.set(key, found, { ttl })
          end(key, lookup)
          return found
        },
        (error: unknown) => {
          end(key, lookup)
          throw error
        },
      ),
    }
    return lookup
  }

  function end(key: string, lookup: Lookup): void {
    if (running.get(key) === lookup) running.delete(key)
  }

  function forget(key: string): void {
    entries.delete(key)
    const lookup = running.get(key)
    if (lookup !== undefined) lookup.stale = true
    running.delete(key)
  }

  return {
    get: (key) => entries.get(key),
    fetch(key, load) {
      const lookup = running.get(key) ?? start(key, load)
      running.set(key, lookup)
      return lookup.answer
    },
    drop: forget,
    clear() {
      entries.clear()
      for (const lookup of running.values()) lookup.stale = true
      running.clear()
    },
  }
}

/** Hears what other replicas revoke; after a lost connection nothing that was cached is believed. */
export function followRevocations(
  cache: CredentialCache,
  open: { check(key: string): void; checkAll(): void },
  listener: Listener,
): void {
  listener.on(
    REVOKE_NOTIFY,
    (key) => {
      cache.drop(key)
      open.check(key)
    },
    () => {
      cache.clear()
      open.checkAll()
    },
  )
}
