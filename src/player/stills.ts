// Live view frame by frame: the newest one as a JPEG, once a second, where nothing better gets through.
import type { Attempt, Ending } from './attempt.ts'

const PAUSE_MS = 1_000
/** After so long it is worth trying for moving video again. */
const UNTIL_RETRY_MS = 10_000

export function startStills(image: HTMLImageElement, address: () => string, shown: () => void): Attempt {
  const { promise: ended, resolve } = Promise.withResolvers<Ending>()
  const control = new AbortController()
  const retry_at = performance.now() + UNTIL_RETRY_MS
  let had_frame = false
  const show = async (): Promise<void> => {
    while (!control.signal.aborted && performance.now() < retry_at) {
      const answer = await fetch(address(), { signal: control.signal, cache: 'no-store' })
      if (!answer.ok) throw new Error(`The newest frame was answered with ${answer.status}.`)
      const previous = image.src
      image.src = URL.createObjectURL(await answer.blob())
      if (previous.startsWith('blob:')) URL.revokeObjectURL(previous)
      if (!had_frame) shown()
      had_frame = true
      await new Promise((resume) => setTimeout(resume, PAUSE_MS))
    }
  }
  show().then(
    () => resolve({ had_frame, reason: 'Moving video is tried again.' }),
    (error: unknown) => resolve({ had_frame, reason: String(error) }),
  )
  return { ended, stop: () => control.abort() }
}
