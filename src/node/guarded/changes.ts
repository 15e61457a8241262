// All guarded changes of this node: their journal and watchdog, one change of a subject at a time, and the reconcile that
// finishes what a crash or a reboot left behind.
import { mkdir, realpath } from 'node:fs/promises'
import type { Host } from '#src/kernel/host.ts'
import { type ChangeDeps, type ChangeStep, settle } from './change.ts'
import { createJournal } from './journal.ts'
import { createWatchdog } from './watchdog.ts'

export interface GuardedOptions {
  host: Host
  /** Folder of the journal; survives a reboot. */
  state_dir: string
  /** Tool to its absolute path, for tools that are not in the usual folders. */
  tools?: Readonly<Record<string, string>>
  /** Called after each step; tests end the process in it. */
  after_step?: (step: ChangeStep) => void | Promise<void>
}

export interface GuardedChanges {
  readonly deps: ChangeDeps
  isBusy(subject: string): boolean
  /** The reconcile leaves the subject alone until the work has ended. */
  alone<T>(subject: string, work: () => Promise<T>): Promise<T>
  /** Finishes changes whose process died; the answer names what was done to which subject. */
  reconcile(): Promise<{ subject: string; done: 'restored' | 'archived' | 'left' | 'failed' }[]>
  /** Reconciles, and again every 30 s. */
  start(): Promise<void>
  stop(): void
}

const RECONCILE_MS = 30_000

export async function createGuardedChanges(options: GuardedOptions): Promise<GuardedChanges> {
  const { host, tools = {} } = options
  await mkdir(options.state_dir, { recursive: true, mode: 0o700 })
  const journal = createJournal(await realpath(options.state_dir))
  const watchdog = createWatchdog({ host, journal, tools })
  const deps: ChangeDeps = { host, journal, watchdog, after_step: options.after_step ?? (() => {}) }
  const busy = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  const alone: GuardedChanges['alone'] = async (subject, work) => {
    busy.add(subject)
    try {
      return await work()
    } finally {
      busy.delete(subject)
    }
  }
  const reconcile: GuardedChanges['reconcile'] = async () => {
    const done: Awaited<ReturnType<GuardedChanges['reconcile']>> = []
    for (const subject of await journal.open()) {
      if (busy.has(subject)) continue
      done.push({ subject, done: await alone(subject, () => settle(deps, subject)) })
    }
    return done
  }
  return {
    deps,
    isBusy: (subject) => busy.has(subject),
    alone,
    reconcile,
    async start() {
      await reconcile()
      timer = setInterval(() => void reconcile().catch(() => {}), RECONCILE_MS)
      timer.unref()
    },
    stop: () => clearInterval(timer),
  }
}
