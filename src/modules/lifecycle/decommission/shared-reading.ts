// What is the same for every node is read once for all preflights that ask at the same time.

/** `what` names the reading. It is given up after its own time, not when one of those who wait for it goes. */
export type Share = <T>(what: string, read: (options: { signal: AbortSignal }) => Promise<T>) => Promise<T>

/** Whoever asks while a reading is under way gets its answer; nothing is kept once it has ended. */
export function createShare(budget_ms: number): Share {
  const running = new Map<string, Promise<unknown>>()
  return <T>(what: string, read: Parameters<Share>[1]): Promise<T> => {
    const reading = running.get(what) ?? read({ signal: AbortSignal.timeout(budget_ms) })
    if (!running.has(what)) {
      running.set(what, reading)
      const end = (): void => void running.delete(what)
      reading.then(end, end)
    }
    // A name belongs to one kind of reading.
    return reading as Promise<T>
  }
}
