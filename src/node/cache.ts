// Keeps what the machine answered for a short time, and lets callers that ask meanwhile share one reading.
// Times to live by kind of source: the collectors say them where they ask.

export interface Cache {
  /** The cached value when it is younger than `ttl_ms`, else what `load` gives. Callers during a load share it. */
  get<T>(key: CacheKey<T>, ttl_ms: number, load: () => Promise<T>): Promise<T>
  clear(): void
}

/** A name that remembers the type of what is cached under it. Make it with `cacheKey`. */
export interface CacheKey<T> {
  readonly name: string
  readonly holds?: T
}

export function cacheKey<T>(...parts: readonly (string | number)[]): CacheKey<T> {
  return { name: JSON.stringify(parts) }
}

interface Entry {
  value: Promise<unknown>
  at: number
}

/** Beyond this many keys the oldest goes: keys carry device names, and devices come and go on a hypervisor. */
const MAX_KEYS = 2_000

export function createCache(clock: { monotonic(): number }): Cache {
  const entries = new Map<string, Entry>()
  return {
    get<T>(key: CacheKey<T>, ttl_ms: number, load: () => Promise<T>): Promise<T> {
      const cached = entries.get(key.name)
      if (cached !== undefined && clock.monotonic() - cached.at < ttl_ms) return cached.value as Promise<T> // its key says T
      const value = load()
      const entry: Entry = { value, at: Number.POSITIVE_INFINITY }
      entries.delete(key.name)
      entries.set(key.name, entry)
      value.then(
        () => {
          entry.at = clock.monotonic()
        },
        () => {
          if (entries.get(key.name) === entry) entries.delete(key.name)
        },
      )
      if (entries.size > MAX_KEYS) entries.delete(entries.keys().next().value ?? key.name)
      return value
    },
    clear: () => entries.clear(),
  }
}
