// Every ten minutes what jobs left to a person is asked again: what has come true since is closed (node-lifecycle.md 10).
import { setTimeout as pause } from 'node:timers/promises'
import { createLeader, type Leader } from '#src/store/leader.ts'
import { LOCKS } from '#src/store/locks.ts'
import type { Parts } from '../module.ts'

const EVERY_MS = 10 * 60_000

export function createOutstandingWatcher(
  { database, jobs, log, background }: Pick<Parts, 'database' | 'jobs' | 'log' | 'background'>,
  every_ms = EVERY_MS,
): Leader {
  const leader = { database, lock: LOCKS.outstanding_watcher, name: 'outstanding-actions', log, background }
  return createLeader(leader, async (held) => {
    while (!held.aborted) {
      await jobs.recheckOutstanding(held)
      await pause(every_ms, undefined, { signal: held })
    }
  })
}
