/** One simulated BMC at work: its state, the timers of what goes on, and whom it tells. */
import type { BmcState } from './state.ts'

export interface Simulation {
  state: BmcState
  /** A resource is different from now on. */
  changed(): void
  later(after_ms: number, act: () => void): void
  /** Breaks every connection off. */
  hangUp(): void
  /** The machine starts from this image. */
  onBoot(image: string): void
  stop(): void
}

export function createSimulation(state: BmcState, hooks: { hangUp(): void; onBoot(image: string): void }): Simulation {
  const timers = new Set<NodeJS.Timeout>()
  return {
    ...hooks,
    state,
    changed() {
      state.version += 1
    },
    later(after_ms, act) {
      const timer = setTimeout(() => {
        timers.delete(timer)
        act()
      }, after_ms)
      timers.add(timer)
    },
    stop() {
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    },
  }
}
