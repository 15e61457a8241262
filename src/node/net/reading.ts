// The outcome of reading one source: its value, or the reason why there is none. A missing tool is a normal finding.
import type { Host, RunOptions, RunResult } from '#src/kernel/host.ts'
import { parseJson } from '../untrusted-json.ts'

export type Reading<T> = { ok: true; value: T } | { ok: false; reason: string }

export function found<T>(value: T): Reading<T> {
  return { ok: true, value }
}

export function lost(reason: string): { ok: false; reason: string } {
  return { ok: false, reason }
}

export function mapReading<A, B>(reading: Reading<A>, change: (value: A) => B): Reading<B> {
  return reading.ok ? found(change(reading.value)) : reading
}

/** Runs a tool that prints JSON. Blank output with exit code 0 is what these tools print for an empty list. */
export async function readJson(
  host: Host,
  tool: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Reading<unknown>> {
  const result = await host.run(tool, args, options)
  const failure = runFailure(tool, result)
  if (failure !== null) return lost(failure)
  if (result.stdout.trim() === '') return found([])
  const parsed = parseJson(result.stdout)
  return parsed === undefined ? lost(`${tool} printed something that is not JSON`) : found(parsed)
}

/** Why a run gave nothing usable, as a fixed sentence; null when it ended with exit code 0. */
export function runFailure(tool: string, result: RunResult): string | null {
  if (result.outcome === 'missing') return `${tool} is not installed`
  if (result.outcome === 'timeout') return `${tool} did not answer in time`
  if (result.outcome === 'too_big') return `${tool} printed more than can be read`
  return result.exit_code === 0 ? null : `${tool} failed with exit code ${result.exit_code}`
}
