// Caches a slow-changing answer for its ttl; callers at the same time share one call, and failures are not cached.

export function cached<T>(ttl_ms: number, load: () => Promise<T>): () => Promise<T> {
  let entry: { value: Promise<T>; until_ms: number } | undefined
  return () => {
    const now_ms = performance.now()
    if (entry !== undefined && now_ms < entry.until_ms) return entry.value
    const value = load()
    const mine = { value, until_ms: now_ms + ttl_ms }
    entry = mine
    value.catch(() => {
      if (entry === mine) entry = undefined
    })
    return value
  }
}
