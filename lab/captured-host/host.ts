/** A machine that is only recorded: answers an agent from a folder of files and command outputs (format: lab/hosts/README.md). */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { matchCommand, type RecordedCommand, readCommands } from './commands.ts'
import { rememberLinks } from './links.ts'
import { rememberMachine } from './machine.ts'
import { advanceFile, advanceJson, type Motion, parseMotion } from './motion.ts'

export interface CommandResult {
  outcome: 'exited' | 'missing' | 'timeout' | 'too_big'
  exit_code: number | null
  stdout: string
  stderr: string
}

export interface StartedCommand {
  readonly ended: Promise<CommandResult>
  signal(name?: string): void
}

/** What an agent asks of a machine. */
export interface CapturedHost {
  read(path: string): Promise<string | null>
  list(path: string): Promise<string[] | null>
  link(path: string): Promise<string | null>
  write(path: string, text: string): Promise<void>
  run(tool: string, args: readonly string[]): Promise<CommandResult>
  spawn(tool: string, args: readonly string[]): StartedCommand
  socketExchange(): Promise<{ outcome: 'missing'; received: Buffer }>
  rawSocket(): Promise<never>
  now(): number
  monotonic(): number
}

export interface CapturedHostOptions {
  /** File of the changes of the network (tools.ts, `ip`); in memory when left out. */
  changes_file?: string
  /** File of installed packages and running services; in memory when left out. */
  machine_file?: string
  /** Wall clock; the machine's own when left out. */
  now?: () => number
  /** Monotonic clock that also drives the counters of motion.json; the machine's own when left out. */
  monotonic?: () => number
}

/**
 * Processes that the agent starts by an absolute path are the stub commands and the shell of its watchdog: they run for
 * real, so their clock and their entries in /proc are the real ones, too.
 */
const REAL_FILE = /^\/proc\/(uptime$|\d+\/)/
const REAL_TIMEOUT_MS = 60_000

export function capturedHost(dir: string, options: CapturedHostOptions = {}): CapturedHost {
  const now = options.now ?? (() => Date.now())
  const monotonic = options.monotonic ?? (() => performance.now())
  const started = monotonic()
  const recorded = readCommands(dir)
  const links = readLinks(dir)
  const motion = parseMotion(optionalJson(join(dir, 'motion.json')) ?? [])
  const written = new Map<string, string>()
  const seconds = (): number => (monotonic() - started) / 1000
  const spawn = (tool: string, args: readonly string[]): StartedCommand =>
    isReal(tool)
      ? { ended: runReal(tool, args), signal: () => {} }
      : play(dir, matchCommand(recorded, tool, args), { tool, args, motion, seconds })
  const host: CapturedHost = {
    async read(path) {
      if (REAL_FILE.test(path)) return readFile(path, 'utf8').catch(() => null)
      const own = written.get(normalize(path))
      if (own !== undefined) return own
      const text = await readFile(inside(dir, path), 'utf8').catch(() => null)
      return text === null ? null : advanceFile(text, normalize(path), motion, seconds())
    },
    list: (path) => listing(dir, links, path),
    link: (path) =>
      REAL_FILE.test(path) ? readlink(path).catch(() => null) : Promise.resolve(links.get(normalize(path)) ?? null),
    async write(path, text) {
      await lstat(inside(dir, path))
      written.set(normalize(path), text)
    },
    run: (tool, args) => spawn(tool, args).ended,
    spawn,
    socketExchange: () => Promise.resolve({ outcome: 'missing', received: Buffer.alloc(0) }),
    rawSocket: () => Promise.reject(new Error('a captured host sends no frames')),
    now,
    monotonic,
  }
  return rememberMachine(rememberLinks(host, options.changes_file), options.machine_file)
}

/** The network configuration that goes with a captured host, as an agent is given it. */
export function capturedNetwork(dir: string): unknown {
  const about = optionalJson(join(dir, 'host.json'))
  return typeof about === 'object' && about !== null ? Reflect.get(about, 'node_net') : undefined
}

function isReal(tool: string): boolean {
  return tool.startsWith('/') || tool === 'setsid'
}

function runReal(tool: string, args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(tool, [...args], { timeout: REAL_TIMEOUT_MS, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      const exit_code = error === null ? 0 : typeof error.code === 'number' ? error.code : null
      const outcome = error?.code === 'ENOENT' ? 'missing' : exit_code === null ? 'timeout' : 'exited'
      resolve({ outcome, exit_code, stdout, stderr })
    })
  })
}

function inside(dir: string, path: string): string {
  return join(dir, 'files', normalize(`/${path}`))
}

async function listing(dir: string, links: ReadonlyMap<string, string>, path: string): Promise<string[] | null> {
  const at = normalize(path).replace(/\/$/, '')
  const names = new Set((await readdir(inside(dir, at)).catch(() => [])).map(String))
  for (const link of links.keys()) {
    if (link.startsWith(`${at}/`)) names.add(link.slice(at.length + 1).split('/')[0] ?? '')
  }
  return names.size === 0 ? null : [...names].sort()
}

interface Played {
  tool: string
  args: readonly string[]
  motion: readonly Motion[]
  seconds: () => number
}

function play(dir: string, found: RecordedCommand | 'unknown-tool' | 'unknown-args', played: Played): StartedCommand {
  const cut = new AbortController()
  const answer = async (): Promise<CommandResult> => {
    if (found === 'unknown-tool') return { outcome: 'missing', exit_code: null, stdout: '', stderr: '' }
    if (found === 'unknown-args') {
      const stderr = `not recorded: ${played.tool} ${played.args.join(' ')}\n`
      return { outcome: 'exited', exit_code: 1, stdout: '', stderr }
    }
    if (found.lasts_ms > 0) await wait(found.lasts_ms, undefined, { signal: cut.signal, ref: false }).catch(() => {})
    if (found.outcome !== 'exited') return { outcome: found.outcome, exit_code: null, stdout: '', stderr: found.stderr }
    const stdout = await stdoutOf(dir, found, played)
    return { outcome: 'exited', exit_code: found.exit_code, stdout, stderr: found.stderr }
  }
  return { ended: answer(), signal: () => cut.abort() }
}

async function stdoutOf(dir: string, found: RecordedCommand, played: Played): Promise<string> {
  if (found.stdout_json !== undefined) {
    return JSON.stringify(advanceJson(found.stdout_json, found.tool, played.motion, played.seconds()))
  }
  if (found.stdout_file === undefined) return found.stdout
  return readFile(join(dir, normalize(`/${found.stdout_file}`)), 'utf8')
}

function readLinks(dir: string): Map<string, string> {
  const links = new Map<string, string>()
  const raw = optionalJson(join(dir, 'links.json'))
  if (typeof raw !== 'object' || raw === null) return links
  for (const [path, target] of Object.entries(raw)) {
    if (typeof target === 'string') links.set(normalize(path), target)
  }
  return links
}

function optionalJson(path: string): unknown {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
  return JSON.parse(text)
}
