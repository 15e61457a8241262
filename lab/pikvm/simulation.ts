/** One simulated KVM at work: its state, and what goes on in it until it is stopped. */
import { setTimeout as pause } from 'node:timers/promises'
import type { KvmState } from './state.ts'

export interface Simulation {
  state: KvmState
  /** Goes on by itself; nobody waits. Ends when the simulation is stopped. */
  go(work: (signal: AbortSignal) => Promise<void>): void
  /** Power was cut or given: whatever the machine did ends. */
  cut(): AbortSignal
  pause(ms: number, signal?: AbortSignal): Promise<void>
  stop(): Promise<void>
}

export function createSimulation(state: KvmState): Simulation {
  const stopping = new AbortController()
  const going = new Set<Promise<void>>()
  let power = new AbortController()
  return {
    state,
    go(work) {
      const done = work(stopping.signal)
        // What was going on when the power was cut has no end.
        .catch(() => {})
        .finally(() => going.delete(done))
      going.add(done)
    },
    cut() {
      power.abort()
      power = new AbortController()
      return AbortSignal.any([power.signal, stopping.signal])
    },
    pause: (ms, signal) =>
      pause(ms, undefined, {
        signal: signal === undefined ? stopping.signal : AbortSignal.any([signal, stopping.signal]),
      }),
    async stop() {
      stopping.abort()
      power.abort()
      await Promise.all(going)
    },
  }
}
