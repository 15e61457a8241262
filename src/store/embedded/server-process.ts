// Starts the server so that it ends with us, waits until it accepts connections, and stops it in order.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Account } from './account.ts'
import { credentials } from './account.ts'
import { EmbeddedPostgresError } from './error.ts'
import { SERVER_ENV } from './programs.ts'
import { PORT } from './socket-dir.ts'

const READY_TIMEOUT_MS = 120_000
const FAST_STOP_MS = 10_000
const HARD_STOP_MS = 10_000

export interface ServerSettings {
  postgres: string
  data_dir: string
  socket_dir: string
  account: Account
  fsync: boolean
  /** ties the server to us; null: a pipe watchdog does */
  setpriv: string | null
  log: (line: string) => void
}

export interface Exit {
  code: number | null
  signal: string | null
}

export interface ServerProcess {
  exited: Promise<Exit>
  stop: () => Promise<void>
}

export async function startServer(settings: ServerSettings): Promise<ServerProcess> {
  const child = spawnServer(settings)
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', reject)
  })
  try {
    await untilReady(child, exited, settings.log)
  } catch (error) {
    await stopServer(child, exited).catch(() => undefined)
    throw error
  }
  return { exited, stop: () => stopServer(child, exited) }
}

/**
 * Parent death: with setpriv the kernel itself sends SIGINT (fast stop) to the server when the thread that spawned it
 * ends, so call this from the main thread. Without it a shell holds a pipe whose other end closes with us. Both ways
 * get a process group of their own, so that Ctrl-C in a terminal stops the service first and the database last.
 */
function spawnServer(settings: ServerSettings): ChildProcess {
  const argv = [settings.postgres, ...serverArguments(settings)]
  const common = { ...credentials(settings.account), cwd: '/', env: SERVER_ENV, detached: true }
  if (settings.setpriv !== null) {
    const args = ['--pdeathsig', 'INT', '--', ...argv]
    return spawn(settings.setpriv, args, { ...common, stdio: ['ignore', 'ignore', 'pipe'] })
  }
  return spawn('/bin/sh', ['-c', PIPE_WATCHDOG, 'sh', ...argv], {
    ...common,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  })
}

const PIPE_WATCHDOG = `
"$@" 3<&- &
server=$!
trap 'kill -INT $server' INT TERM
trap 'kill -QUIT $server' QUIT
( read -r _ <&3; kill -INT $server ) 2>/dev/null &
watchdog=$!
exec 3<&-
while :; do
  wait $server; code=$?
  kill -0 $server 2>/dev/null || break
done
kill $watchdog 2>/dev/null
exit $code
`

function serverArguments(settings: ServerSettings): string[] {
  const options: Record<string, string> = {
    port: String(PORT),
    listen_addresses: '',
    unix_socket_directories: settings.socket_dir,
    unix_socket_permissions: '0700',
    max_connections: '200',
    fsync: settings.fsync ? 'on' : 'off',
    full_page_writes: settings.fsync ? 'on' : 'off',
    synchronous_commit: settings.fsync ? 'on' : 'off',
    logging_collector: 'off',
    log_destination: 'stderr',
    log_checkpoints: 'off',
    // The line that says the server is ready is read by startServer.
    lc_messages: 'C',
    timezone: 'UTC',
    log_timezone: 'UTC',
  }
  return ['-D', settings.data_dir, ...Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

async function untilReady(child: ChildProcess, exited: Promise<Exit>, log: (line: string) => void): Promise<void> {
  const last_lines: string[] = []
  const { stderr } = child
  if (stderr === null) throw new EmbeddedPostgresError('the server started without an error stream')
  const lines = createInterface({ input: stderr })
  const ready = new Promise<'ready'>((resolve) => {
    lines.on('line', (line) => {
      last_lines.push(line)
      if (last_lines.length > 20) last_lines.shift()
      log(line)
      if (line.includes('database system is ready to accept connections')) resolve('ready')
    })
  })
  const { promise: too_late, timer } = timeoutAfter(READY_TIMEOUT_MS)
  const outcome = await Promise.race([ready, exited, too_late]).finally(() => clearTimeout(timer))
  if (outcome === 'ready') return
  const what =
    outcome === 'timeout'
      ? `was not ready after ${READY_TIMEOUT_MS} ms`
      : `ended at start (${outcome.code ?? outcome.signal})`
  throw new EmbeddedPostgresError(`the server ${what}: ${last_lines.join(' | ')}`)
}

/** SIGINT ends sessions and writes a checkpoint; SIGQUIT costs a recovery at the next start; SIGKILL is never needed. */
async function stopServer(child: ChildProcess, exited: Promise<Exit>): Promise<void> {
  for (const [signal, wait_ms] of [
    ['SIGINT', FAST_STOP_MS],
    ['SIGQUIT', HARD_STOP_MS],
  ] as const) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    const { promise: too_late, timer } = timeoutAfter(wait_ms)
    await Promise.race([exited, too_late]).finally(() => clearTimeout(timer))
  }
  if (child.exitCode === null && child.signalCode === null) {
    throw new EmbeddedPostgresError(`the server (pid ${child.pid}) does not stop`)
  }
}

function timeoutAfter(wait_ms: number): { promise: Promise<'timeout'>; timer: NodeJS.Timeout } {
  const { promise, resolve } = Promise.withResolvers<'timeout'>()
  return { promise, timer: setTimeout(() => resolve('timeout'), wait_ms) }
}
