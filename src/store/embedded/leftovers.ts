// Ends what an earlier run left on the same data folder, so that the server starts on a folder nobody else writes to.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { EmbeddedPostgresError, errorCode } from './error.ts'

const FAST_STOP_MS = 10_000
const HARD_STOP_MS = 5_000
const POLL_MS = 20

/** Only for the holder of the state folder's lock: no other supervisor may be looking after these processes. */
export async function endLeftovers(data_dir: string): Promise<void> {
  const pid_file = path.join(data_dir, 'postmaster.pid')
  const pid = recordedPid(pid_file)
  if (pid === null) return
  await endServer(data_dir, pid)
  // PostgreSQL sees through the pid of a dead process (and then looks for live shared memory, which we must not spoil
  // by removing the file), but waits for ever on a zombie and believes a number that went to another program.
  if (fs.existsSync(`/proc/${pid}`)) fs.rmSync(pid_file, { force: true })
}

/**
 * Ends what still makes a cluster in a folder that is thrown away. initdb dies with us, but the server that it feeds goes on
 * until it has written everything: the folder could not be removed under it.
 */
export async function endMakers(unfinished_dir: string): Promise<void> {
  const deadline = performance.now() + HARD_STOP_MS
  for (;;) {
    const pids = [...serverProcesses(unfinished_dir), ...initdbProcesses(unfinished_dir)]
    if (pids.length === 0) return
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresError(`an earlier start (pid ${pids.join(', ')}) still makes ${unfinished_dir}`)
    }
    for (const pid of pids) signal(pid, 'SIGKILL')
    await delay(POLL_MS)
  }
}

async function endServer(data_dir: string, postmaster: number): Promise<void> {
  for (const [stop, wait_ms] of [
    ['SIGINT', FAST_STOP_MS],
    ['SIGQUIT', HARD_STOP_MS],
  ] as const) {
    const pids = serverProcesses(data_dir)
    if (pids.length === 0) return
    // Without their postmaster, backends end by themselves; only the harder signal is for them too.
    const targets = pids.includes(postmaster) ? [postmaster] : stop === 'SIGQUIT' ? pids : []
    for (const pid of targets) signal(pid, stop)
    const deadline = performance.now() + wait_ms
    while (performance.now() < deadline) {
      if (serverProcesses(data_dir).length === 0) return
      await delay(POLL_MS)
    }
  }
  const pids = serverProcesses(data_dir)
  if (pids.length === 0) return
  throw new EmbeddedPostgresError(`an earlier server (pid ${pids.join(', ')}) still uses ${data_dir} and does not stop`)
}

/** Every process of a server works in its data folder; a zombie has no folder any more and is no danger. */
function serverProcesses(data_dir: string): number[] {
  return pidsOf('postgres').filter((pid) => readLink(`/proc/${pid}/cwd`) === data_dir)
}

/** initdb works elsewhere, and names the folder as its argument. */
function initdbProcesses(data_dir: string): number[] {
  return pidsOf('initdb').filter((pid) => argumentsOf(pid).includes(data_dir))
}

function pidsOf(program: string): number[] {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    const running = readLink(`/proc/${pid}/exe`)?.replace(/ \(deleted\)$/, '')
    return running !== undefined && path.basename(running) === program
  })
}

function argumentsOf(pid: number): string[] {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    // Ended meanwhile.
    return []
  }
}

function readLink(link: string): string | undefined {
  try {
    return fs.readlinkSync(link)
  } catch {
    // Ended meanwhile, or of another user and so not ours.
    return undefined
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}

function recordedPid(pid_file: string): number | null {
  try {
    const pid = Number(fs.readFileSync(pid_file, 'utf8').split('\n', 1)[0])
    return Number.isSafeInteger(pid) && pid > 0 ? pid : null
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    throw error
  }
}
