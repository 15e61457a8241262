// Counters of the read cache of the local pools, from the kernel's table (two header lines, then name, type, value).
import type { ArcStats } from '#src/contract/storage/host.ts'
import { integerOf } from '../untrusted-json.ts'

export function parseArcStats(text: string, has_cache_device: boolean): ArcStats {
  const values = new Map(
    text
      .split('\n')
      .slice(2)
      .flatMap((line): [string, number][] => {
        const [name, , value] = line.trim().split(/\s+/)
        const number = integerOf(value)
        return name === undefined || number === null ? [] : [[name, number]]
      }),
  )
  const value = (name: string): number | null => values.get(name) ?? null
  const l2_size = value('l2_size')
  return {
    size_bytes: value('size'),
    max_bytes: value('c_max'),
    hits_count: value('hits'),
    misses_count: value('misses'),
    hit_ratio_percent: ratio(value('hits'), value('misses')),
    evictions_count: value('deleted'),
    l2arc_present: has_cache_device || (l2_size !== null && l2_size > 0),
    l2arc_size_bytes: l2_size,
    l2arc_hit_ratio_percent: ratio(value('l2_hits'), value('l2_misses')),
  }
}

/** Null when there was no access at all: 0 would say that every one missed. */
function ratio(hits: number | null, misses: number | null): number | null {
  if (hits === null || misses === null || hits + misses === 0) return null
  return Math.round((hits / (hits + misses)) * 10_000) / 100
}
