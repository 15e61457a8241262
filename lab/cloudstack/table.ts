/** One kind of record in memory, in the order of creation, with the indexes that keep lookups off the whole table. */

type Change<T> = (id: string, after: T | null, before: T | null) => void

export class Table<T extends { id: string }> {
  readonly kind: string
  readonly #rows = new Map<string, T>()
  readonly #keys: Record<string, (record: T) => string | null>
  readonly #index = new Map<string, Map<string, Set<string>>>()
  readonly #watchers: Change<T>[] = []

  constructor(kind: string, keys: Record<string, (record: T) => string | null> = {}) {
    this.kind = kind
    this.#keys = keys
    for (const name of Object.keys(keys)) this.#index.set(name, new Map())
  }

  get size(): number {
    return this.#rows.size
  }

  get(id: string | null | undefined): T | null {
    return id === null || id === undefined ? null : (this.#rows.get(id) ?? null)
  }

  has(id: string): boolean {
    return this.#rows.has(id)
  }

  values(): IterableIterator<T> {
    return this.#rows.values()
  }

  filter(test: (record: T) => boolean): T[] {
    const found: T[] = []
    for (const record of this.#rows.values()) if (test(record)) found.push(record)
    return found
  }

  find(test: (record: T) => boolean): T | null {
    for (const record of this.#rows.values()) if (test(record)) return record
    return null
  }

  /** Records whose indexed key has this value, in no particular order. */
  by(index: string, key: string | null): T[] {
    if (key === null) return []
    const found: T[] = []
    for (const id of this.#index.get(index)?.get(key) ?? []) {
      const record = this.#rows.get(id)
      if (record !== undefined) found.push(record)
    }
    return found
  }

  countBy(index: string, key: string): number {
    return this.#index.get(index)?.get(key)?.size ?? 0
  }

  put(record: T): T {
    const before = this.#rows.get(record.id) ?? null
    this.#rows.set(record.id, record)
    this.#reindex(record.id, record, before)
    for (const watcher of this.#watchers) watcher(record.id, record, before)
    return record
  }

  remove(id: string): void {
    const before = this.#rows.get(id) ?? null
    if (before === null) return
    this.#rows.delete(id)
    this.#reindex(id, null, before)
    for (const watcher of this.#watchers) watcher(id, null, before)
  }

  clear(): void {
    for (const id of this.#rows.keys()) this.remove(id)
  }

  watch(watcher: Change<T>): void {
    this.#watchers.push(watcher)
  }

  #reindex(id: string, after: T | null, before: T | null): void {
    for (const [name, keyOf] of Object.entries(this.#keys)) {
      const was = before === null ? null : keyOf(before)
      const is = after === null ? null : keyOf(after)
      if (was === is) continue
      const index = this.#index.get(name)
      if (index === undefined) continue
      if (was !== null) {
        const ids = index.get(was)
        ids?.delete(id)
        if (ids?.size === 0) index.delete(was)
      }
      if (is !== null) {
        const ids = index.get(is)
        if (ids === undefined) index.set(is, new Set([id]))
        else ids.add(id)
      }
    }
  }
}
