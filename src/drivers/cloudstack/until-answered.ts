// Repeats a question to the platform until it answers: a platform that is silent says nothing about the world.
import { setTimeout as pause } from 'node:timers/promises'
import { CloudStackError } from './platform-error.ts'

export interface Patience {
  /** Which failures are worth another try. */
  again: (error: unknown) => boolean
  every_ms: number
  for_ms: number
}

const PATIENCE: Patience = { again: isLostAnswer, every_ms: 500, for_ms: 60_000 }

/** For questions whose refusal would be an accident, too. */
export const WHATEVER_IT_SAYS: Partial<Patience> = {
  again: (error) => error instanceof CloudStackError,
  every_ms: 1000,
}

export async function untilAnswered<T>(
  signal: AbortSignal | undefined,
  ask: () => Promise<T>,
  patience: Partial<Patience> = {},
): Promise<T> {
  const { again, every_ms, for_ms } = { ...PATIENCE, ...patience }
  const started_ms = performance.now()
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!again(error) || performance.now() - started_ms > for_ms) throw error
      await pause(every_ms, undefined, { signal })
    }
  }
}

/** Nothing is known about what the platform did: no status came back. */
export function isLostAnswer(error: unknown): error is CloudStackError {
  return error instanceof CloudStackError && error.status === undefined && error.failure !== 'not_configured'
}
