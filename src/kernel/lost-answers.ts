// Answers of other systems that never came: how to tell them from rejections, and how to ask again until one comes. A system
// that is silent says nothing about what it has done.
import { setTimeout as pause } from 'node:timers/promises'
import { UpstreamError } from './errors.ts'

/** Nothing is known about what the other system did: no status came back. */
export function isLostAnswer(error: unknown): error is UpstreamError {
  return error instanceof UpstreamError && error.status === undefined && error.failure !== 'not_configured'
}

/** The error of an answer that was lost; undefined when one came. For changes of which the other system shows what became. */
export async function lostAnswerOf(send: () => Promise<unknown>): Promise<UpstreamError | undefined> {
  try {
    await send()
    return undefined
  } catch (error) {
    if (!isLostAnswer(error)) throw error
    return error
  }
}

export interface Patience {
  /** Rejections are asked again, too: for questions where one could only be an accident. */
  even_refused?: boolean
  for_ms?: number
}

const ASK_AGAIN_MS = 500
const PATIENCE_MS = 60_000

/** Asks again while no answer comes. Only for reads, and for changes that may be sent any number of times. */
export async function untilAnswered<T>(
  signal: AbortSignal | undefined,
  ask: () => Promise<T>,
  { even_refused = false, for_ms = PATIENCE_MS }: Patience = {},
): Promise<T> {
  const started_ms = performance.now()
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const again = isLostAnswer(error) || (even_refused && error instanceof UpstreamError)
      if (!again || performance.now() - started_ms > for_ms) throw error
      await pause(ASK_AGAIN_MS, undefined, { signal })
    }
  }
}
