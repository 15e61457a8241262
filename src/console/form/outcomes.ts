// Runs an action on its things, a few at a time, and holds what became of each.
import { useState } from 'react'
import { callAny } from '../api/call.ts'
import { type Action, bodyOf, type Target } from './action.ts'

export type Outcome = { status: 'running' } | { status: 'accepted' } | { status: 'failed'; error: unknown }

/** How many calls are under way at once. */
const PARALLEL = 6

export function useOutcomes(action: Action, targets: readonly Target[]) {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map())
  // One of each for the life of the dialog: a second click is the same change.
  const [keys] = useState(() => new Map(targets.map(({ id }) => [id, crypto.randomUUID()])))
  const set = (id: string, outcome: Outcome): void => setOutcomes((before) => new Map(before).set(id, outcome))
  /** Answers how many failed. */
  const run = (possible: readonly Target[], options: Record<string, unknown>): Promise<number> =>
    inParallel(possible, async (target) => {
      const { id } = target
      set(id, { status: 'running' })
      try {
        const key = keys.get(id)
        await callAny(action.operation, { body: bodyOf(action, target, options) }, key === undefined ? {} : { key })
        set(id, { status: 'accepted' })
        return true
      } catch (error) {
        set(id, { status: 'failed', error })
        return false
      }
    })
  return { outcomes, run }
}

/** Answers how many failed. */
async function inParallel(targets: readonly Target[], work: (target: Target) => Promise<boolean>): Promise<number> {
  const waiting = [...targets]
  let failed = 0
  const worker = async (): Promise<void> => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
      if (!(await work(target))) failed++
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
  return failed
}
