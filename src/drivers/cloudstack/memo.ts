// Keeps a slow-changing answer for a while; callers at the same time share one call, and failures are not kept.

export function keptFor<T>(lifetime_ms: number, load: () => Promise<T>): () => Promise<T> {
  let kept: { value: Promise<T>; until_ms: number } | undefined
  return () => {
    const now_ms = performance.now()
    if (kept !== undefined && now_ms < kept.until_ms) return kept.value
    const value = load()
    const mine = { value, until_ms: now_ms + lifetime_ms }
    kept = mine
    value.catch(() => {
      if (kept === mine) kept = undefined
    })
    return value
  }
}
