// Progress of a job: weighted over its steps, sent live often, stored rarely, never falling.
import type { Log } from '#src/kernel/log.ts'
import type { NoState, Step } from './define.ts'
import type { Ledger } from './ledger.ts'
import type { Claim } from './rows.ts'

/** Receives progress that is not stored. */
export type ProgressSink = (claim: Claim, percent: number, sentence: string | undefined) => void

const STORE_EVERY_MS = 2000
const SEND_EVERY_MS = 250

export function createProgress(
  claim: Claim,
  steps: readonly Step<unknown, unknown, NoState>[],
  deps: { ledger: Ledger; log: Log; live: ProgressSink },
) {
  const weights = steps.map((step) => step.weight ?? 1)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const before = (ordinal: number): number => weights.slice(0, ordinal).reduce((sum, weight) => sum + weight, 0)
  let highest = claim.row.progress
  let stored_at = performance.now()
  let sent_at = 0
  let storing: Promise<void> = Promise.resolve()

  return {
    /** Progress once this step has ended; 100 is kept for the end of the job. */
    after: (ordinal: number): number => Math.min(99, Math.round((100 * before(ordinal + 1)) / total)),

    report(name: string | undefined, percent: number, sentence: string | undefined): void {
      const ordinal = Math.max(
        0,
        steps.findIndex((step) => step.name === name),
      )
      const share = ((weights[ordinal] ?? 1) * Math.min(100, Math.max(0, percent))) / 100
      highest = Math.max(highest, Math.min(99, Math.round((100 * (before(ordinal) + share)) / total)))
      const now = performance.now()
      if (now - stored_at >= STORE_EVERY_MS) {
        stored_at = now
        sent_at = now
        const value = highest
        storing = storing.then(async () => {
          claim.row = await deps.ledger.progress(claim, value, sentence)
        })
        // A lost job is noticed by the next write of the step itself.
        storing = storing.catch((err: unknown) => deps.log.debug({ err }, 'progress not stored'))
      } else if (now - sent_at >= SEND_EVERY_MS) {
        sent_at = now
        deps.live(claim, highest, sentence)
      }
    },

    /** Resolves when no progress is being stored, so that it cannot come after the end of its step. */
    settled: (): Promise<void> => storing,
  }
}
