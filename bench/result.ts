// What a benchmark reports: a figure beside its limit, and the peer or bound it was measured against in the same run.
export interface BenchResult {
  name: string
  value: number
  unit: string
  /** The figure must not be above this. */
  limit: number
  /** What it was compared with, in words and numbers. */
  against: string
}

export type Bench = () => Promise<BenchResult[]>

/** The middle of three or more runs: one noisy neighbour does not decide. */
export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const index = Math.min(sorted.length - 1, Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1))
  return sorted[index] ?? Number.NaN
}
