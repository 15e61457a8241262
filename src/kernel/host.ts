// The one interface to the machine: files of /proc, /sys and /etc, commands, sockets and the clock. Everything in src/node
// reads and changes the machine through it.
import { execFile } from 'node:child_process'
import { open, readdir, readFile, readlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { RawSocket } from './raw-socket.ts'

export interface RunOptions {
  /** The command is killed after this many milliseconds; 10,000 when left out. Always set. */
  timeout_ms?: number
  /** stdout and stderr are cut off (and the command killed) beyond this; 64 MiB when left out. */
  max_bytes?: number
  stdin?: string
  signal?: AbortSignal
}

/**
 * How a command ended. `missing`: the tool is not installed; `timeout`: it was killed; `exited`: it ran, with whatever
 * exit code (several tools print valid output with a non-zero one, others nothing with zero: the parser decides).
 */
export interface RunResult {
  outcome: 'exited' | 'missing' | 'timeout' | 'too_big'
  exit_code: number | null
  stdout: string
  stderr: string
}

/** A tool that is still running. */
export interface RunningCommand {
  /** Settles when it has ended; never rejects. */
  readonly ended: Promise<RunResult>
  /** Sends a signal (SIGTERM when left out); nothing happens once it has ended. */
  signal(name?: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void
}

export interface SocketOptions {
  /** The connection is dropped after this many milliseconds; 3,000 when left out. Always set. */
  timeout_ms?: number
  /** The connection is dropped beyond this; 64 MiB when left out. */
  max_bytes?: number
  /** Called with each piece as it arrives; true once the answer is complete. */
  until: (piece: Buffer) => boolean
}

/**
 * How an exchange ended. `missing`: no such socket; `denied`: not ours to open; `refused`: the file is there and nobody
 * listens; `timeout`, `closed` and `too_big`: what came until then is in `received`.
 */
export interface SocketResult {
  outcome: 'answered' | 'missing' | 'denied' | 'refused' | 'timeout' | 'closed' | 'too_big'
  received: Buffer
}

export interface Host {
  /** Text of a file, or null when it does not exist or cannot be read (EINVAL of a sysfs attribute included). */
  read(path: string): Promise<string | null>
  /** Names in a directory, or null when there is none. */
  list(path: string): Promise<string[] | null>
  /** Target of a symbolic link as written, or null. */
  link(path: string): Promise<string | null>
  /** Writes a file of /proc or /sys in one write. Fails with the system's error. */
  write(path: string, text: string): Promise<void>
  /** Runs a tool by name with an argument vector, never through a shell. */
  run(tool: string, args: readonly string[], options?: RunOptions): Promise<RunResult>
  /** Starts a tool that goes on for a while. Returns at once; `ended` says how it ended. The timeout applies here too. */
  spawn(tool: string, args: readonly string[], options?: RunOptions): RunningCommand
  /** Sends `request` to a unix stream socket and collects the answer until it is complete. */
  socketExchange(path: string, request: string, options: SocketOptions): Promise<SocketResult>
  /** Opens a packet socket on a device; fails where the process may not or the native binding is missing. */
  rawSocket(ifindex: number): Promise<RawSocket>
  /** Milliseconds since 1970, wall clock. */
  now(): number
  /** Milliseconds that never step: for rates and windows. */
  monotonic(): number
}

export interface HostOptions {
  /** Where /proc and /sys stand; only configuration sets these, never a request. */
  proc_root?: string
  sys_root?: string
  /** Where /etc, /run and other absolute paths stand. */
  root?: string
  /** Tool name to absolute path, for tools that are not on the path. */
  tools?: Record<string, string>
}

/** Daemons started by a service manager often lack the sbin folders, where ethtool, zpool, smartctl and tc live. */
const TOOL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const DEFAULT_TIMEOUT_MS = 10_000
const DEFAULT_SOCKET_TIMEOUT_MS = 3_000
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024

export function linuxHost(options: HostOptions = {}): Host {
  const at = (path: string): string => place(path, options)
  return {
    read: (path) => readFile(at(path), 'utf8').catch(() => null),
    list: (path) => readdir(at(path)).catch(() => null),
    link: (path) => readlink(at(path)).catch(() => null),
    async write(path, text) {
      const file = await open(at(path), 'w')
      try {
        await file.write(text)
      } finally {
        await file.close()
      }
    },
    run: (tool, args, run = {}) => startTool(options.tools?.[tool] ?? tool, args, run).ended,
    spawn: (tool, args, run = {}) => startTool(options.tools?.[tool] ?? tool, args, run),
    socketExchange: (path, request, exchange) => exchangeOnSocket(at(path), request, exchange),
    // Loaded on use: a machine without the native binding still does everything else.
    rawSocket: async (ifindex) => (await import('./raw-socket.ts')).openRawSocket(ifindex),
    now: () => Date.now(),
    monotonic: () => performance.now(),
  }
}

function place(path: string, options: HostOptions): string {
  if (options.proc_root !== undefined && path.startsWith('/proc/')) return join(options.proc_root, path.slice(6))
  if (options.sys_root !== undefined && path.startsWith('/sys/')) return join(options.sys_root, path.slice(5))
  return options.root === undefined ? path : join(options.root, path)
}

function startTool(tool: string, args: readonly string[], run: RunOptions): RunningCommand {
  const { promise: ended, resolve } = Promise.withResolvers<RunResult>()
  const child = execFile(
    tool,
    [...args],
    {
      encoding: 'utf8',
      env: { LC_ALL: 'C', TZ: 'UTC', PATH: TOOL_PATH, VTYSH_PAGER: '' },
      timeout: run.timeout_ms ?? DEFAULT_TIMEOUT_MS,
      killSignal: 'SIGKILL',
      maxBuffer: run.max_bytes ?? DEFAULT_MAX_BYTES,
      ...(run.signal === undefined ? {} : { signal: run.signal }),
    },
    (error, stdout, stderr) => resolve({ ...endOf(error), stdout, stderr }),
  )
  child.stdin?.on('error', () => {})
  child.stdin?.end(run.stdin ?? '')
  return { ended, signal: (name = 'SIGTERM') => void child.kill(name) }
}

function endOf(error: (Error & { code?: unknown; killed?: boolean }) | null): Pick<RunResult, 'outcome' | 'exit_code'> {
  if (error === null) return { outcome: 'exited', exit_code: 0 }
  if (error.code === 'ENOENT' || error.code === 'EACCES') return { outcome: 'missing', exit_code: null }
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return { outcome: 'too_big', exit_code: null }
  if (typeof error.code === 'number') return { outcome: 'exited', exit_code: error.code }
  return { outcome: 'timeout', exit_code: null }
}

const SOCKET_FAILURE: Record<string, SocketResult['outcome']> = {
  ENOENT: 'missing',
  ECONNREFUSED: 'refused',
  EACCES: 'denied',
  EPERM: 'denied',
}

function exchangeOnSocket(path: string, request: string, options: SocketOptions): Promise<SocketResult> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const socket = connect(path)
    const end = (outcome: SocketResult['outcome']): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ outcome, received: Buffer.concat(chunks) })
    }
    const timer = setTimeout(() => end('timeout'), options.timeout_ms ?? DEFAULT_SOCKET_TIMEOUT_MS)
    socket.on('connect', () => socket.write(request))
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size > (options.max_bytes ?? DEFAULT_MAX_BYTES)) return end('too_big')
      if (options.until(chunk)) end('answered')
    })
    socket.on('close', () => end('closed'))
    socket.on('error', (error: NodeJS.ErrnoException) => end(SOCKET_FAILURE[error.code ?? ''] ?? 'closed'))
  })
}
