// Starts and watches the process that undoes a guarded change when nobody commits it in time (linux-node.md 4.5).
import { join } from 'node:path'
import type { Host } from '#src/kernel/host.ts'
import type { Journal, RunEntry } from './journal.ts'
import { findRevertTools, revertScript } from './revert-script.ts'

export interface Watchdog {
  /** Text of the program that restores, or the tool it would need. */
  script(entry: RunEntry): Promise<string | { missing: string }>
  /** Restores at once, in the same way as at the end of the window. */
  restoreNow(subject: string): Promise<void>
  /** Resolves once it is known to run; false when it could not be started. */
  start(entry: RunEntry): Promise<boolean>
  isAlive(entry: RunEntry): Promise<boolean>
  /** It ends by itself when the change is decided; this only spares the service manager a dead timer. */
  disarm(entry: RunEntry): Promise<void>
}

const START_MS = 3000
const RESTORE_MS = 60_000

export interface WatchdogOptions {
  host: Host
  journal: Journal
  /** Tool to its absolute path, for tools that are not in the usual folders. */
  tools?: Readonly<Record<string, string>>
}

export function createWatchdog({ host, journal, tools = {} }: WatchdogOptions): Watchdog {
  const sh = tools['sh'] ?? '/bin/sh'
  const byServiceManager = async (): Promise<boolean> => (await host.list('/run/systemd/system')) !== null
  const ownProcess = async ({ subject }: RunEntry): Promise<boolean> => {
    const pid = await journal.watchdogPid(subject)
    // The current directory tells our watchdog from a stranger that was given the same number later.
    return pid !== null && (await host.link(`/proc/${pid}/cwd`)) === journal.folderOf(subject)
  }
  const unitState = async (entry: RunEntry): Promise<boolean> => {
    const unit = unitOf(entry)
    const run = await host.run('systemctl', ['is-active', `${unit}.timer`, `${unit}.service`], { timeout_ms: 5000 })
    return run.stdout.split('\n').some((line) => line === 'active' || line === 'activating')
  }
  const detached = async (entry: RunEntry, script: string): Promise<boolean> => {
    await host.run('setsid', ['--fork', sh, script, 'wait'], { timeout_ms: START_MS })
    const until = host.monotonic() + START_MS
    while (host.monotonic() < until) {
      if (await ownProcess(entry)) return true
      // A window of a few milliseconds may be over before the first check.
      if ((await journal.marker(entry.subject)) !== 'pending') return true
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return false
  }
  return {
    script: async (entry) => scriptOf(journal, entry, await findRevertTools(sh, tools)),
    async restoreNow(subject) {
      await host.run(sh, [join(journal.folderOf(subject), 'revert.sh'), 'now'], { timeout_ms: RESTORE_MS })
    },
    async start(entry) {
      const script = join(journal.folderOf(entry.subject), 'revert.sh')
      if (!(await byServiceManager())) return detached(entry, script)
      // A child of ours would be killed together with the service; a timer belongs to the service manager.
      const seconds = Math.max(1, Math.ceil(entry.window_ms / 1000))
      const run = await host.run(
        'systemd-run',
        [
          `--unit=${unitOf(entry)}`,
          `--on-active=${seconds}s`,
          '--timer-property=AccuracySec=1s',
          '--collect',
          sh,
          script,
          'wait',
        ],
        { timeout_ms: 10_000 },
      )
      return run.exit_code === 0 || detached(entry, script)
    },
    isAlive: async (entry) => (await ownProcess(entry)) || ((await byServiceManager()) && (await unitState(entry))),
    async disarm(entry) {
      if (!(await byServiceManager())) return
      await host.run('systemctl', ['stop', `${unitOf(entry)}.timer`], { timeout_ms: 10_000 })
    },
  }
}

function scriptOf(
  journal: Journal,
  entry: RunEntry,
  tools: Awaited<ReturnType<typeof findRevertTools>>,
): string | { missing: string } {
  if ('missing' in tools) return tools
  return revertScript({
    run_folder: journal.folderOf(entry.subject),
    tools,
    undo: entry.undo,
    files: entry.files.map(({ path, temporary, existed }, at) => ({
      path,
      temporary,
      copy: existed ? `old/${at}` : null,
    })),
  })
}

function unitOf({ subject, run_id }: RunEntry): string {
  return `groundplane-revert-${subject}-${run_id.slice(0, 8)}`
}
